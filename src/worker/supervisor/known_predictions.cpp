// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/known_predictions.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/trainer/record_line.hpp"

namespace hpo::worker {

std::string nonsense_in(const PeakPrediction& prediction) {
    const auto bytes = [](const char* what, std::int64_t value) { return std::string{what} + " of " + std::to_string(value) + " bytes"; };
    if (prediction.need < 0) return bytes("a need", prediction.need);
    if (prediction.comfort < prediction.need) return bytes("a comfort below the need,", prediction.comfort);
    if (!(prediction.uncertainty >= 0) || !std::isfinite(prediction.uncertainty)) return "an uncertainty that is no share";
    for (const EstimatePart& part : prediction.parts) {
        if (part.bytes < 0) return bytes(("a part " + part.name).c_str(), part.bytes);
    }
    return {};
}

std::optional<PeakPrediction> KnownPredictions::find(const std::string& key) {
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const auto text = recall_ && !predictions_end_ ? recall_(key) : std::nullopt;
    if (!text) return std::nullopt;
    try {
        auto prediction = read_record<PeakPrediction>(*text, "prediction");
        if (!nonsense_in(prediction).empty()) return std::nullopt;
        return known_.emplace(key, std::move(prediction)).first->second;
    } catch (const Error&) {
        return std::nullopt;
    }
}

void KnownPredictions::keep(const std::string& key, const PeakPrediction& prediction) {
    known_.insert_or_assign(key, prediction);
    ++kept_;
    if (!predictions_end_) store(key, record_line(prediction));
}

std::optional<std::string> KnownPredictions::text(const std::string& key) {
    if (const auto found = texts_.find(key); found != texts_.end()) return found->second;
    return recall_ ? recall_(key) : std::nullopt;
}

void KnownPredictions::keep_text(const std::string& key, const std::string& text) {
    texts_.insert_or_assign(key, text);
    store(key, text);
}

void KnownPredictions::store(const std::string& key, const std::string& text) const {
    if (!keep_) return;
    try {
        keep_(key, text);
    } catch (const Error&) {  // no reason to end a study: all of it can be found out again
    }
}

}  // namespace hpo::worker
