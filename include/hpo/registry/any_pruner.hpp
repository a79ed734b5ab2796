// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

#include "hpo/pruner/concept.hpp"

namespace hpo::registry {

/// A pruner chosen at run time. Move-only; a moved-from handle may only be assigned to or destroyed.
class AnyPruner {
public:
    // Identity is tested first, because the concept asks about this constructor.
    template <class P>
    requires(!std::same_as<P, AnyPruner> && Pruner<P>) AnyPruner(P policy) : self_{std::make_unique<Model<P>>(std::move(policy))} {}

    [[nodiscard]] Verdict judge(const PruneQuery& query) { return self_->judge(query); }

private:
    struct Interface {
        virtual ~Interface() = default;
        [[nodiscard]] virtual Verdict judge(const PruneQuery& query) = 0;
    };
    template <class P>
    struct Model final : Interface {
        explicit Model(P inner) : policy{std::move(inner)} {}
        [[nodiscard]] Verdict judge(const PruneQuery& query) override { return policy.judge(query); }
        P policy;
    };
    std::unique_ptr<Interface> self_;
};

static_assert(Pruner<AnyPruner> && !std::copyable<AnyPruner>);

}  // namespace hpo::registry
