// SPDX-License-Identifier: MIT
#include "torch/meta/host.hpp"

#include <ATen/TensorUtils.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "torch/meta/attention.hpp"

namespace hpo::libtorch {

MetaHost::MetaHost() {
    operators_.impl("lstm.input", &lstm);
#if TORCH_VERSION_MAJOR >= 2
    operators_.impl("scaled_dot_product_attention", &attention);
#endif
}

#if TORCH_VERSION_MAJOR >= 2
MetaHost::Tensor MetaHost::attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask,
                                     double dropout, bool causal, TorchOptional<double> scale, bool grouped) {
    if (dropout == 0 && !grouped && FusedAttention::takes(query, mask))
        return FusedAttention::apply(query, key, value, mask, query.size(-2));
    return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, {}, scale, grouped));
}
#endif

MetaHost::State MetaHost::step(const Tensor& from_input, const State& before, const Weights& weights) {
    const Tensor gates = at::linear(before.output, weights.state, weights.state_bias).add_(from_input);
    const std::vector<Tensor> parts = gates.unsafe_chunk(4, 1);
    const Tensor admitted = parts[0].sigmoid_();
    const Tensor kept = parts[1].sigmoid_();
    const Tensor candidate = parts[2].tanh_();
    const Tensor shown = parts[3].sigmoid_();
    const Tensor cell = (kept * before.cell).add_(admitted * candidate);
    return {shown * cell.tanh(), cell};
}

std::pair<MetaHost::Tensor, MetaHost::State> MetaHost::sweep(std::vector<Tensor> inputs, State state, const Weights& weights) {
    std::vector<Tensor> outputs;
    for (const Tensor& input : inputs) {
        state = step(input, state, weights);
        outputs.push_back(state.output);
    }
    return {at::stack(outputs, 0), state};
}

std::tuple<MetaHost::Tensor, MetaHost::Tensor, MetaHost::Tensor> MetaHost::lstm(const Tensor& whole_input, at::TensorList states,
                                                                                at::TensorList parameters, bool biases, std::int64_t layers,
                                                                                double dropout, bool training, bool bidirectional,
                                                                                bool batch_first) {
#if TORCH_VERSION_MAJOR >= 2
    throw std::runtime_error{"LibTorch " TORCH_VERSION
                             " leaves an LSTM on the CPU to oneDNN where that has the type; only a probe tells its memory"};
#endif
    const std::size_t directions = bidirectional ? 2 : 1;
    const std::size_t of_direction = biases ? 4 : 2;
    if (parameters.size() != static_cast<std::size_t>(layers) * directions * of_direction)
        throw std::runtime_error{"an LSTM with projections cannot be run without numbers"};
    const std::vector<Tensor> outputs_before = states[0].unbind(0);
    const std::vector<Tensor> cells_before = states[1].unbind(0);
    std::vector<Tensor> last_outputs;
    std::vector<Tensor> last_cells;
    Tensor input = batch_first ? whole_input.transpose(0, 1) : whole_input;
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
        std::vector<Tensor> sides;
        for (std::size_t direction = 0; direction < directions; ++direction) {
            const std::size_t at = layer * directions + direction;
            const at::TensorList own = parameters.slice(at * of_direction, of_direction);
            const Weights weights{own[0], own[1], biases ? own[2] : Tensor{}, biases ? own[3] : Tensor{}};
            std::vector<Tensor> inputs = at::linear(input, weights.input, weights.input_bias).unbind(0);
            if (direction == 1) std::reverse(inputs.begin(), inputs.end());
            auto [output, state] = sweep(std::move(inputs), {outputs_before[at], cells_before[at]}, weights);
            sides.push_back(output);
            last_outputs.push_back(state.output);
            last_cells.push_back(state.cell);
        }
        input = sides.size() == 1 ? sides.front() : at::cat(sides, 2);
        if (dropout != 0 && training && layer + 1 < static_cast<std::size_t>(layers)) input = at::dropout(input, dropout, true);
    }
    return {batch_first ? input.transpose(0, 1) : input, at::stack(last_outputs, 0), at::stack(last_cells, 0)};
}

}  // namespace hpo::libtorch
