// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::recovery {

/// Ends a trial at its first failure, as FAIL.
class Fail {
public:
    static constexpr std::string_view name = "fail";
    static constexpr std::string_view summary = "ends a trial as FAIL at its first failure";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    Fail() = default;
    explicit Fail(Config /*config*/) {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        return recovery_of(failed, Recovery::Action::fail, std::string{to_text(failed.failure.kind)});
    }
};

static_assert(RecoveryPolicy<Fail> && Configurable<Fail>);

}  // namespace hpo::recovery
