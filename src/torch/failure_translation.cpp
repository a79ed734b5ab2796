// SPDX-License-Identifier: MIT
#include "hpo/torch/failure_translation.hpp"

#include <c10/util/Exception.h>
#include <torch/version.h>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/failure/stack_frames.hpp"
#include "hpo/torch/cuda_refusals.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

Failure translate_failure(const std::exception_ptr& error, std::string_view where, const std::string& configuration) {
    Failure failure;
    failure.where = std::string{where};
    const auto describe = [&](FailureKind kind, std::string_view type, std::string message) {
        failure.kind = kind;
        failure.type = std::string{type};
        failure.message = std::move(message);
    };
    try {
        std::rethrow_exception(error);
    } catch (const c10::OutOfMemoryError& e) {
        describe(FailureKind::out_of_memory, "c10::OutOfMemoryError", e.what_without_backtrace());
        failure.traceback = e.what();
        if (const auto refusal = MeteredAllocator::instance().take_refusal()) {
            failure.requested_bytes = refusal->requested_bytes;
            failure.memory = refusal->reading;
        }
#ifdef HPO_TORCH_CUDA
        if (const auto reading = take_cuda_refusal()) failure.memory = *reading;
#endif
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
    } catch (const c10::AcceleratorError& e) {
        describe(FailureKind::trainer_error, "c10::AcceleratorError", e.what_without_backtrace());
        failure.code = e.get_error_code();
        failure.traceback = e.what();
#endif
    } catch (const c10::Error& e) {
        describe(FailureKind::trainer_error, "c10::Error", std::string{without_dispatcher_advice(e.what_without_backtrace())});
        failure.traceback = e.what();
        if (failure.message.find("DefaultCPUAllocator: can't allocate memory") != std::string::npos)
            failure.kind = FailureKind::host_out_of_memory;
    } catch (const BadBatch& e) {
        describe(FailureKind::bad_batch, "hpo::libtorch::BadBatch", with_configuration(e.what(), configuration));
    } catch (const NonFiniteLoss& e) {
        describe(FailureKind::non_finite, "hpo::libtorch::NonFiniteLoss", with_configuration(e.what(), configuration));
    } catch (const std::bad_alloc& e) {
        describe(FailureKind::host_out_of_memory, "std::bad_alloc", e.what());
    } catch (const hpo::Error& e) {
        describe(FailureKind::trainer_error, "hpo::Error", e.what());
    } catch (const std::exception& e) {
        describe(FailureKind::trainer_error, "std::exception", without_frames(e.what()));
        if (failure.message != e.what()) failure.traceback = e.what();
    } catch (...) {
        describe(FailureKind::trainer_error, "", "an exception that is no std::exception");
    }
    // What the model is built from are the parameters alone.
    if (where == "build" && failure.kind == FailureKind::trainer_error)
        failure.message = with_configuration(std::move(failure.message), configuration);
    return failure;
}

}  // namespace hpo::libtorch
