// SPDX-License-Identifier: MIT
//
// NVML's functions for the virtual cards, with the names and meanings of the NVML API. A library of its own: programs load it by the name
// libnvidia-ml.so.1.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "card.hpp"
#include "exported.hpp"
#include "memory.hpp"

using namespace hpo::virtual_card;

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;

const Card& card() { return wanted().card; }

/// What the processes hold. In a process that uses the card, it asks the part that counts; elsewhere it reads the shared file.
std::vector<ProcessUse> uses() {
    static const auto ask = reinterpret_cast<long long (*)(int, int, int*)>(dlsym(RTLD_DEFAULT, "hpo_virtual_card_use"));
    if (ask == nullptr) {
        static Ledger* const ledger = new Ledger{wanted().state, card().memory_bytes};
        return ledger->uses();
    }
    std::vector<ProcessUse> found;
    for (int row = 0;; ++row) {
        ProcessUse use;
        for (int number = 0; number < card().count; ++number) {
            const long long bytes = ask(row, number, &use.process);
            if (bytes < 0) return found;
            use.bytes[static_cast<std::size_t>(number)] = bytes;
        }
        found.push_back(use);
    }
}
std::int64_t used_bytes(int number) {
    std::int64_t sum = 0;
    for (const ProcessUse& each : uses()) sum += each.bytes[static_cast<std::size_t>(number)];
    return sum;
}

/// A handle is the number of its card, and 1.
int number_of(const void* handle) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1; }
bool is_card(int number) { return number >= 0 && number < card().count; }
int text_into(char* out, unsigned size, const char* text) {
    if (std::strlen(text) >= size) return insufficient_size;
    std::snprintf(out, size, "%s", text);
    return success;
}
int handle_into(void** out, int number) {
    if (!is_card(number)) return not_found;
    *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(number + 1));
    return success;
}

struct Memory {
    std::uint64_t total = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;
};
struct MemoryAndReserve {
    unsigned version = 0;
    std::uint64_t total = 0;
    std::uint64_t reserved = 0;
    std::uint64_t free = 0;
    std::uint64_t used = 0;
};
struct Process {
    unsigned process = 0;
    std::uint64_t bytes = 0;
    unsigned gpu_instance = 0xFFFFFFFF;
    unsigned compute_instance = 0xFFFFFFFF;
};

int processes(const void* handle, unsigned* count, Process* out) {
    if (!is_card(number_of(handle))) return invalid_argument;
    std::vector<Process> found;
    for (const ProcessUse& use : uses()) {
        const std::int64_t bytes = use.bytes[static_cast<std::size_t>(number_of(handle))];
        if (bytes > 0) found.push_back({.process = static_cast<unsigned>(use.process), .bytes = static_cast<std::uint64_t>(bytes)});
    }
    const bool fits = found.size() <= *count;
    *count = static_cast<unsigned>(found.size());
    if (!fits) return insufficient_size;
    if (!found.empty()) std::memcpy(out, found.data(), found.size() * sizeof(Process));
    return success;
}

}  // namespace

extern "C" {

EXPORTED int nvmlInit_v2() { return success; }
EXPORTED int nvmlShutdown() { return success; }
EXPORTED const char* nvmlErrorString(int code) { return code == success ? "Success" : "error of the virtual card"; }
EXPORTED int nvmlSystemGetDriverVersion(char* text, unsigned size) { return text_into(text, size, "580.00 (virtual)"); }
EXPORTED int nvmlSystemGetCudaDriverVersion(int* version) {
    *version = cuda_version;
    return success;
}
EXPORTED int nvmlSystemGetCudaDriverVersion_v2(int* version) { return nvmlSystemGetCudaDriverVersion(version); }
EXPORTED int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(card().count);
    return success;
}
EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) { return handle_into(handle, static_cast<int>(index)); }
EXPORTED int nvmlDeviceGetHandleByUUID(const char* text, void** handle) {
    int number = 0;
    if (std::sscanf(text, "GPU-00000000-0000-0000-0000-%d", &number) != 1) return invalid_argument;
    return handle_into(handle, number - 1);
}
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** handle) {
    unsigned domain = 0;
    unsigned bus = 0;
    if (std::sscanf(text, "%x:%x:", &domain, &bus) != 2) return invalid_argument;
    return handle_into(handle, static_cast<int>(bus) - 1);
}
EXPORTED int nvmlDeviceGetName(void*, char* text, unsigned size) { return text_into(text, size, card().name.c_str()); }
EXPORTED int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
    char uuid[48];
    std::snprintf(uuid, sizeof uuid, "GPU-00000000-0000-0000-0000-%012d", number_of(handle) + 1);
    return text_into(text, size, uuid);
}
EXPORTED int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
    *major = card().capability / 10;
    *minor = card().capability % 10;
    return success;
}
EXPORTED int nvmlDeviceGetMemoryInfo(void* handle, Memory* out) {
    if (!is_card(number_of(handle))) return invalid_argument;
    out->total = static_cast<std::uint64_t>(card().memory_bytes);
    out->used = static_cast<std::uint64_t>(used_bytes(number_of(handle)));
    out->free = out->total - out->used;
    return success;
}
EXPORTED int nvmlDeviceGetMemoryInfo_v2(void* handle, MemoryAndReserve* out) {
    Memory memory;
    const int code = nvmlDeviceGetMemoryInfo(handle, &memory);
    if (code != success) return code;
    out->total = memory.total;
    out->reserved = 0;
    out->free = memory.free;
    out->used = memory.used;
    return success;
}
EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(void* handle, unsigned* count, Process* out) { return processes(handle, count, out); }
EXPORTED int nvmlDeviceGetComputeRunningProcesses(void* handle, unsigned* count, Process* out) { return processes(handle, count, out); }
EXPORTED int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
    *status = 0;  // the cards can reach each other
    return success;
}
EXPORTED int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return not_supported; }
EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return not_supported; }
EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return not_supported; }
}
