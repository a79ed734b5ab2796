// SPDX-License-Identifier: MIT
#include "tune/settings/device_words.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/device/visible_cards.hpp"

namespace hpo::tune {
namespace {

bool is_part_of_cpu(const std::string& name) {
    return is_cpu(name) && name.size() > 4 && name.size() < 8 && (name[4] != '0' || name.size() == 5) &&
           std::all_of(name.begin() + 4, name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

DeviceWord parse_device(const std::string& place, const std::string& text) {
    const std::size_t equals = text.find('=');
    DeviceWord word{.name = text.substr(0, equals)};
    if (word.name != "auto" && word.name != "cpu" && word.name != "cuda:*" && !is_part_of_cpu(word.name) && !device::card_number(word.name))
        throw bad_value(place, "'" + text + "'", "auto, cpu, cuda, cuda:N or cuda:*, or several with commas: cuda:0,cuda:1");
    if (equals == std::string::npos) return word;
    if (word.name == "auto" || word.name == "cuda" || word.name == "cuda:*")
        throw bad_value(place, "'" + text + "'", "a size after one certain device, such as cuda:0=20GiB, or --device-memory");
    word.bytes = require_bytes(place + ": " + word.name, text.substr(equals + 1));
    if (*word.bytes < ExecutionPlan::least_memory_bytes)
        throw bad_value(place + ": " + word.name, "'" + text.substr(equals + 1) + "'", "at least 1MiB: no model trains in less");
    return word;
}

}  // namespace

std::vector<DeviceWord> parse_devices(const std::string& place, const std::string& text) {
    std::vector<DeviceWord> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        DeviceWord word = parse_device(place, text.substr(begin, end - begin));
        if (std::ranges::any_of(words, [&](const DeviceWord& each) { return each.name == word.name; }))
            throw bad_value(place, "'" + word.name + "' twice", "each device once");
        words.push_back(std::move(word));
        begin = end + 1;
    }
    const auto stands_alone = [](const DeviceWord& word) { return word.name == "auto" || word.name == "cuda" || word.name == "cuda:*"; };
    if (const auto lone = std::ranges::find_if(words, stands_alone); words.size() > 1 && lone != words.end())
        throw bad_value(place, "'" + lone->name + "' beside other devices", "it alone, or a list of devices such as cuda:0,cuda:1");
    return words;
}

}  // namespace hpo::tune
