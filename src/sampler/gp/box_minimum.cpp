// SPDX-License-Identifier: MIT
#include "sampler/gp/box_minimum.hpp"

#include <cmath>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace hpo::sampler::gp {

namespace {

using Eigen::VectorXd;

struct Step {
    VectorXd moved;      ///< of the point
    VectorXd steepened;  ///< of the gradient
};

/// The negative gradient, multiplied by the inverse of the Hessian that the last steps show. A coordinate that is held moves not at all.
VectorXd direction(const std::deque<Step>& steps, const VectorXd& gradient, const VectorXd& is_free) {
    VectorXd rest = gradient.cwiseProduct(is_free);
    std::vector<double> shares;
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
        const VectorXd steepened = step->steepened.cwiseProduct(is_free);
        const double curvature = steepened.dot(step->moved);
        shares.push_back(curvature > 0 ? step->moved.dot(rest) / curvature : 0);
        rest -= shares.back() * steepened;
    }
    if (!steps.empty()) {
        const VectorXd steepened = steps.back().steepened.cwiseProduct(is_free);
        const double curvature = steepened.dot(steps.back().moved);
        if (curvature > 0) rest *= curvature / steepened.squaredNorm();
    }
    for (const Step& step : steps) {
        const VectorXd steepened = step.steepened.cwiseProduct(is_free);
        const double curvature = steepened.dot(step.moved);
        const double share = shares.back();
        shares.pop_back();
        if (curvature > 0) rest += (share - steepened.dot(rest) / curvature) * step.moved.cwiseProduct(is_free);
    }
    return -rest;
}

}  // namespace

BoxMinimum minimum_in_box(const SmoothFunction& function, VectorXd start, const VectorXd& low, const VectorXd& high, int most_calls,
                          double tolerance) {
    constexpr std::size_t most_steps = 10;
    constexpr double sufficient = 1e-4;  // of the decrease that the gradient promises (Armijo)
    VectorXd at = start.cwiseMax(low).cwiseMin(high);
    VectorXd gradient(at.size()), next_gradient(at.size());
    double value = function(at, gradient);
    std::deque<Step> steps;
    for (int calls = 1; calls < most_calls && std::isfinite(value);) {
        VectorXd is_free(at.size());
        for (Eigen::Index i = 0; i < at.size(); ++i)
            is_free[i] = (at[i] <= low[i] && gradient[i] > 0) || (at[i] >= high[i] && gradient[i] < 0) ? 0 : 1;
        if (gradient.cwiseProduct(is_free).lpNorm<Eigen::Infinity>() <= tolerance) break;
        VectorXd along = direction(steps, gradient, is_free);
        if (!(along.dot(gradient) < 0)) {
            steps.clear();
            along = -gradient.cwiseProduct(is_free);
        }
        double length = steps.empty() ? std::min(1.0, 1 / along.norm()) : 1;
        bool is_better = false;
        VectorXd next;
        double next_value = value;
        while (calls < most_calls && length > 1e-10) {
            next = (at + length * along).cwiseMax(low).cwiseMin(high);
            next_value = function(next, next_gradient);
            ++calls;
            is_better = std::isfinite(next_value) && next_value <= value + sufficient * gradient.dot(next - at);
            if (is_better) break;
            length *= 0.4;
        }
        if (!is_better) {
            if (steps.empty()) break;
            steps.clear();  // what the last steps showed is not so here
            continue;
        }
        Step step{next - at, next_gradient - gradient};
        const double gained = value - next_value;
        if (step.moved.dot(step.steepened) > 1e-12 * step.steepened.squaredNorm()) {
            steps.push_back(std::move(step));
            if (steps.size() > most_steps) steps.pop_front();
        }
        at = next;
        gradient = next_gradient;
        value = next_value;
        if (gained <= 1e-9 * (1 + std::fabs(value))) break;
    }
    return {std::move(at), value};
}

}  // namespace hpo::sampler::gp
