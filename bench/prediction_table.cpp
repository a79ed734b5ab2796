// SPDX-License-Identifier: MIT
// How well peaks are predicted: each configuration's attempt is measured on a metered CPU device and held against what was predicted before
// it, by the dry run and the probe, and by simpler estimators. For CUDA these are held against what the model of its allocator says, since
// nothing is measured there. Prints the tables of docs/measurements/prediction-errors.md.
//   prediction_table [PART-OF-A-NAME]     every configuration in a process of its own; needs Debian's dataset-fashion-mnist
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/own_process.hpp"
#include "bench/prediction_errors.hpp"
#include "bench/prediction_grid.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/guard/formula.hpp"

namespace {

using bench::Configuration;
using bench::Family;
using bench::family_names;
using Job = hpo::TrainerJob;

/// Bytes, and for predictions the seconds that the second one took. Those for CUDA are the allocator's, without the context.
enum Figure {
    measured,
    dry_run,
    dry_run_seconds,
    probe,
    rounded,
    formula,
    sixteen_bytes,
    closed_form,
    cuda_need,
    cuda_reserved,
    cuda_rounded,
    figures
};

/// What one figure is held against.
struct Column {
    const char* title;
    Figure figure;
    Figure reference;
};
const std::vector<Column> on_cpu{{"dry run", dry_run, measured},
                                 {"probe", probe, measured},
                                 {"512-byte rounding", rounded, measured},
                                 {"`formula`", formula, measured},
                                 {"16 bytes a parameter", sixteen_bytes, measured},
                                 {"closed form", closed_form, measured}};
const std::vector<Column> on_cuda{{"reserved", cuda_reserved, cuda_need},
                                  {"512-byte rounding", cuda_rounded, cuda_need},
                                  {"the same, of reserved", cuda_rounded, cuda_reserved},
                                  {"`formula`", formula, cuda_need},
                                  {"16 bytes a parameter", sixteen_bytes, cuda_need},
                                  {"closed form", closed_form, cuda_need}};

/// The highest sum of live blocks, each a multiple of 512 bytes: what estimators say that know this rule of the allocator alone.
double rounded_peak(hpo::allocator::AllocationTrace trace) {
    for (hpo::allocator::TracedBlock& block : trace.blocks) block.bytes = (block.bytes + 511) / 512 * 512;
    return static_cast<double>(hpo::allocator::requested_peak(trace).bytes);
}

std::int64_t number_of(const Job& job, const char* name, std::int64_t standard) {
    const hpo::Value* const value = job.find(name);
    return value ? std::get<std::int64_t>(*value) : standard;
}

/// 16 bytes a parameter and, for fp32 with dropout, s*b*h*(66 + 9*a*s/h) a layer (after Korthikanti et al. 2022, section 4.1).
double closed_form_bytes(const Job& job, const hpo::Profile& profile) {
    const auto s = static_cast<double>(number_of(job, "tok.max_length", 64));
    const auto b = static_cast<double>(job.plan.micro_batch.value_or(number_of(job, "train.batch_size", 16)));
    const auto h = static_cast<double>(number_of(job, "model.hidden", 128));
    const double a = 2;
    const auto layers = static_cast<double>(number_of(job, "model.layers", 2));
    return 16 * static_cast<double>(profile.parameters) + layers * s * b * h * (66 + 9 * a * s / h);
}

std::vector<double> measure(hpo::Trainer& trainer, const Configuration& configuration, Job job, const std::filesystem::path& place) {
    std::vector<double> result(figures, 0);
    bench::Silence silence;
    const auto predicted = [&](const Job& asked, hpo::PeakSource source) -> std::optional<hpo::PeakPrediction> {
        try {
            return trainer.predict(asked, source, silence);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s, %s, %s: %s\n", family_names[static_cast<int>(configuration.family)], configuration.name.c_str(),
                         asked.plan.device.c_str(), error.what());
            return std::nullopt;
        }
    };
    const auto need = [](const std::optional<hpo::PeakPrediction>& prediction) {
        return prediction ? static_cast<double>(prediction->need) : 0;
    };
    Job traced = job;
    traced.trace_file = (place / "trace").string();
    if (predicted(traced, hpo::PeakSource::dry_run))  // reads the data, too
        result[rounded] = rounded_peak(hpo::allocator::read_trace(traced.trace_file));
    const auto begin = std::chrono::steady_clock::now();
    result[dry_run] = need(predicted(job, hpo::PeakSource::dry_run));
    result[dry_run_seconds] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto sources = trainer.info().peak_sources;
    if (std::find(sources.begin(), sources.end(), "probe") != sources.end()) result[probe] = need(predicted(job, hpo::PeakSource::probe));
    traced.plan.device = "cuda";
    if (const auto cuda = predicted(traced, hpo::PeakSource::dry_run)) {
        result[cuda_need] = need(cuda);
        for (const hpo::EstimatePart& part : cuda->parts) {
            if (part.name == "context") result[cuda_need] -= static_cast<double>(part.bytes);
        }
        result[cuda_reserved] = static_cast<double>(cuda->reserved_bytes);
        result[cuda_rounded] = rounded_peak(hpo::allocator::read_trace(traced.trace_file));
    }
    if (const auto profile = trainer.profile(job)) {
        const hpo::ParamSet none;
        const hpo::History history;
        hpo::ExecutionPlan plan = job.plan;
        plan.effective_batch = number_of(job, "train.batch_size", 64);
        result[formula] = static_cast<double>(
            hpo::guard::Formula{}.estimate({.params = none, .plan = plan, .profile = &*profile, .history = history}).need.value_or(0));
        result[sixteen_bytes] = 16 * static_cast<double>(profile->parameters);
        if (configuration.family == Family::encoder) result[closed_form] = closed_form_bytes(job, *profile);
    }
    const auto device = hpo::device::MeteredDevice::create(place / "device", std::int64_t{8} << 30);
    job.metered_device = (place / "device").string();
    const hpo::AttemptOutcome outcome = trainer.run(job, silence);
    if (outcome.kind != hpo::OutcomeKind::complete)
        throw std::runtime_error{configuration.name + ": " + (outcome.failure ? outcome.failure->message : "did not complete")};
    result[measured] = static_cast<double>(outcome.peak_allocated.value_or(0));
    return result;
}

