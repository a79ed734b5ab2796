// SPDX-License-Identifier: MIT
#include "tune/study_run/rehearsal.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/error.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/location.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/card/virtual_card.hpp"

namespace hpo::tune {

namespace {

using tools::Json;

bool ran_out_of_memory(const Attempt& attempt) { return attempt.failure && is_memory(attempt.failure->kind); }

/// How attempts overlapped.
struct Running {
    std::size_t most_at_once = 0;
    double empty_share = 0;
};
Running running_of(const std::vector<Trial>& trials) {
    std::map<double, int> changes;  // of the number of attempts that run, by seconds after the first
    std::optional<Time> first;
    for (const Trial& trial : trials) {
        for (const Attempt& each : trial.attempts) {
            if (each.started && (!first || *each.started < *first)) first = each.started;
        }
    }
    for (const Trial& trial : trials) {
        for (const Attempt& each : trial.attempts) {
            if (!each.started || !each.seconds) continue;
            const double begin = seconds_between(*first, *each.started);
            ++changes[begin];
            --changes[begin + *each.seconds];
        }
    }
    Running found;
    if (changes.empty()) return found;
    double before = changes.begin()->first;
    double empty = 0;
    int now = 0;
    for (const auto& [time, change] : changes) {
        if (now == 0) empty += time - before;
        before = time;
        now += change;
        found.most_at_once = std::max(found.most_at_once, static_cast<std::size_t>(std::max(now, 0)));
    }
    const double all = changes.rbegin()->first - changes.begin()->first;
    found.empty_share = all > 0 ? empty / all : 0;
    return found;
}

std::optional<std::int64_t> micro_batch(const Attempt& attempt) { return attempt.plan.effective_micro_batch(); }

/// "trial 3: micro-batch 32 of a batch of 128"
std::string shrunk_text(const Trial& trial) {
    std::string text = "trial " + std::to_string(trial.number);
    const auto from = trial.attempts.front().plan.effective_batch;
    const auto to = micro_batch(trial.attempts.back());
    if (from && to) text += ": micro-batch " + std::to_string(*to) + " of a batch of " + std::to_string(*from);
    return text;
}

std::string numbers_text(const std::vector<const Trial*>& trials) {
    std::string text;
    for (std::size_t i = 0; i < trials.size() && i < 20; ++i) text += (i == 0 ? "" : ", ") + std::to_string(trials[i]->number);
    return text + (trials.size() > 20 ? ", ..." : "");
}

Json numbers(const std::vector<const Trial*>& trials) {
    Json list = Json::array();
    for (const Trial* each : trials) list.push_back(each->number);
    return list;
}

}  // namespace

Rehearsal rehearsal_of(const TuneResult& result) {
    Rehearsal found;
    for (const Trial& trial : result.trials) {
        if (!is_finished(trial.state) || analysis::is_interrupted(trial)) continue;
        found.out_of_memory += static_cast<std::size_t>(std::ranges::count_if(trial.attempts, ran_out_of_memory));
        const bool fitted = !trial.attempts.empty() && !ran_out_of_memory(trial.attempts.back());
        if (trial.state == TrialState::fail || !fitted) {
            (fitted ? found.otherwise : found.refused).push_back(&trial);
            continue;
        }
        if (!trial.attempts.empty() && trial.attempts.back().plan.accumulation_steps() > 1) found.shrunk.push_back(&trial);
        else if (std::ranges::any_of(trial.attempts, ran_out_of_memory)) found.again.push_back(&trial);
        else found.at_once.push_back(&trial);
    }
    const Running running = running_of(result.trials);
    found.most_at_once = running.most_at_once;
    found.empty_share = running.empty_share;
    return found;
}

void print_rehearsal(const TuneResult& result, bool as_json) {
    const Rehearsal found = rehearsal_of(result);
    const std::size_t all = found.at_once.size() + found.shrunk.size() + found.again.size() + found.refused.size() + found.otherwise.size();
    if (as_json) {
        tools::print(Json{{"study", result.study.name},
                          {"trials", all},
                          {"fit_at_once", numbers(found.at_once)},
                          {"fit_shrunk", numbers(found.shrunk)},
                          {"fit_when_run_again", numbers(found.again)},
                          {"do_not_fit", numbers(found.refused)},
                          {"ended_otherwise", numbers(found.otherwise)},
                          {"attempts_out_of_memory", found.out_of_memory},
                          {"most_at_once", found.most_at_once},
                          {"empty_share_of_rehearsal", found.empty_share}});
        return;
    }
    const tools::Page page = tools::Page::standard_output();
    page.paragraph("rehearsal of study " + result.study.name + ": " + tools::counted(all, "trial") +
                   " on a card that is not there. The memory is LibTorch's, the values mean nothing");
    const auto row = [&](const std::string& what, const std::vector<const Trial*>& trials) {
        if (!trials.empty()) page.paragraph("  " + what + std::to_string(trials.size()) + ": " + numbers_text(trials), 4);
    };
    row("fit at once        ", found.at_once);
    row("fit when shrunk    ", found.shrunk);
    for (std::size_t i = 0; i < found.shrunk.size() && i < 5; ++i) page.line("                       " + shrunk_text(*found.shrunk[i]));
    row("fit when run again ", found.again);
    row("do not fit         ", found.refused);
    row("ended otherwise    ", found.otherwise);
    page.line("  attempts that ran out of memory: " + std::to_string(found.out_of_memory));
    page.line("  trials at the same time, at most: " + std::to_string(found.most_at_once));
    page.paragraph("  the device was empty " + tools::percent(found.empty_share) +
                       " of the time. Kernels take no time here; on a card the share is smaller",
                   4);
}

void refuse_training_on_virtual_card(const std::string& place) {
    throw Error{Errc::usage, place + "nothing is trained on a card that is not there; with --rehearse, run shows what its memory would do"};
}

void require_real_card_or_rehearsal(bool rehearse) {
    if (rehearse == is_on_virtual_card()) return;
    if (rehearse) throw Error{Errc::usage, "--rehearse: needs a card that is not there: --card NAME"};
    refuse_training_on_virtual_card("");
}

RehearsalStore::RehearsalStore(StudyArguments& arguments) {
    const auto given = arguments.words.find("store");
    if (given == arguments.words.end()) {
        arguments.words["store"] = (folder_.path() / "rehearsal.db").string();
        return;
    }
    if (std::filesystem::exists(store::file_of(given->second)))
        throw Error{Errc::usage,
                    "--store: " + given->second + " is there already; a rehearsal's values are made up, so it needs a store of its own"};
}

}  // namespace hpo::tune
