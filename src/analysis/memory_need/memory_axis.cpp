// SPDX-License-Identifier: MIT
#include "analysis/memory_need/memory_axis.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/memory_need/name_words.hpp"
#include "analysis/memory_need/param_names.hpp"

namespace hpo::analysis {

bool counts_levels(std::string_view name) {
    static constexpr auto levels = std::to_array<std::string_view>({"level", "depth", "layer", "nlayer", "block", "stage", "scale"});
    return names_one_of(last_part(name), levels);
}

bool divides_work(std::string_view name) {
    static constexpr auto dividers = std::to_array<std::string_view>(
        {"patch",    "stride",     "accum",    "accumulate", "accumulation", "chunk",     "segment",     "shard",
         "sparsity", "sparse",     "down",     "downsample", "downsampling", "subsample", "subsampling", "reduction",
         "reduce",   "pool",       "pooling",  "compress",   "compression",  "group",     "prune",       "pruning",
         "split",    "freeze",     "frozen",   "skip",       "drop",         "share",     "shared",      "tie",
         "tied",     "every",      "interval", "frequency",  "freq",         "inverse",   "inv",         "divisor",
         "div",      "checkpoint", "offload",  "parallel",   "gpu",          "device",    "world",       "partition",
         "hop",      "voxel",      "pixel",    "cell",       "bin",          "merge",     "recompute",   "cpu",
         "squeeze",  "tile",       "tp",       "pp",         "cp",           "sp",        "dp",          "ep"});
    return names_one_of(name, dividers);
}

int direction_by_name(std::string_view name) {
    static constexpr auto sizes = std::to_array<std::string_view>(
        {"batch", "bs",        "width",   "depth",    "hidden",  "layer",      "channel", "filter", "unit",   "neuron",
         "dim",   "dimension", "seq",     "sequence", "seqlen",  "resolution", "point",   "maxlen", "token",  "head",
         "nhead", "nlayer",    "embed",   "emb",      "block",   "embedding",  "feature", "level",  "height", "image",
         "img",   "side",      "frame",   "expert",   "context", "rank",       "latent",  "ffn",    "ngf",    "ndf",
         "nhid",  "crop",      "horizon", "beam",     "bptt",    "ensemble"});
    static constexpr auto measures = std::to_array<std::string_view>({"size", "length", "len"});
    static constexpr auto qualifiers = std::to_array<std::string_view>(
        {"n",      "num",      "number", "nb",   "no",          "of",        "max",     "maximum",    "count",  "total",        "per",
         "train",  "training", "model",  "net",  "network",     "encoder",   "decoder", "enc",        "dec",    "input",        "output",
         "in",     "out",      "base",   "init", "initial",     "conv",      "fc",      "mlp",        "linear", "dense",        "lstm",
         "gru",    "rnn",      "cnn",    "unet", "transformer", "attention", "attn",    "self",       "cross",  "bert",         "gpt",
         "resnet", "vit",      "text",   "tok",  "lora",        "adapter",   "proj",    "projection", "kv",     "intermediate", "inner",
         "outer",  "first",    "last",   "feed", "forward",     "micro"});
    static constexpr auto unclear = std::to_array<std::string_view>(
        {"ratio", "rate",   "prob", "probability", "fraction", "frac",    "bit",  "quant", "kernel", "dilation",   "mask",
         "keep",  "worker", "norm", "step",        "min",      "minimum", "test", "val",   "valid",  "validation", "eval"});
    const auto is_one_of = [](const std::string& word, auto& list) { return std::ranges::find(list, word) != list.end(); };
    const auto is_known = [&](const std::string& word) {
        return is_one_of(word, sizes) || is_one_of(word, measures) || is_one_of(word, qualifiers);
    };
    if (divides_work(name) || names_one_of(name, unclear)) return 0;
    const std::string_view last = last_part(name);
    if (last == "d_model" || last == "d_ff") return 1;
    const std::vector<std::string> words = words_of(last);
    if (!std::ranges::all_of(words, is_known)) return 0;
    if (std::ranges::any_of(words, [&](const std::string& word) { return is_one_of(word, sizes); })) return 1;
    if (std::ranges::none_of(words, [&](const std::string& word) { return is_one_of(word, measures); })) return 0;
    return std::ranges::all_of(words_of(name), is_known) ? 1 : 0;  // "size" has no meaning without the words before it
}

bool is_plain_size(std::string_view name) {
    static constexpr auto plain =
        std::to_array<std::string_view>({"batch",  "bs",  "width",     "hidden", "layer",    "nlayer", "channel", "filter", "unit",
                                         "neuron", "dim", "dimension", "seq",    "sequence", "seqlen", "token",   "head",   "nhead",
                                         "embed",  "emb", "embedding", "ffn",    "ngf",      "ndf",    "nhid",    "expert", "context"});
    static constexpr auto doubtful =
        std::to_array<std::string_view>({"resolution", "block", "level", "point", "frame", "side", "crop", "depth"});
    const std::string_view last = last_part(name);
    if (direction_by_name(name) <= 0 || names_one_of(last, doubtful)) return false;
    return last == "d_model" || last == "d_ff" || names_one_of(last, plain);
}

}  // namespace hpo::analysis
