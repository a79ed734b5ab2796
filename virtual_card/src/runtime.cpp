// SPDX-License-Identifier: MIT
//
// The CUDA runtime's functions whose results matter. Their names, arguments and meanings are those of the CUDA Runtime API. Kernels do
// nothing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "abi.hpp"
#include "exported.hpp"
#include "kernels.hpp"
#include "world.hpp"

using namespace hpo::virtual_card;

namespace {

World& world() { return World::instance(); }

thread_local int last_error = abi::success;

/// What a function answers is also what cudaGetLastError() tells, until it has told it.
int answer(int code) {
    if (code != abi::success) last_error = code;
    return code;
}

bool is_card(int number) { return number >= 0 && number < world().card().count; }

/// Gives the thread's card a context. Returns an error code.
int open_current() {
    if (world().card().count == 0) return abi::no_device;
    return world().open_context(World::current()) ? abi::success : abi::out_of_memory;
}

int handle_into(void* out) {
    const int code = open_current();
    if (code == abi::success) *static_cast<std::uintptr_t*>(out) = world().handle();
    return answer(code);
}

template <class Value>
void put(void* structure, std::size_t offset, const Value& value) {
    std::memcpy(static_cast<std::byte*>(structure) + offset, &value, sizeof value);
}

World::Direction direction_of(int kind) {
    using enum World::Direction;
    constexpr std::array<World::Direction, 5> directions{host_to_host, to_device, to_host, on_device, any};
    return kind >= 0 && kind < 5 ? directions[static_cast<std::size_t>(kind)] : any;
}

int copy(void* to, const void* from, std::size_t bytes, World::Direction direction) {
    if (const int code = open_current(); code != abi::success) return answer(code);
    return answer(world().copy(to, from, bytes, direction) ? abi::success : abi::invalid_value);
}

int properties(void* out, int card) {
    if (!is_card(card)) return answer(abi::invalid_device);
    using At = abi::DeviceProperties;
    const Card& facts = world().card();
    std::memset(out, 0, At::bytes);
    std::snprintf(static_cast<char*>(out) + At::name, 256, "%s", facts.name.c_str());
    put(out, At::uuid + 15, static_cast<char>(card + 1));
    put(out, At::total_memory, static_cast<std::size_t>(facts.memory_bytes));
    put(out, At::shared_per_block, std::size_t{49152});
    put(out, At::registers_per_block, 65536);
    put(out, At::warp, 32);
    put(out, At::pitch, std::size_t{2147483647});
    put(out, At::threads_per_block, 1024);
    put(out, At::block_dimensions, std::array{1024, 1024, 64});
    put(out, At::grid_dimensions, std::array{2147483647, 65535, 65535});
    put(out, At::constant_memory, std::size_t{65536});
    put(out, At::major, facts.capability / 10);
    put(out, At::minor, facts.capability % 10);
    put(out, At::texture_alignment, std::size_t{512});
    put(out, At::texture_pitch_alignment, std::size_t{32});
    put(out, At::multiprocessors, facts.multiprocessors);
    put(out, At::maps_host_memory, 1);
    put(out, At::concurrent_kernels, 1);
    put(out, At::bus, card + 1);
    put(out, At::copy_engines, 3);
    put(out, At::unified_addresses, 1);
    put(out, At::bus_width, 5120);
    put(out, At::l2_cache, 40 << 20);
    put(out, At::threads_per_multiprocessor, facts.threads_per_multiprocessor());
    put(out, At::stream_priorities, 1);
    put(out, At::shared_per_multiprocessor, static_cast<std::size_t>(facts.shared_per_multiprocessor()));
    put(out, At::registers_per_multiprocessor, 65536);
    put(out, At::managed_memory, 1);
    put(out, At::cooperative_launch, 1);
    put(out, At::shared_per_block_optin, static_cast<std::size_t>(facts.shared_per_multiprocessor() - 1024));
    put(out, At::blocks_per_multiprocessor, facts.blocks_per_multiprocessor());
    put(out, At::reserved_shared_per_block, std::size_t{1024});
    return abi::success;
}

}  // namespace

