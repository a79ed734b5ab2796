// SPDX-License-Identifier: MIT
#pragma once

/// A function that programs find by its name.
#define EXPORTED __attribute__((visibility("default")))

namespace hpo::virtual_card {

#if HPO_CUDA_MAJOR >= 13
inline constexpr int cuda_version = 13000;
#else
inline constexpr int cuda_version = 12080;
#endif

/// An attribute of a card; the runtime and the driver number them alike.
[[nodiscard]] int attribute(int which, int card, int* value);

[[nodiscard]] const char* error_text(int code);
[[nodiscard]] const char* error_name(int code);

}  // namespace hpo::virtual_card
