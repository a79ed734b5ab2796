// SPDX-License-Identifier: MIT
#include "guard/learned/law_parts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace hpo::guard {

namespace detail {

/// How closely the logarithm of an amount goes with that of the peak, from 0 to 1.
double correlation(const LawData& data, std::size_t input) {
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
        if (std::isnan(data.rows[i][input])) continue;
        const double a = std::log1p(data.rows[i][input]), b = data.log_bytes[i];
        n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    const double variances = (n * xx - x * x) * (n * yy - y * y);
    return variances > 0 ? std::abs(n * xy - x * y) / std::sqrt(variances) : 0;
}

/// The share of the variance of the peaks' logarithms that a condition explains.
double effect_of(const LawTerm::Condition& condition, const LawData& data) {
    double n = 0, sum = 0, squares = 0, n_with = 0, sum_with = 0;
    for (std::size_t i = 0; i < data.rows.size(); ++i) {
        const double y = data.log_bytes[i];
        n += 1, sum += y, squares += y * y;
        if (condition.holds(data.rows[i])) n_with += 1, sum_with += y;
    }
    const double variance = squares - sum * sum / n;
    if (n_with == 0 || n_with == n || variance <= 0) return 0;
    const double difference = sum_with - n_with * sum / n;
    return difference * difference / (n_with * (1 - n_with / n)) / variance;
}

/// The categories, those with the largest effect first.
std::vector<LawTerm::Condition> possible_choices(const LawData& data) {
    constexpr std::size_t most_choices = 6;
    std::vector<std::pair<double, LawTerm::Condition>> found;
    for (std::size_t k = 0; k < data.kinds.size(); ++k) {
        if (data.kinds[k] != LawData::Kind::category) continue;
        std::vector<double> seen;
        for (const auto& row : data.rows) {
            if (std::isnan(row[k]) || std::ranges::find(seen, row[k]) != seen.end()) continue;
            seen.push_back(row[k]);
            const LawTerm::Condition choice{.input = k, .value = row[k]};
            found.emplace_back(effect_of(choice, data), choice);
        }
    }
    std::ranges::stable_sort(found, std::greater{}, [](const auto& each) { return each.first; });
    if (found.size() > most_choices) found.resize(most_choices);
    std::vector<LawTerm::Condition> choices;
    for (const auto& [effect, choice] : found) choices.push_back(choice);
    return choices;
}

/// Steps between the values of an amount.
std::vector<LawTerm::Condition> possible_steps(const LawData& data, std::size_t input) {
    std::vector<double> values;
    for (const auto& row : data.rows) {
        if (!std::isnan(row[input])) values.push_back(row[input]);
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    std::vector<LawTerm::Condition> steps;
    if (values.size() < 2) return steps;
    const std::size_t between = values.size() - 1, count = std::min(most_steps, between);
    for (std::size_t i = 0; i < count; ++i)
        steps.push_back({.input = input, .value = values[(2 * i + 1) * between / (2 * count)], .above = true});
    return steps;
}

}  // namespace detail

double product_of(const LawTerm& term, const std::vector<double>& row) {
    double product = 1;
    for (const LawTerm::Condition& condition : term.conditions) {
        if (!condition.holds(row)) return 0;
    }
    for (const LawTerm::Factor& factor : term.factors) {
        const double amount = row[factor.input];
        if (std::isnan(amount)) return 0;
        for (int i = 0; i < factor.power; ++i) product *= amount;
    }
    return product;
}

std::vector<LawTerm> possible_terms(const LawData& data) {
    constexpr std::size_t most_amounts = 6, most_factors = 3;
    std::vector<std::pair<double, std::size_t>> amounts;
    for (std::size_t k = 0; k < data.kinds.size(); ++k) {
        if (data.kinds[k] == LawData::Kind::amount) amounts.emplace_back(-detail::correlation(data, k), k);
    }
    const std::vector<LawTerm::Condition> choices = detail::possible_choices(data);
    std::ranges::sort(amounts);
    if (amounts.size() > most_amounts) amounts.resize(most_amounts);
    std::vector<std::vector<LawTerm::Factor>> products{{}};
    for (const auto& [order, input] : amounts) {
        for (std::size_t p = 0, before = products.size(); p < before; ++p) {
            if (products[p].size() == most_factors) continue;
            const bool has_square = std::ranges::any_of(products[p], [](const LawTerm::Factor& factor) { return factor.power == 2; });
            for (int power = 1; power <= (has_square ? 1 : 2); ++power) {
                products.push_back(products[p]);
                products.back().push_back({input, power});
            }
        }
    }
    std::vector<LawTerm> terms;
    for (auto& factors : products) {
        std::ranges::sort(factors, {}, &LawTerm::Factor::input);  // as the study has them
        if (!factors.empty()) terms.push_back({factors, {}, 0});
        for (const LawTerm::Condition& choice : choices) terms.push_back({factors, {choice}, 0});
    }
    for (const auto& [order, input] : amounts) {
        for (const LawTerm::Condition& step : detail::possible_steps(data, input)) {
            terms.push_back({{}, {step}, 0});
            for (const LawTerm::Condition& choice : choices) terms.push_back({{}, {choice, step}, 0});
            for (const auto& [other_order, other] : amounts) terms.push_back({{{other, 1}}, {step}, 0});
        }
    }
    return terms;
}

}  // namespace hpo::guard
