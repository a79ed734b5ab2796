// SPDX-License-Identifier: MIT
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "hpo/space/count.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/display/text.hpp"
#include "tune/prediction/guarded.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

/// 1234567 as "1 234 567".
std::string grouped(std::uint64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, " ");
    return text;
}

struct SpaceOptions {
    std::string by;
    bool json = false;
};

/// ", 14 % of the space": the share of refused combinations, where they are counted or estimated.
std::string refused_share(const SpaceCount& count) {
    if (count.refused_is == RefusedCount::at_least) return {};
    const double all = static_cast<double>(count.refused) + static_cast<double>(count.combinations);
    return ", " + tools::percent(static_cast<double>(count.refused) / all) + " of the space";
}

/// "about ", where the number is no count.
std::string certainty(RefusedCount known) {
    switch (known) {
        case RefusedCount::exact: return "";
        case RefusedCount::at_least: return "at least ";
        case RefusedCount::estimate: return "about ";
    }
    return "";
}

const char* certainty_word(RefusedCount known) {
    switch (known) {
        case RefusedCount::exact: return "exact";
        case RefusedCount::at_least: return "at_least";
        case RefusedCount::estimate: return "estimate";
    }
    return "";
}

Json to_json(const CountBranch& branch) {
    return {{"value", tools::to_json(branch.value)}, {"combinations", branch.combinations}, {"refused", branch.refused}};
}

Json to_json(const GuardedCount& guarded) {
    const bool is_counted = !guarded.keeps_all && guarded.problem.empty();
    const auto known = [&](std::uint64_t figure) { return is_counted ? Json(figure) : Json(nullptr); };
    return {{"policy", guarded.guard},
            {"capacity_bytes", tools::or_null(guarded.capacity_bytes)},
            {"keeps_all", guarded.keeps_all},
            {"of", known(guarded.looked_at)},
            {"random_draws", guarded.sampled},
            {"kept", known(guarded.kept())},
            {"smaller_micro_batch", known(guarded.shrunk)},
            {"refused", known(guarded.refused)},
            {"unpredicted", known(guarded.unpredicted)},
            {"problem", tools::text_or_null(guarded.problem)}};
}

void print_json(const Settings& settings, const SpaceCount& count, const GuardedCount& guarded) {
    Json branches = Json::array();
    for (const CountBranch& branch : count.branches) branches.push_back(to_json(branch));
    tools::print({{"study", settings.description().name},
                  {"combinations", count.combinations},
                  {"exact", count.exact},
                  {"refused", count.refused},
                  {"refused_is", certainty_word(count.refused_is)},
                  {"fixed", tools::named_values(settings.fixed())},
                  {"continuous", count.continuous},
                  {"branches_by", tools::text_or_null(count.branches_by)},
                  {"branches", std::move(branches)},
                  {"guard", to_json(guarded)}});
}

int space(const StudyArguments& arguments, const SpaceOptions& options) {
    Settings settings{arguments};
    static_cast<void>(settings.plan());  // it is wrong or right whichever guard is asked
    const SpaceCount count = count_space(settings, options.by);
    const FixedValues fixed = settings.fixed();
    if (!fixed.empty()) {
        const auto proposals = draw_proposals(settings);
        for (const std::string& name : never_asked(settings, proposals)) {
            std::cerr << "hpo-tune: note: fixed parameter '" << name << "': the space has not asked for it in " << proposals.size()
                      << " proposals\n";
        }
    }
    const GuardedCount guarded = count_guarded(settings, count);
    if (options.json) {
        print_json(settings, count, guarded);
        return 0;
    }
    if (!count.branches.empty()) {
        std::vector<std::vector<std::string>> rows;
        for (const CountBranch& branch : count.branches) {
            rows.push_back({display_text(branch.value), grouped(branch.combinations), branch.refused > 0 ? grouped(branch.refused) : ""});
        }
        std::cout << table({count.branches_by, "combinations", count.refused > 0 ? "refused" : ""}, rows) << "\n";
    }
    std::cout << (count.exact ? "" : "at least ") << grouped(count.combinations)
              << (count.combinations == 1 ? " combination in all" : " combinations in all");
    if (count.refused > 0)
        std::cout << "; require refuses " << certainty(count.refused_is) << grouped(count.refused) << " others" << refused_share(count);
    std::cout << "\n";
    for (const auto& [name, value] : fixed) std::cout << "fixed: " << name << " = " << display_text(value) << "\n";
    if (!count.continuous.empty()) std::cout << "continuous, not counted: " << join_names(count.continuous) << "\n";
    std::cout << guarded.text() << "\n";
    return 0;
}

}  // namespace

void add_space(tools::CommandLine& line) {
    auto* command =
        line.add("space", "Count the combinations of a study's space, per branch and in all, and those that its memory guard keeps");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<SpaceOptions>();
    add_study_arguments(command, arguments, {"guard", "device", "device-memory"});
    command->add_option("--by", options->by, "the categorical parameter to list by (default: the first that branches)")->type_name("NAME");
    command->add_flag("--json", options->json, "as JSON");
    line.on(command, [arguments, options] { return space(*arguments, *options); });
}

}  // namespace hpo::tune
