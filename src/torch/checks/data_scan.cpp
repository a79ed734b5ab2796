// SPDX-License-Identifier: MIT
#include "torch/checks/data_scan.hpp"

#include <torch/torch.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/training/batch_checks.hpp"

namespace hpo::libtorch {

std::vector<std::string> DataScan::read() {
    const Unmetered outside;
    std::vector<std::string> lines;
    Part training{.name = "training", .examples = task_.training_examples()};
    read(training);
    lines.push_back(summary_of(training));
    tell_classes(training, lines);
    if (const std::int64_t held_out = task_.held_out_examples(); held_out > 0) {
        Part part{.name = "held-out", .examples = held_out, .held_out = true};
        read(part);
        lines.push_back(summary_of(part));
        tell_classes(part, lines);
    } else {
        lines.emplace_back("not looked at: the held-out examples one by one, because the trainer does not give them");
    }
    return lines;
}

Batch DataScan::batch_of(std::span<const std::int64_t> examples, bool held_out) const {
    Batch batch = held_out ? task_.held_out_batch(examples, torch::kCPU) : task_.training_batch(examples, torch::kCPU);
    check_count(batch, examples.size());
    return batch;
}

void DataScan::read(Part& part) {
    constexpr std::size_t stride = 1024;
    const BatchRules rules = task_.batch_rules();
    const bool every_one = rules.classes || rules.vocabulary;
    const bool one_label = rules.classes && !rules.labels_of_positions;
    if (one_label) part.class_counts.resize(static_cast<std::size_t>(*rules.classes));
    const std::string of = std::string{"the "} + (part.held_out ? "held-out data" : "data");
    std::vector<std::int64_t> order(static_cast<std::size_t>(part.examples));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    for (std::size_t start = 0; start < order.size() && !stop_(); start += stride) {
        const bool in_time = watch_.seconds() < scan_seconds;
        if (!in_time && !every_one) return;
        const auto chosen = std::span<const std::int64_t>{order}.subspan(start, std::min(stride, order.size() - start));
        const Batch batch = batch_of(chosen, part.held_out);
        check_batch(batch, rules, {.number = static_cast<std::int64_t>(start / stride) + 1, .of = of, .examples = chosen});
        part.seen += static_cast<std::int64_t>(chosen.size());
        if (one_label) {
            const auto* const label = batch.targets.data_ptr<std::int64_t>();
            for (std::int64_t i = 0; i < batch.examples(); ++i) {
                if (label[i] >= 0 && label[i] < *rules.classes) ++part.class_counts[static_cast<std::size_t>(label[i])];
            }
        }
        if (!in_time || firsts_.size() >= most_compared) continue;
        if (rules.same_shapes) {
            compare(part, batch, chosen);
            continue;
        }
        // What pads an example depends on the batch, so each is made alone.
        for (std::size_t i = 0; i < chosen.size() && watch_.seconds() < scan_seconds; ++i)
            compare(part, batch_of(chosen.subspan(i, 1), part.held_out), chosen.subspan(i, 1));
    }
}

void DataScan::compare(Part& part, const Batch& batch, std::span<const std::int64_t> examples) {
    std::vector<torch::Tensor> inputs;
    for (const torch::Tensor& input : batch.inputs) {
        if (!input.defined()) continue;
        if (input.dim() < 1 || input.size(0) != batch.examples()) return;  // TaskChecks tells it
        inputs.push_back(input.detach().to(torch::kCPU).contiguous());
    }
    if (inputs.empty()) return;
    const bool labelled = !part.class_counts.empty();
    for (std::size_t row = 0; row < examples.size(); ++row) {
        std::size_t hash = 0;
        for (const torch::Tensor& input : inputs) {
            const std::size_t bytes = static_cast<std::size_t>(input.numel()) * input.element_size() / examples.size();
            const std::string_view data{static_cast<const char*>(input.data_ptr()) + row * bytes, bytes};
            hash = hash * 1'000'003 ^ std::hash<std::string_view>{}(data) ^ bytes;
        }
        ++part.compared;
        const std::int64_t label = labelled ? batch.targets.data_ptr<std::int64_t>()[row] : 0;
        const auto [found, is_new] = firsts_.try_emplace(hash, First{examples[row], part.held_out, label});
        if (is_new || !same_inputs(found->second, examples[row], part.held_out)) continue;
        const First& earlier = found->second;
        ++(part.held_out && !earlier.held_out ? part.trained_on : part.repeats);
        const bool other_label = labelled && label != earlier.label;
        if (other_label) ++part.other_label;
        if (part.first.empty() || (other_label && part.other_label == 1)) {
            part.first = std::string{part.name} + " example " + std::to_string(examples[row]) + " is " +
                         (earlier.held_out ? "held-out" : "training") + " example " + std::to_string(earlier.example);
            if (other_label) part.first += ", with label " + std::to_string(label) + " and not " + std::to_string(earlier.label);
        }
    }
}

bool DataScan::same_inputs(const First& earlier, std::int64_t example, bool held_out) const {
    const Batch a = batch_of(std::span{&earlier.example, 1}, earlier.held_out);
    const Batch b = batch_of(std::span{&example, 1}, held_out);
    if (a.inputs.size() != b.inputs.size()) return false;
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
        if (a.inputs[i].defined() != b.inputs[i].defined()) return false;
        if (!a.inputs[i].defined()) continue;
        if (a.inputs[i].scalar_type() != b.inputs[i].scalar_type() || a.inputs[i].sizes() != b.inputs[i].sizes() ||
            !a.inputs[i].equal(b.inputs[i]))
            return false;
    }
    return true;
}