int hpo::virtual_card::attribute(int which, int card, int* value) {
    if (!is_card(card)) return abi::invalid_device;
    const Card& facts = world().card();
    switch (which) {  // cudaDeviceAttr and CUdevice_attribute have the same numbers
        case 1:
        case 2:
        case 3: *value = 1024; break;  // threads of a block, and its first dimensions
        case 4: *value = 64; break;
        case 5: *value = 2147483647; break;
        case 6:
        case 7: *value = 65535; break;
        case 8: *value = 49152; break;
        case 9: *value = 65536; break;
        case 10: *value = 32; break;
        case 11: *value = 2147483647; break;
        case 12:
        case 82: *value = 65536; break;
        case 16: *value = facts.multiprocessors; break;
        case 33: *value = card + 1; break;
        case 38: *value = 40 << 20; break;
        case 39: *value = facts.threads_per_multiprocessor(); break;
        case 75: *value = facts.capability / 10; break;
        case 76: *value = facts.capability % 10; break;
        case 81: *value = facts.shared_per_multiprocessor(); break;
        case 97: *value = facts.shared_per_multiprocessor() - 1024; break;
        case 106: *value = facts.blocks_per_multiprocessor(); break;
        case 111: *value = 1024; break;
        case 19:
        case 31:
        case 41:
        case 78:
        case 83:
        case 89:
        case 95:
        case 102: *value = 1; break;  // abilities; 102: virtual memory
        default: *value = 0; break;
    }
    return abi::success;
}

extern "C" {

EXPORTED int cudaGetDeviceCount(int* count) {
    *count = world().card().count;
    return *count > 0 ? abi::success : answer(abi::no_device);
}
EXPORTED int cudaGetDevice(int* card) {
    if (world().card().count == 0) return answer(abi::no_device);
    *card = World::current();
    return abi::success;
}
EXPORTED int cudaSetDevice(int card) {
    if (world().card().count == 0) return answer(abi::no_device);
    if (!is_card(card)) return answer(abi::invalid_device);
    World::current() = card;
    return answer(open_current());
}
#if HPO_CUDA_MAJOR >= 13
EXPORTED int cudaGetDeviceProperties(void* out, int card) { return properties(out, card); }
#else
EXPORTED int cudaGetDeviceProperties(void*, int) {  // with the layout of CUDA 11
    world().note_unmodelled("cudaGetDeviceProperties");
    return answer(abi::not_supported);
}
#endif
EXPORTED int cudaGetDeviceProperties_v2(void* out, int card) { return properties(out, card); }
EXPORTED int cudaDeviceGetAttribute(int* value, int which, int card) { return answer(attribute(which, card, value)); }
EXPORTED int cudaDeviceGetPCIBusId(char* text, int size, int card) {
    if (!is_card(card)) return answer(abi::invalid_device);
    std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", card + 1);
    return abi::success;
}
EXPORTED int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return abi::success;
}
EXPORTED int cudaDeviceCanAccessPeer(int* can, int card, int peer) {
    if (!is_card(card) || !is_card(peer)) return answer(abi::invalid_device);
    *can = card != peer ? 1 : 0;
    return abi::success;
}
EXPORTED int cudaDeviceSynchronize() { return answer(open_current()); }
EXPORTED int cudaGetLastError() {
    const int code = last_error;
    last_error = abi::success;
    return code;
}
EXPORTED int cudaPeekAtLastError() { return last_error; }
EXPORTED const char* cudaGetErrorString(int code) { return error_text(code); }
EXPORTED const char* cudaGetErrorName(int code) { return error_name(code); }
EXPORTED int cudaDriverGetVersion(int* version) {
    *version = cuda_version;
    return abi::success;
}
EXPORTED int cudaRuntimeGetVersion(int* version) {
    *version = cuda_version;
    return abi::success;
}

// Memory.

