// SPDX-License-Identifier: MIT
#include "tune/prediction/same_program.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "hpo/base/error.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/study_attributes.hpp"
#include "tune/settings/stored_study.hpp"

namespace hpo::tune {
namespace {

/// True if the study's attribute is this JSON; an order of members and a way to write a number tell nothing.
bool has_attribute(const Study& study, const std::string& name, const std::string& json) {
    const auto kept = study.system_attributes.find(name);
    return kept != study.system_attributes.end() && store::parse_json(kept->second) == store::parse_json(json);
}

}  // namespace

SameProgram read_same_program(const Settings& settings, const TrainerInfo& info, const store::PatienceOptions& patience) {
    if (!info.peak_sources.empty() && !info.open_ended) return {};
    SameProgram found;
    try {
        store::Snapshot snapshot{settings.text("store"), patience};
        const std::vector<Study> studies = snapshot.studies();
        for (const Study& study : studies | std::views::reverse) {
            if (study.name == settings.text("study") || found.trials.size() >= SameProgram::most_trials) continue;
            if (!has_attribute(study, tools::trainer_attribute, json_quote(settings.description().trainer)) ||
                !has_attribute(study, tools::trainer_options_attribute, trainer_options_text(settings)))
                continue;
            std::vector<Trial> trials = snapshot.trials(study, {.reports = false});
            std::erase_if(trials, [](const Trial& trial) { return trial.attempts.empty() || !is_finished(trial.state); });
            const std::size_t room = SameProgram::most_trials - found.trials.size();
            if (trials.size() > room) trials.erase(trials.begin(), trials.end() - static_cast<std::ptrdiff_t>(room));
            if (trials.empty()) continue;
            found.trials.insert(found.trials.begin(), std::make_move_iterator(trials.begin()), std::make_move_iterator(trials.end()));
            found.studies.insert(found.studies.begin(), study.name);
        }
    } catch (const Error& error) {  // the run itself says what is wrong with its store
        if (error.code() == Errc::store_unavailable) throw;
        return {};
    }
    return found;
}

}  // namespace hpo::tune
