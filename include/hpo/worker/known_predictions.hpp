// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "hpo/core/peak_prediction.hpp"
#include "hpo/trainer/json.hpp"

namespace hpo::worker {

/// What is wrong with a prediction that a plugin gave; empty: nothing.
[[nodiscard]] inline std::string nonsense_in(const PeakPrediction& prediction) {
    const auto bytes = [](const char* what, std::int64_t value) { return std::string{what} + " of " + std::to_string(value) + " bytes"; };
    if (prediction.need < 0) return bytes("a need", prediction.need);
    if (prediction.comfort < prediction.need) return bytes("a comfort below the need,", prediction.comfort);
    if (!(prediction.uncertainty >= 0) || !std::isfinite(prediction.uncertainty)) return "an uncertainty that is no share";
    for (const EstimatePart& part : prediction.parts) {
        if (part.bytes < 0) return bytes(("a part " + part.name).c_str(), part.bytes);
    }
    return {};
}

/// Predictions by their key (trainer/prediction_key.hpp): in memory, and wherever `recall` and `keep` have them between runs.
class KnownPredictions {
public:
    using Recall = std::function<std::optional<std::string>(const std::string& key)>;
    using Keep = std::function<void(const std::string& key, const std::string& text)>;

    /// Both may be empty.
    KnownPredictions(Recall recall, Keep keep) : recall_{std::move(recall)}, keep_{std::move(keep)} {}

    /// What is kept and cannot be understood is not known.
    [[nodiscard]] std::optional<PeakPrediction> find(const std::string& key) {
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        const auto text = recall_ ? recall_(key) : std::nullopt;
        if (!text) return std::nullopt;
        try {
            auto prediction = decoded<PeakPrediction>(parse_json(*text, "prediction"), "prediction");
            if (!nonsense_in(prediction).empty()) return std::nullopt;
            return known_.emplace(key, std::move(prediction)).first->second;
        } catch (const Error&) {
            return std::nullopt;
        }
    }
    void keep(const std::string& key, const PeakPrediction& prediction) {
        known_.insert_or_assign(key, prediction);
        ++kept_;
        if (!keep_) return;
        try {
            keep_(key, json_line(encode(prediction)));
        } catch (const Error&) {  // it can be made again: no reason to end a study
        }
    }
    [[nodiscard]] std::int64_t kept() const noexcept { return kept_; }

private:
    Recall recall_;
    Keep keep_;
    std::unordered_map<std::string, PeakPrediction> known_;
    std::int64_t kept_ = 0;
};

}  // namespace hpo::worker
