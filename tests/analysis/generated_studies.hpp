// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/core/study.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"

/// Studies whose memory follows a known law, so that what the post-mortem says of them can be held against the truth.
namespace hpo::tests {

/// Draws a trial's parameters: at random, or about half of them as a good earlier trial had them, as model-based samplers do.
class Drawer {
public:
    Drawer(std::mt19937_64& random, const Trial* model) : random_{random}, model_{model} {}

    void integer(const std::string& name, std::int64_t low, std::int64_t high, std::int64_t step = 1) {
        const std::int64_t count = (high - low) / step + 1;
        draw(name, IntDistribution{low, high, false, step}, static_cast<double>(low + step * pick(count)));
    }
    void power_of_two(const std::string& name, int low, int high) {
        std::vector<Value> choices;
        for (int i = low; i <= high; ++i) choices.emplace_back(std::int64_t{1} << i);
        draw(name, CategoricalDistribution{choices}, static_cast<double>(pick(high - low + 1)));
    }
    void real(const std::string& name, double low, double high) {
        draw(name, FloatDistribution{low, high, false, {}}, low + (high - low) * static_cast<double>(pick(1'000'003)) / 1'000'003.0);
    }
    std::string choice(const std::string& name, const std::vector<std::string>& names) {
        std::vector<Value> choices(names.begin(), names.end());
        draw(name, CategoricalDistribution{choices}, static_cast<double>(pick(static_cast<std::int64_t>(names.size()))));
        return std::get<std::string>(*params.value(name));
    }
    void flag(const std::string& name) { draw(name, CategoricalDistribution{{Value{false}, Value{true}}}, static_cast<double>(pick(2))); }

    ParamSet params;

private:
    std::int64_t pick(std::int64_t count) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(count)); }
    void draw(const std::string& name, const Distribution& distribution, double fresh) {
        const Param* old = model_ && random_() % 2 == 0 ? model_->params.find(name) : nullptr;
        params.set(name, distribution, old ? old->internal : fresh);
    }

    std::mt19937_64& random_;
    const Trial* model_;
};

/// What a trial needs, as a function of its parameters and of the examples that it takes at once.
struct MemoryLaw {
    std::string name;
    std::string batch;                                          ///< the parameter with the examples of a step
    std::function<void(Drawer&)> draw;                          ///< the space
    std::function<double(const ParamSet&, double batch)> need;  ///< bytes
};

namespace detail {

inline double number(const ParamSet& params, const char* name) { return params.number(name).value_or(0); }
inline std::string text(const ParamSet& params, const char* name) {
    const auto value = params.value(name);
    return value && std::holds_alternative<std::string>(*value) ? std::get<std::string>(*value) : std::string{};
}
inline bool is_on(const ParamSet& params, const char* name) { return number(params, name) > 0; }

/// Copies of the weights that a step holds: themselves, gradients, the optimizer's state.
inline double copies(const ParamSet& params) {
    const std::string name = text(params, "optimizer");
    return name == "adam" ? 4 : name == "sgd" && number(params, "momentum") > 0 ? 3 : 2;
}

}  // namespace detail

inline constexpr double law_mib = 1024.0 * 1024.0;

