// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "hpo/failure/oom_message.hpp"

namespace hpo {

/// Reads the figures in out-of-memory messages of other frameworks: JAX and XLA ("while trying to allocate 2147483648 bytes"), TensorFlow
/// (from the tensor's shape and type), CuPy, CatBoost, XGBoost, numpy, PyTorch's other allocators, Paddle, faiss, llama.cpp, ONNX Runtime,
/// RMM, vLLM, TensorRT, Theano, R. Returns nullopt if the text has none.
[[nodiscard]] std::optional<OomMessage> parse_framework_message(std::string_view text);

/// The figures of any program's out-of-memory message.
[[nodiscard]] std::optional<OomMessage> read_oom_figures(std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/framework_message_inl.hpp"
#endif
