// SPDX-License-Identifier: MIT
// Calls functions of the virtual card and prints what they answer.
//   hpo_test_use_card LIBRARY CALL...     each call is a word: malloc:MIB, free, info, device:N, copy:..., map:MIB, ...
#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void* library = nullptr;

template <class Function>
Function* find(const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) {
        std::printf("no %s\n", name);
        std::exit(3);
    }
    return reinterpret_cast<Function*>(found);
}

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr int to_device = 1;
constexpr int to_host = 2;

std::vector<void*> blocks;
void* reserved = nullptr;
std::size_t mapped = 0;

int copy(const std::string& what) {
    const auto run = find<int(void*, const void*, std::size_t, int)>("cudaMemcpy");
    static std::vector<char> host(4 * mib, 'x');
    if (what == "up") return run(blocks.back(), host.data(), mib, to_device);
    if (what == "down") {
        const int code = run(host.data(), blocks.back(), mib, to_host);
        std::printf("first byte %d\n", host[0]);
        return code;
    }
    if (what == "flag") {
        const int code = run(host.data(), blocks.back(), 1, to_host);
        std::printf("flag %d\n", host[0]);
        return code;
    }
    if (what == "host_as_device") return run(host.data(), host.data() + mib, mib, to_device);
    if (what == "device_as_host") return run(blocks.back(), blocks.front(), mib, to_device);
    return run(blocks.back(), host.data(), 4 * mib, to_device);  // beyond the end of a block of 2 MiB
}

int map_pages(std::size_t bytes) {
    if (reserved == nullptr && find<int(void**, std::size_t, std::size_t, std::uintptr_t, unsigned long long)>("cuMemAddressReserve")(
                                   &reserved, 1024 * mib, 0, 0, 0) != 0)
        return -1;
    std::uint64_t pages = 0;
    const int wanted[8] = {1, 0, 1, 0};
    const int code = find<int(std::uint64_t*, std::size_t, const void*, unsigned long long)>("cuMemCreate")(&pages, bytes, wanted, 0);
    if (code != 0) return code;
    const auto at = reinterpret_cast<std::uintptr_t>(reserved) + mapped;
    const int placed =
        find<int(std::uintptr_t, std::size_t, std::size_t, std::uint64_t, unsigned long long)>("cuMemMap")(at, bytes, 0, pages, 0);
    mapped += bytes;
    return placed != 0 ? placed : find<int(std::uint64_t)>("cuMemRelease")(pages);  // the mapping keeps the pages
}

int call(const std::string& name, const std::string& value) {
    const std::size_t number = static_cast<std::size_t>(std::atoll(value.c_str()));
    if (name == "malloc") {
        void* at = nullptr;
        const int code = find<int(void**, std::size_t)>("cudaMalloc")(&at, number * mib);
        if (!blocks.empty() && at != nullptr) std::printf("rises %d\n", at > blocks.back() ? 1 : 0);
        if (at != nullptr) blocks.push_back(at);
        return code;
    }
    if (name == "free") {
        void* const at = blocks.back();
        blocks.pop_back();
        return find<int(void*)>("cudaFree")(at);
    }
    if (name == "free_twice") return find<int(void*)>("cudaFree")(reinterpret_cast<void*>(0x1234));
    if (name == "info") {
        std::size_t free = 0;
        std::size_t total = 0;
        const int code = find<int(std::size_t*, std::size_t*)>("cudaMemGetInfo")(&free, &total);
        std::printf("free %zu of %zu\n", free / mib, total / mib);
        return code;
    }
    if (name == "device") return find<int(int)>("cudaSetDevice")(static_cast<int>(number));
    if (name == "count") {
        int count = -1;
        const int code = find<int(int*)>("cudaGetDeviceCount")(&count);
        std::printf("count %d\n", count);
        return code;
    }
    if (name == "copy") return copy(value);
    if (name == "dot") {
        float on_host = 0;
        void* const result = value == "host" ? &on_host : blocks.back();
        const void* const vector = blocks.back();
        return find<int(void*, int, const void*, int, const void*, int, void*)>("cublasSdot_v2")(nullptr, 4, vector, 1, vector, 1, result);
    }
    if (name == "map") return map_pages(number * mib);
    if (name == "unmap") return find<int(std::uintptr_t, std::size_t)>("cuMemUnmap")(reinterpret_cast<std::uintptr_t>(reserved), mapped);
    if (name == "call") return find<int()>(value.c_str())();
    if (name == "wait") {  // for a line on the standard input
        std::fflush(stdout);
        char line[8];
        return std::fgets(line, sizeof line, stdin) == nullptr ? 1 : 0;
    }
    if (name == "die") {
        std::fflush(stdout);
        ::_exit(0);
    }
    std::printf("what is %s?\n", name.c_str());
    return -1;
}

}  // namespace

int main(int argc, char** argv) {
    library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
        std::printf("%s\n", dlerror());
        return 3;
    }
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const auto colon = word.find(':');
        const int code = call(word.substr(0, colon), colon == std::string::npos ? "" : word.substr(colon + 1));
        std::printf("%s %d\n", word.c_str(), code);
    }
    return 0;
}
