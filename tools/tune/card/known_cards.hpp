// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace hpo::tune {

/// A card that people have.
struct KnownCard {
    std::string_view name;
    int capability = 0;         ///< 10 * major + minor
    int multiprocessors = 0;    ///< from NVIDIA's data sheets and printed device properties
    double gibibytes = 0;       ///< what PyTorch tells of such a card on Linux: "total capacity" when out of memory, with two decimals
    int context_mebibytes = 0;  ///< "in use" of such a message, less what PyTorch had; 0: nobody's message says
    std::string_view source;    ///< the messages
};

/// By memory, the smallest first. A card of the same name may tell some MiB more or less, by its driver and its ECC. The context, too,
/// differs from driver to driver and with the kernels that a program loads.
inline constexpr std::array<KnownCard, 46> known_cards{{
    {"RTX-2060", 75, 30, 5.79, 0, "github.com/facebookresearch/meshrcnn/issues/92"},
    {"GTX-1660-Ti", 75, 24, 5.81, 0, "github.com/zhou13/lcnn/issues/23"},
    {"RTX-4060", 89, 24, 7.62, 0, "7807MiB in a line that Ultralytics printed"},
    {"RTX-4060-Ti-8GB", 89, 34, 7.62, 0, "7806MiB in several lines that Ultralytics printed"},
    {"RTX-3060-Ti", 86, 38, 7.64, 0, "7833MiB in a line that Ultralytics printed"},
    {"RTX-2070", 75, 36, 7.78, 0, "github.com/tloen/alpaca-lora/issues/442"},
    {"RTX-3070", 86, 46, 7.78, 0, "github.com/akshitac8/OW-DETR/issues/46"},
    {"RTX-4000", 75, 36, 7.80, 0, "a Quadro: github.com/CompVis/stable-diffusion/issues/485"},
    {"RTX-3080", 86, 68, 9.78, 0, "github.com/zai-org/CogVideo/issues/34"},
    {"RTX-2080-Ti", 75, 68, 10.76, 0, "github.com/JDAI-CV/image-captioning/issues/11"},
    {"GTX-1080-Ti", 61, 28, 10.91, 0, "11172MiB in a line that Ultralytics printed"},
    {"RTX-5070", 120, 48, 11.48, 0, "11755 MB in a line that hashcat printed"},
    {"RTX-4070", 89, 46, 11.71, 0, "11994MiB in a line that YOLOv5 printed"},
    {"RTX-3060", 86, 28, 11.76, 0, "github.com/TencentARC/PhotoMaker/issues/47"},
    {"RTX-3080-Ti", 86, 80, 11.77, 0, "12054MiB in a line that YOLOv5 printed"},
    {"T4", 75, 40, 14.56, 128, "github.com/Zheng-Chong/CatVTON/issues/133; facebookresearch/tribev2/issues/28"},
    {"RTX-5070-Ti", 120, 70, 15.46, 0, "15833 MiB in a line that Ultralytics printed"},
    {"RTX-5080", 120, 84, 15.47, 0, "15840MiB in a line that Ultralytics printed"},
    {"RTX-4060-Ti-16GB", 89, 34, 15.57, 0, "15.57 GiB total VRAM in somebody's log of training"},
    {"RTX-A4000", 86, 48, 15.61, 210, "github.com/DengKaiCQ/VGGT-Long/issues/6"},
    {"RTX-4080", 89, 76, 15.67, 0, "total_memory=16049MB in several printed device properties"},
    {"V100-16GB", 70, 80, 15.78, 366, "github.com/kchengiva/Shift-GCN/issues/34; meta-llama/llama/issues/918"},
    {"P100-16GB", 60, 56, 15.89, 0, "total_memory=16280MB in many printed device properties"},
    {"A10", 86, 72, 21.99, 224, "github.com/zai-org/CogVLM/issues/236"},
    {"L4", 89, 58, 22.03, 0, "github.com/anyscale/templates/pull/1082"},
    {"A30", 80, 56, 23.53, 0, "github.com/google/RB-Modulation/issues/5"},
    {"RTX-A5000", 86, 64, 23.54, 0, "total_memory=24114MB in printed device properties"},
    {"RTX-4090", 89, 128, 23.64, 504, "github.com/ali-vilab/VGen/issues/104; 3DTopia/Phidias-Diffusion/issues/8"},
    {"RTX-3090-Ti", 86, 84, 23.65, 0, "24214MiB in a line that Ultralytics printed"},
    {"RTX-3090", 86, 82, 23.70, 0, "github.com/GaoLii/DSP/issues/10"},
    {"RTX-5090", 120, 170, 31.37, 595, "github.com/Wan-Video/Wan2.1/issues/465"},
    {"V100-32GB", 70, 80, 31.74, 366, "github.com/liucongg/ChatGLM-Finetuning/issues/73; the context is that of a V100-16GB"},
    {"A100-40GB", 80, 108, 39.50, 501, "github.com/TianheWu/CoSeR/issues/10"},
    {"L40", 89, 142, 44.40, 507, "github.com/QwenLM/Qwen3-VL/issues/2097"},
    {"A40", 86, 84, 44.42, 0, "github.com/nexthybrid/AReaL, RUNPOD_COMPLETE_GUIDE.md"},
    {"L40S", 89, 142, 44.42, 0, "github.com/stepfun-ai/Step-Video-T2V/issues/8"},
    {"RTX-6000-Ada", 89, 142, 44.43, 429, "github.com/DINGYANB/MTVCrafter/issues/21, with ECC"},
    {"RTX-8000", 75, 72, 47.46, 0, "a Quadro: github.com/Victarry/stable-dreambooth/issues/8"},
    {"RTX-A6000", 86, 84, 47.54, 0, "github.com/vllm-project/vllm/issues/1201"},
    {"H100-80GB", 90, 132, 79.11, 0, "github.com/vllm-project/vllm/issues/27508"},
    {"A100-80GB", 80, 108, 79.25, 409, "github.com/wbfwonderful/Vad-R1/issues/11; HiDream-ai/VAREdit/issues/6"},
    {"H100-NVL", 90, 132, 93.00, 676, "github.com/ali-vilab/VACE/issues/56"},
    {"GH200", 90, 132, 94.88, 758, "github.com/Lightning-AI/litgpt/issues/1892"},
    {"RTX-PRO-6000", 120, 188, 94.97, 666, "github.com/LINYUNLinYun/CS336-assignment2-systems, results/memory_profiles/logs"},
    {"H200", 90, 132, 139.81, 0, "github.com/vllm-project/vllm/issues/34553"},
    {"B200", 100, 148, 178.35, 0, "total_memory=182631MB in several printed device properties"},
}};
static_assert(std::ranges::is_sorted(known_cards, {}, &KnownCard::gibibytes));

/// The card of a program that names none.
inline constexpr std::string_view usual_card = "A100-80GB";

/// Rounded down to whole pages of 2 MiB, since the figure has two decimals.
[[nodiscard]] constexpr std::int64_t card_bytes(const KnownCard& card) {
    return static_cast<std::int64_t>(card.gibibytes * (std::int64_t{1} << 30)) / (2 << 20) * (2 << 20);
}

}  // namespace hpo::tune