EXPORTED int cudaMalloc(void** out, std::size_t bytes) {
    *out = nullptr;
    if (const int code = open_current(); code != abi::success) return answer(code);
    if (bytes == 0) return abi::success;
    *out = reinterpret_cast<void*>(world().memory().allocate(World::current(), bytes));
    return answer(*out != nullptr ? abi::success : abi::out_of_memory);
}
EXPORTED int cudaFree(void* at) {
    if (const int code = open_current(); code != abi::success) return answer(code);
    if (at == nullptr) return abi::success;
    return answer(world().memory().release(reinterpret_cast<std::uintptr_t>(at)) ? abi::success : abi::invalid_value);
}
EXPORTED int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    if (const int code = open_current(); code != abi::success) return answer(code);
    *total = static_cast<std::size_t>(world().card().memory_bytes);
    *free = static_cast<std::size_t>(std::max<std::int64_t>(0, world().ledger().free(World::current())));
    return abi::success;
}
EXPORTED int cudaHostAlloc(void** out, std::size_t bytes, unsigned) {
    if (const int code = open_current(); code != abi::success) return answer(code);
    *out = world().pin(bytes);
    return answer(*out != nullptr ? abi::success : abi::out_of_memory);
}
EXPORTED int cudaHostGetDevicePointer(void** out, void* at, unsigned) {
    *out = at;
    return answer(world().pinned(at) ? abi::success : abi::invalid_value);
}
EXPORTED int cudaFreeHost(void* at) { return answer(at == nullptr || world().unpin(at) ? abi::success : abi::invalid_value); }
EXPORTED int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) { return copy(to, from, bytes, direction_of(kind)); }
EXPORTED int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, void*) {
    return copy(to, from, bytes, direction_of(kind));
}
EXPORTED int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes, void*) {
    return copy(to, from, bytes, World::Direction::on_device);
}
EXPORTED int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                               std::size_t height, int kind, void*) {
    for (std::size_t row = 0; row < height; ++row) {
        const int code = copy(static_cast<std::byte*>(to) + row * to_pitch, static_cast<const std::byte*>(from) + row * from_pitch, width,
                              direction_of(kind));
        if (code != abi::success) return code;
    }
    return abi::success;
}
EXPORTED int cudaMemset(void* at, int, std::size_t bytes) { return answer(world().fill(at, bytes) ? abi::success : abi::invalid_value); }
EXPORTED int cudaMemsetAsync(void* at, int, std::size_t bytes, void*) {
    return answer(world().fill(at, bytes) ? abi::success : abi::invalid_value);
}
EXPORTED int cudaPointerGetAttributes(void* out, const void* at) {
    abi::PointerAttributes found;
    if (const auto card = world().memory().card_of(reinterpret_cast<std::uintptr_t>(at))) {
        found = {.type = 2, .device = *card, .device_pointer = const_cast<void*>(at), .host_pointer = nullptr};
    } else if (world().pinned(at)) {
        found = {.type = 1, .device = World::current(), .device_pointer = const_cast<void*>(at), .host_pointer = const_cast<void*>(at)};
    } else {
        found.device = -2;  // cudaInvalidDeviceId
    }
    std::memcpy(out, &found, sizeof found);
    return abi::success;
}
EXPORTED int cudaGetSymbolAddress(void** out, const void*) {
    // Variables of kernels, which no kernel uses. On a card they lie in memory that is not counted. Here they lie on the host.
    static std::array<std::byte, std::size_t{1} << 16> variables;
    *out = variables.data();
    return abi::success;
}

// Streams, events, graphs.

