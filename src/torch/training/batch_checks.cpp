// SPDX-License-Identifier: MIT
#include "hpo/torch/training/batch_checks.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "hpo/core/value.hpp"
#include "hpo/torch/recording/value_reads.hpp"

namespace hpo::libtorch::detail {

/// "row 3 of batch 2 of epoch 1 (example 17)". `row` is counted from 0 in the checked examples, and the text counts from 0, too.
[[nodiscard]] std::string row_text(std::int64_t row, const BatchPlace& place) {
    std::string text = "row " + std::to_string(place.first_row + row) + " of batch " + std::to_string(place.number);
    if (!place.of.empty()) text += " of " + std::string{place.of};
    if (const auto at = static_cast<std::size_t>(row); at < place.examples.size())
        text += " (example " + std::to_string(place.examples[at]) + ")";
    return text;
}

/// The place of one number of a tensor: "row 3, place [5] of batch 2".
[[nodiscard]] std::string number_place(const torch::Tensor& tensor, std::int64_t flat, const BatchPlace& place) {
    const std::int64_t each = tensor.numel() / tensor.size(0);
    std::string text = row_text(flat / each, place);
    if (tensor.dim() < 2) return text;
    std::string within;
    std::int64_t rest = flat % each;
    for (std::int64_t dimension = tensor.dim() - 1; dimension > 0; --dimension) {
        within = std::to_string(rest % tensor.size(dimension)) + (within.empty() ? "" : ", ") + within;
        rest /= tensor.size(dimension);
    }
    return "place [" + within + "] of " + text;
}

/// The tensor in host memory, one number after the other. It is the same tensor if it lies there already.
[[nodiscard]] torch::Tensor in_row(const torch::Tensor& tensor) {
    return tensor.is_cpu() && tensor.is_contiguous() ? tensor : tensor.detach().to(torch::kCPU).contiguous();
}

/// Which whole numbers are allowed.
struct Range {
    std::int64_t size = 0;  ///< [0, size)
    std::optional<std::int64_t> further{};

