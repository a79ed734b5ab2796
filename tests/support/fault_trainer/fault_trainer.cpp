// SPDX-License-Identifier: MIT
// A trainer without LibTorch that fails in every way that a trainer can, on request.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/plugin.hpp"
#include "hpo/trainer/settings.hpp"
#include "support/own_trainer_name.hpp"

namespace {

using hpo::AttemptOutcome;
using hpo::OutcomeKind;
using hpo::TrainerJob;

volatile std::sig_atomic_t terminated = 0;

constexpr const char* cannot_build = "no model for an x below 0";

[[noreturn]] void refuse_memory() {
    throw std::runtime_error(
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 20.13 GiB already allocated; "
        "1.19 GiB free; 21.05 GiB reserved in total by PyTorch)");
}

class FaultTrainer final : public hpo::Trainer {
public:
    [[nodiscard]] hpo::TrainerInfo info() const override {
        const std::string name = hpo::tests::own_trainer_name();
        const bool uses_cuda = name == "cuda_fault";
        return {.name = name,
                .summary = "Fails on request, for tests of everything above it; without a fault the value is (x - 0.3)^2",
                .parameters = {{"x", "float", "", 0.0, "where the parabola is evaluated"},
                               {"fault", "text", "", std::string{"none"}, "what goes wrong"},
                               {"limit", "int", "[0, inf)", std::int64_t{8}, "the largest micro-batch that fits oom_once_above"},
                               {"batch", "int", "[1, inf)", std::int64_t{32}, "effective batch"},
                               {"weights", "int", "[0, inf)", std::int64_t{100}, "bytes that predict adds to those of the examples"},
                               {"steps", "int", "[0, inf)", std::int64_t{0}, "intermediate values before the end"},
                               {"seconds", "float", "[0, inf)", 0.0, "time that slow takes", hpo::MemoryUse::none},
                               {"profile_seconds", "float", "[0, inf)", 0.0, "time that profile takes"}},
                .metrics = {{"value", hpo::Direction::minimize, "(x - 0.3)^2"}},
                .levers = {"micro_batch"},
                .effective_batch_parameter = "batch",
                .libtorch_version = uses_cuda ? "2.11.0" : "",
                .uses_cuda = uses_cuda,
                .checkpoints = true,
                .peak_sources = {"virtual_card", "dry_run", "probe"}};
    }