/// Products, branches, an optimizer's factor on the weights, added terms and powers. Of some parameters less needs more: their name says
/// so, or nobody knows it, or it sounds like a size.
[[nodiscard]] inline std::vector<MemoryLaw> memory_laws() {
    using detail::copies;
    using detail::is_on;
    using detail::number;
    using detail::text;
    const auto nuisance = [](Drawer& draw) {
        draw.real("lr", 1e-5, 1e-2);
        draw.real("weight_decay", 0, 0.1);
    };
    return {
        {.name = "product",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 3, 8);
                 draw.integer("max_length", 64, 512, 64);
                 draw.integer("width", 64, 1024, 64);
                 nuisance(draw);
             },
         .need = [](const ParamSet& p, double batch) { return 100 * law_mib + 80 * batch * number(p, "max_length") * number(p, "width"); }},
        {.name = "layers and optimizer",
         .batch = "train.batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.choice("optimizer", {"sgd", "adam", "lion"});
                 if (text(draw.params, "optimizer") == "sgd") draw.real("momentum", 0, 0.99);
                 draw.integer("train.batch_size", 8, 256, 8);
                 draw.integer("model.width", 128, 2048, 1);
                 draw.integer("model.depth", 1, 12);
                 nuisance(draw);
                 draw.real("dropout", 0, 0.5);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const double width = number(p, "model.width");
                 const double weights = 4 * width * width * number(p, "model.depth");
                 return 200 * law_mib + weights * copies(p) + 16 * batch * width * number(p, "model.depth") * 32;
             }},
        {.name = "kinds of model",
         .batch = "batch",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch", 4, 9);
                 const std::string kind = draw.choice("model.kind", {"cnn", "transformer", "mlp"});
                 if (kind == "cnn") {
                     draw.power_of_two("model.channels", 3, 7);
                     draw.integer("model.depth", 1, 8);
                 } else if (kind == "transformer") {
                     draw.integer("model.width", 64, 768, 64);
                     draw.integer("model.heads", 1, 12);
                     draw.integer("model.length", 32, 512, 32);
                     draw.integer("model.depth", 1, 8);
                 } else {
                     draw.integer("model.width", 64, 8192, 1);
                     draw.integer("model.depth", 1, 4);
                 }
                 nuisance(draw);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const std::string kind = text(p, "model.kind");
                 const double depth = number(p, "model.depth");
                 const double width = number(p, "model.width");
                 if (kind == "cnn") return 50 * law_mib + 4 * batch * 32 * 32 * 4 * number(p, "model.channels") * depth;
                 if (kind == "mlp") return 50 * law_mib + 4 * 4 * width * width * depth + 16 * batch * width * depth;
                 const double length = number(p, "model.length");
                 return 50 * law_mib +
                        4 * depth *
                            (12 * width * width * 4 + batch * length * width * 8 + batch * number(p, "model.heads") * length * length);
             }},
        {.name = "images and patches",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.integer("batch_size", 4, 128, 4);
                 draw.integer("image_size", 64, 256, 32);
                 draw.power_of_two("patch_size", 2, 4);
                 draw.integer("hidden_dim", 64, 512, 64);
                 draw.flag("checkpointing");
                 draw.real("mixup", 0, 1);
                 draw.real("mlp_ratio", 1, 4);
                 nuisance(draw);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const double tokens = std::pow(number(p, "image_size") / number(p, "patch_size"), 2);
                 const double hidden = number(p, "hidden_dim");
                 const double each = 4 * tokens * hidden * (8 + 2 * number(p, "mlp_ratio")) + 2 * tokens * tokens;
                 return 150 * law_mib + batch * each * (is_on(p, "checkpointing") ? 0.3 : 1.0);
             }},
        {.name = "powers",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 0, 4);
                 draw.integer("side_length", 16, 96, 8);
                 draw.power_of_two("base_filters", 2, 6);
                 draw.integer("levels", 2, 5);
                 draw.choice("activation", {"relu", "gelu"});
                 nuisance(draw);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const double filters = number(p, "base_filters");
                 const double volume = std::pow(number(p, "side_length"), 3);
                 const double held = text(p, "activation") == "gelu" ? 3 : 2;
                 return 80 * law_mib + 4 * batch * volume * filters * held * number(p, "levels") * 0.5 +
                        16 * 27 * filters * filters * std::pow(4.0, number(p, "levels"));
             }},
        {.name = "point clouds",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 0, 5);
                 draw.integer("channels", 16, 64, 16);
                 draw.integer("voxel_size", 2, 20, 2);
                 nuisance(draw);
             },
         .need = [](const ParamSet& p,
                    double batch) { return 50 * law_mib + 4e6 * batch * number(p, "channels") / std::pow(number(p, "voxel_size"), 1.5); }},
        {.name = "sound",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 3, 8);
                 draw.power_of_two("hop_length", 6, 9);
                 draw.integer("width", 64, 512, 64);
                 draw.power_of_two("glimpse_size", 0, 2);
                 nuisance(draw);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 return 50 * law_mib + 64e3 * batch * number(p, "width") / number(p, "hop_length") / number(p, "glimpse_size");
             }},
        {.name = "several devices",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 3, 7);
                 draw.power_of_two("tp_size", 0, 2);
                 draw.integer("n_layers", 4, 12, 4);
                 draw.integer("recompute_layers", 0, 4, 2);
                 draw.integer("hidden_size", 512, 2048, 512);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const double width = number(p, "hidden_size") / number(p, "tp_size");
                 const double held = number(p, "n_layers") - 0.9 * number(p, "recompute_layers");
                 return 100 * law_mib + 16 * width * number(p, "hidden_size") * number(p, "n_layers") + 4096 * batch * width * held;
             }},
        {.name = "graphs",  // of whose numbers most have names that nobody knows
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 4, 9);
                 draw.integer("hidden", 32, 512, 32);
                 draw.integer("hops", 1, 3);
                 draw.power_of_two("num_parts", 0, 3);
                 if (draw.choice("kind", {"sum", "attention"}) == "attention") draw.power_of_two("att_heads", 0, 3);
                 nuisance(draw);
             },
         .need =
             [](const ParamSet& p, double batch) {
                 const double heads = text(p, "kind") == "attention" ? number(p, "att_heads") : 1;
                 return 100 * law_mib +
                        2048 * batch * number(p, "hidden") * heads * std::pow(3, number(p, "hops")) / std::sqrt(number(p, "num_parts"));
             }},
        {.name = "a size that divides",
         .batch = "batch_size",
         .draw =
             [=](Drawer& draw) {
                 draw.power_of_two("batch_size", 0, 5);
                 draw.integer("width", 64, 512, 64);
                 draw.integer("resolution", 1, 9);       // in millimetres
                 draw.power_of_two("block_size", 0, 4);  // fewer blocks
             },
         .need =
             [](const ParamSet& p, double batch) {
                 return 50 * law_mib + 1e6 * batch * number(p, "width") / number(p, "resolution") / number(p, "block_size");
             }},
    };
}

