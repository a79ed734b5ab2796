// SPDX-License-Identifier: MIT
#include "guard/learned/law_search.hpp"

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

namespace detail {

/// Nonnegative least squares, from the columns' products with each other (k x k) and with the target: Cholesky's method, without the
/// columns that would get a negative coefficient.
std::vector<double> nonnegative_solution(std::vector<double> gram, std::vector<double> target) {
    const std::size_t k = target.size();
    std::vector<double> size(k), solution(k);
    for (std::size_t a = 0; a < k; ++a) size[a] = std::sqrt(std::max(gram[a * k + a], 1e-300));
    for (std::size_t a = 0; a < k; ++a) {
        target[a] /= size[a];
        for (std::size_t b = 0; b < k; ++b) gram[a * k + b] /= size[a] * size[b];
    }
    std::vector<std::size_t> active;
    for (std::size_t a = 0; a < k; ++a) active.push_back(a);
    while (!active.empty()) {
        const std::size_t m = active.size();
        std::vector<double> lower(m * m), found(m);
        for (std::size_t a = 0; a < m; ++a) {
            for (std::size_t b = 0; b <= a; ++b) {
                double sum = gram[active[a] * k + active[b]] * (a == b ? 1 + 1e-9 : 1);
                for (std::size_t c = 0; c < b; ++c) sum -= lower[a * m + c] * lower[b * m + c];
                lower[a * m + b] = a == b ? std::sqrt(std::max(sum, 1e-12)) : sum / lower[b * m + b];
            }
            found[a] = target[active[a]];
            for (std::size_t b = 0; b < a; ++b) found[a] -= lower[a * m + b] * found[b];
            found[a] /= lower[a * m + a];
        }
        for (std::size_t a = m; a-- > 0;) {
            for (std::size_t b = a + 1; b < m; ++b) found[a] -= lower[b * m + a] * found[b];
            found[a] /= lower[a * m + a];
        }
        const auto least = std::ranges::min_element(found);
        if (*least >= 0) {
            for (std::size_t a = 0; a < m; ++a) solution[active[a]] = found[a] / size[active[a]];
            break;
        }
        active.erase(active.begin() + (least - found.begin()));
    }
    return solution;
}

/// The logarithm of how improbable a part is, in the measure of one of `inputs` inputs.
double price_of(const LawTerm& term, std::size_t inputs) {
    const double each = std::log(static_cast<double>(std::max<std::size_t>(2, inputs)));
    double price = 0;
    for (const LawTerm::Condition& condition : term.conditions) price += each + std::log(condition.above ? 1.0 + most_steps : 2.0);
    for (const LawTerm::Factor& factor : term.factors) price += each + (factor.power - 1);
    return price;
}

}  // namespace detail

LawSearch::LawSearch(const LawData& data, const std::vector<LawTerm>& parts) : data_{data} {
    std::vector<LawTerm> all{LawTerm{}};
    all.insert(all.end(), parts.begin(), parts.end());
    for (std::size_t i = 0; i < data.rows.size(); ++i) measured_ += data.censored[i] ? 0 : data.weight(i);
    for (const double each : data.log_bytes) bytes_.push_back(std::exp(each));
    for (LawTerm& term : all) {
        std::vector<double> column;
        double largest = 0, least = std::numeric_limits<double>::infinity(), most = 0;
        for (std::size_t i = 0; i < data.rows.size(); ++i) {
            const double product = product_of(term, data.rows[i]);
            column.push_back(product);
            largest = std::max(largest, product);
            if (data.censored[i]) continue;
            least = std::min(least, product);
            most = std::max(most, product);
        }
        const bool is_constant = columns_.empty();
        if (!is_constant && !(most > least)) continue;
        for (double& each : column) each /= largest;
        if (std::ranges::find(columns_, column) != columns_.end()) continue;
        columns_.push_back(std::move(column));
        terms_.push_back(std::move(term));
        scales_.push_back(largest);
    }
}

LawSearch::Fit LawSearch::fit(std::vector<std::size_t> columns) const {
    Fit best{.columns = std::move(columns), .coefficients = {}};
    const std::size_t n = bytes_.size(), k = best.columns.size();
    std::vector<double> expected = bytes_;
    for (int step = 0; step < 6; ++step) {
        std::vector<double> gram(k * k), target(k), relative(k);
        for (std::size_t i = 0; i < n; ++i) {
            const double error = std::log(bytes_[i] / expected[i]);
            if (data_.censored[i] && (step == 0 || error < 0)) continue;
            const double weight = data_.weight(i);
            for (std::size_t a = 0; a < k; ++a) relative[a] = columns_[best.columns[a]][i] / expected[i];
            for (std::size_t a = 0; a < k; ++a) {
                target[a] += weight * relative[a] * (1 + error);
                for (std::size_t b = 0; b < k; ++b) gram[a * k + b] += weight * relative[a] * relative[b];
            }
        }
        std::vector<double> found = detail::nonnegative_solution(std::move(gram), std::move(target));
        std::vector<double> next(n);
        double squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t a = 0; a < k; ++a) next[i] += found[a] * columns_[best.columns[a]][i];
            next[i] = std::max(next[i], bytes_[i] * 1e-3);
            const double error = std::log(bytes_[i] / next[i]);
            if (!data_.censored[i] || error > 0) squares += data_.weight(i) * error * error;
        }
        constexpr double least_gain = 1e-4;
        if (!(squares < best.squares * (1 - least_gain))) break;
        best.squares = squares;
        best.coefficients = std::move(found);
        expected = std::move(next);
    }
    best.criterion = criterion(best.squares, best.columns);
    return best;
}

