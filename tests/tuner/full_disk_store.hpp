// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/base/error.hpp"
#include "hpo/store/in_memory.hpp"

namespace hpo::tests {

/// A store whose disk is full at one kind of its calls: at the n-th alone, which can be repeated, or from the n-th on.
class FullDiskStore final : public store::InMemory {
public:
    enum class At { begin, set_params, begin_attempt, end_attempt, report, finish };
    enum class Lasts { one_call, for_ever };
    FullDiskStore(At at, int good_calls, Lasts lasts) : at_{at}, good_calls_{good_calls}, lasts_{lasts} {}

    std::optional<Trial> begin_trial_within(std::int64_t study, std::optional<std::int64_t> run, const Quota& quota) override {
        pass(At::begin);
        return InMemory::begin_trial_within(study, run, quota);
    }
    void set_params(const Trial& trial) override { pass(At::set_params), InMemory::set_params(trial); }
    void begin_attempt(const Trial& trial, const Attempt& attempt) override {
        pass(At::begin_attempt), InMemory::begin_attempt(trial, attempt);
    }
    void end_attempt(const Trial& trial, const Attempt& attempt) override { pass(At::end_attempt), InMemory::end_attempt(trial, attempt); }
    void report(const Trial& trial, const Report& told) override { pass(At::report), InMemory::report(trial, told); }
    void finish(const Trial& trial) override { pass(At::finish), InMemory::finish(trial); }

private:
    void pass(At at) {
        if (at != at_) return;
        const int left = good_calls_--;
        if (lasts_ == Lasts::one_call && left == 0) throw Error{Errc::store_unavailable, "hpo.db: disk is full"};
        if (lasts_ == Lasts::for_ever && left <= 0) throw Error{Errc::store, "hpo.db: disk is full"};
    }
    At at_;
    int good_calls_;
    Lasts lasts_;
};

}  // namespace hpo::tests
