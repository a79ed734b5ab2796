// SPDX-License-Identifier: MIT
#include "analysis/changes/change_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory_need/param_names.hpp"

namespace hpo::analysis::detail {

ChangeSearch::ChangeSearch(const FailureCase& entry, const ComparedTrials& compared, const MemoryModel& model)
    : entry_{entry}, compared_{compared}, model_{model}, point_{compared.point_of(entry)} {
    if (!entry.attempt) return;
    const ExecutionPlan& plan = entry.attempt->plan;
    for (std::size_t i = 0; plan.effective_batch && i < order().plan_begin(); ++i) {
        if (point_[i] == static_cast<double>(*plan.effective_batch) && order().axes()[i].direction > 0 &&
            last_part(order().axes()[i].param).find("batch") != std::string_view::npos)
            batch_ = i;
    }
}

std::optional<SizedChange> ChangeSearch::by_trial() const {
    std::vector<Move> moves;  // the nearest moves, in order
    for (const ComparedTrials::Row& row : compared_.rows()) {
        const auto axis = only_easier_axis(row);
        if (!axis || compared_.may_have_had_more(row, entry_)) continue;
        keep(moves, {.axis = *axis, .to = row.point[*axis], .row = &row});
    }
    for (const Move& move : moves) {
        if (compared_.contradicted(moved(move), move.axis) || ran_beyond(move)) continue;
        std::string what = text(move);
        if (what.empty()) continue;
        return change_of(move, std::move(what), Change::Basis::trial);
    }
    return std::nullopt;
}

std::optional<SizedChange> ChangeSearch::by_peaks() {
    const auto capacity = compared_.capacity_of(entry_);
    if (!capacity || *capacity <= 0) return std::nullopt;
    const double limit = 0.93 * static_cast<double>(*capacity);
    std::vector<Move> moves;
    for (const ComparedTrials::Row& row : compared_.rows()) {
        if (row.peak_bytes && *row.peak_bytes > 0 && *row.peak_bytes <= limit) add_scaled(moves, row, std::log(limit / *row.peak_bytes));
    }
    for (const Move& move : moves) {
        if (compared_.contradicted(moved(move), move.axis) || ran_beyond(move) || !model_agrees(move, limit)) continue;
        std::string what = text(move);
        if (what.empty()) continue;
        return change_of(move, std::move(what), Change::Basis::peaks);
    }
    return std::nullopt;
}

std::optional<std::size_t> ChangeSearch::only_easier_axis(const ComparedTrials::Row& row) const {
    std::optional<std::size_t> easier;
    for (std::size_t i = 0; i < point_.size(); ++i) {
        if (order().at_least(i, row.point, point_)) continue;
        if (std::isnan(row.point[i]) || std::isnan(point_[i]) || order().axes()[i].kind == MemoryAxis::Kind::presence) return std::nullopt;
        const bool with_batch = i == micro() && takes_whole_batch() && easier == batch_ && row.point[i] == row.point[*batch_];
        if (with_batch) continue;
        if (easier) return std::nullopt;
        easier = i;
    }
    if (easier && easier == batch_ && !takes_whole_batch()) return std::nullopt;  // the micro-batches stay as large
    if (easier && easier == batch_ && row.point[micro()] < point_[micro()] && row.point[micro()] != row.point[*batch_]) return std::nullopt;
    return easier;
}

bool ChangeSearch::ran_beyond(const Move& move) const {
    const MemoryAxis& axis = order().axes()[move.axis];
    if (axis.kind != MemoryAxis::Kind::number || move.axis >= order().plan_begin() || direction_by_name(axis.param) != 0) return false;
    const double from = point_[move.axis];
    return std::ranges::any_of(compared_.rows(), [&](const ComparedTrials::Row& row) {
        const double value = row.point[move.axis];
        const bool is_beyond = move.to < from ? value >= from : value <= from;
        if (!is_beyond || compared_.may_have_had_more(row, entry_)) return false;
        for (std::size_t i = 0; i < point_.size(); ++i) {
            const MemoryAxis& other = order().axes()[i];
            const bool is_larger_by_name =
                other.kind == MemoryAxis::Kind::number && row.point[i] > point_[i] && direction_by_name(other.param) > 0;
            if (i != move.axis && !is_larger_by_name && !order().at_least(i, row.point, point_)) return false;
        }
        return true;
    });
}

ComparedTrials::Point ChangeSearch::moved(const Move& move) const {
    ComparedTrials::Point point = point_;
    point[move.axis] = move.to;
    if (takes_whole_batch() && move.axis == *batch_) point[micro()] = move.to;
    return point;
}

void ChangeSearch::keep(std::vector<Move>& moves, Move move) const {
    constexpr std::size_t most = 8;
    const MemoryAxis& moved_axis = order().axes()[move.axis];
    const bool is_larger = moved_axis.kind == MemoryAxis::Kind::number && move.to > point_[move.axis] && !divides_work(moved_axis.param);
    if (is_larger) return;  // no larger number is a remedy unless its name says so, whatever else few trials seem to say
    move.size = size_of(move);
    const auto same = [&](const Move& other) { return other.axis == move.axis && other.to == move.to; };
    if ((moves.size() == most && move.size >= moves.back().size) || std::ranges::any_of(moves, same)) return;
    moves.insert(std::ranges::upper_bound(moves, move.size, {}, &Move::size), move);
    if (moves.size() > most) moves.pop_back();
}

double ChangeSearch::size_of(const Move& move) const {
    const MemoryAxis& axis = order().axes()[move.axis];
    if (axis.kind == MemoryAxis::Kind::number) {
        const double a = point_[move.axis];
        const double b = move.to;
        return a != 0 && b != 0 && (a > 0) == (b > 0) ? std::fabs(std::log2(a / b)) : 2.0;
    }
    if (move.axis >= order().plan_begin()) return 0.6;
    return std::holds_alternative<bool>(*move.row->params->value(axis.param)) ? 0.6 : 4.0;
}

void ChangeSearch::add_scaled(std::vector<Move>& moves, const ComparedTrials::Row& row, double spare) {
    std::vector<double>& growth = growth_;
    growth.assign(point_.size(), 0.0);
    double all = 0;
    std::optional<std::size_t> other;  // the axis of choices on which both differ
    for (std::size_t i = 0; i < point_.size(); ++i) {
        if (order().at_least(i, row.point, point_)) continue;
        const MemoryAxis& axis = order().axes()[i];
        if (std::isnan(row.point[i]) || std::isnan(point_[i]) || axis.kind == MemoryAxis::Kind::presence) return;
        if (axis.kind == MemoryAxis::Kind::number && axis.direction == 0) {
            const auto effect = model_.most_effect(axis.param, point_[i], row.point[i]);
            if (!effect || *effect > 0.1) return;  // beyond this the two must be equal
            all += *effect;
            continue;
        }
        if (axis.kind == MemoryAxis::Kind::choice) {
            if (other) return;
            other = i;
            continue;
        }
        if (point_[i] == 0 || row.point[i] == 0 || (point_[i] > 0) != (row.point[i] > 0)) return;
        growth[i] = axis.power * std::fabs(std::log(point_[i] / row.point[i]));
        all += growth[i];
    }
    const double most = std::min(spare, std::log(4.0));  // larger growth is too far from the measurement
    if (other) {
        if (all <= most) keep(moves, {.axis = *other, .to = row.point[*other], .row = &row});
        return;
    }
    for (std::size_t i = 0; i < point_.size(); ++i) {
        const MemoryAxis& axis = order().axes()[i];
        if (axis.kind != MemoryAxis::Kind::number || axis.direction == 0 || i == batch_ || std::isnan(point_[i])) continue;
        const double left = most - (all - growth[i]);
        if (!(left >= 0) || row.point[i] == 0) continue;
        const double factor = std::exp(left / axis.power);
        const double highest = row.point[i] > 0 ? row.point[i] * factor : row.point[i] / factor;
        const auto values = compared_.values(i);
        auto above =
            std::ranges::upper_bound(values, std::min(highest, point_[i]), {}, &std::pair<double, const ComparedTrials::Row*>::first);
        while (above != values.begin() && std::prev(above)->first >= point_[i]) --above;
        if (above == values.begin()) continue;
        --above;
        keep(moves, {.axis = i, .to = above->first, .row = above->second});
    }
}

bool ChangeSearch::model_agrees(const Move& move, double limit) const {
    ParamSet changed = entry_.params();
    if (move.axis < order().plan_begin()) {
        const Param* own = changed.find(order().axes()[move.axis].param);
        const Param* other = move.row->params->find(own->name);
        if (!compatible(*other->distribution, *own->distribution) || !contains(*own->distribution, other->internal)) return false;
        changed.set(Param{.name = own->name, .distribution = own->distribution, .internal = other->internal});
    }
    if (entry_.attempt && move.axis > micro()) return false;       // the model does not know the plan's other parts
    if (entry_.attempt && entry_.attempt->plan.effective_batch) {  // the model knows trials that took their batch at once
        if (!batch_) return false;
        const auto size = static_cast<std::int64_t>(moved(move)[micro()]);
        changed.set(order().axes()[*batch_].param, IntDistribution{size, size, false, 1}, static_cast<double>(size));
    }
    const auto need = model_.bytes(changed, 2);
    return need && *need <= limit;
}

SizedChange ChangeSearch::change_of(const Move& move, std::string what, Change::Basis basis) const {
    Change change{.basis = basis, .what = std::move(what), .bytes = {}, .witness = {}};
    if (basis == Change::Basis::trial) change.witness = move.row->trial->number;
    const MemoryAxis& axis = order().axes()[move.axis];
    if (axis.kind == MemoryAxis::Kind::number && axis.direction > 0) {
        change.param = axis.param;
        change.at_most = move.to;
    }
    return {.change = std::move(change), .size = move.size};
}

std::string ChangeSearch::text(const Move& move) const {
    if (move.axis < order().plan_begin()) {
        const std::string& param = order().axes()[move.axis].param;
        return change_text(param, *entry_.params().value(param), *move.row->params->value(param));
    }
    if (!entry_.attempt || !move.row->plan) return {};
    ExecutionPlan plan = entry_.attempt->plan;
    std::size_t axis = micro();
    if (move.axis == axis) plan.micro_batch = move.row->plan->effective_micro_batch();
    MemoryOrder::each_lever([&](const auto& field) {
        if (++axis == move.axis) plan.*field.member = move.row->plan->*field.member;
    });
    return plan_difference(entry_.attempt->plan, plan);
}

}  // namespace hpo::analysis::detail
