// SPDX-License-Identifier: MIT
// A driver's management library with four cards, and a hundred processes on the first, for tests of what reads it. The small card tells no
// events. A test reports an Xid with fake_nvml_report.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

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

struct nvml_event {
    void* device;
    unsigned long long type, data;
    unsigned int gpu_instance, compute_instance;
};
struct event_set {
    std::vector<void*> devices;
    std::vector<nvml_event> events;
};
static std::vector<event_set*> event_sets;

int nvmlEventSetCreate(void** set) {
    event_sets.push_back(new event_set{});
    *set = event_sets.back();
    return 0;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void* set) {
    if (device == &cards[2]) return 3;                    // NVML_ERROR_NOT_SUPPORTED
    if ((types & ~0x1fULL) != 0 || types == 0) return 2;  // NVML_ERROR_INVALID_ARGUMENT
    if ((types & 8) != 0) static_cast<event_set*>(set)->devices.push_back(device);
    return 0;
}
int nvmlEventSetWait_v2(void* set, nvml_event* event, unsigned) {
    std::vector<nvml_event>& events = static_cast<event_set*>(set)->events;
    if (events.empty()) return 10;  // NVML_ERROR_TIMEOUT
    *event = events.front();
    events.erase(events.begin());
    return 0;
}
int nvmlEventSetFree(void* set) {
    event_sets.erase(std::remove(event_sets.begin(), event_sets.end(), static_cast<event_set*>(set)), event_sets.end());
    delete static_cast<event_set*>(set);
    return 0;
}
void fake_nvml_report(unsigned index, unsigned long long type, unsigned long long data) {
    for (event_set* set : event_sets) {
        for (void* device : set->devices) {
            if (device == &cards[index]) set->events.push_back({device, type, data, 0xFFFFFFFF, 0xFFFFFFFF});
        }
    }
}
unsigned fake_nvml_event_sets() { return static_cast<unsigned>(event_sets.size()); }
}
