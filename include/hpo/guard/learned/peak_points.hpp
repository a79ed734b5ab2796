// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/guard/learned/peak_law.hpp"
#include "hpo/guard/learned/peak_model.hpp"

namespace hpo::guard {

/// What attempts told of their memory, with their parameters as rows of inputs. LearnedPeaks says what the inputs are. The trials must
/// outlive the points. Thread safety: const members may be called by several threads.
class PeakPoints {
public:
    using Names = std::set<std::string, std::less<>>;

    struct Point {
        const ParamSet* params = nullptr;
        const ExecutionPlan* plan = nullptr;
        std::optional<std::int64_t> micro_batch, effective_batch;
        double log_bytes = 0;
        bool censored = false;  ///< it took more than this
        bool borrowed = false;  ///< from another study
    };
    struct Input {
        std::string name;  ///< of the parameter; empty: the plan's micro-batch
        PeakModel::Input model;
        std::vector<Value> values{};  ///< of a category; it is a number by its place
        bool is_whole = false;        ///< a number that is never a fraction, as most sizes are
        /// True if laws mean the same by either.
        [[nodiscard]] bool is_same(const Input& other) const {
            return name == other.name && model.kind == other.model.kind && values == other.values;
        }
    };

    /// Adds the attempts of trials that ended on this device.
    void add(std::span<const Trial> trials, const std::string& device_name);
    void add_borrowed(const PeakPoints& others);
    /// Takes out the points that have a parameter of another name.
    void keep_known(const Names& names);
    /// Keeps at most `most` points: the latest, and of the earlier ones a regular share.
    void thin_out(std::size_t most);
    /// Learns what the inputs are. Call it before the members below.
    void learn_inputs();

    [[nodiscard]] const std::vector<Point>& points() const noexcept { return points_; }
    [[nodiscard]] std::size_t ended() const noexcept { return ended_; }  ///< attempts that were added and ended, measured or not
    [[nodiscard]] std::size_t measured() const;                          ///< points that are not censored
    [[nodiscard]] Names parameters() const;                              ///< that any point has
    [[nodiscard]] const std::vector<Input>& inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::vector<PeakModel::Input> model_inputs() const;
    /// Inputs as they are: numbers, categories by the places of their values, NaN for one that is absent.
    [[nodiscard]] std::vector<double> row(const ParamSet& params, const std::optional<std::int64_t>& micro_batch) const;
    /// True if each parameter is an input, or is the effective batch.
    [[nodiscard]] bool knows(const ParamSet& params) const;
    [[nodiscard]] LawData data() const;

private:
    void learn_input(const Param& param);
    /// True if every attempt's effective batch is the value of this parameter.
    [[nodiscard]] bool is_effective_batch(const std::string& name) const;

    std::vector<Point> points_;
    std::size_t ended_ = 0;
    std::vector<Input> inputs_;
};

}  // namespace hpo::guard
