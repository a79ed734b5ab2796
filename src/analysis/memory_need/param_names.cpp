// SPDX-License-Identifier: MIT
#include "analysis/memory_need/param_names.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace hpo::analysis {

bool is_memory_neutral(std::string_view name) {
    static constexpr std::array<std::string_view, 30> neutral{"lr",        "learning_rate", "weight_decay", "wd",       "momentum",
                                                              "dropout",   "warmup",        "gamma",        "beta",     "beta1",
                                                              "beta2",     "betas",         "eps",          "epsilon",  "label_smoothing",
                                                              "clip",      "max_norm",      "epochs",       "n_epochs", "num_epochs",
                                                              "patience",  "decay",         "l1",           "l2",       "temperature",
                                                              "threshold", "scheduler",     "mixup",        "cutmix",   "l1_ratio"};
    const std::string_view last = last_part(name);
    if (is_seed(name) || std::ranges::find(neutral, last) != neutral.end()) return true;
    // Layers that are left out at random save memory at times, but at its peak none may be.
    for (const std::string_view word :
         {"dropout", "drop_path", "droppath", "drop_prob", "drop_rate", "attn_drop", "stochastic_depth", "layerdrop"}) {
        if (last.find(word) != std::string_view::npos) return true;
    }
    return last.ends_with("_lr") || last.starts_with("lr_") || last.ends_with("_decay") || last.starts_with("warmup_") ||
           last.ends_with("_noise") || last.starts_with("adam_") || last.ends_with("_clip");
}

}  // namespace hpo::analysis
