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

namespace hpo::libtorch {

/// The learning rate and the weight decay. The paper's constants are constants here, too.
struct AdafactorOptions final : torch::optim::OptimizerCloneableOptions<AdafactorOptions> {
    explicit AdafactorOptions(double learning_rate, double decay = 0) : lr{learning_rate}, weight_decay{decay} {}
    double lr;
    double weight_decay;

    void serialize(torch::serialize::OutputArchive& archive) const override {
        archive.write("lr", c10::IValue{lr});
        archive.write("weight_decay", c10::IValue{weight_decay});
    }
    void serialize(torch::serialize::InputArchive& archive) override;
    [[nodiscard]] double get_lr() const override { return lr; }
    void set_lr(const double learning_rate) override { lr = learning_rate; }
};

/// The state of one parameter: `rows` and `columns` for a matrix. For all others `whole`, which has one number for each number of the
/// parameter.
struct AdafactorState final : torch::optim::OptimizerCloneableParamState<AdafactorState> {
    std::int64_t step = 0;
    torch::Tensor rows;
    torch::Tensor columns;
    torch::Tensor whole;

    void serialize(torch::serialize::OutputArchive& archive) const override;
    void serialize(torch::serialize::InputArchive& archive) override;
};

/// Adafactor (Shazeer and Stern 2018) without momentum. Second moments of a matrix are kept as row and column means (algorithm 4) and decay
/// as 1 - t^-0.8 (section 7.2). Updates are clipped at a root mean square of 1 (section 6). Steps are relative to the parameter's own root
/// mean square, at least 1e-3 (section 8). So the learning rate is the paper's rho: its 1e-2 is far above AdamW's usual rates. Weight decay
/// is decoupled, as in AdamW.
///
/// Design note: a tensor of more dimensions counts as the matrix [first, all others], so a convolution is factored, too.
class Adafactor final : public torch::optim::Optimizer {
public:
    Adafactor(std::vector<torch::optim::OptimizerParamGroup> groups, const AdafactorOptions& defaults)
        : Optimizer(std::move(groups), std::make_unique<AdafactorOptions>(defaults)) {}

    torch::Tensor step(LossClosure closure = nullptr) override;
    void save(torch::serialize::OutputArchive& archive) const override {
        torch::optim::serialize<AdafactorState, AdafactorOptions>(archive, *this);
    }
    void load(torch::serialize::InputArchive& archive) override {
        torch::optim::serialize<AdafactorState, AdafactorOptions>(archive, *this);
    }

private:
    static constexpr double epsilon_square = 1e-30;  // epsilon_1
    static constexpr double least_scale = 1e-3;      // epsilon_2
    static constexpr double clip = 1.0;              // d

    [[nodiscard]] static torch::Tensor root_mean_square(const torch::Tensor& x) {
        return x.norm() / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, x.numel())));
    }
    [[nodiscard]] static torch::Tensor moving(const torch::Tensor& mean, const torch::Tensor& now, double decay) {
        return mean.defined() ? mean.mul_(decay).add_(now, 1 - decay) : now;
    }

    /// The parameter's entry in LibTorch's map. The keys are pointers or, in older versions, their text.
    template <class States>
    [[nodiscard]] static auto& place_of(States& states, const torch::Tensor& parameter) {
        if constexpr (std::is_pointer_v<typename States::key_type>) {
            return states[parameter.unsafeGetTensorImpl()];
        } else {
            std::ostringstream key;
            key << parameter.unsafeGetTensorImpl();
            return states[key.str()];
        }
    }

    void update(torch::Tensor& parameter, const AdafactorOptions& options);
};

}  // namespace hpo::libtorch
