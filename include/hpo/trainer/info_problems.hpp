// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo {
namespace detail {

class InfoProblems {
public:
    explicit InfoProblems(const TrainerInfo& info) : info_{info} {}

    [[nodiscard]] std::vector<std::string> find();

private:
    void add(std::string what) { found_.push_back(std::move(what)); }

    void look_at(const TrainerParameter& parameter);
    void look_at_metrics();
    void look_at_levers();
    void require_parameter(std::string_view role, const std::string& name) {
        if (!name.empty() && !info_.open_ended && !parameters_.contains(name))  // else the script names it
            add("the " + std::string{role} + " parameter '" + name + "' is not among the parameters");
    }

    const TrainerInfo& info_;
    std::set<std::string> parameters_;
    std::vector<std::string> found_;
};

}  // namespace detail

/// What is missing in a trainer's description, one sentence each: a summary, the help of a parameter or metric. These are no errors.
[[nodiscard]] std::vector<std::string> unsaid_in(const TrainerInfo& info);

/// What is wrong with a trainer's description of itself, one sentence each. These are mistakes of the plugin that no study can repair.
[[nodiscard]] inline std::vector<std::string> info_problems(const TrainerInfo& info) { return detail::InfoProblems{info}.find(); }

}  // namespace hpo
