// SPDX-License-Identifier: MIT
#include "hpo/torch/own_loops/retry_on_oom.hpp"

#include <exception>
#include <string>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/torch/cuda_refusals.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch::detail {

void begin_try(c10::Device device) {
    static_cast<void>(MeteredAllocator::instance().take_refusal());
#ifdef HPO_TORCH_CUDA
    if (device.is_cuda()) {
        initialise_cuda();
        watch_cuda_refusals();
    }
    static_cast<void>(take_cuda_refusal());
#endif
    static_cast<void>(device);
}

Failure failure_of(const std::exception_ptr& error, const std::string& configuration) {
    Failure failure = translate_failure(error, {}, configuration);
    if (failure.kind == FailureKind::trainer_error) failure.kind = classify_text({failure.type, failure.message}).kind;
    return failure;
}

void end_failed_try(const std::exception_ptr& error, int number, const RetryOptions& options) {
    FailedTry failed{.number = number, .most = options.most_tries, .failure = failure_of(error, options.configuration), .clean_up = {}};
    if (!ran_out_of_memory(failed.failure)) std::rethrow_exception(error);
    failed.clean_up = clean_up(options.device);
    if (options.failed) options.failed(failed);
    if (failed.last()) std::rethrow_exception(error);
}

void check_retry_options(const RetryOptions& options) {
    if (options.most_tries < 1) throw bad_value("retry_on_oom: most_tries", std::to_string(options.most_tries), "1 or more");
}

}  // namespace hpo::libtorch::detail