    AttemptOutcome run(const TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        const std::string& fault = settings.text("fault");
        const double x = settings.number("x");
        double value = (x - 0.3) * (x - 0.3);
        if (progress.stop_requested()) return {.kind = OutcomeKind::stopped};
        const std::int64_t steps = settings.whole("steps");
        if (steps > 0) progress.last_step(steps - 1);
        const std::int64_t first = job.resume_step ? resumed(job) + 1 : 0;
        for (std::int64_t step = first; step < steps; ++step) {
            if (!progress.report(step, value + 1.0 / static_cast<double>(step + 1))) return {.kind = OutcomeKind::stopped};
            if (!job.checkpoint_folder.empty() && step % 2 == 0) {
                std::ofstream{job.checkpoint_folder + "/step"} << step;
                progress.checkpointed(step);
            }
        }
        if (fault == "leak" || fault == "one_time" || fault == "honest" || fault == "cache") keep_memory(job, progress);
        if (fault == "grow")
            grown_.emplace_back(static_cast<std::size_t>(settings.whole("weights")), 'x');  // host memory, never given back
        if (fault == "build_below_0" && x < 0) throw std::invalid_argument(cannot_build);
        if (fault == "throw") throw std::logic_error("asked to throw");
        if (fault == "throw_int") throw 7;
        if (fault == "nan") value = std::numeric_limits<double>::quiet_NaN();
        if (fault == "segv") std::raise(SIGSEGV);
        if (fault == "abort") std::abort();
        if (fault == "sigkill_self") ::kill(::getpid(), SIGKILL);
        if (fault == "exit") std::exit(3);
        if (fault == "exit_0") std::exit(0);
        if (fault == "_exit") ::_exit(4);
        if (fault == "hang") return wait_for_stop(progress);
        if (fault == "wait_for_go") {  // a file in the working folder
            while (!std::ifstream{"go"} && !progress.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
            if (progress.stop_requested()) return {.kind = OutcomeKind::stopped};
        }
        if (fault == "spin_ignoring_stop") spin();
        if (fault == "sigstop") std::raise(SIGSTOP);
        if (fault == "ignore_sigterm") {
            std::signal(SIGTERM, SIG_IGN);
            spin();
        }
        if (fault == "end_at_sigterm") {  // its end crosses the signal
            std::signal(SIGTERM, [](int) { terminated = 1; });
            progress.memory({.name = "deaf", .seconds = 0, .step = std::nullopt, .reading = {}});  // a stop is no longer looked at
            while (!terminated) std::this_thread::sleep_for(std::chrono::milliseconds{1});
            return {.kind = OutcomeKind::stopped};
        }
        if (fault == "hang_up") {
            for (int fd = 3; fd < 64; ++fd) ::shutdown(fd, SHUT_WR);
            spin();
        }
        if (fault == "write_garbage") {
            for (int fd = 3; fd < 16; ++fd) static_cast<void>(!::write(fd, "\xff{]garbage\n", 11));
            spin();
        }
        if (fault == "oom_text") refuse_memory();
        if (fault == "oom_with_frames")  // as LibTorch's what() has it
            throw std::runtime_error(
                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB\n"
                "Exception raised from malloc at CUDACachingAllocator.cpp:1131 (most recent call first):\n"
                "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f17 in libc10.so)\n"
                "frame #1: <unknown function> + 0x2f2d1 (0x7f18 in libc10_cuda.so)\n");
        if (fault == "oom_once_above" && job.plan.effective_micro_batch().value_or(settings.whole("batch")) > settings.whole("limit"))
            refuse_memory();
        if (fault == "eat_host_memory") {
            for (std::vector<std::string> eaten;;) eaten.emplace_back(std::size_t{16} << 20U, 'x');
        }
        if (fault == "host_oom") static_cast<void>(::operator new (std::size_t{1} << 62U));
        if (fault == "slow") {
            const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.number("seconds"));
            while (std::chrono::steady_clock::now() < end) {
                if (progress.stop_requested()) return {.kind = OutcomeKind::stopped};
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            }
        }
        if (fault == "chatter") {
            for (int i = 0; i < 20000; ++i) {
                std::printf("{\"op\":\"end\"} printed line %d\n", i);
                std::fprintf(stderr, "complaint %d\n", i);
            }
            std::fflush(stdout);
        }
        AttemptOutcome outcome{.kind = OutcomeKind::complete, .values = {value}};
        if (fault == "no_values") outcome.values.clear();
        if (fault == "two_values") outcome.values.push_back(1);
        if (fault == "stops_unasked") return {.kind = OutcomeKind::stopped};
        if (fault == "throw_after_chatter") {
            std::fprintf(stderr, "last words of trial %lld\n", static_cast<long long>(job.trial));
            std::abort();
        }
        if (fault == "hardware_below_100MiB" && !job.metered_device.empty() &&
            hpo::device::MeteredDevice::open(job.metered_device).occupancy().capacity_bytes < (100 << 20)) {
            outcome.kind = OutcomeKind::failed;
            outcome.failure =
                hpo::Failure{.kind = hpo::FailureKind::hardware, .message = "CUDA error: uncorrectable ECC error encountered", .code = 214};
        }
        if (fault == "sticky") {
            outcome.kind = OutcomeKind::failed;
            const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
            const bool blocks = blocking && std::string_view{blocking} == "1";
            progress.log(blocks ? "in kernel index_select, line 7 of model.py" : "in a later call");
            outcome.failure =
                hpo::Failure{.kind = hpo::FailureKind::cuda_sticky,
                             .message = blocks ? "device-side assert triggered in index_select" : "device-side assert triggered"};
        }
        if (fault == "big_report") {
            progress.memory({.name = std::string(1 << 20U, 'm'), .seconds = 0, .step = std::nullopt, .reading = {}});
            outcome.attributes["big"] = '"' + std::string(1 << 20U, 'b') + '"';
        }
        if (fault == "no_json") outcome.attributes["data_hash"] = "sum 1";
        if (const char* device = std::getenv("CUDA_VISIBLE_DEVICES")) outcome.attributes["cuda_visible_devices"] = hpo::json_quote(device);
        if (const char* conf = std::getenv("PYTORCH_CUDA_ALLOC_CONF")) outcome.attributes["alloc_conf"] = hpo::json_quote(conf);
        if (const char* threads = std::getenv("OMP_NUM_THREADS")) outcome.attributes["threads"] = hpo::json_quote(threads);
        outcome.attributes["metered_device"] = hpo::json_quote(job.metered_device);
        outcome.attributes["device"] = hpo::json_quote(job.plan.device);
        outcome.attributes["seed"] = hpo::json_quote(std::to_string(job.seed));
        return outcome;
    }

