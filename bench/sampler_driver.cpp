// SPDX-License-Identifier: MIT
// Runs one sampler and asks its caller for the values, in lines of text. sampler_comparison.py is such a caller.
//   sampler_driver SAMPLER SEED     SAMPLER as --sampler has it
//
// The caller first describes the problem, and ends it with an empty line: the number of objectives, which are minimised, then the
// parameters.
//   float NAME LOW HIGH [log]       int NAME LOW HIGH [log]       categorical NAME COUNT     its choices are 0 to COUNT - 1
// A parameter that ends in `if NAME = INDEX` exists only where that categorical parameter, of a line above, has that choice.
//
// Each trial is a line `NAME=VALUE ...` from here, and then a line from the caller: the values, after a `constraint V` for each constraint,
// if there are any. V > 0 is a violation. The caller ends the input when it has enough. The last line is `# seconds S last L`: the
// processor time of all suggestions that were answered, and the mean of the last ten of them.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/registry/builtins.hpp"
#include "hpo/registry/policy_config.hpp"
#include "hpo/sampler/suggest.hpp"

namespace {

struct Parameter {
    std::string name;
    hpo::Distribution distribution;
    std::string only_if;  ///< the name of a categorical parameter; empty: it exists in each trial
    double choice = 0;    ///< the index that `only_if` has then
};

struct Problem {
    std::size_t objectives = 1;
    std::vector<Parameter> parameters;
};

/// Reads lines and counts them, so that a message says where the input is wrong.
class Lines {
public:
    /// The words of the next line; nullopt at the end of the input.
    std::optional<std::vector<std::string>> next() {
        if (!std::getline(std::cin, line_)) return std::nullopt;
        ++number_;
        std::istringstream text{line_};
        std::vector<std::string> words;
        for (std::string word; text >> word;) words.push_back(word);
        return words;
    }
    [[noreturn]] void refuse(const std::string& expected) const {
        throw hpo::bad_value("line " + std::to_string(number_) + " of the input", "'" + line_ + "'", expected);
    }
    template <class Number>
    [[nodiscard]] Number number(const std::string& word, const char* expected) const {
        Number value{};
        const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (status != std::errc{} || end != word.data() + word.size() || value != value) refuse(expected);
        return value;
    }

private:
    std::string line_;
    int number_ = 0;
};

hpo::Distribution read_distribution(const Lines& lines, const std::vector<std::string>& words) {
    constexpr const char* expected =
        "float NAME LOW HIGH [log], int NAME LOW HIGH [log] or categorical NAME COUNT, then perhaps if NAME = INDEX";
    const bool log = words.size() == 5 && words[4] == "log";
    const bool is_range = words.size() == 4 || log;
    if (words.at(0) == "float" && is_range)
        return hpo::FloatDistribution{lines.number<double>(words[2], expected), lines.number<double>(words[3], expected), log};
    if (words.at(0) == "int" && is_range)
        return hpo::IntDistribution{lines.number<std::int64_t>(words[2], expected), lines.number<std::int64_t>(words[3], expected), log};
    if (words.at(0) != "categorical" || words.size() != 3) lines.refuse(expected);
    const auto count = lines.number<std::uint16_t>(words[2], expected);
    hpo::CategoricalDistribution distribution;
    for (std::int64_t i = 0; i < count; ++i) distribution.choices.emplace_back(i);
    return distribution;
}

Parameter read_parameter(const Lines& lines, std::vector<std::string> words, const std::vector<Parameter>& above) {
    Parameter parameter;
    if (words.size() > 4 && words[words.size() - 4] == "if") {
        parameter.only_if = words[words.size() - 3];
        parameter.choice = lines.number<std::uint16_t>(words.back(), "a choice's index after if NAME =");
        const auto asked = std::ranges::find(above, parameter.only_if, &Parameter::name);
        const bool is_known = asked != above.end() && std::holds_alternative<hpo::CategoricalDistribution>(asked->distribution);
        if (!is_known || !hpo::contains(asked->distribution, parameter.choice) || words[words.size() - 2] != "=")
            lines.refuse("if NAME = INDEX with a categorical parameter of a line above and one of its choices");
        words.resize(words.size() - 4);
    }
    const hpo::Distribution distribution = read_distribution(lines, words);
    parameter.name = words[1];
    parameter.distribution = hpo::checked("parameter '" + parameter.name + "'", distribution);
    if (std::ranges::find(above, parameter.name, &Parameter::name) != above.end()) lines.refuse("each name once");
    return parameter;
}

Problem read_problem(Lines& lines) {
    constexpr const char* count = "the number of objectives, from 1";
    const auto first = lines.next();
    if (!first || first->size() != 1) lines.refuse(count);
    Problem problem{.objectives = lines.number<std::uint8_t>(first->front(), count), .parameters = {}};
    if (problem.objectives == 0) lines.refuse(count);
    for (auto words = lines.next();; words = lines.next()) {
        if (!words) lines.refuse("an empty line after the parameters");
        if (words->empty()) return problem;
        problem.parameters.push_back(read_parameter(lines, *words, problem.parameters));
    }
}

void draw(const Problem& problem, hpo::SpaceTrial& trial) {
    for (const Parameter& parameter : problem.parameters) {
        const hpo::Param* const asked = trial.params().find(parameter.only_if);
        const bool exists = parameter.only_if.empty() || (asked && asked->internal == parameter.choice);
        if (exists) trial.draw(parameter.name, parameter.distribution, {});
    }
}

/// Adds what the caller answered. Returns false at the end of the input.
bool read_result(Lines& lines, std::size_t objectives, hpo::Trial& trial) {
    const auto words = lines.next();
    if (!words) return false;
    const std::string expected = std::to_string(objectives) + " values, perhaps after constraint V for each constraint";
    std::span<const std::string> rest{*words};
    for (; rest.size() >= 2 && rest[0] == "constraint"; rest = rest.subspan(2))
        trial.constraints["c" + std::to_string(trial.constraints.size())] = lines.number<double>(rest[1], expected.c_str());
    if (rest.size() != objectives) lines.refuse(expected);
    for (const std::string& word : rest) trial.values.push_back(lines.number<double>(word, expected.c_str()));
    trial.state = hpo::TrialState::complete;
    return true;
}

void print(const hpo::ParamSet& params) {
    const char* separator = "";
    for (const hpo::Param& param : params) {
        std::printf("%s%s=%.17g", separator, param.name.c_str(), param.internal);
        separator = " ";
    }
    std::printf("\n");
    std::fflush(stdout);
}

void run(const std::string& spec, hpo::Seed seed) {
    auto sampler = hpo::registry::builtin_registries().samplers.make("SAMPLER", hpo::registry::parse_policy_spec("SAMPLER", spec));
    Lines lines;
    const Problem problem = read_problem(lines);
    const hpo::Space space = [&](hpo::SpaceTrial& trial) { draw(problem, trial); };
    const std::vector<hpo::Direction> directions(problem.objectives, hpo::Direction::minimize);
    std::vector<hpo::Trial> finished;
    std::vector<double> seconds;
    while (true) {
        hpo::Trial trial;
        trial.number = static_cast<std::int64_t>(finished.size());
        const std::clock_t start = std::clock();
        trial.params = hpo::suggest_params(sampler, space, {trial.number, {"comparison", directions, finished, {}}}, seed);
        const std::clock_t end = std::clock();
        print(trial.params);
        if (!read_result(lines, problem.objectives, trial)) break;
        seconds.push_back(static_cast<double>(end - start) / CLOCKS_PER_SEC);
        finished.push_back(std::move(trial));
    }
    const auto last = std::min<std::ptrdiff_t>(10, std::ssize(seconds));
    const double sum_of_last = std::accumulate(seconds.end() - last, seconds.end(), 0.0);
    std::printf("# seconds %.6f last %.9f\n", std::accumulate(seconds.begin(), seconds.end(), 0.0),
                sum_of_last / static_cast<double>(std::max<std::ptrdiff_t>(1, last)));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments{argv + 1, argv + argc};
    try {
        if (arguments.size() != 2) throw hpo::bad_value("arguments", std::to_string(arguments.size()), "two: SAMPLER SEED");
        std::uint64_t seed = 0;
        const std::string& text = arguments[1];
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seed);
        if (status != std::errc{} || end != text.data() + text.size())
            throw hpo::bad_value("SEED", "'" + text + "'", "a whole number from 0");
        run(arguments[0], hpo::Seed{seed});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sampler_driver: error: %s\n", error.what());
        return 2;
    }
}
