// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

namespace hpo::torch {

/// A learning rate and a weight decay; what the paper keeps constant is constant here.
struct AdafactorOptions final : ::torch::optim::OptimizerCloneableOptions<AdafactorOptions> {
    explicit AdafactorOptions(double learning_rate, double decay = 0) : lr{learning_rate}, weight_decay{decay} {}
    double lr;
    double weight_decay;

    void serialize(::torch::serialize::OutputArchive& archive) const override {
        archive.write("lr", c10::IValue{lr});
        archive.write("weight_decay", c10::IValue{weight_decay});
    }
    void serialize(::torch::serialize::InputArchive& archive) override {
        c10::IValue value;
        archive.read("lr", value);
        lr = value.toDouble();
        archive.read("weight_decay", value);
        weight_decay = value.toDouble();
    }
    [[nodiscard]] double get_lr() const override { return lr; }
    void set_lr(const double learning_rate) override { lr = learning_rate; }
};

/// Of one parameter: `rows` and `columns` for a matrix, else `whole`, one number for each of the parameter's.
struct AdafactorState final : ::torch::optim::OptimizerCloneableParamState<AdafactorState> {
    std::int64_t step = 0;
    ::torch::Tensor rows;
    ::torch::Tensor columns;
    ::torch::Tensor whole;

    void serialize(::torch::serialize::OutputArchive& archive) const override {
        archive.write("step", c10::IValue{step});
        if (rows.defined()) archive.write("rows", rows, /*is_buffer=*/true);
        if (columns.defined()) archive.write("columns", columns, /*is_buffer=*/true);
        if (whole.defined()) archive.write("whole", whole, /*is_buffer=*/true);
    }
    void serialize(::torch::serialize::InputArchive& archive) override {
        c10::IValue value;
        archive.read("step", value);
        step = value.toInt();
        static_cast<void>(archive.try_read("rows", rows, /*is_buffer=*/true));
        static_cast<void>(archive.try_read("columns", columns, /*is_buffer=*/true));
        static_cast<void>(archive.try_read("whole", whole, /*is_buffer=*/true));
    }
};

/// Adafactor (Shazeer and Stern 2018) without momentum: second moments of a matrix are kept as row and column means (algorithm 4), decay
/// as 1 - t^-0.8 (section 7.2), updates are clipped at a root mean square of 1 (section 6), and steps are relative to the parameter's
/// own root mean square, at least 1e-3 (section 8): the learning rate is the paper's rho, whose 1e-2 is far above AdamW's usual rates.
/// Weight decay is decoupled, as AdamW's.
///
/// Design note: a tensor of more dimensions is taken as the matrix [first, all others], so that a convolution is factored, too.
class Adafactor final : public ::torch::optim::Optimizer {
public:
    Adafactor(std::vector<::torch::optim::OptimizerParamGroup> groups, const AdafactorOptions& defaults)
        : Optimizer(std::move(groups), std::make_unique<AdafactorOptions>(defaults)) {}

    ::torch::Tensor step(LossClosure closure = nullptr) override {
        ::torch::Tensor loss;
        if (closure) {
            const ::torch::AutoGradMode with_gradients{true};
            loss = closure();
        }
        const ::torch::NoGradGuard no_gradients;
        for (auto& group : param_groups()) {
            const auto& options = static_cast<const AdafactorOptions&>(group.options());
            for (::torch::Tensor& parameter : group.params()) {
                if (parameter.grad().defined()) update(parameter, options);
            }
        }
        return loss;
    }
    void save(::torch::serialize::OutputArchive& archive) const override {
        ::torch::optim::serialize<AdafactorState, AdafactorOptions>(archive, *this);
    }
    void load(::torch::serialize::InputArchive& archive) override {
        ::torch::optim::serialize<AdafactorState, AdafactorOptions>(archive, *this);
    }

private:
    static constexpr double epsilon_square = 1e-30;  // epsilon_1
    static constexpr double least_scale = 1e-3;      // epsilon_2
    static constexpr double clip = 1.0;              // d

    [[nodiscard]] static ::torch::Tensor root_mean_square(const ::torch::Tensor& x) {
        return x.norm() / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, x.numel())));
    }
    [[nodiscard]] static ::torch::Tensor moving(const ::torch::Tensor& mean, const ::torch::Tensor& now, double decay) {
        return mean.defined() ? mean.mul_(decay).add_(now, 1 - decay) : now;
    }

    /// The place in LibTorch's map, whose keys are pointers or, in older versions, their text.
    template <class States>
    [[nodiscard]] static auto& place_of(States& states, const ::torch::Tensor& parameter) {
        if constexpr (std::is_pointer_v<typename States::key_type>) {
            return states[parameter.unsafeGetTensorImpl()];
        } else {
            std::ostringstream key;
            key << parameter.unsafeGetTensorImpl();
            return states[key.str()];
        }
    }

    void update(::torch::Tensor& parameter, const AdafactorOptions& options) {
        auto& place = place_of(this->state(), parameter);
        if (!place) place = std::make_unique<AdafactorState>();
        auto& state = static_cast<AdafactorState&>(*place);
        const double decay = 1 - std::pow(static_cast<double>(++state.step), -0.8);
        ::torch::Tensor gradient = parameter.grad();
        if (parameter.dim() > 2) gradient = gradient.flatten(1);
        ::torch::Tensor change = gradient.square().add_(epsilon_square);
        if (gradient.dim() == 2) {
            state.rows = moving(state.rows, change.mean(1), decay);
            state.columns = moving(state.columns, change.mean(0), decay);
            change = ::torch::outer((state.rows / state.rows.mean()).rsqrt(), state.columns.rsqrt()).mul_(gradient);
        } else {
            state.whole = moving(state.whole, change, decay);
            change = gradient / state.whole.sqrt();
        }
        const ::torch::Tensor excess = (root_mean_square(change) / clip).clamp_min(1);
        const ::torch::Tensor rate = root_mean_square(parameter).clamp_min(least_scale) * options.lr / excess;
        if (options.weight_decay > 0) parameter.mul_(1 - options.lr * options.weight_decay);
        parameter.sub_(change.mul_(rate).view_as(parameter));
    }
};

}  // namespace hpo::torch