/// How a study is made and kept.
struct GeneratedStyle {
    enum class Told { message, flag } told = Told::message;  ///< what an Optuna study leaves of an out-of-memory
    bool ours = false;                                       ///< with attempts and plans; else as Optuna keeps studies
    bool peaks = false;                                      ///< are kept
    bool adaptive = false;                                   ///< draws near good trials
    std::size_t trials = 80;
    double share_that_fits = 0.7;  ///< of random trials
    double noise = 0.003;          ///< of what is needed, up or down
};

struct GeneratedStudy {
    std::vector<Trial> trials;
    double capacity = 0;
};

namespace detail {

inline Failure generated_failure(double need, double capacity) {
    const auto asked = static_cast<std::int64_t>(std::min(need * 0.05, capacity * 0.2));
    const std::int64_t free = asked / 2;
    const auto whole = static_cast<std::int64_t>(capacity);
    const std::string message = "CUDA out of memory. Tried to allocate " + format_bytes(asked) + ". GPU 0 has a total capacity of " +
                                format_bytes(whole) + " of which " + format_bytes(free) +
                                " is free. Including non-PyTorch memory, this process has " + format_bytes(whole - free) +
                                " memory in use. Of the allocated memory " + format_bytes(whole - free) +
                                " is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.";
    Failure failure = classify_text({.type = "torch.cuda.OutOfMemoryError", .message = message});
    explain_oom(failure);
    return failure;
}

inline void run_as_ours(Trial& trial, const MemoryLaw& law, const GeneratedStyle& style, double capacity,
                        const std::function<double()>& noisy) {
    const auto whole = static_cast<std::int64_t>(number(trial.params, law.batch.c_str()));
    std::int64_t micro = whole;
    for (int index = 0; index < 3; ++index) {
        Attempt attempt;
        attempt.index = index;
        attempt.plan.effective_batch = whole;
        if (micro < whole) attempt.plan.micro_batch = micro;
        attempt.plan.device = "cuda:0";
        attempt.capacity_bytes = static_cast<std::int64_t>(capacity);
        attempt.worker_pid = 100 + trial.number;
        attempt.seconds = 2;
        const double need = law.need(trial.params, static_cast<double>(micro)) * noisy();
        const bool fits = need <= capacity;
        attempt.outcome = fits ? OutcomeKind::complete : OutcomeKind::failed;
        if (style.peaks) attempt.peak_allocated = static_cast<std::int64_t>(std::min(need, capacity));
        if (!fits) attempt.failure = generated_failure(need, capacity);
        trial.attempts.push_back(std::move(attempt));
        if (fits) return;
        const bool gives_up = trial.number % 2 == 0;  // as under a policy that does not retry, so that there is something to say
        if (gives_up || micro < 2) break;
        micro = (micro + 1) / 2;
    }
    trial.state = TrialState::pruned;
    trial.values.clear();
}

}  // namespace detail

