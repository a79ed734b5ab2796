// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

namespace hpo {

// TuneOptions::seeds gives a configuration several trials that differ in their seed alone. Two system attributes say so.

/// Of the first trial of a configuration: how many trials it is to have.
inline constexpr std::string_view seeds_attribute = "hpo:seeds";
/// Of the others: the number of the first.
inline constexpr std::string_view repeats_attribute = "hpo:repeats";

namespace detail {

[[nodiscard]] inline std::optional<std::int64_t> whole_attribute(const Trial& trial, std::string_view name) {
    const auto found = trial.system_attributes.find(name);
    if (found == trial.system_attributes.end()) return std::nullopt;
    const std::string_view text = found->second;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{number} : std::nullopt;
}

}  // namespace detail

/// The number of the trial whose configuration this one repeats with another seed. Nullopt for most trials.
[[nodiscard]] inline std::optional<std::int64_t> repeated_trial(const Trial& trial) {
    return detail::whole_attribute(trial, repeats_attribute);
}
/// How many trials the configuration of a complete trial is to have. 1 for most, and for one that turned out to be infeasible.
[[nodiscard]] inline std::int64_t seeds_of(const Trial& trial) {
    if (!trial.feasible()) return 1;
    return std::max<std::int64_t>(1, detail::whole_attribute(trial, seeds_attribute).value_or(1));
}

/// The trials of one configuration, which differ in their seed alone.
class SeedTrials {
public:
    /// Takes a trial that counts as done (counts_as_done): first that which the others repeat.
    void take(const Trial& trial) {
        if (numbers_.empty()) wanted_ = seeds_of(trial);
        numbers_.push_back(trial.number);
        for (const auto& [name, value] : trial.constraints) {
            const auto known = constraints_.find(name);
            if (known == constraints_.end() || std::isnan(value) || value > known->second) constraints_[name] = value;
        }
        if (trial.state == TrialState::complete) values_.push_back(trial.values);
        if (trial.completed && (!completed_ || *completed_ < *trial.completed)) completed_ = trial.completed;
    }

    /// True once no further trial of it is wanted.
    [[nodiscard]] bool is_whole() const noexcept { return std::ssize(numbers_) >= wanted_; }
    /// The values of the complete ones, each with one number for each objective.
    [[nodiscard]] const std::vector<std::vector<double>>& values() const noexcept { return values_; }
    /// The standard error of the mean. Nullopt for fewer than two complete trials.
    [[nodiscard]] std::optional<double> standard_error(std::size_t objective) const {
        const auto spread = variance(objective);
        return spread ? std::optional{std::sqrt(*spread / static_cast<double>(values_.size()))} : std::nullopt;
    }
    /// The worst value of each constraint.
    [[nodiscard]] const Constraints& constraints() const noexcept { return constraints_; }
    /// When the last of them ended.
    [[nodiscard]] const std::optional<Time>& completed() const noexcept { return completed_; }
    /// How many of them have ended and are not complete.
    [[nodiscard]] std::size_t failed() const noexcept { return numbers_.size() - values_.size(); }
    /// The numbers of all, the first trial's first.
    [[nodiscard]] const std::vector<std::int64_t>& numbers() const noexcept { return numbers_; }

