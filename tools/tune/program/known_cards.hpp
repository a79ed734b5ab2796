// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hpo::tune {

/// A card that people have.
struct KnownCard {
    std::string_view name;
    int capability = 0;       ///< 10 * major + minor
    int multiprocessors = 0;  ///< from NVIDIA's data sheets
    double gibibytes = 0;     ///< "total capacity" in an out-of-memory message of PyTorch on such a card; it has two decimals
    std::string_view source;  ///< that message
};

/// By memory, the smallest first. A card of the same name may tell some MiB more or less, by its driver and its ECC.
inline constexpr std::array<KnownCard, 10> known_cards{{
    {"T4", 75, 40, 14.56, "github.com/Zheng-Chong/CatVTON/issues/133"},
    {"RTX-4090", 89, 128, 23.64, "github.com/ali-vilab/VGen/issues/104"},
    {"RTX-3090", 86, 82, 23.70, "github.com/GaoLii/DSP/issues/10"},
    {"RTX-5090", 120, 170, 31.37, "github.com/Wan-Video/Wan2.1/issues/465"},
    {"V100-32GB", 70, 80, 31.74, "github.com/liucongg/ChatGLM-Finetuning/issues/73"},
    {"A100-40GB", 80, 108, 39.50, "github.com/TianheWu/CoSeR/issues/10"},
    {"L40", 89, 142, 44.40, "github.com/QwenLM/Qwen3-VL/issues/2097"},
    {"L40S", 89, 142, 44.42, "github.com/stepfun-ai/Step-Video-T2V/issues/8"},
    {"H100-80GB", 90, 132, 79.11, "github.com/vllm-project/vllm/issues/27508"},
    {"A100-80GB", 80, 108, 79.25, "github.com/wbfwonderful/Vad-R1/issues/11"},
}};

[[nodiscard]] constexpr std::int64_t card_bytes(const KnownCard& card) {
    return static_cast<std::int64_t>(card.gibibytes * (std::int64_t{1} << 30)) / (2 << 20) * (2 << 20);
}

}  // namespace hpo::tune