EXPORTED int cudaStreamCreate(void* stream) { return handle_into(stream); }
EXPORTED int cudaStreamCreateWithFlags(void* stream, unsigned) { return handle_into(stream); }
EXPORTED int cudaStreamCreateWithPriority(void* stream, unsigned, int) { return handle_into(stream); }
EXPORTED int cudaStreamGetPriority(void*, int* priority) {
    *priority = 0;
    return abi::success;
}
EXPORTED int cudaEventCreate(void* event) { return handle_into(event); }
EXPORTED int cudaEventCreateWithFlags(void* event, unsigned) { return handle_into(event); }
EXPORTED int cudaEventElapsedTime(float* milliseconds, void*, void*) {
    *milliseconds = 1;  // time is not modelled; a 0 would be divided by
    return abi::success;
}
EXPORTED int cudaStreamBeginCapture(void* stream, int) {
    world().begin_capture(reinterpret_cast<std::uintptr_t>(stream));
    return abi::success;
}
EXPORTED int cudaStreamEndCapture(void* stream, void* graph) {
    world().end_capture(reinterpret_cast<std::uintptr_t>(stream));
    return handle_into(graph);
}
EXPORTED int cudaStreamIsCapturing(void* stream, int* status) {
    *status = world().capture_of(reinterpret_cast<std::uintptr_t>(stream)) != 0 ? 1 : 0;
    return abi::success;
}
static int capture_info(void* stream, int* status, unsigned long long* id, std::size_t* dependencies) {
    const std::uint64_t capture = world().capture_of(reinterpret_cast<std::uintptr_t>(stream));
    *status = capture != 0 ? 1 : 0;
    if (id != nullptr) *id = capture;
    if (dependencies != nullptr) *dependencies = 0;
    return abi::success;
}
#if HPO_CUDA_MAJOR >= 13
EXPORTED int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void*, void*, void*, std::size_t* dependencies) {
    return capture_info(stream, status, id, dependencies);
}
#else
EXPORTED int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void*, void*, std::size_t* dependencies) {
    return capture_info(stream, status, id, dependencies);
}
#endif
EXPORTED int cudaGraphInstantiate(void* graph, void*, unsigned long long) { return handle_into(graph); }
EXPORTED int cudaGraphInstantiateWithFlags(void* graph, void*, unsigned long long) { return handle_into(graph); }
EXPORTED int cudaGraphGetNodes(void*, void*, std::size_t* count) {
    *count = 1;  // a graph without nodes makes PyTorch warn
    return abi::success;
}

// Kernels. An answer but 0 to the push makes the code that nvcc writes skip the call.

EXPORTED unsigned __cudaPushCallConfiguration(std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t, std::size_t, void*) {
    world().note_launch();
    return 1;
}
EXPORTED int __cudaPopCallConfiguration(void*, void*, std::size_t*, void*) { return abi::success; }
EXPORTED int __cudaGetKernel(void** kernel, const void*) {
    *kernel = reinterpret_cast<void*>(0x10);
    return abi::success;
}
EXPORTED int __cudaLaunchKernel(const void*, std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t, void**, std::size_t, void*) {
    world().note_launch();
    return abi::success;
}
EXPORTED int cudaLaunchKernel(const void*, std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t, void**, std::size_t, void*) {
    world().note_launch();
    return abi::success;
}
EXPORTED int cudaLaunchKernelExC(const void*, const void*, void**) {
    world().note_launch();
    return abi::success;
}
EXPORTED int cudaLaunchCooperativeKernel(const void*, std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t, void**, std::size_t,
                                         void*) {
    world().note_launch();
    return abi::success;
}
EXPORTED void** __cudaRegisterFatBinary(void* wrapper) { return Kernels::instance().add_binary(wrapper); }
EXPORTED void __cudaRegisterFunction(void** binary, const char* function, char*, const char*, int, void*, void*, void*, void*, int*) {
    Kernels::instance().add_function(binary, function);
}
EXPORTED char __cudaInitModule(void**) { return 1; }
EXPORTED int cudaFuncGetAttributes(void* out, const void* function) {
    const int version = Kernels::instance().version_of(function, world().card().capability);
    const abi::FunctionAttributes facts{
        .threads_per_block = 1024, .registers = 32, .ptx_version = version, .binary_version = version, .dynamic_shared = 49152};
    std::memcpy(out, &facts, sizeof facts);
    return abi::success;
}
static int blocks_at_once(int* blocks, int threads) {
    const Card& card = world().card();
    const int fitting = card.threads_per_multiprocessor() / (threads > 0 ? threads : 1);
    *blocks = fitting < 1 ? 1 : fitting > card.blocks_per_multiprocessor() ? card.blocks_per_multiprocessor() : fitting;
    return abi::success;
}
EXPORTED int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, std::size_t) {
    return blocks_at_once(blocks, threads);
}
EXPORTED int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads, std::size_t, unsigned) {
    return blocks_at_once(blocks, threads);
}
}
