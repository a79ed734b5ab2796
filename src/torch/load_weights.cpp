// SPDX-License-Identifier: MIT
#include "hpo/torch/load_weights.hpp"

#include <torch/torch.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/torch/metered_allocator.hpp"

namespace hpo::libtorch {

std::optional<torch::ScalarType> scalar_type(weights::Dtype dtype) {
    using weights::Dtype;
    switch (dtype) {
        case Dtype::f32: return torch::kFloat;
        case Dtype::f64: return torch::kDouble;
        case Dtype::f16: return torch::kHalf;
        case Dtype::bf16: return torch::kBFloat16;
        case Dtype::i64: return torch::kLong;
        case Dtype::i32: return torch::kInt;
        case Dtype::i16: return torch::kShort;
        case Dtype::i8: return torch::kChar;
        case Dtype::u8: return torch::kByte;
        case Dtype::boolean: return torch::kBool;
        default: return std::nullopt;
    }
}

}  // namespace hpo::libtorch

namespace hpo::libtorch::detail {

/// The name of a layer norm's weight or bias in older files. Other names stay as they are.
[[nodiscard]] std::string older_name(std::string name) {
    for (const auto& [now, before] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, std::pair{"LayerNorm.bias", "LayerNorm.beta"}}) {
        if (name.ends_with(now)) return name.replace(name.size() - std::strlen(now), std::string::npos, before);
    }
    return name;
}

[[nodiscard]] bool holds_weights(weights::Dtype dtype) {
    const auto type = scalar_type(dtype);
    return !type || torch::isFloatingType(*type);
}

/// Throws Error with file and tensor unless the stored tensor can fill the module's.
void check_filling(const Filling& filling) {
    const torch::IntArrayRef shape = filling.target.sizes();
    if (shape != torch::IntArrayRef{filling.stored->shape}) {
        throw bad_value(filling.who, "shape " + weights::shape_text(filling.stored->shape),
                        weights::shape_text({shape.data(), shape.size()}) + ", the model's");
    }
    const auto type = scalar_type(filling.stored->dtype);
    const torch::ScalarType wanted = filling.target.scalar_type();
    const bool converts = type && torch::isFloatingType(*type) && torch::isFloatingType(wanted);
    if (converts || type == wanted) return;
    throw bad_value(filling.who, "dtype " + std::string{weights::entry(filling.stored->dtype).name},
                    torch::isFloatingType(wanted) ? "F32, F16, BF16 or F64" : std::string{torch::toString(wanted)});
}

/// Throws Error with file and tensor if a stored weight is infinite or NaN: it cannot be trained.
void check_finite(const torch::Tensor& read, const std::string& who) {
    if (!read.is_floating_point() || std::isfinite(read.sum(torch::kDouble).item<double>())) return;
    const std::int64_t wrong = read.numel() - torch::isfinite(read.to(torch::kDouble)).sum().item<std::int64_t>();
    if (wrong > 0)
        throw bad_value(who, std::to_string(wrong) + " of " + std::to_string(read.numel()) + " numbers infinite or NaN", "finite weights");
}

std::vector<Filling> plan_fillings(const torch::nn::Module& module, const weights::Weights& weights, const std::string& prefix,
                                   std::string_view superfluous) {
    std::vector<Filling> fillings;
    std::set<std::string, std::less<>> used;
    std::vector<std::string> missing;
    const auto plan = [&](const auto& items) {
        for (const auto& item : items) {
            std::string name = prefix + item.key();
            if (weights.find(name) == nullptr && weights.find(older_name(name)) != nullptr) name = older_name(name);
            const weights::Tensor* const stored = weights.find(name);
            if (stored == nullptr) {
                missing.push_back(name);
                continue;
            }
            fillings.push_back({item.value(), stored, weights.place() + ": " + weights::tensor_text(name)});
            check_filling(fillings.back());
            used.insert(std::move(name));
        }
    };
    plan(module.named_parameters());
    plan(module.named_buffers());
    if (!missing.empty()) {
        const std::string others = missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more" : "";
        throw Error{Errc::bad_value,
                    weights.place() + ": lacks " + weights::tensor_text(missing.front()) + others + ", which the model has"};
    }
    for (const auto& child : module.named_children()) {
        const std::string part = prefix + child.key() + ".";
        for (auto each = weights.tensors().lower_bound(part); each != weights.tensors().end() && each->first.starts_with(part); ++each) {
            if (used.contains(each->first) || !holds_weights(each->second.dtype) || each->first == prefix + std::string{superfluous})
                continue;
            throw Error{Errc::bad_value, weights.place() + ": has " + weights::tensor_text(each->first) + ", which the model lacks"};
        }
    }
    return fillings;
}

void fill(std::vector<Filling>& fillings) {
    const torch::NoGradGuard no_gradients;
    const Unmetered outside;  // the stored numbers lie on the host for a moment
    for (Filling& filling : fillings) {
        if (filling.target.is_meta()) continue;  // it has a shape but no numbers
        const torch::Tensor read = torch::empty(filling.stored->shape, *scalar_type(filling.stored->dtype));
        if (read.numel() > 0) std::memcpy(read.data_ptr(), filling.stored->bytes.data(), filling.stored->bytes.size());
        check_finite(read, filling.who);
        filling.target.copy_(read);
    }
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

void load_whole(torch::nn::Module& module, const weights::Weights& weights, const std::string& passed_over) {
    std::vector<detail::Filling> fillings;
    if (passed_over.empty()) fillings = detail::plan_fillings(module, weights, "", "");
    for (const auto& child : module.named_children()) {
        if (passed_over.empty() || child.key() == passed_over) continue;
        const auto more = detail::plan_fillings(*child.value(), weights, child.key() + ".", "");
        fillings.insert(fillings.end(), more.begin(), more.end());
    }
    std::unordered_set<const weights::Tensor*> placed;
    for (const detail::Filling& filling : fillings) placed.insert(filling.stored);
    for (const auto& [name, stored] : weights.tensors()) {
        if (!detail::holds_weights(stored.dtype) || (!passed_over.empty() && name.starts_with(passed_over + "."))) continue;
        if (!placed.contains(&stored))
            throw Error{Errc::bad_value, weights.place() + ": has " + weights::tensor_text(name) + ", which the model lacks"};
    }
    detail::fill(fillings);
}

}  // namespace hpo::libtorch
