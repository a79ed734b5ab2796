// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "hpo/core/peak_prediction.hpp"

namespace hpo::worker {

/// Says what is wrong with a plugin's prediction. Empty if it is fine.
[[nodiscard]] std::string nonsense_in(const PeakPrediction& prediction);

/// Predictions by their key (trainer/prediction_key.hpp), and what trainers want to know again (Progress::keep). Both are in memory, and
/// `recall` and `keep` store them between runs.
class KnownPredictions {
public:
    using Recall = std::function<std::optional<std::string>(const std::string& key)>;
    using Keep = std::function<void(const std::string& key, const std::string& text)>;

    /// Both may be empty.
    KnownPredictions(Recall recall, Keep keep) : recall_{std::move(recall)}, keep_{std::move(keep)} {}

    /// Returns nullopt if there is no prediction of this key, or if the kept text cannot be read.
    [[nodiscard]] std::optional<PeakPrediction> find(const std::string& key);
    void keep(const std::string& key, const PeakPrediction& prediction);
    [[nodiscard]] std::int64_t kept() const noexcept { return kept_; }
    /// From now on, predictions are only in memory.
    void keep_until_end() noexcept { predictions_end_ = true; }

    [[nodiscard]] std::optional<std::string> text(const std::string& key);
    void keep_text(const std::string& key, const std::string& text);

private:
    void store(const std::string& key, const std::string& text) const;

    Recall recall_;
    Keep keep_;
    std::unordered_map<std::string, PeakPrediction> known_;
    std::unordered_map<std::string, std::string> texts_;
    std::int64_t kept_ = 0;
    bool predictions_end_ = false;
};

}  // namespace hpo::worker
