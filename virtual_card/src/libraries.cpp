// SPDX-License-Identifier: MIT
//
// What cuBLAS, cuBLASLt, cuDNN and NCCL answer where the answer matters: handles, versions, sizes of workspaces. Everything that computes
// does nothing and is among the stubs. What the libraries take of the device for themselves is not modelled.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi.hpp"
#include "exported.hpp"
#include "world.hpp"

using namespace hpo::virtual_card;

namespace {

World& world() { return World::instance(); }

int handle_into(void* out) {
    *static_cast<std::uintptr_t*>(out) = world().handle();
    return abi::success;
}
int size_into(std::size_t* out, std::size_t bytes) {
    *out = bytes;
    return abi::success;
}

/// The function of NVIDIA's own library, which lies loaded behind the virtual card's; nullptr if it does not. Only for functions that tell
/// a constant: PyTorch chooses its operators by the versions that its libraries say.
template <class Function>
Function* real(const char* library, const char* name) {
    void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    return loaded != nullptr ? reinterpret_cast<Function*>(dlsym(loaded, name)) : nullptr;
}
std::size_t cublas_version() {
    static const auto ask = real<std::size_t()>(HPO_CUDA_MAJOR >= 13 ? "libcublasLt.so.13" : "libcublasLt.so.12", "cublasLtGetVersion");
    return ask != nullptr ? ask() : static_cast<std::size_t>(cuda_version) * 10;
}

/// A product of two vectors. PyTorch has it written to the card, where nothing is computed. A caller that has it written to the host reads
/// it.
int product_into(const char* function, const void* result) {
    constexpr int not_supported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
    if (world().memory().card_of(reinterpret_cast<std::uintptr_t>(result))) return abi::success;
    world().note_unmodelled(function);
    return not_supported;
}

/// NCCL's communicator: a group of ranks, each of which has a process.
struct Communicator {
    int ranks = 1;
    int rank = 0;
};
struct UniqueId {
    std::array<char, 128> bytes;
};
int join(void** out, int ranks, int rank) {
    *out = new Communicator{ranks, rank};  // the program gives it back, or ends
    return abi::success;
}
/// The size of an element of NCCL's data types, in bytes.
std::size_t width(int type) {
    constexpr std::size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < 12 ? widths[type] : 4;
}
/// What this thread's next plan of cuDNN is for. PyTorch uses products of matrices in cuDNN for attention alone.
thread_local bool plans_attention = false;
/// The tensors that this thread described to cuDNN last, in bytes: a convolution is made of three.
thread_local std::array<std::int64_t, 3> described{};
thread_local int described_type = 0;

/// The size of an element of cuDNN's data types, in bytes.
std::int64_t cudnn_width(int type) {
    constexpr std::int64_t widths[] = {4, 8, 2, 1, 4, 4, 1, 4, 32, 2, 8, 1};
    return type >= 0 && type < 12 ? widths[type] : 1;
}

int moved(void* to, const void* from, std::size_t bytes) {
    return to == from || world().copy(to, from, bytes, World::Direction::on_device) ? abi::success : abi::invalid_value;
}

}  // namespace

extern "C" {

// cuBLAS and cuBLASLt.

EXPORTED int cublasCreate_v2(void* handle) { return handle_into(handle); }
EXPORTED int cublasGetMathMode(void*, int* mode) {
    *mode = 0;
    return abi::success;
}
EXPORTED int cublasGetPointerMode_v2(void*, int* mode) {
    *mode = 0;  // scalars are on the host
    return abi::success;
}
EXPORTED int cublasGetVersion_v2(void*, int* version) {
    *version = static_cast<int>(cublas_version());
    return abi::success;
}
EXPORTED std::size_t cublasLtGetVersion() { return cublas_version(); }
EXPORTED int cublasLtCreate(void* handle) { return handle_into(handle); }
EXPORTED int cublasLtMatmulDescCreate(void* description, int, int) { return handle_into(description); }
EXPORTED int cublasLtMatmulPreferenceCreate(void* preference) { return handle_into(preference); }
EXPORTED int cublasLtMatrixLayoutCreate(void* layout, int, std::uint64_t, std::uint64_t, std::int64_t) { return handle_into(layout); }
EXPORTED int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void* proposals, int* found) {
    const abi::MatmulProposal proposal;
    std::memcpy(proposals, &proposal, sizeof proposal);
    *found = 1;
    return abi::success;
}
EXPORTED int cublasSdot_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasSdot_v2", result); }
EXPORTED int cublasDdot_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasDdot_v2", result); }
EXPORTED int cublasCdotu_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasCdotu_v2", result); }
EXPORTED int cublasCdotc_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasCdotc_v2", result); }
EXPORTED int cublasZdotu_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasZdotu_v2", result); }
EXPORTED int cublasZdotc_v2(void*, int, const void*, int, const void*, int, void* result) { return product_into("cublasZdotc_v2", result); }
EXPORTED int cublasDotEx(void*, int, const void*, int, int, const void*, int, int, void* result, int, int) {
    return product_into("cublasDotEx", result);
}

// cuDNN. Which workspace its kernels would take is not known; a caller that needs one is given none.

