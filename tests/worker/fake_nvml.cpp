// SPDX-License-Identifier: MIT
// A driver's management library with four cards, and a hundred processes on the first, for tests of what reads it.
#include <cstdint>
#include <cstdio>

extern "C" {

struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};
struct nvml_process {
    unsigned int pid;
    unsigned long long used_bytes;
    unsigned int gpu_instance, compute_instance;
};

int nvmlInit_v2() { return 0; }

struct card {
    const char* name;
    const char* uuid;
    unsigned long long mib;
};
static card cards[] = {{"test card", "GPU-11110000-aaaa-0000-0000-000000000000", 24576},
                       {"large test card", "GPU-11112222-bbbb-0000-0000-000000000000", 49152},
                       {"small test card", "GPU-33330000-cccc-0000-0000-000000000000", 16384},
                       {"last test card", "GPU-44440000-dddd-0000-0000-000000000000", 24576}};

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 4;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (index >= 4) return 2;
    *device = &cards[index];
    return 0;
}
int nvmlDeviceGetName(void* device, char* text, unsigned length) {
    std::snprintf(text, length, "%s", static_cast<card*>(device)->name);
    return 0;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
    std::snprintf(text, length, "%s", static_cast<card*>(device)->uuid);
    return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, nvml_memory* memory) {
    memory->total = static_cast<card*>(device)->mib << 20U;
    memory->used = 4096ULL << 20U;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, nvml_memory_v2* memory) {
    if (memory->version != (sizeof(nvml_memory_v2) | (2U << 24U))) return 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    memory->total = static_cast<card*>(device)->mib << 20U;
    memory->reserved = 512ULL << 20U;
    memory->used = 3584ULL << 20U;
    memory->free = memory->total - memory->reserved - memory->used;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, nvml_process* processes) {
    if (device != &cards[0]) {
        *count = 0;
        return 0;
    }
    constexpr unsigned running = 100;
    if (*count < running) {
        *count = running;
        return 7;
    }
    *count = running;
    for (unsigned i = 0; i < running; ++i) processes[i] = {1000 + i, 16ULL << 20U, 0xFFFFFFFF, 0xFFFFFFFF};
    processes[running - 1].used_bytes = UINT64_MAX;
    return 0;
}
}
