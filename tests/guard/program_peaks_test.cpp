// SPDX-License-Identifier: MIT
// What LearnedPeaks knows of a real program after so many runs.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hpo/base/normal_quantile.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "recorded_programs.hpp"
#include "support/catch.hpp"

namespace {

using hpo::tests::RecordedRun;

struct Quality {
    double median_error = 0, ninetieth_error = 0, bound_holds = 0, median_room = 0;
};

Quality quality_after(std::size_t seen, std::vector<RecordedRun> runs) {
    std::vector<double> errors, rooms;
    double holds = 0;
    for (unsigned round = 1; round <= 12; ++round) {
        std::mt19937 random{round};
        for (std::size_t i = runs.size(); i-- > 1;) std::swap(runs[i], runs[random() % (i + 1)]);
        std::vector<hpo::Trial> trials(seen);
        for (std::size_t i = 0; i < seen; ++i) {
            trials[i].params = runs[i].params;
            hpo::Attempt& attempt = trials[i].attempts.emplace_back();
            attempt.device_name = "cpu";
            attempt.outcome = hpo::OutcomeKind::complete;
            attempt.peak_reserved = static_cast<std::int64_t>(runs[i].bytes);
        }
        const hpo::History history{"s", {}, trials, {}};
        hpo::guard::LearnedPeaks learned;
        for (std::size_t i = runs.size() - 40; i < runs.size(); ++i) {
            const hpo::ExecutionPlan plan;
            const auto answer = learned.ask({.params = runs[i].params, .plan = plan, .history = history, .runs_on = {"cpu", {}}});
            const double truth = std::log(runs[i].bytes);
            const double bound = answer.log_bytes.mean + hpo::normal_quantile(0.99) * std::sqrt(answer.log_bytes.variance);
            errors.push_back(std::abs(std::exp(answer.log_bytes.mean - truth) - 1));
            rooms.push_back(std::exp(bound - truth));
            holds += bound >= truth ? 1 : 0;
        }
    }
    std::sort(errors.begin(), errors.end());
    std::sort(rooms.begin(), rooms.end());
    return {errors[errors.size() / 2], errors[errors.size() * 9 / 10], holds / static_cast<double>(errors.size()), rooms[rooms.size() / 2]};
}

}  // namespace

TEST_CASE("after 20 runs of a real program its peaks are known to a tenth in the median, and after 80 to a few per cent") {
    const auto runs = hpo::tests::recorded_runs("networks");
    REQUIRE(runs.size() == 160);
    struct Bar {
        std::size_t seen;
        double median_error, ninetieth_error, bound_holds, median_room;
    };
    for (const Bar& bar :
         {Bar{10, 0.15, 0.6, 0.93, 1.9}, Bar{20, 0.1, 0.45, 0.94, 2.1}, Bar{40, 0.06, 0.25, 0.96, 1.55}, Bar{80, 0.04, 0.15, 0.97, 1.3}}) {
        const Quality found = quality_after(bar.seen, runs);
        INFO(bar.seen << " runs: error " << found.median_error << ", 90 % " << found.ninetieth_error << "; the bound holds for "
                      << found.bound_holds << " and is " << found.median_room << " times the truth");
        CHECK(found.median_error < bar.median_error);
        CHECK(found.ninetieth_error < bar.ninetieth_error);
        CHECK(found.bound_holds > bar.bound_holds);
        CHECK(found.median_room < bar.median_room);
    }
}
