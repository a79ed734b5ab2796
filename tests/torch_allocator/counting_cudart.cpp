// SPDX-License-Identifier: MIT
// A CUDA runtime whose one device holds nothing and only counts: as much of it as LibTorch's caching allocator calls. Addresses of new
// memory lie above all earlier ones.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "torch_allocator/counting_cudart.hpp"

namespace {

std::size_t total = std::size_t{1} << 40;
std::size_t used = 0;
std::uintptr_t next_address = std::uintptr_t{1} << 40;
std::map<std::uintptr_t, std::size_t> segments;
std::map<unsigned long long, std::size_t> pages;
unsigned long long next_page = 0;
cudaError_t latest = cudaSuccess;

std::uintptr_t new_address(std::size_t bytes) {
    const std::uintptr_t address = next_address;
    next_address += (bytes / (2 << 20) + 2) * (2 << 20);
    return address;
}

// The driver's functions for expandable segments; 2 is its "out of memory".
int reserve(unsigned long long* address, std::size_t bytes, std::size_t, unsigned long long, unsigned long long) {
    *address = new_address(bytes);
    return 0;
}
int create(unsigned long long* page, std::size_t bytes, const void*, unsigned long long) {
    if (used + bytes > total) return 2;
    used += bytes;
    pages[*page = ++next_page] = bytes;
    return 0;
}
int release(unsigned long long page) {
    used -= pages[page];
    pages.erase(page);
    return 0;
}
int no_attribute(int* value, int, int) {
    *value = 0;
    return 0;
}
int device_zero(int* device, int) {
    *device = 0;
    return 0;
}
int nothing() { return 0; }

}  // namespace

extern "C" {

void counting_device_set_total(std::size_t bytes) { total = bytes; }

cudaError_t cudaMalloc(void** address, std::size_t bytes) {
    if (used + bytes > total) return latest = cudaErrorMemoryAllocation;
    used += bytes;
    const std::uintptr_t begin = new_address(bytes);
    segments[begin] = bytes;
    *address = reinterpret_cast<void*>(begin);
    return cudaSuccess;
}
cudaError_t cudaFree(void* address) {
    const auto segment = segments.find(reinterpret_cast<std::uintptr_t>(address));
    used -= segment->second;
    segments.erase(segment);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
    *free = total - used;
    *all = total;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
    *properties = {};
    properties->totalGlobalMem = total;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaGetLastError() {
    const cudaError_t error = latest;
    latest = cudaSuccess;
    return error;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) { return "an error"; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
    const std::string_view name{symbol};
    *function = name == "cuMemAddressReserve"    ? reinterpret_cast<void*>(&reserve)
                : name == "cuMemCreate"          ? reinterpret_cast<void*>(&create)
                : name == "cuMemRelease"         ? reinterpret_cast<void*>(&release)
                : name == "cuDeviceGetAttribute" ? reinterpret_cast<void*>(&no_attribute)
                : name == "cuDeviceGet"          ? reinterpret_cast<void*>(&device_zero)
                                                 : reinterpret_cast<void*>(&nothing);
    if (result != nullptr) *result = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
}
