// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

/// Messages about time, about the device besides its memory, and about batches that do not fit the task.
inline constexpr auto device_error_messages = std::to_array<MessageFamily>({
    {.name = "a collective operation's time",
     .kind = FailureKind::timeout,
     .any = {"watchdog caught collective operation timeout", "timed out waiting for", "timed out waiting #ms", "nccl timeout",
             "nccl operations have failed or timed out", "timeout at nccl work", "due to a collective timeout", "deadline_exceeded",
             "barrier timed out"}},
    {.name = "a batch system's time limit",
     .kind = FailureKind::timeout,
     .any = {"due to time limit", "deadlineexceeded", "was active longer than specified deadline", "term_runlimit",
             "pbs: job killed: walltime"}},
    {.name = "a command's time", .kind = FailureKind::timeout, .any = {"timeoutexpired: ", "gettimeouterror: "}},
    {.name = "a program's own time limit",
     .kind = FailureKind::timeout,
     .any = {"^timeouterror: ",     "~timeouterror: ",         "~timeouterror(",  "^timeouterror$",
             "exceeded # s~",       "exceeded # sec",          "exceeded # min",  "exceeded # h~",
             "exceeded # hour",     "exceeded #.# s~",         "exceeded #s~",    "time limit exceeded",
             "exceeded time limit", "exceeded the time limit", "time limit of #", "did not finish within #",
             "timed out after #",   "timeout after #",         "timeout of #",    "exceeded timeout"}},
    {.name = "a device that is gone",
     .kind = FailureKind::hardware,
     .any = {"fallen off the bus", "gpu is lost", "gpu_is_lost", "unable to determine the device handle for gpu"}},
    {.name = "ROCm's access fault",
     .kind = FailureKind::cuda_sticky,
     .any = {"memory access fault by gpu node", "hsa_status_error_memory_aperture_violation", "hsa_status_error_memory_fault",
             "hsa_status_error_exception", "hsa_status_error_illegal_instruction"}},
    {.name = "a lost device of Intel or Vulkan",
     .kind = FailureKind::cuda_sticky,
     .any = {"ur_result_error_device_lost", "ze_result_error_device_lost", "pi_error_device_lost", "vk_error_device_lost"}},
    {.name = "a batch that does not fit the task",
     .kind = FailureKind::bad_batch,
     .any = {"invalid labels detected", "model output shape mismatch", "is out of bounds.", "to match target batch_size"}},
});

/// Messages about CUDA's libraries that name no error of theirs.
inline constexpr auto library_messages = std::to_array<MessageFamily>({
    // A communicator or handle that failed once always fails again: a fresh process is needed.
    {.name = "a CUDA library that failed",
     .kind = FailureKind::cuda_sticky,
     .any = {"nccl error", "nccl communicator was aborted", "cudnn launch failure", "gpu sync failed"}},
});

}  // namespace hpo