void print_errors(const char* title, const std::vector<Column>& columns,
                  const std::map<Family, std::vector<bench::PredictionErrors>>& errors) {
    std::printf("\n%s, median / 90th percentile / largest, and how many were too low by more than 0.1 %%:\n\n| model |", title);
    for (const Column& column : columns) std::printf(" %s | low |", column.title);
    std::printf("\n|---|");
    for (std::size_t i = 0; i < columns.size(); ++i) std::printf("---:|---:|");
    std::printf("\n");
    for (const auto& [family, by_column] : errors) {
        std::printf("| %s |", family_names[static_cast<int>(family)]);
        for (const bench::PredictionErrors& each : by_column) std::printf(" %s |", each.text().c_str());
        std::printf("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 2) {
        std::fprintf(stderr, "usage: prediction_table [PART-OF-A-NAME]\n");
        return 2;
    }
    const auto place = std::filesystem::temp_directory_path() / ("prediction_table_" + std::to_string(::getpid()));
    std::filesystem::create_directory(place);
    bench::write_texts(place / "texts.tsv", 200, {.fewest = 20, .most = 160});
    std::map<Family, std::vector<bench::PredictionErrors>> cpu_errors;
    std::map<Family, std::vector<bench::PredictionErrors>> cuda_errors;
    std::printf("| model | configuration | ms | measured, MiB |");
    for (const Column& column : on_cpu) std::printf(" %s, %% |", column.title);
    std::printf(" CUDA: need, MiB |");
    for (const Column& column : on_cuda) std::printf(" %s, %% |", column.title);
    std::printf("\n|---|---|---:|---:|");
    for (std::size_t i = 0; i < on_cpu.size() + 1 + on_cuda.size(); ++i) std::printf("---:|");
    std::printf("\n");
    for (const Configuration& each : bench::configurations()) {
        const std::string family = family_names[static_cast<int>(each.family)];
        if (argc > 1 && (family + " " + each.name).find(argv[1]) == std::string::npos) continue;
        const auto found = bench::in_own_process([&] {
            const Job job = bench::job_of(each, {.texts = place / "texts.tsv"});
            return bench::with_trainer(each.family, [&](hpo::Trainer& trainer) { return measure(trainer, each, job, place); });
        });
        std::printf("| %s | %s | %.0f |", family.c_str(), each.name.c_str(), 1000 * found[dry_run_seconds]);
        const auto print_row = [&](Figure reference, const std::vector<Column>& columns, std::vector<bench::PredictionErrors>& errors) {
            errors.resize(columns.size());
            std::printf(" %.2f |", found[reference] / (1 << 20));
            for (std::size_t i = 0; i < columns.size(); ++i) {
                if (found[columns[i].figure] == 0 || found[columns[i].reference] == 0) {
                    std::printf(" |");
                } else {
                    const double share = found[columns[i].figure] / found[columns[i].reference] - 1;
                    errors[i].add(share);
                    std::printf(" %+.2f |", 100 * share);
                }
            }
        };
        print_row(measured, on_cpu, cpu_errors[each.family]);
        print_row(cuda_need, on_cuda, cuda_errors[each.family]);
        std::printf("\n");
        std::fflush(stdout);
    }
    std::filesystem::remove_all(place);
    print_errors("Error in % of the measured peak on a metered CPU device", on_cpu, cpu_errors);
    print_errors("For CUDA, where nothing was measured: difference in % from the allocator model's need without the context", on_cuda,
                 cuda_errors);
}
