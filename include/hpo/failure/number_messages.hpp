// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

/// Messages that say that a loss, a gradient or an objective is not a finite number.
inline constexpr auto number_messages = std::to_array<MessageFamily>({
    {.name = "Optuna's objective",
     .kind = FailureKind::non_finite,
     .any = {"value nan is not acceptable", "function returned nan", "`nan` is invalid value"}},
    {.name = "a loss that is no number",
     .kind = FailureKind::non_finite,
     .any = {"loss is nan, stopping", "loss is inf, stopping", "loss became infinite or nan", "loss was nan for #",
             "nan loss during training", "nanlossduringtrainingerror", "model diverged with loss = nan",
             "invalid loss, terminating training", "non-finite loss, ending", "`training_step` is nan or inf", "loss is infinite or nan",
             "loss is nan or inf", "loss is not finite"}},
    {.name = "a loss scale at its minimum",
     .kind = FailureKind::non_finite,
     .any = {"minimum loss scale reached", "current loss scale already at minimum"}},
    {.name = "anomaly mode", .kind = FailureKind::non_finite, .any = {"returned nan values in its #", "detected nan and/or inf values in"}},
    {.name = "a distribution's argument", .kind = FailureKind::non_finite, .any = {"probability tensor contains either `inf`, `nan`"}},
    {.name = "a reward or a probability",
     .kind = FailureKind::non_finite,
     .any = {"pvals contains nans", "probabilities contain nan", "should be finite scalar, got nan"}},
    {.name = "a distribution's parameter",
     .kind = FailureKind::non_finite,
     .all = {"to satisfy the constraint real", "but found invalid values"}},
    {.name = "a check of JAX or TensorFlow",
     .kind = FailureKind::non_finite,
     .any = {"invalid value (nan) encountered", "invalid value (inf) encountered", "tensor had nan", "tensor had inf",
             "found inf or nan global norm"}},
    {.name = "a gradient's norm", .kind = FailureKind::non_finite, .any = {"is non-finite, so it cannot be clipped"}},
    {.name = "linear algebra",
     .kind = FailureKind::non_finite,
     .any = {"input matrix contained non-finite values", "must not contain infs or nans", "~nanerror~"}},
    {.name = "scikit-learn's predictions",
     .kind = FailureKind::non_finite,
     .any = {"input contains nan", "input contains infinity", "input y_pred contains nan", "input y_score contains nan"}},
});

}  // namespace hpo
