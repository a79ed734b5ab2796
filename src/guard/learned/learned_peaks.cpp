// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/learned_peaks.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

namespace hpo::guard {

LearnedPeaks::Answer LearnedPeaks::ask(const MemoryQuery& query) {
    const Knowledge knowledge = learn(query.history, query.runs_on.device_name, &query.params);
    if (knowledge != Knowledge::enough) return {knowledge};
    constexpr std::size_t most_looked_at = 4;  // of those that took least; each costs as much as the attempt itself
    const LargerRuns::Run asked = run_of(query);
    Answer answer{Knowledge::enough, belief_of(asked.row), fitted_.points == 0};
    if (!points_.knows(query.params)) return answer;
    for (const LargerRuns::Run* run : larger_.larger_than(asked) | std::views::take(most_looked_at))
        answer.larger.push_back(belief_of(run->row));
    return answer;
}

bool LearnedPeaks::fitted_larger(const MemoryQuery& query) {
    if (!query.capacity_bytes || learn(query.history, query.runs_on.device_name, &query.params) != Knowledge::enough) return false;
    if (!points_.knows(query.params)) return false;
    const auto larger = larger_in_sizes_.larger_than(run_of(query));
    return !larger.empty() && larger.front()->log_bytes <= std::log(static_cast<double>(*query.capacity_bytes));
}

bool LearnedPeaks::is_far_below_failed(const MemoryQuery& query) {
    if (learn(query.history, query.runs_on.device_name, &query.params) != Knowledge::enough || !points_.knows(query.params)) return false;
    return larger_in_sizes_.is_far_below_failed(run_of(query));
}

NormalBelief LearnedPeaks::belief_of(const std::vector<double>& row) const {
    NormalBelief belief = model_.predict(row);
    belief.variance *= validation_.variance_scale(belief.mean);
    return belief;
}

LargerRuns::Run LearnedPeaks::run_of(const MemoryQuery& query) const {
    return {.row = points_.row(query.params, query.plan.effective_micro_batch()), .plan = query.plan};
}

LearnedPeaks::Knowledge LearnedPeaks::learn(const History& history, const std::string& device_name, const ParamSet* asked) {
    PeakPoints own;
    own.add(history.trials, device_name);
    const std::size_t measured = own.measured();
    if (measured == 0 && own.ended() > 0) return Knowledge::unmeasured;
    const Borrowed others = borrow(history, device_name, asked, own);
    const FitOf wanted{std::string{history.study}, device_name, own.points().size(), others.points.points().size(), others.names};
    points_ = own;
    points_.thin_out(most_points);
    points_.add_borrowed(others.points);
    if (measured < least_points && others.points.measured() < least_borrowed) return Knowledge::too_little;
    points_.learn_inputs();
    if (fitted_ != wanted) {
        fit(wanted);
        compare(own);
    }
    return Knowledge::enough;
}

LearnedPeaks::Borrowed LearnedPeaks::borrow(const History& history, const std::string& device_name, const ParamSet* asked,
                                            const PeakPoints& own) {
    if (history.same_program.empty() || own.points().size() >= most_borrowed) return {};
    Borrowed others;
    others.points.add(history.same_program, device_name);
    others.names = own.parameters();
    if (asked) {
        for (const Param& param : *asked) others.names.insert(param.name);
    }
    if (asked || !own.points().empty()) others.points.keep_known(others.names);
    others.points.thin_out(most_borrowed);
    if (others.points.measured() < least_borrowed) return {};
    const FitOf lent{std::string{history.study}, device_name, 0, others.points.points().size(), others.names};
    return own.points().empty() || foretells(others, lent, own) ? others : Borrowed{};
}

bool LearnedPeaks::foretells(const Borrowed& others, const FitOf& lent, const PeakPoints& own) {
    PeakPoints lender = others.points;
    lender.learn_inputs();
    if (lent_ != lent) {
        lender_.fit(lender.model_inputs(), lender.data(), true);
        lent_ = lent;
    }
    std::vector<double> errors;
    for (const PeakPoints::Point& point : own.points()) {
        const double foretold = lender_.predict(lender.row(*point.params, point.micro_batch)).mean;
        if (!point.censored || foretold < point.log_bytes) errors.push_back(std::abs(std::exp(point.log_bytes - foretold) - 1));
    }
    if (errors.empty()) return true;
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::ranges::nth_element(errors, middle);
    return *middle <= most_disagreement;
}

void LearnedPeaks::fit(const FitOf& fitted) {
    const LawData data = points_.data();
    const auto is_same = [](const PeakPoints::Input& a, const PeakPoints::Input& b) { return a.is_same(b); };
    const bool has_other_inputs = !std::ranges::equal(points_.inputs(), searched_inputs_, is_same);  // laws name them by their places
    const auto number = [](const FitOf& of) { return of.points + of.borrowed; };
    const bool is_other = fitted.study != searched_.study || fitted.device != searched_.device || fitted.borrowed != searched_.borrowed;
    const bool search = is_other || has_other_inputs || number(searched_) == 0 || number(fitted) * 5 >= number(searched_) * 6;
    model_.fit(points_.model_inputs(), data, search);
    fitted_ = fitted;
    if (!search) return;
    searched_ = fitted;
    searched_inputs_ = points_.inputs();
    validation_ = model_.validated(data);
}

void LearnedPeaks::compare(const PeakPoints& own) {
    std::vector<LawData::Kind> kinds;
    for (const PeakPoints::Input& input : points_.inputs()) kinds.push_back(input.model.kind);
    std::vector<LargerRuns::Run> runs;
    for (const PeakPoints::Point& point : own.points())
        runs.push_back({points_.row(*point.params, point.micro_batch), *point.plan, point.log_bytes, point.censored});
    LargerRuns::Inputs counts(kinds.size());
    for (std::size_t k = 0; k < kinds.size(); ++k) counts[k] = kinds[k] == LawData::Kind::category || points_.inputs()[k].is_whole;
    for (const PeakLaw& law : model_.laws().laws()) {
        for (const LawTerm& term : law.terms) {
            for (const LawTerm::Factor& factor : term.factors) counts[factor.input] = true;
            for (const LawTerm::Condition& condition : term.conditions) counts[condition.input] = true;
        }
    }
    larger_ = {kinds, LargerRuns::Inputs(kinds.size(), true), runs};
    larger_in_sizes_ = {kinds, std::move(counts), std::move(runs)};
}

NamedLaw LearnedPeaks::law(const History& history, const std::string& device_name) {
    fitted_ = searched_ = {};  // all of it anew, so that it depends on the history alone
    const bool is_enough = learn(history, device_name, nullptr) == Knowledge::enough;
    NamedLaw law;
    for (const PeakPoints::Point& point : points_.points()) ++(point.censored ? law.ran_out : point.borrowed ? law.borrowed : law.attempts);
    if (!is_enough || law.attempts + law.borrowed < NamedLaw::least_attempts) return law;
    const std::vector<LawTerm>& terms = model_.laws().laws().front().terms;
    law.typical_error = validation_.typical_error;
    law.kind = law.typical_error > NamedLaw::largest_error ? NamedLaw::Kind::none
               : terms.size() == 1                         ? NamedLaw::Kind::constant
                                                           : NamedLaw::Kind::products;
    if (law.kind == NamedLaw::Kind::none) return law;
    for (const LawTerm& term : terms) {
        if (term.bytes > 0) law.parts.push_back(told(term));
    }
    return law;
}

NamedLaw::Part LearnedPeaks::told(const LawTerm& term) const {
    NamedLaw::Part part{.factors = {}, .conditions = {}, .bytes = term.bytes};
    for (const LawTerm::Factor& factor : term.factors) {
        std::vector<double> values;
        for (const PeakPoints::Point& point : points_.points())
            values.push_back(points_.row(*point.params, point.micro_batch)[factor.input]);
        std::erase_if(values, [](double value) { return std::isnan(value); });
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::ranges::nth_element(values, middle);
        part.factors.push_back({points_.inputs()[factor.input].name, factor.power, *middle});
    }
    for (const LawTerm::Condition& condition : term.conditions) {
        const PeakPoints::Input& input = points_.inputs()[condition.input];
        const Value value = condition.above ? Value{condition.value} : input.values.at(static_cast<std::size_t>(condition.value));
        part.conditions.push_back({input.name, value, condition.above});
    }
    return part;
}

}  // namespace hpo::guard
