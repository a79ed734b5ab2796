// SPDX-License-Identifier: MIT
// A driver's management library with one card of 24 GiB and a hundred processes on it, for tests of what reads it.
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
int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = 1;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    static int card = 0;
    *device = &card;
    return index == 0 ? 0 : 2;
}
int nvmlDeviceGetName(void*, char* text, unsigned length) {
    std::snprintf(text, length, "test card");
    return 0;
}
int nvmlDeviceGetMemoryInfo(void*, nvml_memory* memory) {
    memory->total = 24576ULL << 20U;
    memory->used = 4096ULL << 20U;
    memory->free = memory->total - memory->used;
    return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void*, nvml_memory_v2* memory) {
    if (memory->version != (sizeof(nvml_memory_v2) | (2U << 24U))) return 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    memory->total = 24576ULL << 20U;
    memory->reserved = 512ULL << 20U;
    memory->used = 3584ULL << 20U;
    memory->free = memory->total - memory->reserved - memory->used;
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, nvml_process* processes) {
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
