// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// NCCL's results. Codes, names and texts are from its documentation (enum ncclResult_t and ncclGetErrorString). Some texts end with the
/// setting that shows more ("run with NCCL_DEBUG=INFO"); this end is left out here. A communicator that failed once fails again, so each
/// error but ncclInternalError ends the process.
inline constexpr auto nccl_errors = std::to_array<ErrorCode>({
    {1, "ncclUnhandledCudaError", error_meaning::lost_context, "unhandled cuda error"},
    {2, "ncclSystemError", error_meaning::lost_context, "unhandled system error"},
    {3, "ncclInternalError", error_meaning::unfit_machine, "internal error - please report this issue to the NCCL developers"},
    {4, "ncclInvalidArgument", error_meaning::wrong_use, "invalid argument"},
    {5, "ncclInvalidUsage", error_meaning::wrong_use, "invalid usage"},
    {6, "ncclRemoteError", error_meaning::lost_peer, "remote process exited or there was a network error"},
});

}  // namespace hpo
