// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/worker/environment.hpp"

namespace hpo::command {
namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

/// The NAME of a {NAME} that begins at `at`, or nullopt.
std::optional<std::string_view> name_at(std::string_view word, std::size_t at) {
    if (word[at] != '{' || at + 1 >= word.size() || !begins_name(word[at + 1])) return std::nullopt;
    std::size_t end = at + 1;
    while (end < word.size() && continues_name(word[end])) ++end;
    if (end == word.size() || word[end] != '}') return std::nullopt;
    return word.substr(at + 1, end - at - 1);
}

/// Calls `literal` with each piece of text and `name` with each NAME, in their order.
template <class Literal, class Name>
void each_part(std::string_view word, Literal&& literal, Name&& name) {
    for (std::size_t i = 0; i < word.size();) {
        const auto inner = word[i] == '{' && i + 1 < word.size() ? name_at(word, i + 1) : std::nullopt;
        const std::size_t inner_end = inner ? i + inner->size() + 3 : 0;
        if (inner && inner_end < word.size() && word[inner_end] == '}') {
            literal(word.substr(i + 1, inner->size() + 2));
            i = inner_end + 1;
        } else if (const auto found = name_at(word, i)) {
            name(*found);
            i += found->size() + 2;
        } else {
            literal(word.substr(i, 1));
            ++i;
        }
    }
}

}  // namespace

std::vector<std::string> words_of(std::string_view arguments) {
    const auto wrong = [&](const std::string& got) {
        return hpo::bad_value("option 'arguments'", got,
                              R"(a JSON list of the program and its arguments, ["python3", "train.py", "{lr}"])");
    };
    const hpo::store::Json list = hpo::store::parse_json(arguments);
    if (!list.is_array()) throw wrong("'" + std::string{arguments} + "'");
    std::vector<std::string> words;
    for (const auto& word : list) {
        if (!word.is_string()) throw wrong(word.dump());
        words.push_back(word.get<std::string>());
        if (words.back().find('\0') != std::string::npos) throw wrong("a zero byte in " + word.dump());
    }
    if (words.empty() || words.front().empty()) throw wrong("no program");
    return words;
}

Placeholders placeholders_of(const hpo::TrainerJob& job) {
    Placeholders known;
    for (const auto& [name, value] : job.params) {
        const auto* const number = std::get_if<double>(&value);
        // In full, so that the program gets the very number that the study keeps.
        known.emplace(name, number && std::isfinite(*number) ? hpo::json_text(value) : hpo::display_text(value));
    }
    const auto whole = [](const std::optional<std::int64_t>& number) {
        return number ? std::optional{std::to_string(*number)} : std::nullopt;
    };
    const auto add = [&](const std::string& name, const std::optional<std::string>& text) {
        if (text) known.emplace(name, *text);
    };
    hpo::ExecutionPlan plan = job.plan;
    plan.micro_batch = plan.effective_micro_batch();
    hpo::each_plan_field([&]<class T>(const hpo::PlanField<T>& field) {
        if (field.effect != hpo::PlanEffect::training) return;
        const std::string name = "plan." + std::string{field.key};
        const T& value = plan.*field.member;
        if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) add(name, whole(value));
        else if constexpr (std::is_same_v<T, bool>) add(name, value ? "true" : "false");
        else if constexpr (std::is_same_v<T, std::string>) add(name, value);
        else add(name, std::string{to_text(value)});
    });
    add("plan.accumulation_steps", std::to_string(plan.accumulation_steps()));
    add("plan.device", hpo::worker::device_inside(plan.device));
    add("trial", std::to_string(job.trial));
    add("attempt", std::to_string(job.attempt));
    add("study", job.study);
    add("seed", std::to_string(job.seed));
    add("metric", job.metric);
    add("checkpoint_folder", job.checkpoint_folder);
    add("resume_step", whole(job.resume_step).value_or(""));
    return known;
}

std::string filled(std::string_view word, const Placeholders& known) {
    std::string text;
    const auto put = [&](std::string_view name) {
        const auto found = known.find(name);
        if (found == known.end()) {
            std::vector<std::string> names;
            for (const auto& each : known) names.push_back(each.first);
            throw hpo::unknown_name("command line: '" + std::string{word} + "'", "placeholder", name, names);
        }
        text += found->second;
    };
    each_part(
        word, [&](std::string_view piece) { text += piece; }, put);
    if (text.find('\0') != std::string::npos)
        throw hpo::bad_value("command line: '" + std::string{word} + "'", "a zero byte", "a text that an argument can hold");
    return text;
}

std::vector<std::string> names_in(const std::vector<std::string>& words) {
    std::vector<std::string> names;
    for (const std::string& word : words) {
        each_part(
            word, [](std::string_view) {},
            [&](std::string_view name) {
                if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
            });
    }
    return names;
}

std::string missing_file(const std::vector<std::string>& words) {
    auto word = words.begin();
    const auto program = [&] { return word == words.end() ? std::string{} : std::filesystem::path{*word}.filename().string(); };
    if (program() == "env") {
        do ++word;
        while (word != words.end() && !word->starts_with('-') && word->find('=') != std::string::npos);
    }
    const auto is_missing = [](const std::string& file) {
        std::error_code unknown;
        return file.find_first_of(" \t\n;") == std::string::npos && !std::filesystem::exists(file, unknown);
    };
    const auto names_file_of = [](const std::string& each, std::string_view extension) {
        return !each.starts_with('-') && each.ends_with(extension);
    };
    const std::string interpreter = program();
    if (interpreter == "torchrun" || interpreter == "deepspeed" || interpreter == "accelerate") {
        const auto is_module = [](const std::string& each) { return each == "-m" || each == "--module"; };
        const auto script = std::find_if(word, words.end(), [&](const std::string& each) { return names_file_of(each, ".py"); });
        return script == words.end() || std::any_of(word, script, is_module) || !is_missing(*script) ? std::string{} : *script;
    }
    static constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"python", ".py"}, {"bash", ".sh"}, {"sh", ".sh"},     {"dash", ".sh"},  {"zsh", ".sh"}, {"perl", ".pl"},
        {"ruby", ".rb"},   {"node", ".js"}, {"Rscript", ".R"}, {"julia", ".jl"}, {"lua", ".lua"}};
    for (const auto& [name, extension] : known) {
        const std::string_view rest = std::string_view{interpreter}.substr(std::min(name.size(), interpreter.size()));
        if (!interpreter.starts_with(name) || rest.find_first_not_of("0123456789.") != std::string_view::npos) continue;
        while (++word != words.end()) {
            const bool is_option = word->starts_with('-');
            // Behind -c, -lc, -e or -m stands code or a module, and - is the standard input.
            const bool names_no_file =
                *word == "-" || *word == "--" || (is_option && !word->starts_with("--") && word->find_first_of("cem") != std::string::npos);
            if (names_no_file) return {};
            if (!is_option) return names_file_of(*word, extension) && is_missing(*word) ? *word : std::string{};
        }
        return {};
    }
    return {};
}

}  // namespace hpo::command
