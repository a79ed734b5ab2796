// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "hpo/recovery/concept.hpp"

namespace hpo::registry {

/// A recovery policy chosen at run time. Move-only; a moved-from handle may only be assigned to or destroyed.
class AnyRecovery {
public:
    // Identity is tested first, because the concept asks about this constructor.
    template <class P>
    requires(!std::same_as<P, AnyRecovery> && RecoveryPolicy<P>) AnyRecovery(P policy)
        : self_{std::make_unique<Model<P>>(std::move(policy))} {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const { return self_->recover(failed); }

private:
    struct Interface {
        virtual ~Interface() = default;
        [[nodiscard]] virtual Recovery recover(const FailedAttempt& failed) const = 0;
    };
    template <class P>
    struct Model final : Interface {
        explicit Model(P inner) : policy{std::move(inner)} {}
        [[nodiscard]] Recovery recover(const FailedAttempt& failed) const override { return policy.recover(failed); }
        P policy;
    };
    std::unique_ptr<Interface> self_;
};

static_assert(RecoveryPolicy<AnyRecovery> && !std::copyable<AnyRecovery>);

}  // namespace hpo::registry
