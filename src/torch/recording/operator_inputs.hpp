// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>
#include <torch/torch.h>

namespace hpo::libtorch::detail {

/// The inputs of an operator that is about to run. Its callback must ask for inputs. Design note: in debug builds LibTorch's own accessor
/// asserts a flag that only a debug build of LibTorch sets. An explicit instantiation may name a private member, so this reads it directly.
[[nodiscard]] c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function);

template <auto inputs>
struct OpenedRecordFunction {
    friend c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function) { return function.*inputs; }
};

template struct OpenedRecordFunction<&at::RecordFunction::inputs_>;

/// Calls `look(tensor, is_in_list)` for each defined tensor among the inputs, also for those in lists, whose members may be missing.
template <class Look>
void each_input_tensor(const at::RecordFunction& function, const Look& look) {
    const auto look_if_defined = [&](const c10::IValue& value, bool is_in_list) {
        if (value.isTensor() && value.toTensor().defined()) look(value.toTensor(), is_in_list);
    };
    for (const c10::IValue& input : inputs_of(function)) {
        look_if_defined(input, false);
        if (!input.isList()) continue;
        for (const c10::IValue& member : input.toListRef()) look_if_defined(member, true);
    }
}

}  // namespace hpo::libtorch::detail
