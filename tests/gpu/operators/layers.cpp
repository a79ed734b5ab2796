// SPDX-License-Identifier: MIT
#include <torch/version.h>

#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> layers() {
    using I = const Inputs&;
    return {
        {"conv1d",
         [](I in) {
             return torch::conv1d(in.x({32, 64, 256}), in.w({128, 64, 3}), in.w({128}), 1, 1);
         }},
            {"conv2d",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({128, 64, 3, 3}), in.w({128}), 1, 1);
             }},
            {"conv2d without bias",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({128, 64, 3, 3}), {}, 2, 1);
             }},
            {"conv2d of 1 x 1",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({128, 64, 1, 1}), in.w({128}));
             }},
            {"conv2d of groups",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({64, 32, 3, 3}), in.w({64}), 1, 1, 1, 2);
             }},
            {"conv2d of each channel",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({64, 1, 3, 3}), in.w({64}), 1, 1, 1, 64);
             }},
            {"conv2d of images",
             [](I in) {
                 return torch::conv2d(in.constant({32, 1, 28, 28}), in.w({32, 1, 3, 3}), in.w({32}), 1, 1);
             }},
            {"conv2d, dilated",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}), in.w({64, 64, 3, 3}), in.w({64}), 1, 2, 2);
             }},
            {"conv2d, channels last",
             [](I in) {
                 return torch::conv2d(in.x({32, 64, 28, 28}).contiguous(torch::MemoryFormat::ChannelsLast), in.w({64, 64, 3, 3}),
                                      in.w({64}), 1, 1);
             }},
            {"conv3d",
             [](I in) {
                 return torch::conv3d(in.x({4, 16, 16, 28, 28}), in.w({32, 16, 3, 3, 3}), in.w({32}), 1, 1);
             }},
            {"conv_transpose1d",
             [](I in) {
                 return torch::conv_transpose1d(in.x({32, 64, 128}), in.w({64, 32, 4}), in.w({32}), 2, 1);
             }},
            {"conv_transpose2d",
             [](I in) {
                 return torch::conv_transpose2d(in.x({32, 64, 14, 14}), in.w({64, 32, 4, 4}), in.w({32}), 2, 1);
             }},
            {"max_pool1d",
             [](I in) {
                 return torch::max_pool1d(in.x({32, 64, 256}), 2);
             }},
            {"max_pool2d",
             [](I in) {
                 return torch::max_pool2d(in.x({32, 64, 28, 28}), 2);
             }},
            {"max_pool3d",
             [](I in) {
                 return torch::max_pool3d(in.x({4, 16, 16, 28, 28}), 2);
             }},
            {"avg_pool1d",
             [](I in) {
                 return torch::avg_pool1d(in.x({32, 64, 256}), 2);
             }},
            {"avg_pool2d",
             [](I in) {
                 return torch::avg_pool2d(in.x({32, 64, 28, 28}), 2);
             }},
            {"avg_pool3d",
             [](I in) {
                 return torch::avg_pool3d(in.x({4, 16, 16, 28, 28}), 2);
             }},
            {"adaptive_avg_pool1d",
             [](I in) {
                 return torch::adaptive_avg_pool1d(in.x({32, 64, 256}), 8);
             }},
            {"adaptive_avg_pool2d to one",
             [](I in) {
                 return torch::adaptive_avg_pool2d(in.x({32, 64, 28, 28}), {1, 1});
             }},
            {"adaptive_avg_pool2d",
             [](I in) {
                 return torch::adaptive_avg_pool2d(in.x({32, 64, 28, 28}), {7, 7});
             }},
            {"adaptive_max_pool2d",
             [](I in) {
                 return std::get<0>(torch::adaptive_max_pool2d(in.x({32, 64, 28, 28}), {7, 7}));
             }},
            {"upsample_nearest2d",
             [](I in) {
                 return torch::upsample_nearest2d(in.x({32, 64, 14, 14}), {28, 28});
             }},
            {"upsample_bilinear2d",
             [](I in) {
                 return torch::upsample_bilinear2d(in.x({32, 64, 14, 14}), {28, 28}, false);
             }},
            {"pixel_shuffle",
             [](I in) {
                 return torch::pixel_shuffle(in.x({32, 64, 14, 14}), 2);
             }},
            {"pad with zeros",
             [](I in) {
                 return torch::constant_pad_nd(in.x({32, 64, 28, 28}), {1, 1, 1, 1});
             }},
            {"pad by reflection",
             [](I in) {
                 return torch::reflection_pad2d(in.x({32, 64, 28, 28}), {1, 1, 1, 1});
             }},
            {"pad by replication",
             [](I in) {
                 return torch::replication_pad2d(in.x({32, 64, 28, 28}), {1, 1, 1, 1});
             }},
            {"im2col",
             [](I in) {
                 return torch::im2col(in.x({16, 16, 28, 28}), {3, 3}, {1, 1}, {1, 1}, {1, 1});
             }},
            {"grid_sampler",
             [](I in) {
                 return torch::grid_sampler(in.x({32, 16, 28, 28}), in.x({32, 28, 28, 2}), 0, 0, false);
             }},
            {"layer_norm", [](I in) { return torch::layer_norm(in.x(), {256}, in.w({256}), in.w({256})); }},
            {"layer_norm of many rows",
             [](I in) {
                 return torch::layer_norm(in.x({16384, 512}), {512}, in.w({512}), in.w({512}));
             }},
            {"layer_norm of few rows",
             [](I in) {
                 return torch::layer_norm(in.x({16, 768}), {768}, in.w({768}), in.w({768}));
             }},
            {"layer_norm without weights", [](I in) { return torch::layer_norm(in.x(), {256}); }},
            {"layer_norm, frozen", [](I in) { return torch::layer_norm(in.x(), {256}, in.fp32({256}), in.fp32({256})); }},
            {"group_norm",
             [](I in) {
                 return torch::group_norm(in.x({32, 64, 28, 28}), 8, in.w({64}), in.w({64}));
             }},
            {"group_norm of few examples",
             [](I in) {
                 return torch::group_norm(in.x({4, 64, 28, 28}), 8, in.w({64}), in.w({64}));
             }},
            {"batch_norm of images",
             [](I in) {
                 return torch::batch_norm(in.x({32, 64, 28, 28}), in.w({64}), in.w({64}), in.fp32({64}), in.fp32({64}), true, 0.1, 1e-5,
                                          true);
             }},
            {"batch_norm of rows",
             [](I in) {
                 return torch::batch_norm(in.x({512, 256}), in.w({256}), in.w({256}), in.fp32({256}), in.fp32({256}), true, 0.1, 1e-5,
                                          true);
             }},
            {"batch_norm in evaluation",
             [](I in) {
                 return torch::batch_norm(in.x({32, 64, 28, 28}), in.w({64}), in.w({64}), in.fp32({64}), in.fp32({64}), false, 0.1, 1e-5,
                                          true);
             }},
            {"instance_norm",
             [](I in) {
                 return torch::instance_norm(in.x({32, 64, 28, 28}), {}, {}, {}, {}, true, 0.1, 1e-5, true);
             }},
            {"RMS norm written out",
             [](I in) {
                 const torch::Tensor x = in.x();
                 return x * torch::rsqrt(x.to(torch::kFloat).pow(2).mean(-1, true) + 1e-6) * in.w({256});
             }},
