// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/core/plan.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

/// The factor that keeps fp16's gradients from vanishing (Micikevicius et al. 2018, section 3.2). It is halved after an update whose
/// gradients were not finite, and doubled after 2000 good ones. In other precisions it is 1, since their range is large enough.
class LossScale {
public:
    struct State {
        double factor = 1;
        std::int64_t good_steps = 0;
    };

    LossScale() = default;
    explicit LossScale(Precision precision) : scales_{precision == Precision::fp16}, state_{scales_ ? 65536.0 : 1.0, 0} {}

    [[nodiscard]] double factor() const { return state_.factor; }
    [[nodiscard]] bool scales() const { return scales_; }
    /// After a step whose gradients were finite.
    void grow() {
        if (!scales_ || ++state_.good_steps < 2000) return;
        state_ = {state_.factor * 2, 0};
    }
    /// After a step that was left out. Throws NonFiniteLoss if no factor helps.
    void shrink() {
        state_ = {state_.factor / 2, 0};
        if (state_.factor < 1e-3) throw NonFiniteLoss{"the gradients are not finite in fp16, however the loss is scaled"};
    }
    /// The state for a checkpoint. A factor of 0 means that this precision needs none.
    [[nodiscard]] State state() const { return scales_ ? state_ : State{.factor = 0}; }
    /// Restores a kept state, if both its precision and this one need a factor.
    void restore(const State& state) {
        if (scales_ && state.factor > 0) state_ = state;
    }

private:
    bool scales_ = false;
    State state_;
};

}  // namespace hpo::libtorch