EXPORTED std::size_t cudnnGetVersion() {
    static const auto ask = real<std::size_t()>("libcudnn.so.9", "cudnnGetVersion");
    return ask != nullptr ? ask() : HPO_CUDA_MAJOR >= 13 ? 91900 : 90100;
}
EXPORTED std::size_t cudnnGetCudartVersion() { return static_cast<std::size_t>(cuda_version); }
EXPORTED int cudnnGetProperty(int which, int* value) {
    const auto version = static_cast<int>(cudnnGetVersion());
    *value = which == 0 ? version / 10000 : which == 1 ? version / 100 % 100 : version % 100;
    return abi::success;
}
EXPORTED const char* cudnnGetErrorString(int) { return "error of the virtual card"; }
EXPORTED int cudnnCreate(void* handle) { return handle_into(handle); }
EXPORTED int cudnnGetStream(void*, void** stream) {
    *stream = nullptr;  // whichever it was: nothing runs on it
    return abi::success;
}
EXPORTED int cudnnBackendCreateDescriptor(int kind, void* description) {
    constexpr int convolution = 10, convolution_of_data = 12;                     // CUDNN_BACKEND_OPERATION_CONVOLUTION_...
    constexpr int product = 19, attention_forward = 41, attention_backward = 43;  // CUDNN_BACKEND_OPERATION_MATMUL_, _SDPA_...
    if (kind >= convolution && kind <= convolution_of_data) {
        plans_attention = false;
        world().note_convolution(described[0] + described[1] + described[2]);
    }
    if (kind == product || kind == attention_forward || kind == attention_backward) plans_attention = true;
    return handle_into(description);
}
EXPORTED int cudnnBackendSetAttribute(void*, int name, int, std::int64_t count, const void* values) {
    constexpr int tensor_type = 901, tensor_dimensions = 902;  // CUDNN_ATTR_TENSOR_...
    if (name == tensor_type && values != nullptr) described_type = *static_cast<const int*>(values);
    if (name != tensor_dimensions || values == nullptr) return abi::success;
    std::int64_t bytes = cudnn_width(described_type);
    for (std::int64_t i = 0; i < count; ++i) bytes *= static_cast<const std::int64_t*>(values)[i];
    described = {described[1], described[2], bytes};
    return abi::success;
}
EXPORTED int cudnnBackendGetAttribute(void*, int name, int type, std::int64_t wanted, std::int64_t* count, void* values) {
    constexpr int heuristic_results = 202;  // CUDNN_ATTR_ENGINEHEUR_RESULTS
    constexpr int plan_workspace = 402;     // CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE
    constexpr int whole_number = 3;         // CUDNN_TYPE_INT64
    constexpr int short_number = 23;        // CUDNN_TYPE_INT32
    constexpr int descriptor = 15;          // CUDNN_TYPE_BACKEND_DESCRIPTOR
    std::int64_t found = 0;
    if (name == heuristic_results || type == descriptor) {
        found = 1;
    } else if (name == plan_workspace) {
        found = 1;
        world().note_unmodelled(plans_attention ? "cuDNN's workspace for attention" : "cuDNN's workspace");
        if (values != nullptr) *static_cast<std::int64_t*>(values) = 0;
    } else if (type == whole_number || type == short_number) {
        found = 1;
        if (values != nullptr && wanted > 0) std::memset(values, 0, type == whole_number ? 8 : 4);
    }
    if (count != nullptr) *count = found;
    return abi::success;
}
EXPORTED int cudnnDropoutGetStatesSize(void*, std::size_t* bytes) {
    world().note_unmodelled("cudnnDropoutGetStatesSize");  // a guess: one state of 48 bytes for each of 2048 threads of a multiprocessor
    return size_into(bytes, 48U * 2048U * static_cast<std::size_t>(world().card().multiprocessors));
}
EXPORTED int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void*, int, int, void*, void*, void*, void*, void*,
                                                                      std::size_t* bytes) {
    return size_into(bytes, 0);
}
EXPORTED int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void*, int, int, void*, void*, void*, void*, void*, void*, void*,
                                                               std::size_t* bytes) {
    return size_into(bytes, 0);
}
EXPORTED int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void*, int, int, void*, void*, std::size_t* bytes) {
    return size_into(bytes, 0);
}

// NCCL, as far as PyTorch's collectives need it: this rank's part is copied, and others' parts are not there.

EXPORTED int ncclGetVersion(int* version) {
    static const auto ask = real<int(int*)>("libnccl.so.2", "ncclGetVersion");
    if (ask != nullptr) return ask(version);
    *version = 22809;
    return abi::success;
}
EXPORTED const char* ncclGetErrorString(int) { return "error of the virtual card"; }
EXPORTED const char* ncclGetLastError(void*) { return ""; }
EXPORTED int ncclCommInitRank(void** out, int ranks, UniqueId, int rank) { return join(out, ranks, rank); }
EXPORTED int ncclCommInitRankConfig(void** out, int ranks, UniqueId, int rank, void*) { return join(out, ranks, rank); }
EXPORTED int ncclCommGetAsyncError(void*, int* code) {
    *code = 0;
    return abi::success;
}
EXPORTED int ncclCommCount(const Communicator* group, int* count) {
    *count = group->ranks;
    return abi::success;
}
EXPORTED int ncclCommUserRank(const Communicator* group, int* rank) {
    *rank = group->rank;
    return abi::success;
}
EXPORTED int ncclMemAlloc(void**, std::size_t) { return 1; }
EXPORTED int ncclAllGather(const void* from, void* to, std::size_t count, int type, const Communicator* group, void*) {
    const std::size_t bytes = count * width(type);
    for (int rank = 0; rank < group->ranks; ++rank) {
        if (moved(static_cast<std::byte*>(to) + static_cast<std::size_t>(rank) * bytes, from, bytes) != abi::success)
            return abi::invalid_value;
    }
    return abi::success;
}
EXPORTED int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, void*, void*) {
    return moved(to, from, count * width(type));
}
EXPORTED int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int, void*, void*) {
    return moved(to, from, count * width(type));
}
EXPORTED int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int, void*, void*) {
    return moved(to, from, count * width(type));
}
}