#if TORCH_VERSION_MAJOR >= 2
            {"rms_norm", [](I in) { return at::rms_norm(in.x(), {256}, in.w({256}), 1e-6); }},
#endif
            {"local_response_norm",
             [](I in) {
                 return torch::nn::functional::local_response_norm(in.x({32, 64, 28, 28}),
                                                                   torch::nn::functional::LocalResponseNormFuncOptions(5));
             }},
            {"rotary positions written out",
             [](I in) {
                 const torch::Tensor x = in.x({16, 12, 128, 64});
                 const auto halves = x.chunk(2, -1);
                 return x * in.constant({128, 64}) + torch::cat({-halves[1], halves[0]}, -1) * in.constant({128, 64});
             }},
            {"SwiGLU written out",
             [](I in) {
                 const torch::Tensor x = in.x();
                 return torch::linear(torch::silu(torch::linear(x, in.w({512, 256}))) * torch::linear(x, in.w({512, 256})),
                                      in.w({256, 512}));
             }},
            {"weight norm",
             [](I in) {
                 return torch::linear(in.x(), torch::_weight_norm(in.w({768, 256}), in.w({768, 1}), 0));
             }},
            {"gru_cell",
             [](I in) {
                 return torch::gru_cell(in.x({64, 128}), in.x({64, 256}), in.w({768, 128}), in.w({768, 256}), in.w({768}), in.w({768}));
             }},
            {"lstm_cell", [](I in) {
                 return std::get<0>(torch::lstm_cell(in.x({64, 128}), {in.x({64, 256}), in.x({64, 256})}, in.w({1024, 128}),
                                                     in.w({1024, 256}), in.w({1024}), in.w({1024})));
             }},
    };
}

}  // namespace gpu
