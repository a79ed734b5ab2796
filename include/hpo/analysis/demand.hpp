// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/condition.hpp"

namespace hpo::analysis {

/// A parameter, or a part of the plan, that memory can depend on.
struct DemandAxis {
    enum class Kind {
        number,    ///< compares in its direction
        choice,    ///< compares as equal only
        presence,  ///< only whether it is above nothing matters: a rate, which may need a buffer
    };
    std::string param;
    int direction = 0;  ///< of a number, +1: larger values need more; -1: smaller ones; 0: not known, so only equal ones compare
    Kind kind = Kind::number;
    bool unseen = false;  ///< peaks were measured, and this explains nothing of them
    double power = 2;     ///< of a number: what memory is taken to grow with at most
};

namespace detail {

/// The words of a name in lower case, without plural and number: "encoder.numLayers2" gives encoder, num, layer.
[[nodiscard]] inline std::vector<std::string> words_of(std::string_view name) {
    std::vector<std::string> words(1);
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        const bool begins = std::isupper(c) && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1]));
        if ((!std::isalpha(c) || begins) && !words.back().empty()) words.emplace_back();
        if (std::isalpha(c)) words.back() += static_cast<char>(std::tolower(c));
    }
    for (std::string& word : words) {
        if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
    }
    return words;
}

[[nodiscard]] inline bool names_one_of(std::string_view name, std::span<const std::string_view> known) {
    return std::ranges::any_of(words_of(name), [&](const std::string& word) { return std::ranges::find(known, word) != known.end(); });
}

}  // namespace detail

/// True for the name of a number of levels: layers, blocks, depth.
[[nodiscard]] inline bool counts_levels(std::string_view name) {
    static constexpr std::array<std::string_view, 7> levels{"level", "depth", "layer", "nlayer", "block", "stage", "scale"};
    return detail::names_one_of(last_part(name), levels);
}

/// +1 for the name of a size: a batch, a width, a length, a number of layers. More of it needs at least as much memory. 0 for all
/// others. Sizes of what divides the work are among them: patches, strides, pieces, shares.
[[nodiscard]] inline int direction_by_name(std::string_view name) {
    static constexpr std::array<std::string_view, 50> sizes{
        "batch",  "bs",        "width",  "depth",  "hidden", "layer",     "channel",  "filter", "unit",     "neuron",
        "dim",    "dimension", "size",   "length", "len",    "seq",       "sequence", "seqlen", "maxlen",   "token",
        "head",   "nhead",     "nlayer", "embed",  "emb",    "embedding", "feature",  "block",  "level",    "resolution",
        "height", "image",     "img",    "side",   "frame",  "context",   "window",   "expert", "vocab",    "rank",
        "latent", "ffn",       "ngf",    "ndf",    "nhid",   "crop",      "horizon",  "beam",   "ensemble", "bptt"};
    static constexpr std::array<std::string_view, 62> dividers{
        "patch",    "stride",      "accum",        "accumulate",  "accumulation", "chunk",     "segment",  "shard",     "sparsity",
        "sparse",   "downsample",  "downsampling", "subsample",   "subsampling",  "reduction", "reduce",   "pool",      "pooling",
        "compress", "compression", "group",        "prune",       "pruning",      "split",     "freeze",   "frozen",    "skip",
        "drop",     "share",       "shared",       "tie",         "tied",         "every",     "interval", "frequency", "freq",
        "ratio",    "rate",        "prob",         "probability", "fraction",     "frac",      "inverse",  "inv",       "divisor",
        "div",      "checkpoint",  "offload",      "bit",         "quant",        "kernel",    "dilation", "mask",      "keep",
        "parallel", "worker",      "gpu",          "device",      "world",        "norm",      "step",     "partition"};
    const std::string_view last = last_part(name);
    return (last == "d_model" || detail::names_one_of(last, sizes)) && !detail::names_one_of(name, dividers) ? 1 : 0;
}

}  // namespace hpo::analysis