    /// The mean of an objective over the complete ones.
    [[nodiscard]] double mean(std::size_t objective) const {
        const auto count = static_cast<double>(values_.size());
        const double first = values_.front().at(objective);
        double sum = 0, above = 0;
        for (const std::vector<double>& values : values_) sum += values[objective], above += values[objective] - first;
        return std::isfinite(above) ? first + above / count : sum / count;  // the mean of equal values is that value
    }
    /// The sample variance of an objective. Nullopt for fewer than two complete trials.
    [[nodiscard]] std::optional<double> variance(std::size_t objective) const {
        if (values_.size() < 2) return std::nullopt;
        const double middle = mean(objective);
        double sum = 0;
        for (const std::vector<double>& values : values_) sum += (values.at(objective) - middle) * (values.at(objective) - middle);
        return sum / static_cast<double>(values_.size() - 1);
    }

private:
    std::int64_t wanted_ = 1;
    std::vector<std::int64_t> numbers_;
    std::vector<std::vector<double>> values_;
    Constraints constraints_;
    std::optional<Time> completed_;
};

/// Brings the trials of a study together that differ in their seed alone.
class SeedGroups {
public:
    /// Takes a trial that has ended. Returns it if it is alone in its configuration. Else returns null until the last of them has ended,
    /// and then the first of them with the means for its values and the worst of each constraint. That is valid until the next call.
    [[nodiscard]] const Trial* take(const Trial& trial) {
        const auto repeated = repeated_trial(trial);
        const bool begins = !repeated && trial.state == TrialState::complete && seeds_of(trial) > 1;
        if (!repeated && !begins) return &trial;
        const auto found = begins ? groups_.try_emplace(trial.number, Group{trial, {}}).first : groups_.find(*repeated);
        if (found == groups_.end() || !counts_as_done(trial)) return nullptr;
        auto& [first, seeds] = found->second;
        seeds.take(trial);
        if (!seeds.is_whole()) return nullptr;
        for (std::size_t i = 0; i < first.values.size(); ++i) first.values[i] = seeds.mean(i);
        first.constraints = seeds.constraints();
        first.completed = seeds.completed();
        return &first;
    }
    /// The trials of the configuration whose first trial has this number. Null if it is the only one.
    [[nodiscard]] const SeedTrials* of(std::int64_t number) const {
        const auto found = groups_.find(number);
        return found == groups_.end() ? nullptr : &found->second.seeds;
    }

private:
    struct Group {
        Trial first;
        SeedTrials seeds;
    };
    std::map<std::int64_t, Group> groups_;  ///< by the number of the first trial
};

/// A study's trials with one in place of those that differ in their seed alone. Its values are their means. It runs until the last of them
/// has ended. A study without such trials is as it is. What was computed is kept, so a call costs what is new and what runs.
class Configurations {
public:
    /// `trials` are those of the last call, or more, ordered by number. The result is valid until the next call.
    [[nodiscard]] std::span<const Trial> of(std::span<const Trial> trials) {
        if (trials.size() < seen_) *this = {};
        look(trials);
        if (!merges_ && has_seeds_) {  // from the beginning, now that there is something to merge
            *this = {};
            merges_ = true;
            look(trials);
        }
        return merges_ ? std::span<const Trial>{merged_} : trials;
    }
    /// The trials of the configuration whose first trial has this number. Null if it is the only one.
    [[nodiscard]] const SeedTrials* seeds_of_trial(std::int64_t number) const { return groups_.of(number); }

private:
    void look(std::span<const Trial> trials) {
        for (const std::size_t place : std::exchange(open_, {})) look_at(trials[place], place);
        for (; seen_ < trials.size(); ++seen_) look_at(trials[seen_], seen_);
    }

    void look_at(const Trial& trial, std::size_t place) {
        const bool has_ended = is_finished(trial.state);
        if (!has_ended) open_.push_back(place);
        else if (seeds_of(trial) > 1) has_seeds_ = true;
        if (!merges_) return;
        if (repeated_trial(trial)) {
            if (const Trial* const mean = has_ended ? groups_.take(trial) : nullptr) *of_number(mean->number) = *mean;
            return;
        }
        auto merged = of_number(trial.number);
        if (merged == merged_.end()) merged = merged_.emplace(merged);
        *merged = trial;
        if (has_ended && !groups_.take(trial)) merged->state = TrialState::running;
    }

    [[nodiscard]] std::vector<Trial>::iterator of_number(std::int64_t number) {
        return std::ranges::lower_bound(merged_, number, {}, &Trial::number);
    }

    bool has_seeds_ = false;
    bool merges_ = false;
    std::size_t seen_ = 0;
    std::vector<std::size_t> open_;  ///< places of trials that have not ended
    std::vector<Trial> merged_;      ///< ordered by number
    SeedGroups groups_;
};

}  // namespace hpo
