// SPDX-License-Identifier: MIT
// Operators one by one: what a dry run says that they take and give back, against what LibTorch's CUDA code takes on a virtual card.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/prediction_errors.hpp"
#include "gpu/jobs.hpp"
#include "gpu/operators/dry_run.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "support/catch.hpp"
#include "torch/prediction/cuda_history.hpp"
#include "torch/prediction/predict_peak.hpp"

namespace {

using hpo::Precision;
using hpo::allocator::AllocationTrace;

constexpr double mib = 1 << 20;
/// On the card, the second time, when libraries' workspaces are there.
gpu::Taken taken(const gpu::Operator& each, Precision precision) {
    const torch::Device card{torch::kCUDA, 0};
    try {
        gpu::run(each, card, precision);
        hpo::libtorch::CudaHistory history;
        gpu::run(each, card, precision);
        return {history.finish(), ""};
    } catch (const std::exception& error) {
        return {{}, hpo::libtorch::dry_run_problem(error.what())};
    }
}

/// The events, of which those that follow one another and give back are sorted.
std::vector<std::int64_t> in_order(const AllocationTrace& trace) {
    std::vector<std::int64_t> events = trace.events;
    for (auto begin = events.begin(); begin != events.end();) {
        const auto end = std::find_if(begin, events.end(), [](std::int64_t event) { return event >= 0; });
        std::sort(begin, end);
        begin = end == events.end() ? end : end + 1;
    }
    return events;
}

struct Row {
    std::string name;
    std::string precision;
    gpu::Taken foretold;
    gpu::Taken taken;

    [[nodiscard]] bool compared() const { return foretold.problem.empty() && taken.problem.empty(); }
    /// Each block has the same size and the same place in the order, and is given back before the same block is taken. Blocks that are
    /// given back one after another may change places: an optimizer's are in the order of a hash table.
    [[nodiscard]] bool exact() const {
        return compared() && in_order(foretold.trace) == in_order(taken.trace) &&
               std::ranges::equal(foretold.trace.blocks, taken.trace.blocks, {}, &hpo::allocator::TracedBlock::bytes,
                                  &hpo::allocator::TracedBlock::bytes);
    }
    [[nodiscard]] double off() const {
        return static_cast<double>(hpo::allocator::requested_peak(foretold.trace).bytes) /
                   static_cast<double>(hpo::allocator::requested_peak(taken.trace).bytes) -
               1;
    }
    [[nodiscard]] std::string verdict() const {
        if (!taken.problem.empty()) return "not on this card";
        if (!foretold.problem.empty()) return "no dry run";
        if (exact()) return "exact";
        char text[32];
        std::snprintf(text, sizeof text, "%+.2f %%", 100 * off());
        return off() == 0 ? "same peak" : text;
    }
};

/// Sizes in order, for a reader: 1024 for a block that is taken, -1024 for one that is given back.
std::string listed(const AllocationTrace& trace) {
    std::string text;
    for (const std::int64_t event : trace.events) text += (text.empty() ? "" : " ") + std::to_string(trace.change(event));
    return text;
}

std::vector<Row> compare_all() {
    std::vector<Row> rows;
    const std::vector<gpu::Operator> all = gpu::all_operators();
    const char* const only = std::getenv("HPO_OPERATOR");
    const auto each_one = [&](const auto& work) {
        std::size_t at = 0;
        for (const gpu::Operator& each : all) {
            if (only != nullptr && each.name.find(only) == std::string::npos) continue;
            for (const Precision precision : gpu::precisions) work(each, precision, at++);
        }
    };
    {
        const gpu::DryRunForCuda dry_run;
        each_one([&](const gpu::Operator& each, Precision precision, std::size_t) {
            rows.push_back({each.name, gpu::name_of(precision), dry_run.of(each, precision), {}});
        });
    }
    each_one([&](const gpu::Operator& each, Precision precision, std::size_t at) { rows[at].taken = taken(each, precision); });
    return rows;
}

void print(const std::vector<Row>& rows) {
    std::printf("| operator | precision | dry run, MiB | LibTorch, MiB | blocks | difference |\n|---|---|---:|---:|---:|---|\n");
    const bool in_full = std::getenv("HPO_OPERATOR") != nullptr;
    for (const Row& row : rows) {
        const auto peak = [](const gpu::Taken& one) { return static_cast<double>(hpo::allocator::requested_peak(one.trace).bytes) / mib; };
        std::printf("| %s | %s | %.3f | %.3f | %zu, %zu | %s |\n", row.name.c_str(), row.precision.c_str(), peak(row.foretold),
                    peak(row.taken), row.foretold.trace.blocks.size(), row.taken.trace.blocks.size(), row.verdict().c_str());
        const std::string problem = row.taken.problem.empty() ? row.foretold.problem : row.taken.problem;
        if (!problem.empty()) std::printf("    %s\n", problem.c_str());
        if (in_full && !row.exact())
            std::printf("    dry run:  %s\n    LibTorch: %s\n", listed(row.foretold.trace).c_str(), listed(row.taken.trace).c_str());
    }
}

void summarise(const std::vector<Row>& rows) {
    for (const Precision each : gpu::precisions) {
        const char* const precision = gpu::name_of(each);
        std::size_t exact = 0;
        std::size_t same = 0;
        std::size_t refused = 0;
        std::size_t absent = 0;
        bench::PredictionErrors errors;
        for (const Row& row : rows) {
            if (row.precision != precision) continue;
            if (!row.taken.problem.empty()) {
                ++absent;
                continue;
            }
            if (!row.foretold.problem.empty()) {
                ++refused;
                continue;
            }
            exact += row.exact() ? 1 : 0;
            same += row.off() == 0 ? 1 : 0;
            errors.add(row.off());
        }
        if (errors.empty()) continue;
        std::printf(
            "%s: %zu operators compared: %zu exact, %zu with the same peak, %zu too low by over 0.1 %%; off by %.2f %% in "
            "the 90th percentile, %.2f %% at most; %zu without a dry run, %zu not on this card\n",
            precision, errors.count(), exact, same, errors.low(), 100 * errors.quantile(0.9), 100 * errors.quantile(1), refused, absent);
    }
}

/// What the file beside this one says of each operator and precision: "exact", "same peak", "within 1.5 %", "no dry run" or "not on this
/// card".
std::map<std::pair<std::string, std::string>, std::string> expectations() {
    std::ifstream in{std::string{HPO_OPERATOR_EXPECTATIONS}};
    std::map<std::pair<std::string, std::string>, std::string> all;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t first = line.find('\t');
        const std::size_t second = line.find('\t', first + 1);
        if (second == std::string::npos) throw std::runtime_error{"a line without three fields: " + line};
        all[{line.substr(0, first), line.substr(first + 1, second - first - 1)}] = line.substr(second + 1);
    }
    return all;
}

