// SPDX-License-Identifier: MIT
// How long a dry run of a published encoder takes and what memory it needs: cold, from the start of a process to the answer, LibTorch's
// loading included; and warm, as in a worker that was asked before. Each model and device in a process of its own.
//   prediction_speed [REPETITIONS]      21 warm ones unless told
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measured_job.hpp"
#include "bench/number_argument.hpp"
#include "text_classifier/text_classifier.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The most resident memory that this process had so far.
double resident_mib() {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
        double kib = 0;
        if (word == "VmHWM:" && status >> kib) return kib / 1024;
    }
    return 0;
}

/// 16 texts of 384 tokens a step, AdamW, fp32: what a model of the size is tuned with.
hpo::TrainerJob job_of(const std::string& model, const std::string& device) {
    hpo::TrainerJob job;
    job.params = {{"model.name", model}, {"tok.max_length", std::int64_t{384}}, {"train.batch_size", std::int64_t{16}}};
    job.plan.device = device;
    job.metric = "macro_f1";
    return job;
}

/// In a process of its own: prints one line of the table. `began`: when that process was asked for, on the steady clock.
int measure(const std::string& model, const std::string& device, int repetitions, Clock::time_point began) {
    hpo::text_classifier::TextClassifier trainer;
    const hpo::TrainerJob job = job_of(model, device);
    bench::Silence silence;
    const hpo::PeakPrediction prediction = trainer.predict(job, hpo::PeakSource::dry_run, silence);
    const double cold = seconds_since(began);
    std::vector<double> warm;
    for (int i = 0; i < repetitions; ++i) {
        const auto begin = Clock::now();
        if (trainer.predict(job, hpo::PeakSource::dry_run, silence) != prediction) return 1;
        warm.push_back(1000 * seconds_since(begin));
    }
    std::sort(warm.begin(), warm.end());
    std::printf("| %s | %s | %.0f | %.2f | %.1f | %.1f | %.0f |\n", model.c_str(), device.c_str(),
                static_cast<double>(prediction.need) / (1 << 20), cold, warm.at(warm.size() / 2), warm.back(), resident_mib());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 5) {  // MODEL DEVICE REPETITIONS BEGAN: how this program starts itself
        const Clock::time_point began{Clock::duration{std::atoll(argv[4])}};
        return measure(argv[1], argv[2], std::atoi(argv[3]), began);
    }
    const bench::NumberArguments numbers{argc, argv, 1, "prediction_speed [repetitions]"};
    const std::string repetitions = std::to_string(numbers.at(1, {.standard = 21, .least = 1}));
    std::printf(
        "| model | device | need, MiB | cold, s | warm, ms (median) | slowest | resident, MiB |\n"
        "|---|---|---:|---:|---:|---:|---:|\n");
    for (const char* model : {"bert-base-uncased", "roberta-base", "bert-large-uncased", "microsoft/deberta-v3-large"}) {
        for (const char* device : {"cpu", "cuda"}) {
            std::fflush(stdout);
            const std::string began = std::to_string(Clock::now().time_since_epoch().count());
            const pid_t child = ::fork();
            if (child == 0) {
                ::execl("/proc/self/exe", argv[0], model, device, repetitions.c_str(), began.c_str(), nullptr);
                ::_exit(127);
            }
            int status = 0;
            if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
                std::fprintf(stderr, "%s on %s: the measuring process failed\n", model, device);
                return 1;
            }
        }
    }
}