std::string DataScan::summary_of(const Part& part) const {
    const auto of_all = [&](std::int64_t count) { return count == part.examples ? std::string{} : std::to_string(count) + " of "; };
    const BatchRules rules = task_.batch_rules();
    std::string text = "looked at " + of_all(part.seen) + std::to_string(part.examples) + " " + std::string{part.name} + " examples";
    if (rules.classes) {
        text += ": labels are in 0 to " + std::to_string(*rules.classes - 1);
        if (!part.class_counts.empty()) {
            const auto [fewest, most] = std::ranges::minmax_element(part.class_counts);
            text += ", " + std::to_string(*fewest) + " to " + std::to_string(*most) + " examples a class";
        }
    }
    if (rules.finite_inputs) text += std::string{rules.classes ? "," : ":"} + " inputs are finite";
    if (part.compared == 0) return text + "; not looked for repeated examples";
    text += "; ";
    if (part.held_out) {
        text += part.trained_on == 0 ? "none is trained on" : std::to_string(part.trained_on) + " are trained on, too";
        text += part.repeats == 0 ? "" : ", " + std::to_string(part.repeats) + " repeat an earlier one";
    } else {
        text += part.repeats == 0 ? "none repeats another" : std::to_string(part.repeats) + " repeat an earlier one";
    }
    if (part.other_label > 0) text += ", " + std::to_string(part.other_label) + " with another label";
    if (!part.first.empty()) text += " (" + part.first + ")";
    if (part.compared < part.examples) text += "; only " + std::to_string(part.compared) + " were compared";
    return text;
}

void DataScan::tell_classes(const Part& part, std::vector<std::string>& lines) const {
    if (part.class_counts.empty() || part.seen < part.examples) return;
    constexpr std::int64_t rare = 20;  // less than this part of an even share
    constexpr std::size_t most_shown = 5;
    const auto classes = static_cast<std::int64_t>(part.class_counts.size());
    std::vector<std::string> missing;
    std::vector<std::string> few;
    for (std::int64_t i = 0; i < classes; ++i) {
        const std::int64_t count = part.class_counts[static_cast<std::size_t>(i)];
        if (count == 0) missing.push_back(std::to_string(i));
        else if (count * classes * rare < part.examples) few.push_back(std::to_string(i) + " (" + std::to_string(count) + ")");
    }
    const auto tell = [&](const std::vector<std::string>& found, const std::string& what) {
        if (found.empty()) return;
        std::string text = std::to_string(found.size()) + " of " + std::to_string(classes) + " classes have " + what + " " +
                           std::string{part.name} + " examples: ";
        for (std::size_t i = 0; i < std::min(found.size(), most_shown); ++i) text += (i == 0 ? "" : ", ") + found[i];
        lines.push_back(text + (found.size() > most_shown ? ", ..." : ""));
    };
    tell(missing, "no");
    tell(few, "few");
}

}  // namespace hpo::libtorch