bool as_expected(const Row& row, const std::string& expected) {
    const std::string within = "within ";
    if (expected == "exact") return row.exact();
    if (expected == "same peak") return row.compared() && row.off() == 0;
    if (expected.starts_with(within)) return row.compared() && 100 * std::abs(row.off()) <= std::stod(expected.substr(within.size()));
    return row.verdict() == expected;
}

/// Writes such a file of what was found. A bound is the next tenth of a percent.
void write_expectations(const std::vector<Row>& rows, const char* file) {
    std::ofstream out{file};
    out << "# Written by: HPO_OPERATORS_FILE=FILE, and the program test_operators on a virtual card.\n# operator\tprecision\tthe dry run\n";
    for (const Row& row : rows) {
        std::string found = row.verdict();
        if (row.compared() && !row.exact() && row.off() != 0) {
            char text[32];
            std::snprintf(text, sizeof text, "within %.1f %%", std::ceil(1000 * std::abs(row.off())) / 10);
            found = text;
        }
        out << row.name << '\t' << row.precision << '\t' << found << '\n';
    }
}

}  // namespace

TEST_CASE("a dry run takes of each operator what LibTorch takes, or is off by no more than is known") {
    if (!gpu::card_is_virtual()) {
        std::printf("skipped: what libraries of a real card take is not in a dry run\n");
        return;
    }
    const std::vector<Row> rows = compare_all();
    print(rows);
    summarise(rows);
    if (const char* const file = std::getenv("HPO_OPERATORS_FILE")) write_expectations(rows, file);
    if (std::getenv("HPO_OPERATOR") != nullptr) return;
    const auto expected = expectations();
    CHECK(expected.size() == rows.size());
    for (const Row& row : rows) {
        const auto found = expected.find({row.name, row.precision});
        const std::string wanted = found == expected.end() ? "not in the list" : found->second;
        CAPTURE(row.name, row.precision, wanted, row.verdict());
        CHECK(as_expected(row, wanted));
    }
}
