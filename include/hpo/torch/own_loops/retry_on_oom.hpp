// SPDX-License-Identifier: MIT
#pragma once

#include <c10/core/Device.h>

#include <exception>
#include <functional>
#include <string>
#include <type_traits>

#include "hpo/core/failure.hpp"
#include "hpo/torch/own_loops/clean_up.hpp"

namespace hpo::libtorch {

/// A try that ran out of memory.
struct FailedTry {
    int number = 1;  ///< from 1
    int most = 1;    ///< RetryOptions::most_tries
    Failure failure;
    CleanUp clean_up;  ///< done already

    [[nodiscard]] bool last() const { return number >= most; }
};

struct RetryOptions {
    c10::Device device{c10::DeviceType::CPU};  ///< whose cached memory is given back
    int most_tries = 3;
    std::string configuration{};                     ///< the program's parameters in words, for Failure::message
    std::function<void(const FailedTry&)> failed{};  ///< called after each try that ran out of memory, the last one included
};

}  // namespace hpo::libtorch

namespace hpo::libtorch::detail {

/// Forgets what earlier failures left, before a try begins.
void begin_try(c10::Device device);

/// The failure that an exception tells. Where its type does not say what happened, its text does.
[[nodiscard]] Failure failure_of(const std::exception_ptr& error, const std::string& configuration);

/// True if the failure is one of the device's or the host's memory.
[[nodiscard]] constexpr bool ran_out_of_memory(const Failure& failure) {
    return failure.kind == FailureKind::out_of_memory || failure.kind == FailureKind::host_out_of_memory;
}

/// Cleans up and tells after a failed try. Rethrows the error if it is no out-of-memory or no try is left.
void end_failed_try(const std::exception_ptr& error, int number, const RetryOptions& options);

void check_retry_options(const RetryOptions& options);

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

/// Calls `work()` or `work(number of the try, from 1)` and returns its result. If it runs out of memory, what it left is given back and it
/// is called again. Any other exception is passed on at once, and so is the last out-of-memory. Throws Error if most_tries is below 1.
///
/// `work` must begin anew at each call, for example with a smaller batch for a higher number. For a training loop that goes on where it
/// stood, see AdaptiveBatch.
template <class Work>
auto retry_on_oom(const Work& work, const RetryOptions& options = {}) {
    detail::check_retry_options(options);
    for (int number = 1;; ++number) {
        detail::begin_try(options.device);
        std::exception_ptr error;
        try {
            if constexpr (std::is_invocable_v<const Work&, int>) {
                return work(number);
            } else {
                return work();
            }
        } catch (...) {
            error = std::current_exception();
        }
        detail::end_failed_try(error, number, options);
    }
}

}  // namespace hpo::libtorch