    [[nodiscard]] bool has(std::int64_t number) const {
        return static_cast<std::uint64_t>(number) < static_cast<std::uint64_t>(size) || (further && number == *further);
    }
    [[nodiscard]] std::string text() const {
        return "0 to " + std::to_string(size - 1) + (further ? " or " + std::to_string(*further) : "");
    }
};

template <class Number>
[[nodiscard]] std::optional<std::int64_t> first_outside(const torch::Tensor& numbers, const Range& range) {
    const Number* const all = numbers.data_ptr<Number>();
    for (std::int64_t i = 0; i < numbers.numel(); ++i) {
        if (!range.has(all[i])) return i;
    }
    return std::nullopt;
}

/// The place of the first number outside the range, in the flat tensor.
[[nodiscard]] std::optional<std::int64_t> first_outside(const torch::Tensor& numbers, const Range& range) {
    const HarmlessReads of_a_check;
    if (!numbers.is_cpu()) {  // two numbers are read, not all of them
        const torch::Tensor looked_at =
            range.further ? torch::where(numbers.eq(*range.further), torch::zeros_like(numbers), numbers) : numbers;
        const auto lowest = looked_at.min().item<std::int64_t>();
        const auto highest = looked_at.max().item<std::int64_t>();
        if (lowest >= 0 && highest < range.size) return std::nullopt;
    }
    const torch::Tensor here = in_row(numbers);
    return here.scalar_type() == torch::kInt ? first_outside<std::int32_t>(here, range) : first_outside<std::int64_t>(here, range);
}

void check_range(const std::string& name, const torch::Tensor& numbers, const Range& range, const BatchPlace& place) {
    const std::optional<std::int64_t> bad = first_outside(numbers, range);
    if (!bad) return;
    const torch::Tensor here = numbers.to(torch::kCPU).to(torch::kLong).flatten();
    const auto text = [](const torch::Tensor& number) { return std::to_string(number.item<std::int64_t>()); };
    throw BadBatch{name + " " + text(here[*bad]) + " in " + number_place(numbers, *bad, place) + "; expected " + range.text() +
                   ". This batch has " + name + "s from " + text(here.min()) + " to " + text(here.max())};
}

/// The bits of a type's exponent in each number of 8 bytes. All of them are set in NaN and infinity.
struct ExponentBits {
    std::uint64_t all;
    std::uint64_t lowest;  ///< added to `all`, it gives the bit above
};

[[nodiscard]] std::optional<ExponentBits> exponent_bits(torch::ScalarType type) {
    switch (type) {
        case torch::kDouble: return ExponentBits{0x7FF0000000000000U, 0x0010000000000000U};
        case torch::kFloat: return ExponentBits{0x7F8000007F800000U, 0x0080000000800000U};
        case torch::kHalf: return ExponentBits{0x7C007C007C007C00U, 0x0400040004000400U};
        case torch::kBFloat16: return ExponentBits{0x7F807F807F807F80U, 0x0080008000800080U};
        default: return std::nullopt;
    }
}

/// True if a number in host memory is NaN or infinite.
///
/// Design note: it takes no memory, and looks at 16 bytes at a time, which every processor with 64 bits has an instruction for. Exponents
/// of ones plus one carry into the sign's bit, which was cleared.
[[nodiscard]] bool any_not_finite(const void* data, std::size_t bytes, ExponentBits exponent) {
    typedef std::uint64_t Words __attribute__((vector_size(16)));
    const Words all{exponent.all, exponent.all};
    const Words lowest{exponent.lowest, exponent.lowest};
    const auto* at = static_cast<const unsigned char*>(data);
    Words found[2]{};  // two, so that one need not wait for the other
    const auto look = [&](Words& into, std::size_t size) {
        Words words{};
        std::memcpy(&words, at, size);
        into |= (words & all) + lowest;
        at += size;
        bytes -= size;
    };
    while (bytes >= 2 * sizeof(Words)) {
        look(found[0], sizeof(Words));
        look(found[1], sizeof(Words));
    }
    while (bytes > 0) look(found[0], std::min(bytes, sizeof(Words)));
    const Words any = found[0] | found[1];
    return ((any[0] | any[1]) & (exponent.all + exponent.lowest)) != 0;
}

void check_finite(const torch::Tensor& input, const std::string& name, const BatchPlace& place) {
    if (!input.defined() || input.is_meta() || input.numel() == 0) return;
    const std::optional<ExponentBits> exponent = exponent_bits(input.scalar_type());
    if (!exponent) return;
    const HarmlessReads of_a_check;
    const torch::Tensor here = in_row(input);
    if (!any_not_finite(here.data_ptr(), static_cast<std::size_t>(here.numel()) * here.element_size(), *exponent)) return;
    const auto bad = torch::isfinite(here).logical_not().flatten().nonzero()[0].item<std::int64_t>();
    throw BadBatch{name + ": " + number_text(here.detach().flatten()[bad].item<double>()) + " in " + number_place(here, bad, place) +
                   "; expected finite numbers, neither NaN nor infinity"};
}

[[nodiscard]] std::string batch_text(const BatchPlace& place) {
    return "batch " + std::to_string(place.number) + (place.of.empty() ? "" : " of " + std::string{place.of});
}

void check_labels(const torch::Tensor& targets, const BatchRules& rules, const BatchPlace& place) {
    if (targets.scalar_type() != torch::kLong || (rules.labels_of_positions ? targets.dim() < 2 : targets.dim() != 1)) {
        throw BadBatch{"labels of shape " + shape_text(targets) + " and type " + torch::toString(targets.scalar_type()) + " in " +
                       batch_text(place) + "; expected whole numbers of type Long, " +
                       (rules.labels_of_positions ? "a row of them for each example" : "one for each example")};
    }
    if (targets.numel() == 0) throw BadBatch{"a batch without examples: " + batch_text(place)};
    check_range("label", targets, {*rules.classes, rules.ignored_label}, place);
}

void check_ids(const Batch& batch, std::int64_t vocabulary, const BatchPlace& place) {
    if (batch.inputs.empty() || !batch.inputs.front().defined() || batch.inputs.front().dim() < 1)
        throw BadBatch{"no ids in " + batch_text(place) + "; expected them as the first input"};
    const torch::Tensor& ids = batch.inputs.front();
    if (ids.scalar_type() != torch::kLong && ids.scalar_type() != torch::kInt) {
        throw BadBatch{"ids of type " + std::string{torch::toString(ids.scalar_type())} + " in " + batch_text(place) +
                       "; expected whole numbers of type Long or Int"};
    }
    if (ids.numel() == 0) return;
    check_range("id", ids, {vocabulary}, place);
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

std::string shape_text(const torch::Tensor& tensor) {
    std::ostringstream text;
    text << tensor.sizes();
    return text.str();
}

std::string with_configuration(std::string message, std::string_view configuration) {
    return configuration.empty() ? message : message + "; configuration: " + std::string{configuration};
}

void check_batch(const Batch& batch, const BatchRules& rules, const BatchPlace& place) {
    if (rules.classes) detail::check_labels(batch.targets, rules, place);
    if (rules.vocabulary) detail::check_ids(batch, *rules.vocabulary, place);
    if (!rules.finite_inputs) return;
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
        if (batch.inputs[i].defined() && batch.inputs[i].is_cpu())
            detail::check_finite(batch.inputs[i], "input " + std::to_string(i), place);
    }
}

void check_finite(const Batch& batch, const BatchPlace& place) {
    for (std::size_t i = 0; i < batch.inputs.size(); ++i) detail::check_finite(batch.inputs[i], "input " + std::to_string(i), place);
    detail::check_finite(batch.targets, "targets", place);
}

void check_logits(const torch::Tensor& logits, const Batch& batch, std::int64_t classes) {
    if (batch.targets.dim() == 1 && logits.dim() == 2 && logits.size(0) == batch.examples() && logits.size(1) == classes) return;
    std::vector<std::int64_t> last = batch.targets.sizes().vec();
    std::vector<std::int64_t> second = last;
    last.push_back(classes);
    second.insert(second.begin() + 1, classes);
    if (logits.sizes() == torch::IntArrayRef{last} || logits.sizes() == torch::IntArrayRef{second}) return;
    const auto text = [](const std::vector<std::int64_t>& sizes) {
        std::ostringstream out;
        out << torch::IntArrayRef{sizes};
        return out.str();
    };
    throw BadBatch{"logits of shape " + shape_text(logits) + "; expected " + text(second) + (second == last ? "" : " or " + text(last))};
}

void check_count(const Batch& batch, std::size_t asked) {
    if (batch.examples() == static_cast<std::int64_t>(asked)) return;
    throw BadBatch{"a batch of " + std::to_string(batch.examples()) + " examples where " + std::to_string(asked) +
                   " were asked for; expected each of them once, in order"};
}

void check_loss(double loss, const std::string& place) {
    if (!std::isfinite(loss)) throw NonFiniteLoss{"the loss is " + number_text(loss) + " " + place};
}

void FirstShapes::check(const Batch& batch, bool sizes, const BatchPlace& place) {
    if (!inputs_) input_shapes_.resize(*(inputs_ = batch.inputs.size()));
    // A text model's mask may be left out at the end if nothing is padded.
    if (input_shapes_.size() < batch.inputs.size() && !sizes) input_shapes_.resize(batch.inputs.size());
    if (sizes && batch.inputs.size() != *inputs_) {
        throw BadBatch{std::to_string(batch.inputs.size()) + " inputs in " + detail::batch_text(place) + "; expected " +
                       std::to_string(*inputs_) + ", as in the first batch"};
    }
    for (std::size_t i = 0; i < batch.inputs.size(); ++i)
        check(input_shapes_[i], batch.inputs[i], sizes, "input " + std::to_string(i), place);
    check(targets_, batch.targets, sizes, "targets", place);
}

void FirstShapes::check(std::optional<Shape>& first, const torch::Tensor& tensor, bool sizes, const std::string& name,
                        const BatchPlace& place) {
    if (!tensor.defined()) return;
    if (!first) {
        first = Shape{tensor.sizes().vec(), tensor.scalar_type()};
        return;
    }
    bool fits = tensor.scalar_type() == first->type && tensor.dim() == static_cast<std::int64_t>(first->sizes.size());
    for (std::size_t i = 1; fits && sizes && i < first->sizes.size(); ++i)
        fits = tensor.size(static_cast<std::int64_t>(i)) == first->sizes[i];
    if (fits) return;
    std::ostringstream expected;
    expected << torch::IntArrayRef{first->sizes};
    throw BadBatch{name + " of shape " + shape_text(tensor) + " and type " + torch::toString(tensor.scalar_type()) + " in " +
                   detail::batch_text(place) + "; expected " + expected.str() + " and type " + torch::toString(first->type) +
                   ", as in the first batch, but for the number of examples" + (sizes ? "" : " and the sizes")};
}

void BatchChecks::check_batch(const Batch& batch) {
    ++batches_;
    const BatchPlace place{.number = batches_};
    try {
        shapes_.check(batch, rules_.same_shapes, place);
        libtorch::check_batch(batch, rules_, place);
    } catch (const BadBatch& error) {
        throw BadBatch{with_configuration(error.what(), configuration_)};
    }
}

void BatchChecks::check_logits(const torch::Tensor& logits, const Batch& batch) const {
    if (!rules_.classes) return;
    try {
        libtorch::check_logits(logits, batch, *rules_.classes);
    } catch (const BadBatch& error) {
        throw BadBatch{with_configuration(std::string{error.what()} + ", in batch " + std::to_string(batches_), configuration_)};
    }
}

void BatchChecks::check_loss(const torch::Tensor& loss) const {
    if (!loss.defined() || loss.numel() != 1) {
        throw BadBatch{
            with_configuration((loss.defined() ? "a loss of shape " + shape_text(loss) : std::string{"a loss that is not defined"}) +
                                   " in batch " + std::to_string(batches_) + "; expected one number",
                               configuration_)};
    }
    try {
        libtorch::check_loss(loss.item<double>(), "in batch " + std::to_string(batches_));
    } catch (const NonFiniteLoss& error) {
        throw NonFiniteLoss{with_configuration(error.what(), configuration_)};
    }
}

}  // namespace hpo::libtorch