    [[nodiscard]] std::optional<hpo::Profile> stoppable_profile(const TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        if (settings.text("fault") == "hang_in_profile") spin();
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.number("profile_seconds"));
        while (std::chrono::steady_clock::now() < end) {
            if (progress.stop_requested()) return std::nullopt;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
        return profile(job);
    }
    [[nodiscard]] std::optional<hpo::Profile> profile(const TrainerJob& job) override {
        const hpo::Settings settings{info(), job};
        if (settings.number("x") < 0) return std::nullopt;
        if (!job.metered_device.empty()) {  // the model, on the device while it is measured
            hpo::device::MeteredDevice device = hpo::device::MeteredDevice::open(job.metered_device);
            if (!device.charge(8)) return std::nullopt;
            device.release(8);
        }
        return hpo::Profile{.parameters = 2,
                            .trainable_parameters = 1,
                            .weight_bytes = 8,
                            .gradient_bytes = 4,
                            .optimizer_bytes = 8,
                            .activation_fixed_bytes = 16,
                            .activation_bytes_per_example = 4};
    }

    /// The weights and 10 bytes for each example; "SOMETHING_in_dry_run", "SOMETHING_in_probe" and "SOMETHING_in_predict" go wrong,
    /// "keep_in_predict" keeps the weights, and "count_in_predict" adds a byte for each such prediction before.
    [[nodiscard]] hpo::PeakPrediction predict(const TrainerJob& job, hpo::PeakSource source, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        std::string fault = settings.text("fault");
        if (source == hpo::PeakSource::virtual_card && !std::getenv("HPO_VIRTUAL_CARD")) throw std::runtime_error("no virtual card here");
        for (const std::string place : {"_in_predict", source == hpo::PeakSource::probe ? "_in_probe" : "_in_dry_run"}) {
            if (fault.ends_with(place)) fault.resize(fault.size() - place.size());
        }
        if (fault == "throw") throw std::runtime_error("no meta kernel for aten::frob of trial " + std::to_string(job.trial));
        if (fault == "mix_devices" && job.plan.device != "cpu") throw hpo::CannotRun{"in forward, aten::add gets a tensor in host memory"};
        if (fault == "say") throw hpo::Error{hpo::Errc::plugin, "trainer fault: ask: dry run: std::bad_alloc is what this is not"};
        if (fault == "hang") spin();
        if (fault == "segv") std::raise(SIGSEGV);
        if (fault == "terabyte") {
            std::vector<std::unique_ptr<char[]>> eaten;
            for (int i = 0; i < 1 << 14; ++i) eaten.emplace_back(new char[std::size_t{64} << 20U]);
            throw std::runtime_error("a terabyte was given");
        }
        std::int64_t weights = settings.whole("weights");
        if (fault == "count") {
            const int before = std::stoi(progress.recall("count").value_or("0"));
            progress.keep("count", std::to_string(before + 1));
            weights += before;
        }
        if (fault == "keep") {
            hpo::MemoryMark end{"end", 0, std::nullopt, {}};
            end.reading.allocated = weights;
            progress.memory(end);
        }
        const std::int64_t activations = 10 * job.plan.effective_micro_batch().value_or(settings.whole("batch"));
        hpo::PeakPrediction prediction{.source = source, .uncertainty = source == hpo::PeakSource::dry_run ? 0 : 0.1};
        prediction.parts = {{"weights", weights}, {"activations", activations}};
        prediction.requested_bytes = prediction.allocated_bytes = prediction.reserved_bytes = weights + activations;
        prediction.need = prediction.comfort = weights + activations;
        if (fault == "nonsense") prediction.need = -5;
        if (fault == "upper_bound") {
            prediction.upper_bound = true;
            prediction.remark = "the heaviest step may come too early to count";
        }
        if (!job.metered_device.empty() || job.plan.cap_bytes) prediction.need = prediction.comfort = 1;  // it is to be asked without
        if (!job.trace_file.empty()) write_trace(job.trace_file, activations);
        return prediction;
    }

    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const TrainerJob& job) override {
        const auto problems = hpo::Settings::problems(info(), job);
        const std::string fault = problems.empty() ? hpo::Settings{info(), job}.text("fault") : "";
        if (fault == "hang_in_check") spin();
        if (fault == "segv_in_check") std::raise(SIGSEGV);
        if (fault == "build_below_0" && hpo::Settings{info(), job}.number("x") < 0) return {{"build", cannot_build}};
        return problems;
    }
    [[nodiscard]] std::vector<hpo::TrainerProblem> stoppable_check(const TrainerJob& job, hpo::Progress& progress) override {
        progress.log("a trainer without data");
        auto problems = check(job);
        const std::string fault = problems.empty() ? hpo::Settings{info(), job}.text("fault") : "";
        if (fault == "keep_in_check" || (fault == "keep_once_in_check" && kept_ == 0)) kept_ += 1000;
        if (kept_ > 0) {
            hpo::MemoryMark end{"end", 0, std::nullopt, {}};
            end.reading.allocated = kept_;
            progress.memory(end);
        }
        return problems;
    }

private:
    /// The trace of what `predict` says: 100 bytes of weights, then activations.
    static void write_trace(const std::string& file, std::int64_t activations) {
        hpo::allocator::AllocationTrace trace;
        trace.scopes.emplace_back("layer");
        trace.enter("build");
        trace.take({.bytes = 100, .scope = 1});
        trace.enter("forward");
        const std::int64_t passing = trace.take({.bytes = activations, .scope = 1});
        trace.enter("backward");
        trace.give_back(passing);
        hpo::allocator::write_trace(file, trace);
    }
    /// The step of the checkpoint, which must be the one that the job asks for.
    static std::int64_t resumed(const TrainerJob& job) {
        std::int64_t step = -1;
        std::ifstream{job.checkpoint_folder + "/step"} >> step;
        if (step != *job.resume_step) throw std::runtime_error("the checkpoint is of step " + std::to_string(step));
        return step;
    }
    /// Marks an attempt that takes four times `weights` of the metered device and keeps of it, at its end: `weights` (leak), as much in the
    /// process's first attempt alone (one_time), or nothing (honest, and cache, which keeps as much reserved).
    void keep_memory(const TrainerJob& job, hpo::Progress& progress) {
        const hpo::Settings settings{info(), job};
        const std::string& fault = settings.text("fault");
        const std::int64_t bytes = settings.whole("weights");
        if (!device_) device_.emplace(hpo::device::MeteredDevice::open(job.metered_device));
        const auto mark = [&](const char* name) {
            hpo::MemoryReading reading;
            reading.allocated = kept_;
            reading.reserved = kept_ + (fault == "cache" ? bytes : bytes / 4);  // a cache, which is no leak
            reading.capacity = device_->occupancy().capacity_bytes;
            progress.memory({.name = name, .seconds = 0, .step = std::nullopt, .reading = reading});
        };
        mark("trial_start");
        if (!device_->charge(4 * bytes)) refuse_memory();
        const bool keeps = fault == "leak" || (fault == "one_time" && kept_ == 0);
        device_->release(4 * bytes - (keeps ? bytes : 0));
        kept_ += keeps ? bytes : 0;
        mark("end");
    }
    static AttemptOutcome wait_for_stop(hpo::Progress& progress) {
        while (!progress.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
        return {.kind = OutcomeKind::stopped};
    }
    [[noreturn]] static void spin() {
        volatile std::uint64_t count = 0;
        for (;;) count = count + 1;
    }

    std::optional<hpo::device::MeteredDevice> device_;
    std::int64_t kept_ = 0;
    std::vector<std::string> grown_;
};

}  // namespace

HPO_TRAINER_PLUGIN(FaultTrainer);
