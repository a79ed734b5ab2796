// SPDX-License-Identifier: MIT
#include "hpo/analysis/logs/shown_params.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace hpo::analysis::detail {

/// A number as a line shows it: any value within `rounding` may have been rounded to it.
struct ShownNumber {
    double value = 0;
    double rounding = 0;
};

/// The number at the beginning of a text. Returns false if there is none.
[[nodiscard]] bool read_number(std::string_view text, ShownNumber& number) {
    const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number.value);
    if (status != std::errc{} || !std::isfinite(number.value)) return false;
    const std::string_view shown = text.substr(0, static_cast<std::size_t>(stop - text.data()));
    const auto exponent = std::min(shown.find_first_of("eE"), shown.size());
    const auto point = shown.substr(0, exponent).find('.');
    number.rounding = 1e-12 * std::abs(number.value);
    if (point == std::string_view::npos && exponent == shown.size()) return true;  // a whole number is exact
    double power = point == std::string_view::npos ? 0 : -static_cast<double>(exponent - point - 1);
    if (exponent < shown.size()) {
        int of_ten = 0;
        const std::size_t sign = exponent + 1 < shown.size() && shown[exponent + 1] == '+' ? 2 : 1;
        std::from_chars(shown.data() + exponent + sign, shown.data() + shown.size(), of_ten);
        power += of_ten;
    }
    number.rounding += 0.5001 * std::pow(10.0, power);
    return true;
}

[[nodiscard]] bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Visits what stands behind each "NAME: ", "'NAME': ", "NAME=" of a line, until `visit` returns true. Returns what it returned last.
[[nodiscard]] bool any_shown(std::string_view line, std::string_view name, const std::function<bool(std::string_view)>& visit) {
    if (name.empty()) return false;
    for (auto at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
        if (at > 0 && (is_name_part(line[at - 1]) || line[at - 1] == '.')) continue;
        std::string_view behind = line.substr(at + name.size());
        if (behind.starts_with('\'') || behind.starts_with('"')) behind.remove_prefix(1);
        behind.remove_prefix(std::min(behind.find_first_not_of(' '), behind.size()));
        if (!behind.starts_with(':') && !behind.starts_with('=')) continue;
        behind.remove_prefix(1);
        behind.remove_prefix(std::min(behind.find_first_not_of(' '), behind.size()));
        if (visit(behind)) return true;
    }
    return false;
}

/// True if `text` begins with the value as a program would print it.
[[nodiscard]] bool begins_with(std::string_view text, const Value& value) {
    const auto is_word = [&](std::string_view word) {
        return text.starts_with(word) && (text.size() == word.size() || !is_name_part(text[word.size()]));
    };
    if (const auto* truth = std::get_if<bool>(&value)) return is_word(*truth ? "True" : "False") || is_word(*truth ? "true" : "false");
    if (const auto* words = std::get_if<std::string>(&value)) {
        if (text.starts_with('\'') || text.starts_with('"'))
            return text.substr(1).starts_with(*words) && text.substr(1 + words->size()).starts_with(text.front());
        const std::string_view behind = text.substr(std::min(words->size(), text.size()));
        return text.starts_with(*words) && (behind.empty() || std::string_view{" ,;})]|"}.find(behind.front()) != std::string_view::npos);
    }
    ShownNumber shown;
    const auto* const real = std::get_if<double>(&value);
    const auto* const whole = std::get_if<std::int64_t>(&value);
    if (!real && !whole) return is_word("None") || is_word("null");
    return read_number(text, shown) && std::abs(shown.value - (real ? *real : static_cast<double>(*whole))) <= shown.rounding;
}

bool shows_each(std::string_view line, const ParamSet& params) {
    return !params.empty() && std::ranges::all_of(params, [&](const Param& param) {
        return any_shown(line, param.name, [&](std::string_view text) { return begins_with(text, param.value()); });
    });
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

void ParamNames::add(std::span<const Trial> trials) {
    std::vector<std::string> names;
    std::map<std::string, std::size_t, std::less<>> counts;
    std::size_t with_params = 0;
    for (const Trial& trial : trials) {
        with_params += trial.params.empty() ? 0 : 1;
        for (const Param& param : trial.params) ++counts[param.name];
    }
    std::string most;
    for (const auto& [name, count] : counts) {
        if (count == with_params) names.push_back(name);
        else if (most.empty() || count > counts.find(most)->second) most = name;
    }
    if (names.empty() && !most.empty()) names.push_back(most);
    if (!names.empty()) names_.push_back(std::move(names));
}

bool ParamNames::may_be_shown(std::string_view line) const {
    const auto gives = [&](const std::string& name) { return detail::any_shown(line, name, [](std::string_view) { return true; }); };
    return std::ranges::any_of(names_, [&](const auto& names) { return std::ranges::all_of(names, gives); });
}

ShownTrials::ShownTrials(std::span<const Trial> trials) {
    std::map<std::string, std::set<double>, std::less<>> values;
    for (const Trial& trial : trials) {
        for (const Param& param : trial.params) {
            if (const auto number = trial.params.number(param.name)) values[param.name].insert(*number);
        }
    }
    for (const Trial& trial : trials) {
        const std::string* rarest = nullptr;  // the number that tells trials apart best
        for (const Param& param : trial.params) {
            if (!values.contains(param.name) || !trial.params.number(param.name)) continue;
            if (!rarest || values.find(param.name)->second.size() > values.find(*rarest)->second.size()) rarest = &param.name;
        }
        if (rarest) by_number_[*rarest].emplace_back(*trial.params.number(*rarest), &trial);
    }
    for (auto& [name, entries] : by_number_) std::ranges::stable_sort(entries, {}, &Entry::first);
}

std::vector<const Trial*> ShownTrials::in(std::string_view line) const {
    std::vector<const Trial*> found;
    for (const auto& [name, entries] : by_number_) {
        const auto add_those_of = [&entries, &found, line](std::string_view text) {
            detail::ShownNumber number;
            if (!detail::read_number(text, number)) return false;
            const auto first = std::ranges::lower_bound(entries, number.value - number.rounding, {}, &Entry::first);
            for (auto entry = first; entry != entries.end() && entry->first <= number.value + number.rounding; ++entry) {
                if (detail::shows_each(line, entry->second->params) && std::ranges::find(found, entry->second) == found.end())
                    found.push_back(entry->second);
            }
            return false;
        };
        (void)detail::any_shown(line, name, add_those_of);
    }
    return found;
}

}  // namespace hpo::analysis
