// SPDX-License-Identifier: MIT
#include "gpu/operators/operator_table.hpp"

namespace gpu {

std::vector<Operator> reductions() {
    using I = const Inputs&;
    return {
        {"sum", [](I in) { return in.x().sum(); }},
        {"sum of few",
         [](I in) {
             return in.x({32, 10}).sum();
         }},
        {"sum of rows", [](I in) { return in.x().sum(-1); }},
        {"sum of columns", [](I in) { return in.x().sum(1); }},
        {"sum of examples", [](I in) { return in.x().sum(0); }},
        {"sum to a bias",
         [](I in) {
             return in.x({8192, 768}).sum(0);
         }},
        {"sum to a wide bias",
         [](I in) {
             return in.x({2048, 4096}).sum(0);
         }},
        {"sum to a bias of a number of columns that 4 does not divide",
         [](I in) {
             return in.x({8192, 30}).sum(0);
         }},
        {"sum to channels",
         [](I in) {
             return in.x({32, 64, 28, 28}).sum(torch::IntArrayRef{0, 2, 3});
         }},
        {"sum of a transpose",
         [](I in) {
             return in.x({768, 8192}).t().sum(0);
         }},
        {"sum of every second",
         [](I in) {
             return in.x({8192, 768}).slice(1, 0, 768, 2).sum(0);
         }},
        {"sum in fp32", [](I in) { return in.x().sum(torch::kFloat); }},
        {"mean", [](I in) { return in.x().mean(); }},
        {"mean of rows", [](I in) { return in.x().mean(-1, true); }},
        {"mean of columns", [](I in) { return in.x().mean(1); }},
        {"mean of pixels",
         [](I in) {
             return in.x({32, 64, 28, 28}).mean({2, 3});
         }},
        {"var", [](I in) { return in.x().var(); }},
        {"var of rows", [](I in) { return in.x().var(-1); }},
        {"std", [](I in) { return in.x().std(); }},
        {"std of columns", [](I in) { return in.x().std(1); }},
        {"var_mean of rows", [](I in) { return std::get<0>(torch::var_mean(in.x(), -1)); }},
        {"norm", [](I in) { return in.x().norm(); }},
        {"norm of rows", [](I in) { return in.x().norm(2, -1); }},
        {"norm 1 of columns", [](I in) { return in.x().norm(1, 1); }},
        {"vector_norm", [](I in) { return torch::linalg_vector_norm(in.x(), 2); }},
        {"matrix_norm", [](I in) { return torch::linalg_matrix_norm(in.x()); }},
        {"normalize", [](I in) { return torch::nn::functional::normalize(in.x()); }},
        {"logsumexp", [](I in) { return in.x().logsumexp(-1); }},
        {"max", [](I in) { return in.x().max(); }},
        {"min", [](I in) { return in.x().min(); }},
        {"max of rows", [](I in) { return std::get<0>(in.x().max(-1)); }},
        {"max of columns", [](I in) { return std::get<0>(in.x().max(1)); }},
        {"min of rows", [](I in) { return std::get<0>(in.x().min(-1)); }},
        {"amax", [](I in) { return in.x().amax(-1); }},
        {"amax of all", [](I in) { return in.x().amax(); }},
        {"amin of columns", [](I in) { return in.x().amin(1); }},
        {"aminmax", [](I in) { return std::get<0>(torch::aminmax(in.x())); }},
        {"argmax", [](I in) { return in.constant().argmax(); }},
        {"argmax of rows", [](I in) { return in.constant().argmax(-1); }},
        {"argmin of columns", [](I in) { return in.constant().argmin(1); }},
        {"any", [](I in) { return in.mask().any(); }},
        {"all of rows", [](I in) { return in.mask().all(-1); }},
        {"equal numbers, counted",
         [](I in) {
             return in.ids({4096, 64}).eq(in.ids({4096, 64})).sum();
         }},
        {"count_nonzero", [](I in) { return in.constant().count_nonzero(); }},
        {"isfinite and all", [](I in) { return in.constant().isfinite().all(); }},
        {"cumsum", [](I in) { return in.x().cumsum(-1); }},
        {"cumsum of columns", [](I in) { return in.x().cumsum(1); }},
        {"cumprod", [](I in) { return in.constant().cumprod(-1); }},
        {"cummax", [](I in) { return std::get<0>(in.x().cummax(-1)); }},
        {"logcumsumexp", [](I in) { return in.x().logcumsumexp(-1); }},
        {"median",
         [](I in) {
             return in.x({64, 1024}).median();
         }},
        {"median of rows", [](I in) { return std::get<0>(in.x().median(-1)); }},
        {"kthvalue", [](I in) { return std::get<0>(in.x().kthvalue(3, -1)); }},
        {"sort", [](I in) { return std::get<0>(in.x().sort(-1)); }},
        {"sort of columns", [](I in) { return std::get<0>(in.x().sort(1)); }},
        {"sort of long rows",
         [](I in) {
             return std::get<0>(in.x({32, 65536}).sort(-1));
         }},
        {"argsort", [](I in) { return in.constant().argsort(false, -1); }},
        {"topk", [](I in) { return std::get<0>(in.x().topk(5, -1)); }},
        {"topk of long rows",
         [](I in) {
             return std::get<0>(in.x({32, 65536}).topk(5, -1));
         }},
        {"dist", [](I in) { return torch::dist(in.x(), in.x()); }},
        {"cosine_similarity", [](I in) { return torch::cosine_similarity(in.x(), in.x(), -1); }},
        {"pairwise_distance",
         [](I in) {
             return torch::pairwise_distance(in.x({8192, 256}), in.x({8192, 256}));
         }},
        {"trace",
         [](I in) {
             return in.x({512, 512}).trace();
         }},
    };
}

}  // namespace gpu