/// A study of `style.trials` trials under the law; the same seed gives the same study everywhere.
[[nodiscard]] inline GeneratedStudy generated_study(const MemoryLaw& law, const GeneratedStyle& style, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    const auto need_of = [&](const ParamSet& params) { return law.need(params, detail::number(params, law.batch.c_str())); };
    const std::function<double()> noisy = [&] { return 1 + style.noise * (static_cast<double>(random() % 2001) / 1000.0 - 1); };
    std::vector<double> needs;
    for (int i = 0; i < 500; ++i) {
        Drawer draw{random, nullptr};
        law.draw(draw);
        needs.push_back(need_of(draw.params));
    }
    std::ranges::sort(needs);
    GeneratedStudy study;
    study.capacity = std::floor(needs[static_cast<std::size_t>(style.share_that_fits * 500)]);
    std::vector<std::size_t> good;
    for (std::size_t i = 0; i < style.trials; ++i) {
        const Trial* model = style.adaptive && !good.empty() && random() % 3 != 0 ? &study.trials[good[random() % good.size()]] : nullptr;
        Drawer draw{random, model};
        law.draw(draw);
        Trial trial;
        trial.number = static_cast<std::int64_t>(i);
        trial.params = std::move(draw.params);
        trial.state = TrialState::complete;
        trial.started = Time{std::chrono::microseconds{(1000 + trial.number * 100) * 1'000'000}};
        trial.completed = *trial.started + std::chrono::microseconds{60'000'000};
        // Larger models do better, so that the best trials stand near the device's limit.
        trial.values = {-std::log(need_of(trial.params)) + 0.3 * static_cast<double>(random() % 1000) / 1000.0};
        if (style.ours) {
            detail::run_as_ours(trial, law, style, study.capacity, noisy);
        } else if (const double need = need_of(trial.params) * noisy(); need <= study.capacity) {
            if (style.peaks) trial.user_attributes["peak_memory_gb"] = std::to_string(need / 1e9);
        } else {
            trial.state = TrialState::fail;
            trial.values.clear();
            const Failure failure = detail::generated_failure(need, study.capacity);
            if (style.told == GeneratedStyle::Told::message) trial.user_attributes["error_message"] = json_quote(failure.message);
            else trial.user_attributes["oom"] = "true";
        }
        if (trial.state == TrialState::complete) {
            const auto worse = [&](std::size_t other) { return study.trials[other].values[0] > trial.values[0]; };
            if (good.size() < 8) good.push_back(i);
            else if (const auto found = std::ranges::find_if(good, worse); found != good.end()) *found = i;
        }
        study.trials.push_back(std::move(trial));
    }
    return study;
}

}  // namespace hpo::tests
