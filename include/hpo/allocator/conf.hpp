// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// An option of PYTORCH_CUDA_ALLOC_CONF, and the versions of LibTorch that know it.
struct AllocatorOption {
    enum class Effect : std::uint8_t { modelled, none };  ///< modelled: it changes how much device memory is taken
    std::string_view name;
    LibTorchVersion since;
    LibTorchVersion before{999, 0};  ///< the first version that no longer knows it
    Effect effect = Effect::modelled;
    [[nodiscard]] bool known_to(LibTorchVersion version) const { return since <= version && version < before; }
};

inline constexpr std::array<AllocatorOption, 17> allocator_options{{
    {"max_split_size_mb", {1, 10}},
    {"roundup_power2_divisions", {1, 12}},
    {"roundup_bypass_threshold_mb", {1, 13}, {2, 0}},
    {"garbage_collection_threshold", {1, 12}},
    {"backend", {2, 0}},
    {"expandable_segments", {2, 1}},
    {"max_non_split_rounding_mb", {2, 6}},
    {"per_process_memory_fraction", {2, 10}},
    {"large_segment_size_mb", {2, 11}},
    {"release_lock_on_cudamalloc", {2, 1}, {999, 0}, AllocatorOption::Effect::none},
    {"release_lock_on_hipmalloc", {2, 1}, {999, 0}, AllocatorOption::Effect::none},
    {"pinned_use_cuda_host_register", {2, 1}, {999, 0}, AllocatorOption::Effect::none},
    {"pinned_use_hip_host_register", {2, 1}, {999, 0}, AllocatorOption::Effect::none},
    {"pinned_num_register_threads", {2, 1}, {999, 0}, AllocatorOption::Effect::none},
    {"pinned_use_background_threads", {2, 6}, {999, 0}, AllocatorOption::Effect::none},
    {"graph_capture_record_stream_reuse", {2, 9}, {999, 0}, AllocatorOption::Effect::none},
    {"pinned_reserve_segment_size_mb", {2, 10}, {999, 0}, AllocatorOption::Effect::none},
}};

/// The modelled version that a text such as "2.6" names. Throws Error, which begins with `place`, for any other text.
[[nodiscard]] LibTorchVersion require_modelled_version(std::string_view place, std::string_view text);

/// Reads the text of PYTORCH_CUDA_ALLOC_CONF, "max_split_size_mb:128,expandable_segments:True", as a version of LibTorch does. Refuses what
/// that version refuses, because it would end the worker at its first allocation.
class AllocatorConfReader {
public:
    AllocatorConfReader(std::string_view place, LibTorchVersion version) : place_{place}, version_{version} {}

    [[nodiscard]] AllocatorSettings read(std::string_view text);

    /// The parts between commas that are outside brackets, without white space. Empty parts are left out.
    [[nodiscard]] static std::vector<std::string> items(std::string_view text);

private:
    [[nodiscard]] std::string at(std::string_view name) const { return place_ + ": " + std::string{name}; }
    [[nodiscard]] const AllocatorOption& find(const std::string& name) const;

    void set(std::string_view name, const std::string& value);
    /// "4", or since 2.0 a list such as "[64:8,256:4,>:1]". Each entry gives the number of divisions from a size in MiB on. The first also
    /// holds below its size. The last, ">", holds for all sizes without an entry.
    void set_divisions(std::string_view name, const std::string& value);

    template <class Number>
    [[nodiscard]] static std::optional<Number> number(std::string_view text);
    [[nodiscard]] std::int64_t mebibytes(std::string_view name, const std::string& value, std::int64_t least) const;
    [[nodiscard]] std::uint32_t power_of_two(std::string_view name, const std::string& value, std::uint32_t least) const;
    [[nodiscard]] double share(std::string_view name, const std::string& value) const;

    std::string place_;
    LibTorchVersion version_;
    AllocatorSettings settings_;
};

/// `place` is where the text stands. Errors begin with it.
[[nodiscard]] inline AllocatorSettings read_allocator_conf(std::string_view text, LibTorchVersion version,
                                                           std::string_view place = "PYTORCH_CUDA_ALLOC_CONF") {
    return AllocatorConfReader{place, version}.read(text);
}

}  // namespace hpo::allocator
