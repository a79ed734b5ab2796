// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/memory/allocator_settings.hpp"

namespace hpo::memory {

/// An option of PYTORCH_CUDA_ALLOC_CONF, and the versions of LibTorch that know it.
struct AllocatorOption {
    enum class Effect : std::uint8_t { modelled, none };  ///< whether it changes how much device memory is taken
    std::string_view name;
    LibTorchVersion since;
    LibTorchVersion before{999, 0};  ///< the first that does not know it any more
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

/// Reads text like PYTORCH_CUDA_ALLOC_CONF's, "max_split_size_mb:128,expandable_segments:True", as a version of LibTorch does, and refuses
/// what that version refuses: it would end the worker at its first allocation.
class AllocatorConfReader {
public:
    AllocatorConfReader(std::string_view place, LibTorchVersion version) : place_{place}, version_{version} {}

    [[nodiscard]] AllocatorSettings read(std::string_view text);

private:
    /// What stands between commas outside of brackets, without white space; empty ones are left out.
    [[nodiscard]] static std::vector<std::string> items(std::string_view text);
    [[nodiscard]] std::string at(std::string_view name) const { return place_ + ": " + std::string{name}; }
    [[nodiscard]] const AllocatorOption& find(const std::string& name) const;

    void set(std::string_view name, const std::string& value);
    /// "4", or, since 2.0, "[64:8,256:4,>:1]": how many divisions from so many MiB on, the first also below, the last wherever nothing is
    /// said.
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

/// `place` is where the text stands; errors begin with it.
[[nodiscard]] inline AllocatorSettings read_allocator_conf(std::string_view text, LibTorchVersion version,
                                                           std::string_view place = "PYTORCH_CUDA_ALLOC_CONF") {
    return AllocatorConfReader{place, version}.read(text);
}

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/allocator_conf_inl.hpp"
#endif
