// SPDX-License-Identifier: MIT
// How well peaks are predicted: each configuration's attempt is measured on a metered CPU device and held against what was predicted before
// it, by the dry run and the probe, and by simpler estimators. Prints the table of docs/memory-prediction.md.
//   prediction_table [PART-OF-A-NAME]     every configuration in a process of its own; needs Debian's dataset-fashion-mnist
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/own_process.hpp"
#include "bench/prediction_grid.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/memory/formula.hpp"

namespace {

using bench::Configuration;
using bench::Family;
using bench::family_names;
using Job = hpo::TrainerJob;

/// Bytes, and for predictions the seconds that the second one took.
enum Figure { measured, dry_run, dry_run_seconds, probe, formula, sixteen_bytes, closed_form, figures };

std::int64_t number_of(const Job& job, const char* name, std::int64_t standard) {
    const hpo::Value* const value = job.find(name);
    return value ? hpo::get<std::int64_t>(*value) : standard;
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
    const auto predicted = [&](hpo::PeakSource source) {
        try {
            return static_cast<double>(trainer.predict(job, source, silence).need);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s, %s: %s\n", family_names[static_cast<int>(configuration.family)], configuration.name.c_str(),
                         error.what());
            return 0.0;
        }
    };
    static_cast<void>(predicted(hpo::PeakSource::dry_run));  // reads the data
    const auto begin = std::chrono::steady_clock::now();
    result[dry_run] = predicted(hpo::PeakSource::dry_run);
    result[dry_run_seconds] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const auto sources = trainer.info().peak_sources;
    if (std::find(sources.begin(), sources.end(), "probe") != sources.end()) result[probe] = predicted(hpo::PeakSource::probe);
    if (const auto profile = trainer.profile(job)) {
        const hpo::ParamSet none;
        const hpo::History history;
        hpo::ExecutionPlan plan = job.plan;
        plan.effective_batch = number_of(job, "train.batch_size", 64);
        result[formula] = static_cast<double>(
            hpo::memory::Formula{}.estimate({.params = none, .plan = plan, .profile = &*profile, .history = history}).need.value_or(0));
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

/// Errors of one estimator over the configurations of a family.
struct Errors {
    std::vector<double> shares;

    void print() const {
        if (shares.empty()) return std::printf(" | |"), void();
        std::vector<double> sizes;
        for (const double share : shares) sizes.push_back(std::abs(share));
        std::sort(sizes.begin(), sizes.end());
        const auto under = std::count_if(shares.begin(), shares.end(), [](double share) { return share < -1e-3; });
        const auto at = [&](double quantile) {
            return 100 * sizes[static_cast<std::size_t>(quantile * static_cast<double>(sizes.size() - 1) + 0.5)];
        };
        std::printf(" %.2f / %.2f / %.2f | %td |", at(0.5), at(0.9), at(1), under);
    }
};

}  // namespace

int main(int argc, char** argv) {
    const auto place = std::filesystem::temp_directory_path() / ("prediction_table_" + std::to_string(::getpid()));
    std::filesystem::create_directory(place);
    bench::write_texts(place / "texts.tsv", 200, {.fewest = 20, .most = 160});
    const std::vector<std::pair<const char*, Figure>> estimators{{"dry run", dry_run},
                                                                 {"probe", probe},
                                                                 {"formula", formula},
                                                                 {"16 bytes a parameter", sixteen_bytes},
                                                                 {"closed form", closed_form}};
    std::map<Family, std::map<Figure, Errors>> errors;
    std::printf(
        "| model | configuration | measured, MiB | dry run, %% | ms | probe, %% | formula, %% | 16 B/param., %% | closed form, %% |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const Configuration& each : bench::configurations()) {
        const std::string family = family_names[static_cast<int>(each.family)];
        if (argc > 1 && (family + " " + each.name).find(argv[1]) == std::string::npos) continue;
        const auto found = bench::in_own_process([&] {
            const Job job = bench::job_of(each, {.texts = place / "texts.tsv"});
            return bench::with_trainer(each.family, [&](hpo::Trainer& trainer) { return measure(trainer, each, job, place); });
        });
        std::printf("| %s | %s | %.2f |", family.c_str(), each.name.c_str(), found[measured] / (1 << 20));
        for (const auto& [name, figure] : estimators) {
            if (found[figure] == 0) {
                std::printf(" |");
            } else {
                const double share = found[figure] / found[measured] - 1;
                errors[each.family][figure].shares.push_back(share);
                std::printf(" %+.2f |", 100 * share);
            }
            if (figure == dry_run) std::printf(" %.0f |", 1000 * found[dry_run_seconds]);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    std::filesystem::remove_all(place);
    std::printf("\nError in %%, median / 90th percentile / largest, and how many were too low by more than 0.1 %%:\n\n| model |");
    for (const auto& [name, figure] : estimators) std::printf(" %s | low |", name);
    std::printf("\n|---|");
    for (std::size_t i = 0; i < estimators.size(); ++i) std::printf("---:|---:|");
    std::printf("\n");
    for (auto& [family, by_figure] : errors) {
        std::printf("| %s |", family_names[static_cast<int>(family)]);
        for (const auto& [name, figure] : estimators) by_figure[figure].print();
        std::printf("\n");
    }
}
