// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hpo/guard/admission.hpp"
#include "hpo/testing/contract_report.hpp"

namespace hpo::testing {

/// The rules for every memory guard. `make()` returns a new one each time.
template <std::invocable Make>
requires MemoryGuard<std::invoke_result_t<Make>>
[[nodiscard]] ContractReport guard_contract(const Make& make) {
    ContractReport report;
    Profile profile;
    profile.parameters = profile.trainable_parameters = 1'000'000;
    profile.weight_bytes = profile.gradient_bytes = 4'000'000;
    profile.optimizer_bytes = 8'000'000;
    profile.activation_fixed_bytes = 1'000;
    profile.activation_bytes_per_example = 3'000'000;
    const Profile nothing;
    struct Known {
        const Profile* profile = nullptr;
        const PeakPrediction* prediction = nullptr;
    };
    PeakPrediction prediction;
    prediction.need = 16'000'000;
    prediction.comfort = 17'000'000;
    prediction.parts = {{"weights", 4'000'000}, {"activations", 11'999'000}};
    prediction.uncertainty = 0.07;
    const PeakPrediction of_nothing;
    PeakPrediction absurd;
    absurd.need = absurd.comfort = std::numeric_limits<std::int64_t>::max();
    absurd.uncertainty = 1e9;
    const ParamSet params;
    const History history{};
    const auto same = [](const Estimate& a, const Estimate& b) {
        return a.need == b.need && a.comfort == b.comfort && a.parts == b.parts && a.source == b.source && a.confidence == b.confidence &&
               a.cap_bytes == b.cap_bytes;
    };
    using Bytes = std::optional<std::int64_t>;
    const auto within = [](const Bytes& need, const Bytes& bytes) { return !need || !bytes || *need <= *bytes; };
    try {
        auto guard = make();
        for (const Known known : std::vector<Known>{
                 {}, {&nothing}, {&profile}, {nullptr, &of_nothing}, {nullptr, &prediction}, {&profile, &prediction}, {nullptr, &absurd}}) {
            for (const Bytes capacity :
                 {Bytes{}, Bytes{0}, Bytes{1}, Bytes{100'000'000}, Bytes{std::numeric_limits<std::int64_t>::max()}}) {
                Bytes larger;  // the need at twice the micro-batch
                for (std::int64_t micro = std::int64_t{1} << 40; micro >= 1; micro /= 2) {
                    ExecutionPlan plan;
                    plan.effective_batch = std::int64_t{1} << 40;
                    plan.micro_batch = micro;
                    const MemoryQuery query{params, plan, known.profile, capacity, history, known.prediction};
                    const Estimate estimate = guard.estimate(query);
                    report.expect(!estimate.source.empty(), "an estimate names its source");
                    report.expect(!estimate.need || *estimate.need >= 0, "a need is not negative");
                    report.expect(!estimate.need || !estimate.comfort || *estimate.comfort >= *estimate.need,
                                  "what keeps the cache is at least what is required");
                    report.expect(estimate.confidence >= 0 && estimate.confidence <= 1, "a confidence is a probability");
                    report.expect(!estimate.cap_bytes || *estimate.cap_bytes > 0, "a cap is above 0");
                    std::int64_t sum = 0;
                    if (estimate.need && *estimate.need < std::int64_t{1} << 53) {
                        for (const EstimatePart& part : estimate.parts) sum += part.bytes;
                        report.expect(estimate.parts.empty() || sum == *estimate.need, "the parts add up to the need");
                    }
                    report.expect(!larger || !estimate.need || *estimate.need <= *larger, "a smaller micro-batch needs no more");
                    larger = estimate.need;
                    auto twin = make();
                    auto moved = std::move(twin);
                    report.expect(same(moved.estimate(query), estimate) && same(guard.estimate(query), estimate),
                                  "the same query gives the same estimate");
                }
                ExecutionPlan plan;
                plan.effective_batch = 1000;
                const Admission admission = admit(guard, {params, plan, known.profile, capacity, history, known.prediction});
                report.expect(admission.plan.effective_batch == 1000, "admission keeps the effective batch");
                report.expect((admission.answer == Admission::Answer::infeasible) == (admission.violation > 0),
                              "a refusal has a violation above 0");
                for (const std::int64_t left : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{50'000'000}}) {
                    MemoryReading device;
                    device.capacity = capacity;
                    device.free = left;
                    const MemoryQuery query{params, plan, known.profile, capacity, history, known.prediction, {}, true, &device};
                    const Bytes room = hpo::room(guard, query);
                    report.expect(!room || *room >= 0, "a room is not negative");
                    report.expect(hpo::room(make(), query) == room, "the same query gives the same room");
                    const Admission now = admit(guard, query);
                    report.expect(now.answer != Admission::Answer::infeasible || !within(now.estimate.need, capacity),
                                  "what others hold is no reason to refuse for good");
                    report.expect(now.answer == Admission::Answer::wait || now.answer == Admission::Answer::infeasible ||
                                      within(now.estimate.need, room),
                                  "what runs at once has room");
                }
                const ExecutionPlan bare;
                (void)guard.estimate({params, bare, known.profile, capacity, history, known.prediction});
            }
        }
    } catch (const std::exception& error) {
        report.expect(false, std::string{"no estimate throws: "} + error.what());
    }
    return report;
}

}  // namespace hpo::testing