double LawSearch::criterion(double squares, const std::vector<std::size_t>& columns) const {
    constexpr double usual_noise = 0.05, worth = 5;  // known as from so many runs
    const double n = measured_;
    const double freedom = n + worth - static_cast<double>(columns.size());
    double criterion = freedom * std::log((squares + worth * usual_noise * usual_noise) / freedom);
    for (const std::size_t column : columns) {
        if (column != 0) criterion += std::log(n) + 2 * detail::price_of(terms_[column], data_.kinds.size());
    }
    return criterion;
}

std::vector<std::size_t> LawSearch::promising(const std::vector<std::size_t>& columns) const {
    const std::size_t k = columns.size() + 1;
    std::vector<std::size_t> runs;
    std::vector<double> roots;  // of their weights
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
        if (data_.censored[i]) continue;
        runs.push_back(i);
        roots.push_back(std::sqrt(data_.weight(i)));
    }
    const auto relative = [&](std::size_t column, std::vector<double>& values) {
        values.resize(runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i) values[i] = roots[i] * columns_[column][runs[i]] / bytes_[runs[i]];
    };
    std::vector<std::vector<double>> all(columns.size());
    for (std::size_t a = 0; a < columns.size(); ++a) relative(columns[a], all[a]);
    const auto fill = [&](std::size_t a, const std::vector<double>& values, std::vector<double>& gram, std::vector<double>& target) {
        for (std::size_t i = 0; i < values.size(); ++i) target[a] += roots[i] * values[i];
        for (std::size_t b = 0; b <= a; ++b) {
            const std::vector<double>& others = b == a ? values : all[b];
            double sum = 0;
            for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * others[i];
            gram[a * k + b] = gram[b * k + a] = sum;
        }
    };
    std::vector<double> common(k * k), common_target(k);
    for (std::size_t a = 0; a + 1 < k; ++a) fill(a, all[a], common, common_target);
    std::vector<std::pair<double, std::size_t>> ranked;
    std::vector<double> added;
    for (std::size_t j = 1; j < columns_.size(); ++j) {
        if (std::ranges::find(columns, j) != columns.end()) continue;
        relative(j, added);
        std::vector<double> gram = common, target = common_target;
        fill(k - 1, added, gram, target);
        const std::vector<double> found = detail::nonnegative_solution(gram, target);
        double squares = measured_;
        for (std::size_t a = 0; a < k; ++a) {
            squares -= 2 * found[a] * target[a];
            for (std::size_t b = 0; b < k; ++b) squares += found[a] * found[b] * gram[a * k + b];
        }
        std::vector<std::size_t> with = columns;
        with.push_back(j);
        ranked.emplace_back(criterion(std::max(squares, 0.0), with), j);
    }
    const std::size_t several = std::min(tried_each, ranked.size());
    std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(several));
    std::vector<std::size_t> promising;
    for (std::size_t i = 0; i < several; ++i) promising.push_back(ranked[i].second);
    return promising;
}

std::vector<LawSearch::Fit> LawSearch::search(std::size_t most_terms) const {
    constexpr double hopeless = 4;  // worse than the best by this much
    std::vector<Fit> all{fit({0})};
    std::vector<Fit> growing = all;
    double best = all[0].criterion;
    for (std::size_t k = 2; k <= most_terms && static_cast<double>(k + 2) < measured_; ++k) {
        std::vector<Fit> grown;
        for (const Fit& from : growing) {
            for (const std::size_t part : promising(from.columns)) {
                std::vector<std::size_t> columns = from.columns;
                columns.insert(std::ranges::upper_bound(columns, part), part);
                if (std::ranges::find(grown, columns, &Fit::columns) == grown.end()) grown.push_back(fit(std::move(columns)));
            }
        }
        if (grown.empty()) break;
        std::ranges::stable_sort(grown, {}, &Fit::criterion);
        if (grown.size() > most_laws) grown.resize(most_laws);
        all.insert(all.end(), grown.begin(), grown.end());
        if (grown[0].criterion > best + hopeless) break;
        best = std::min(best, grown[0].criterion);
        if (grown.size() > grown_further) grown.resize(grown_further);
        growing = std::move(grown);
    }
    std::ranges::stable_sort(all, {}, &Fit::criterion);
    if (all.size() > most_laws) all.resize(most_laws);
    return all;
}

std::vector<LawTerm> LawSearch::terms_of(const Fit& fit) const {
    std::vector<LawTerm> terms;
    for (std::size_t a = 0; a < fit.columns.size(); ++a) {
        terms.push_back(terms_[fit.columns[a]]);
        terms.back().bytes = fit.coefficients[a] / scales_[fit.columns[a]];
    }
    return terms;
}

}  // namespace hpo::guard
