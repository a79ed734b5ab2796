// SPDX-License-Identifier: MIT
#include "analysis/failure_cases/larger_trials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "analysis/failure_cases/shared_processes.hpp"
#include "analysis/memory_need/evenly_spaced.hpp"
#include "analysis/memory_need/memory_axis.hpp"
#include "analysis/memory_need/param_names.hpp"
#include "hpo/analysis/failure_cases/attribute_value.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"

namespace hpo::analysis::detail {

namespace {

/// A text that is the same for equal parameters in any order. Seeds do not count.
[[nodiscard]] std::string configuration_key(const ParamSet& params) {
    std::vector<std::string> parts;
    for (const Param& param : params) {
        if (!is_seed(param.name)) parts.push_back(json_quote(param.name) + json_text(param.value()));
    }
    std::ranges::sort(parts);
    std::string key;
    for (const std::string& part : parts) key += part + ",";
    return key;
}

/// True for shares of the work that is left out: the larger, the less memory is needed. Paths and blocks that are dropped are masked, which
/// saves nothing.
[[nodiscard]] bool skips_work(std::string_view name) {
    const std::string lower = hpo::detail::lower_case(name);
    if (hpo::detail::mentions_any(lower, {"path", "stochastic_depth", "block"})) return false;
    return hpo::detail::mentions_any(lower, {"drop"}) &&
           hpo::detail::mentions_any(lower, {"layer", "token", "patch", "sample", "edge", "node"});
}

/// Which worker or host ran a trial, as far as its attributes say. Processes of one host share its devices.
[[nodiscard]] std::string machine_of(const Trial& trial) {
    std::string who;
    for (const std::string_view name : {"hostname", "host", "worker", "worker_id", "device", "gpu", "gpu_id"}) {
        const std::string_view json = attribute_json(trial.user_attributes, name);
        who += std::string{json.substr(0, json.find(':'))} + ";";  // behind a colon stands the process
    }
    return who;
}

/// True if the last attempt of a trial ran, and had no more of the same device than another attempt.
[[nodiscard]] bool had_as_little(const Trial& trial, const Attempt& other) {
    if (trial.attempts.empty()) return false;
    const Attempt& ran = trial.attempts.back();
    if (ran.failure || ran.device_name != other.device_name || ran.capacity_bytes.has_value() != other.capacity_bytes.has_value())
        return false;
    return !ran.capacity_bytes || *ran.capacity_bytes <= *other.capacity_bytes;
}

/// True if the messages tell of capacities that are not one.
[[nodiscard]] bool on_several_devices(std::span<const FailureCase> cases) {
    std::set<std::int64_t> capacities;
    for (const FailureCase& entry : cases) {
        if (const auto capacity = entry.failure.memory.capacity) capacities.insert(*capacity);
    }
    return !capacities.empty() && *capacities.begin() * 51 < *capacities.rbegin() * 50;
}

[[nodiscard]] std::vector<Example> without_failures(std::vector<Example> examples) {
    std::erase_if(examples, [](const Example& example) { return example.positive; });
    return examples;
}

}  // namespace

std::string LargerTrials::Witness::text() const {
    return "trial " + std::to_string(trial->number) + " ran to its end with " +
           (is_equal ? "the same parameters" : "at least as much of everything that memory depends on");
}

LargerTrials::LargerTrials(std::span<const Trial> trials, std::span<const FailureCase> cases)
    : LargerTrials{trials, cases, memory_examples(trials, cases)} {}

LargerTrials::LargerTrials(std::span<const Trial> trials, std::span<const FailureCase> cases, const std::vector<Example>& examples)
    : several_devices_{on_several_devices(cases)}, order_{trials, MemoryModel{without_failures(examples)}} {
    const MemoryModel with_failures{examples};
    for (const MemoryAxis& axis : order_.axes()) {
        const bool doubtful = !is_plain_size(axis.param) && with_failures.speaks_against_growth(axis.param);
        const bool by_name = axis.kind != MemoryAxis::Kind::number || (axis.direction == direction_by_name(axis.param) && !doubtful);
        comparisons_.push_back({by_name, skips_work(axis.param)});
    }
    std::set<const Trial*> failed;
    for (const FailureCase& entry : cases) failed.insert(entry.trial);
    constexpr std::size_t most = 2000;  // so that many failures do not take too long
    std::vector<const Trial*> complete;
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::complete && ran_well(trial) && !trial.params.empty() && !failed.contains(&trial))
            complete.push_back(&trial);
    }
    for (const Trial* trial : complete) equal_.emplace(configuration_key(trial->params), trial);
    for (const Trial* trial : evenly_spaced<const Trial*>(complete, most)) {
        const Attempt* last = last_attempt(*trial);
        ran_.push_back({trial, order_.point_of(trial->params, last ? &last->plan : nullptr)});
    }
}

std::optional<LargerTrials::Witness> LargerTrials::witness(const FailureCase& entry) {
    const auto proves = [&](const Trial& other) {
        if (entry.attempt && !had_as_little(other, *entry.attempt)) return false;
        const auto peak = peak_of(other);
        const auto capacity = entry.failure.memory.capacity;
        return !(peak && capacity && static_cast<double>(*peak) > 0.93 * static_cast<double>(*capacity));
    };
    const auto equal = entry.attempt ? equal_.end() : equal_.find(configuration_key(entry.trial->params));
    if (equal != equal_.end()) {
        if (!proves(*equal->second)) return std::nullopt;
        return Witness{equal->second, true};
    }
    const std::string machine = machine_of(*entry.trial);
    const Trial* larger = find(entry, [&](const Trial& other) { return machine_of(other) == machine && proves(other); });
    return larger ? std::optional{Witness{larger, false}} : std::nullopt;
}

bool LargerTrials::any_of(const FailureCase& entry, const std::function<bool(const Trial&)>& is_one) {
    return find(entry, is_one) != nullptr;
}

const Trial* LargerTrials::find(const FailureCase& entry, const std::function<bool(const Trial&)>& is_one) {
    if (several_devices_ || order_.axes().empty()) return nullptr;
    const auto failed = order_.point_of(entry.params(), entry.attempt ? &entry.attempt->plan : nullptr);
    const auto found = std::ranges::find_if(ran_, [&](const Ran& other) { return at_least(other, entry, failed) && is_one(*other.trial); });
    return found == ran_.end() ? nullptr : found->trial;
}

bool LargerTrials::at_least(const Ran& ran, const FailureCase& entry, const MemoryOrder::Point& failed) const {
    for (std::size_t i = 0; i < failed.size(); ++i) {
        const std::string& param = order_.axes()[i].param;
        const double more = ran.point[i];
        const bool is_equal = more == failed[i] || (std::isnan(more) && std::isnan(failed[i]));
        if (comparisons_[i].by_name ? !order_.at_least(i, ran.point, failed) : !is_equal) return false;
        if (comparisons_[i].skips_work && ran.trial->params.number(param) > entry.trial->params.number(param)) return false;
    }
    return true;
}

}  // namespace hpo::analysis::detail
