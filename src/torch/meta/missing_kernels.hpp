// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <string>

namespace hpo::libtorch {

/// Registers a kernel for the meta device, unless this LibTorch has the operator's own or lacks the operator.
template <class Kernel>
void add_if_missing(torch::Library& kernels, const char* name, const char* overload, Kernel* kernel) {
    const auto schema = c10::Dispatcher::singleton().findSchema({std::string{"aten::"} + name, overload});
    if (!schema || schema->hasKernelForDispatchKey(c10::DispatchKey::Meta)) return;
    kernels.impl((std::string{name} + (*overload ? "." : "") + overload).c_str(), kernel);
}

}  // namespace hpo::libtorch
