// SPDX-License-Identifier: MIT
// A trainer without LibTorch that draws a fault for each trial, writes it into a log, and then lets it happen. tests/faults/soak runs it.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/out_of_memory_text.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/device/metered_device.hpp"
#include "hpo/trainer/plugin.hpp"
#include "hpo/trainer/settings.hpp"

namespace {

using hpo::AttemptOutcome;
using hpo::OutcomeKind;
using hpo::TrainerJob;

constexpr std::int64_t mebibyte = 1 << 20;

/// How many of a hundred trials get a fault.
struct Share {
    std::string_view fault;
    double percent;
};
constexpr std::array shares{Share{"oversize", 10}, Share{"sticky", 1},      Share{"segv", 1},     Share{"sigkill", 1}, Share{"hang", 1},
                            Share{"mute", 1},      Share{"sigstop", 1},     Share{"exit", 1},     Share{"nan", 1},     Share{"labels", 1},
                            Share{"garbage", 1},   Share{"device_leak", 1}, Share{"host_leak", 1}};

/// What a trial meets. It follows from the seed and the trial's number alone.
struct Draw {
    std::string_view fault = "none";
    bool persists = false;           ///< true: in each attempt; false: only in the first
    double factor = 1;               ///< oversize: what the whole batch takes, as a share of the device
    bool weights_too_large = false;  ///< oversize: no micro-batch fits

