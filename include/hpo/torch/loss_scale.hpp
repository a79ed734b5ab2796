// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "hpo/core/plan.hpp"
#include "hpo/torch/batch_checks.hpp"

namespace hpo::torch {

/// The factor that keeps fp16's gradients from vanishing (Micikevicius et al. 2018, section 3.2): halved after an update whose
/// gradients were not finite, doubled after 2000 good ones. It is 1 in other precisions, whose range needs none.
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
    /// After a step that was left out. Throws NonFiniteLoss when no factor helps.
    void shrink() {
        state_ = {state_.factor / 2, 0};
        if (state_.factor < 1e-3) throw NonFiniteLoss{"the gradients are not finite in fp16, however the loss is scaled"};
    }
    /// What a checkpoint keeps; a factor of 0: this precision needs none.
    [[nodiscard]] State state() const { return scales_ ? state_ : State{.factor = 0}; }
    /// Goes on from what was kept, where that was in a precision that needs a factor and this is one, too.
    void restore(const State& state) {
        if (scales_ && state.factor > 0) state_ = state;
    }

private:
    bool scales_ = false;
    State state_;
};

}  // namespace hpo::torch
