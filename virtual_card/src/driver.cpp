// SPDX-License-Identifier: MIT
//
// The CUDA driver's functions whose results matter. Their names, arguments and meanings are those of the CUDA Driver API. PyTorch asks the
// runtime for them by name.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "abi.hpp"
#include "exported.hpp"
#include "world.hpp"

using namespace hpo::virtual_card;

namespace {

World& world() { return World::instance(); }

void* const the_context = reinterpret_cast<void*>(0x20);

bool is_card(int number) { return number >= 0 && number < world().card().count; }

/// CUmemAllocationProp begins with these.
struct PagesWanted {
    int type = 0;
    int handle_types = 0;
    int location_type = 0;
    int location = 0;
};

int handle_into(void* out) {
    *static_cast<std::uintptr_t*>(out) = world().handle();
    return abi::success;
}

/// Stands for a function that the driver does not have here.
int unmodelled() { return abi::success; }

int entry_point(const char* name, void** out, int* result) {
    void* const found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) world().note_unmodelled(name);
    *out = found != nullptr ? found : reinterpret_cast<void*>(&unmodelled);
    if (result != nullptr) *result = 0;
    return abi::success;
}

}  // namespace

extern "C" {

EXPORTED int cudaGetDriverEntryPointByVersion(const char* name, void** out, unsigned, unsigned long long, int* result) {
    return entry_point(name, out, result);
}
EXPORTED int cudaGetDriverEntryPoint(const char* name, void** out, unsigned long long, int* result) {
    return entry_point(name, out, result);
}
EXPORTED int cuGetProcAddress_v2(const char* name, void** out, int, std::uint64_t, int* result) { return entry_point(name, out, result); }

/// NVRTC looks there for functions that only NVIDIA knows. It goes on without them, but not without this one.
EXPORTED int cuGetExportTable(const void** table, const void*) {
    *table = nullptr;
    return abi::not_found;
}
EXPORTED int cuInit(unsigned) { return world().card().count > 0 ? abi::success : abi::no_device; }
EXPORTED int cuDriverGetVersion(int* version) {
    *version = cuda_version;
    return abi::success;
}
EXPORTED int cuDeviceGetCount(int* count) {
    *count = world().card().count;
    return abi::success;
}
EXPORTED int cuDeviceGet(int* out, int card) {
    *out = card;
    return is_card(card) ? abi::success : abi::invalid_device;
}
EXPORTED int cuDeviceGetAttribute(int* value, int which, int card) { return attribute(which, card, value); }
EXPORTED int cuDeviceGetUuid(void* out, int card) {
    std::memset(out, 0, 16);
    static_cast<char*>(out)[15] = static_cast<char>(card + 1);
    return abi::success;
}
EXPORTED int cuDevicePrimaryCtxGetState(int card, unsigned* flags, int* active) {
    if (!is_card(card)) return abi::invalid_device;
    *flags = 0;
    *active = world().has_context(card) ? 1 : 0;
    return abi::success;
}
EXPORTED int cuDevicePrimaryCtxRetain(void** out, int card) {
    if (!is_card(card)) return abi::invalid_device;
    *out = the_context;
    return world().open_context(card) ? abi::success : abi::out_of_memory;
}
EXPORTED int cuCtxGetCurrent(void** out) {
    *out = world().has_context(World::current()) ? the_context : nullptr;
    return abi::success;
}
EXPORTED int cuCtxGetDevice(int* card) {
    *card = World::current();
    return abi::success;
}
EXPORTED int cuGetErrorString(int code, const char** out) {
    *out = error_text(code);
    return abi::success;
}
EXPORTED int cuGetErrorName(int code, const char** out) {
    *out = error_name(code);
    return abi::success;
}

// Memory at addresses of one's own: expandable segments.

EXPORTED int cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
    *bytes = page_bytes;
    return abi::success;
}
EXPORTED int cuMemAddressReserve(std::uintptr_t* out, std::size_t bytes, std::size_t, std::uintptr_t, unsigned long long) {
    *out = world().memory().reserve(bytes);
    return *out != 0 ? abi::success : abi::out_of_memory;
}
EXPORTED int cuMemAddressFree(std::uintptr_t at, std::size_t bytes) {
    return world().memory().unreserve(at, bytes) ? abi::success : abi::invalid_value;
}
EXPORTED int cuMemCreate(std::uint64_t* out, std::size_t bytes, const void* wanted, unsigned long long) {
    PagesWanted pages;
    std::memcpy(&pages, wanted, sizeof pages);
    const int card = pages.location_type == 1 ? pages.location : World::current();
    if (!is_card(card)) return abi::invalid_device;
    if (!world().open_context(card)) return abi::out_of_memory;
    *out = world().memory().create_pages(card, bytes);
    return *out != 0 ? abi::success : bytes % page_bytes != 0 ? abi::invalid_value : abi::out_of_memory;
}
EXPORTED int cuMemRelease(std::uint64_t pages) { return world().memory().release_pages(pages) ? abi::success : abi::invalid_value; }
EXPORTED int cuMemMap(std::uintptr_t at, std::size_t bytes, std::size_t, std::uint64_t pages, unsigned long long) {
    return world().memory().map_pages(at, bytes, pages) ? abi::success : abi::invalid_value;
}
EXPORTED int cuMemUnmap(std::uintptr_t at, std::size_t bytes) {
    return world().memory().unmap_pages(at, bytes) ? abi::success : abi::invalid_value;
}
EXPORTED int cuMemSetAccess(std::uintptr_t at, std::size_t bytes, const void*, std::size_t) {
    return world().memory().holds(at, bytes) ? abi::success : abi::invalid_value;
}
EXPORTED int cuPointerGetAttribute(void* out, int which, std::uintptr_t at) {
    const auto card = world().memory().card_of(at);
    switch (which) {
        case 2: *static_cast<unsigned*>(out) = card ? 2 : 1; break;                // the kind of memory
        case 9: *static_cast<int*>(out) = card.value_or(World::current()); break;  // its card
        default: *static_cast<std::uintptr_t*>(out) = 0; break;
    }
    return card || world().pinned(reinterpret_cast<void*>(at)) ? abi::success : abi::invalid_value;
}

// Kernels that a program compiles while it runs.

EXPORTED int cuModuleLoad(void** out, const char*) { return handle_into(out); }
EXPORTED int cuModuleLoadData(void** out, const void*) { return handle_into(out); }
EXPORTED int cuModuleLoadDataEx(void** out, const void*, unsigned, void*, void*) { return handle_into(out); }
EXPORTED int cuModuleGetFunction(void** out, void*, const char*) { return handle_into(out); }
EXPORTED int cuFuncGetAttribute(int* value, int which, void*) {
    *value = which == 0 ? 1024 : which == 4 ? 32 : 0;  // threads of a block; registers
    return abi::success;
}
EXPORTED int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, std::size_t) {
    *blocks = 1;
    return abi::success;
}
EXPORTED int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
    *clusters = 1;
    return abi::success;
}
EXPORTED int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
    world().note_launch();
    return abi::success;
}
EXPORTED int cuLaunchKernelEx(const void*, void*, void**, void**) {
    world().note_launch();
    return abi::success;
}
}
