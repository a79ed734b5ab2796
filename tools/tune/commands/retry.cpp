// SPDX-License-Identifier: MIT
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "hpo/base/duration.hpp"
#include "hpo/base/error.hpp"
#include "hpo/store/location.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/retry/retried_trials.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

struct RetryOptions {
    std::string study;
    std::string store = "hpo.db";
    std::string older_than;
    RetryRequest request{};
    bool as_json = false;
};

Json running_json(const std::vector<RunningTrial>& trials, Time at) {
    Json list = Json::array();
    for (const RunningTrial& trial : trials)
        list.push_back({{"trial", trial.number}, {"last_sign", tools::time_or_null(trial.last_sign())}, {"reason", trial.reason(at)}});
    return list;
}

void print_retry_json(const RetryResult& result, const std::string& file, bool dry_run) {
    const Time at = now();
    Json retried = Json::array();
    for (const RetriedTrial& trial : result.retried)
        retried.push_back({{"trial", trial.failed.number}, {"retry", trial.number}, {"params", tools::to_json(trial.failed.params)}});
    tools::print({{"store", file},
                  {"study", result.study},
                  {"dry_run", dry_run},
                  {"ended", running_json(result.ended, at)},
                  {"running", running_json(result.running, at)},
                  {"could_end", running_json(result.could_end, at)},
                  {"not_known", running_json(result.not_known, at)},
                  {"retried", retried},
                  {"retried_before", result.retried_before},
                  {"without_params", result.without_params}});
}

std::string trials_text(const std::vector<std::int64_t>& trials) {
    std::vector<std::string> texts;
    for (const std::int64_t number : trials) texts.push_back(std::to_string(number));
    return (trials.size() == 1 ? "trial " : "trials ") + join_names(texts);
}

void print_retry_text(const RetryResult& result, const std::string& file, bool dry_run) {
    const Time at = now();
    const auto line = [](std::string_view text) { std::cout << tools::one_line(text, text.size()) << "\n"; };
    const std::string would = dry_run ? "would be " : "";
    line("study " + result.study + " of " + file);
    for (const RunningTrial& trial : result.ended)
        line("  trial " + std::to_string(trial.number) + ": " + (dry_run ? "would become FAIL: " : "is FAIL now: ") + trial.reason(at));
    for (const RunningTrial& trial : result.running)
        line("  trial " + std::to_string(trial.number) + ": stays RUNNING: " + trial.reason(at));
    for (const RunningTrial& trial : result.could_end)
        line("  trial " + std::to_string(trial.number) + ": stays RUNNING: " + trial.reason(at) + "; --stale ends it");
    for (const RunningTrial& trial : result.not_known)
        line("  trial " + std::to_string(trial.number) + ": stays RUNNING, because nothing tells whether it runs: " + trial.reason(at));
    for (const RetriedTrial& trial : result.retried) {
        const auto& failed = trial.failed;
        line("  trial " + std::to_string(failed.number) + ": " + would + "enqueued again as trial " + std::to_string(trial.number) +
             (failed.params.empty() ? std::string{} : ": " + tools::params_text(failed.params)));
    }
    if (!result.retried_before.empty()) line("  retried before: " + trials_text(result.retried_before));
    if (!result.without_params.empty())
        line("  failed before they had parameters, and are left out: " + trials_text(result.without_params));
    line(would + "ended: " + std::to_string(result.ended.size()) + ", " + would + "enqueued: " + std::to_string(result.retried.size()));
    if (!result.not_known.empty())
        line("--stale --older-than 2h ends trials without a sign of life for 2 hours; be sure that none of them runs");
}

}  // namespace

void add_retry(tools::CommandLine& line) {
    auto* command = line.add("retry", "End trials that a killed process left RUNNING, and let failed trials run again");
    auto options = std::make_shared<RetryOptions>();
    command->add_option("study", options->study, "the study; not needed if the store has only one");
    command->add_option("--store", options->store, "path or sqlite:/// address of a store of hpo's or of Optuna's")->capture_default_str();
    command->add_flag("--stale", options->request.stale, "RUNNING trials that surely run no more become FAIL");
    command->add_flag("--failed", options->request.failed, "add a waiting trial with the same parameters for each failed one, once");
    command->add_option("--older-than", options->older_than,
                        "with --stale: also trials without a sign of life for so long (2h), where no process tells whether they run");
    command->add_flag("--dry-run", options->request.dry_run, "change nothing, and print what would be done");
    command->add_flag("--json", options->as_json, "print JSON");
    command->footer(
        "Without --stale and --failed, nothing is changed: what both would do is printed.\n"
        "A trial of hpo's on this machine runs no more if its process is gone. A trial of Optuna's names no process, and one of\n"
        "another machine cannot be looked at: such trials end only with --older-than. The last sign of life is a heartbeat, or\n"
        "the trial's beginning if it has none.\n"
        "Waiting trials run when the study goes on: with hpo-tune run, which counts failed trials (so ask for more --trials), or\n"
        "with study.optimize of Optuna.\n" +
        std::string{exit_codes});
    line.on(command, [options] {
        RetryRequest& request = options->request;
        if (!options->older_than.empty()) {
            request.older_than_seconds = parse_duration_seconds(options->older_than);
            if (!request.older_than_seconds || !(*request.older_than_seconds >= 0))
                throw bad_value("--older-than", "'" + options->older_than + "'", "a duration such as 45s, 90min, 2h");
            if (request.failed && !request.stale)
                throw Error{Errc::usage, "--older-than: says which RUNNING trials are over, so it needs --stale"};
        }
        const bool only_tells = !request.stale && !request.failed;
        if (only_tells) request.stale = request.failed = request.dry_run = true;
        const std::string file = store::file_of(options->store);
        const RetryResult result = retry_trials(file, options->study, request);
        if (options->as_json) {
            print_retry_json(result, file, request.dry_run);
            return 0;
        }
        print_retry_text(result, file, request.dry_run);
        if (only_tells) std::cout << "nothing was changed; --stale, --failed or both do it\n";
        return 0;
    });
}

}  // namespace hpo::tune
