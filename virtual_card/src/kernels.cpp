// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hpo::virtual_card {

namespace {

// A "fat binary" as nvcc embeds it: a wrapper that points to a header, behind which the code for each architecture stands with a header of
// its own. Only these fields are read.
constexpr std::uint32_t wrapper_magic = 0x466243B1;
constexpr std::uint32_t binary_magic = 0xBA55ED50;
struct Wrapper {
    std::uint32_t magic = 0;
    std::uint32_t version = 0;
    const std::byte* data = nullptr;
};
struct BinaryHeader {
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    std::uint16_t header_bytes = 0;
    std::uint64_t bytes = 0;  ///< behind the header
};
struct EntryHeader {
    std::uint16_t kind = 0;  ///< 1: PTX, 2: compiled
    std::uint16_t unknown = 0;
    std::uint32_t header_bytes = 0;
    std::uint64_t bytes = 0;  ///< behind the header
    std::uint32_t others[3]{};
    std::uint32_t architecture = 0;
};

template <class Value>
Value read_at(const std::byte* at) {
    Value value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

Kernels& Kernels::instance() {
    static Kernels* const kernels = new Kernels;
    return *kernels;
}

Kernels::Binary Kernels::read(const void* wrapper) {
    Binary binary;
    const auto outer = read_at<Wrapper>(static_cast<const std::byte*>(wrapper));
    if (outer.magic != wrapper_magic || outer.data == nullptr) return binary;
    const auto header = read_at<BinaryHeader>(outer.data);
    if (header.magic != binary_magic) return binary;
    const std::byte* at = outer.data + header.header_bytes;
    const std::byte* const end = at + header.bytes;
    while (at + sizeof(EntryHeader) <= end) {
        const auto entry = read_at<EntryHeader>(at);
        if (entry.header_bytes < sizeof(EntryHeader)) break;
        (entry.kind == 1 ? binary.ptx : binary.compiled).push_back(static_cast<int>(entry.architecture));
        at += entry.header_bytes + entry.bytes;
    }
    return binary;
}

void** Kernels::add_binary(const void* wrapper) {
    Binary binary = read(wrapper);
    const std::lock_guard lock{mutex_};
    binaries_.push_back(std::move(binary));
    return reinterpret_cast<void**>(&binaries_.back());
}

void Kernels::add_function(void** binary, const void* function) {
    const std::lock_guard lock{mutex_};
    functions_[function] = reinterpret_cast<const Binary*>(binary);
}

int Kernels::version_of(const void* function, int capability) const {
    const std::lock_guard lock{mutex_};
    const auto found = functions_.find(function);
    if (found == functions_.end()) return capability;
    int newest = 0;
    for (const int each : found->second->compiled) {
        if (each / 10 == capability / 10 && each <= capability) newest = std::max(newest, each);
    }
    for (const int each : found->second->ptx) {
        if (newest == 0 && each <= capability) newest = std::max(newest, each);
    }
    return newest != 0 ? newest : capability;
}

}  // namespace hpo::virtual_card