    Draw(std::uint64_t seed, std::int64_t trial) {
        hpo::Rng rng{seed * 1'000'003 + static_cast<std::uint64_t>(trial)};
        double left = 100 * rng.uniform();
        for (const Share& share : shares) {
            if (left < share.percent) {
                fault = share.fault;
                break;
            }
            left -= share.percent;
        }
        // A configuration that is wrong is wrong again. A process that broke breaks again in one of ten trials.
        const bool by_configuration = fault == "oversize" || fault == "exit" || fault == "nan" || fault == "labels";
        persists = rng.uniform() < 0.1 || by_configuration;
        factor = 1.3 + 5 * rng.uniform();
        weights_too_large = rng.uniform() < 0.1;
    }
};

/// Seconds since the machine was started, as the start time of a process is counted.
double seconds_of(clockid_t clock) {
    ::timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// When this process was started, in the same seconds. Its resolution is a hundredth of a second.
double started_at() {
    constexpr int place_of_start = 20;  // after the name, which ends with the last bracket
    std::ifstream in{"/proc/self/stat"};
    std::string stat{std::istreambuf_iterator<char>{in}, {}};
    std::size_t at = stat.rfind(')');
    for (int i = 0; i < place_of_start; ++i) at = stat.find(' ', at + 1);
    return std::strtod(stat.c_str() + at, nullptr) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class SoakTrainer final : public hpo::Trainer {
public:
    [[nodiscard]] hpo::TrainerInfo info() const override {
        return {.name = "soak",
                .summary = "Breaks as a seeded draw says, for a soak; without a fault the value is (x - 0.3)^2",
                .parameters = {{"x", "float", "", 0.0, "where the parabola is evaluated", hpo::MemoryUse::none},
                               {"width", "int", "[1, inf)", std::int64_t{1}, "weights, in MiB"},
                               {"batch", "int", "[1, inf)", std::int64_t{32}, "effective batch; each example takes half a MiB"},
                               {"injector_seed", "int", "[0, inf)", std::int64_t{0}, "root of the faults", hpo::MemoryUse::none},
                               {"injector_log", "text", "", std::string{}, "file that gets a line for each fault", hpo::MemoryUse::none}},
                .metrics = {{"value", hpo::Direction::minimize, "(x - 0.3)^2"}},
                .levers = {"micro_batch"},
                .effective_batch_parameter = "batch",
                .peak_sources = {"dry_run"}};
    }

    AttemptOutcome run(const TrainerJob& job, hpo::Progress& progress) override {
        const hpo::Settings settings{info(), job};
        const Draw draw{static_cast<std::uint64_t>(settings.whole("injector_seed")), job.trial};
        log_file_ = settings.text("injector_log");
        tell(job, "begin", "\"born\":" + std::to_string(born_));
        if (poisoned_) {  // what the CUDA context of a process answers after such an error
            tell(job, "harmed", "\"by\":\"sticky\"");
            throw std::runtime_error("CUDA error: an illegal memory access was encountered");
        }
        if (!device_) device_.emplace(hpo::device::MeteredDevice::open(job.metered_device));
        device_->set_cap(hpo::this_process(), job.plan.cap_bytes);
        const std::int64_t held_before = held_;
        progress.memory(mark("trial_start"));
        const bool faulty = draw.fault != "none" && (draw.persists || job.attempt == 0);
        AttemptOutcome outcome;
        try {
            outcome = train(job, settings, draw, faulty, progress);
        } catch (...) {
            release(held_ - held_before);
            leak(progress);
            progress.memory(mark("end"));
            throw;
        }
        if (outcome.failure) tell(job, "refused", "\"where\":\"" + outcome.failure->where + "\"");
        release(held_ - held_before);
        begin_leak(job, draw, faulty);
        leak(progress);
        outcome.peak_allocated = outcome.peak_reserved = peak_;
        progress.memory(mark("end"));
        tell(job, "end", "\"held\":" + std::to_string(held_));
        return outcome;
    }

    [[nodiscard]] std::optional<hpo::Profile> profile(const TrainerJob& /*job*/) override { return std::nullopt; }
    /// What an attempt takes that is not oversize.
    [[nodiscard]] hpo::PeakPrediction predict(const TrainerJob& job, hpo::PeakSource source, hpo::Progress& /*progress*/) override {
        const hpo::Settings settings{info(), job};
        const std::int64_t weights = settings.whole("width") * mebibyte;
        const std::int64_t activations = micro_batch(job, settings) * example_bytes;
        hpo::PeakPrediction prediction{.source = source};
        prediction.parts = {{"weights", weights}, {"activations", activations}};
        prediction.requested_bytes = prediction.allocated_bytes = prediction.reserved_bytes = weights + activations;
        prediction.need = prediction.comfort = weights + activations;
        return prediction;
    }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const TrainerJob& job) override { return hpo::Settings::problems(info(), job); }

private:
    static constexpr std::int64_t example_bytes = mebibyte / 2;
    static constexpr int steps = 3;

    static std::int64_t micro_batch(const TrainerJob& job, const hpo::Settings& settings) {
        return job.plan.effective_micro_batch().value_or(settings.whole("batch"));
    }

    AttemptOutcome train(const TrainerJob& job, const hpo::Settings& settings, const Draw& draw, bool faulty, hpo::Progress& progress) {
        std::int64_t weights = settings.whole("width") * mebibyte;
        std::int64_t example = example_bytes;
        if (faulty && draw.fault == "oversize") {
            const std::int64_t capacity = device_->occupancy().capacity_bytes;
            const auto whole = static_cast<std::int64_t>(draw.factor * static_cast<double>(capacity));
            if (draw.weights_too_large) weights = whole;
            else example = whole / settings.whole("batch");
            tell(job, "inject", std::string{"\"fault\":\"oversize\",\"never_fits\":"} + (draw.weights_too_large ? "true" : "false"));
        }
        if (auto refused = take(weights, "build")) return *std::move(refused);
        const double x = settings.number("x");
        double value = (x - 0.3) * (x - 0.3);
        progress.last_step(steps - 1);
        for (int step = 0; step < steps; ++step) {
            const std::int64_t activations = micro_batch(job, settings) * example;
            if (auto refused = take(activations, "forward")) return *std::move(refused);
            if (step == 1) tell(job, "filled", "\"used\":" + std::to_string(device_->occupancy().used_bytes));
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
            if (faulty && step == 1 && draw.fault != "oversize") value = happen(job, draw.fault, value, progress);
            release(activations);
            if (!progress.report(step, value + 1.0 / (step + 1))) return {.kind = OutcomeKind::stopped};
        }
        return {.kind = OutcomeKind::complete, .values = {value}};
    }

    /// Lets the fault happen. Returns the value that the training goes on with, if it does.
    double happen(const TrainerJob& job, std::string_view fault, double value, hpo::Progress& progress) {
        tell(job, "inject", "\"fault\":\"" + std::string{fault} + "\"");
        if (fault == "sticky") {
            poisoned_ = true;
            throw std::runtime_error("CUDA error: an illegal memory access was encountered");
        }
        if (fault == "segv") {
            volatile int* const nowhere = nullptr;
            *nowhere = 1;
        }
        if (fault == "sigkill") ::kill(::getpid(), SIGKILL);
        if (fault == "hang") {  // it goes on talking
            for (;;) {
                progress.memory(mark("step"));
                std::this_thread::sleep_for(std::chrono::milliseconds{200});
            }
        }
        if (fault == "mute") {
            for (;;) std::this_thread::sleep_for(std::chrono::seconds{1});
        }
        if (fault == "sigstop") std::raise(SIGSTOP);
        if (fault == "exit") ::_exit(1);
        if (fault == "nan") return std::numeric_limits<double>::quiet_NaN();
        if (fault == "labels") throw std::out_of_range("Target 12 is out of bounds.");
        if (fault == "garbage") {
            constexpr std::string_view garbage = "\xff{]garbage\n";
            for (int fd = 3; fd < 64; ++fd) {  // only the protocol's is a socket
                static_cast<void>(::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL));
            }
        }
        return value;
    }

    void begin_leak(const TrainerJob& job, const Draw& draw, bool faulty) {
        if (faulty && draw.fault == "device_leak" && !device_leaks_) {
            tell(job, "inject", "\"fault\":\"device_leak\"");
            device_leaks_ = true;
        }
        if (faulty && draw.fault == "host_leak" && !host_leaks_) {
            tell(job, "inject", "\"fault\":\"host_leak\"");
            host_leaks_ = true;
        }
    }

    /// From a leaking trial on, each attempt of its process leaves something behind, also one that fails.
    void leak(hpo::Progress& progress) {
        if (device_leaks_) static_cast<void>(take(3 * mebibyte / 4, "end"));
        for (int piece = 0; host_leaks_ && piece < 10; ++piece) {  // on a slow machine all of it at once takes longer than the silence time
            lost_.emplace_back(static_cast<std::size_t>(10 * mebibyte), 'x');
            progress.alive();
        }
    }

    /// Takes memory of the device. Returns the failure if the device refuses.
    std::optional<AttemptOutcome> take(std::int64_t bytes, const char* where) {
        if (device_->charge(bytes)) {
            held_ += bytes;
            peak_ = std::max(peak_, held_);
            return std::nullopt;
        }
        const hpo::MemoryReading now = reading();
        AttemptOutcome outcome;
        outcome.failure = hpo::Failure{.kind = hpo::FailureKind::out_of_memory,
                                       .message = hpo::device::out_of_memory_text(bytes, now),
                                       .where = where,
                                       .memory = now,
                                       .requested_bytes = bytes};
        return outcome;
    }
    void release(std::int64_t bytes) {
        device_->release(bytes);
        held_ -= bytes;
    }
    [[nodiscard]] hpo::MemoryReading reading() {
        const hpo::device::Occupancy occupancy = device_->occupancy();
        hpo::MemoryReading now;
        now.allocated = now.reserved = held_;
        now.peak_allocated = now.peak_reserved = peak_;
        now.capacity = occupancy.capacity_bytes;
        now.free = occupancy.capacity_bytes - occupancy.used_bytes;
        now.limit = device_->own_cap();
        for (const hpo::MemoryNeighbour& process : occupancy.processes) {
            if (process.pid != ::getpid()) now.neighbours.push_back(process);
        }
        return now;
    }
    [[nodiscard]] hpo::MemoryMark mark(const char* name) {
        if (std::string_view{name} == "trial_start") peak_ = held_;
        return {.name = name, .seconds = 0, .step = std::nullopt, .reading = reading()};
    }

    /// Appends a line with one call, so that a process that dies right after it has written it, and lines of several do not mix.
    void tell(const TrainerJob& job, const char* what, const std::string& more) const {
        if (log_file_.empty()) return;
        const std::string line = "{\"at\":" + std::to_string(seconds_of(CLOCK_BOOTTIME)) + ",\"pid\":" + std::to_string(::getpid()) +
                                 ",\"trial\":" + std::to_string(job.trial) + ",\"attempt\":" + std::to_string(job.attempt) +
                                 ",\"what\":\"" + what + "\"," + more + "}\n";
        const int fd = ::open(log_file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        const bool written = fd >= 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
        if (fd >= 0) ::close(fd);
        if (!written) throw hpo::Error{hpo::Errc::store, log_file_ + ": the injector's log cannot be written"};
    }

    const double born_ = started_at();
    std::string log_file_;
    std::optional<hpo::device::MeteredDevice> device_;
    std::int64_t held_ = 0;
    std::int64_t peak_ = 0;
    bool poisoned_ = false;
    bool device_leaks_ = false;
    bool host_leaks_ = false;
    std::vector<std::string> lost_;
};

}  // namespace

HPO_TRAINER_PLUGIN(SoakTrainer);
