// SPDX-License-Identifier: MIT
#include <cstdio>

#include "abi.hpp"
#include "exported.hpp"

namespace hpo::virtual_card {

// LibTorch and programs recognise errors by these texts.
const char* error_text(int code) {
    switch (code) {
        case abi::success: return "no error";
        case abi::invalid_value: return "invalid argument";
        case abi::out_of_memory: return "out of memory";
        case abi::no_device: return "no CUDA-capable device is detected";
        case abi::invalid_device: return "invalid device ordinal";
        case abi::not_found: return "named symbol not found";
        case abi::not_supported: return "operation not supported";
        default: {
            static thread_local char text[64];
            std::snprintf(text, sizeof text, "error %d, whose text is not known here", code);
            return text;
        }
    }
}

const char* error_name(int code) {
    switch (code) {
        case abi::success: return "cudaSuccess";
        case abi::invalid_value: return "cudaErrorInvalidValue";
        case abi::out_of_memory: return "cudaErrorMemoryAllocation";
        case abi::no_device: return "cudaErrorNoDevice";
        case abi::invalid_device: return "cudaErrorInvalidDevice";
        case abi::not_found: return "cudaErrorSymbolNotFound";
        case abi::not_supported: return "cudaErrorNotSupported";
        default: return "cudaErrorUnknown";
    }
}

}  // namespace hpo::virtual_card
