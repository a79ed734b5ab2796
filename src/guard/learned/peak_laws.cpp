// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/peak_laws.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "guard/learned/law_search.hpp"

namespace hpo::guard {

void PeakLaws::learn(const LawData& data, bool search) {
    least_bytes_ = std::exp(*std::ranges::min_element(data.log_bytes)) / 10;
    if (!search && !laws_.empty()) {
        for (PeakLaw& law : laws_) {
            const LawSearch parts{data, {law.terms.begin() + 1, law.terms.end()}};
            std::vector<std::size_t> all;
            for (std::size_t column = 0; column < parts.columns(); ++column) all.push_back(column);
            law.terms = parts.terms_of(parts.fit(std::move(all)));
        }
        return;
    }
    constexpr double least_weight = 0.01;
    const LawSearch parts{data, possible_terms(data)};
    const std::vector<LawSearch::Fit> found = parts.search(most_terms);
    laws_.clear();
    double sum = 0;
    for (const LawSearch::Fit& fit : found) {
        const double weight = std::exp((found[0].criterion - fit.criterion) / 2);
        if (weight < least_weight) break;
        laws_.push_back({parts.terms_of(fit), weight});
        sum += weight;
    }
    for (PeakLaw& law : laws_) law.weight /= sum;
}

LawBelief PeakLaws::ask(const std::vector<double>& row) const {
    LawBelief belief;
    std::vector<double> logs;
    for (const PeakLaw& law : laws_) {
        double bytes = 0;
        for (const LawTerm& term : law.terms) bytes += term.bytes * product_of(term, row);
        bytes = std::max(bytes, least_bytes_);
        if (logs.empty()) {
            for (const LawTerm& term : law.terms) belief.features.push_back(term.bytes * product_of(term, row) / bytes);
        }
        logs.push_back(std::log(bytes));
        belief.log_bytes += law.weight * logs.back();
    }
    for (std::size_t i = 0; i < logs.size(); ++i) belief.features.push_back(std::sqrt(laws_[i].weight) * (logs[i] - belief.log_bytes));
    return belief;
}

}  // namespace hpo::guard
