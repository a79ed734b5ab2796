// SPDX-License-Identifier: MIT
// What stands at the foot of a terminal while a study runs: its head, its counts, its running trials and its devices.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/trainer/objectives.hpp"
#include "hpo/tuner/options.hpp"
#include "tune/display/progress.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {
namespace {

/// A bar before figures, where there is room for one.
std::string meter(double share, std::size_t width) { return width > 0 ? bar(share, width) + " " : ""; }

/// What a device's ledger says, as one line.
std::string ledger_line(const ShownDevice& device, std::size_t bar_width) {
    std::int64_t bytes = 0;
    std::size_t reserved = 0;
    std::size_t waiting = 0;
    std::size_t others = 0;  // of other runs
    for (const device::LedgerEntry& entry : device.ledger()) {
        ++(entry.granted ? reserved : waiting);
        if (entry.granted) bytes += entry.bytes;
        if (entry.pid != ::getpid()) ++others;
    }
    const double share = static_cast<double>(bytes) / static_cast<double>(*device.capacity_bytes);
    std::string text =
        device.name + " ledger " + meter(share, bar_width) + format_bytes(bytes) + " reserved for " + tools::counted(reserved, "attempt");
    if (waiting > 0) text += ", " + std::to_string(waiting) + " waiting for room";
    if (others > 0) text += " (" + std::to_string(others) + " of other runs)";
    return text;
}

/// What a trial waits for, so many seconds after it began to.
std::string wait_text(const AttemptWait& wait, double since) {
    const std::string rest = duration(std::max(0.0, wait.seconds - since));
    switch (wait.what) {
        case AttemptWait::What::pause: return "pauses for " + rest;
        case AttemptWait::What::free_memory: return "waits for free memory, at most " + rest;
        case AttemptWait::What::others: return "waits until no other trial runs";
        case AttemptWait::What::worker: return "waits for a worker";
        case AttemptWait::What::memory: break;
    }
    return "waits for " + (wait.need_bytes ? format_bytes(*wait.need_bytes) + " of memory" : std::string{"memory"});
}

/// Those that are not empty, two spaces apart.
std::string spaced(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part.empty() ? "" : (text.empty() ? "" : "  ") + part;
    return text;
}

/// The parts two spaces apart, on as many lines as they need.
std::vector<std::string> lines_of(const std::vector<std::string>& parts, std::size_t width) {
    std::vector<std::string> lines{""};
    for (const std::string& part : parts) {
        const std::string longer = spaced({lines.back(), part});
        if (tools::columns(longer) <= width || lines.back().empty()) lines.back() = longer;
        else lines.push_back("  " + part);
    }
    return lines;
}

}  // namespace

std::optional<double> Progress::seconds_left() const {
    const std::int64_t wanted = wanted_trials();
    if (paced_ == 0 || wanted >= endless_trials) return std::nullopt;
    const double usual = paced_seconds_ / static_cast<double>(paced_);
    double work = 0;     // seconds of one worker
    double longest = 0;  // of the running trials
    for (const auto& [number, running] : running_) {
        const double taken = running.taken();
        double rest = std::max(0.0, usual - taken);
        if (running.latest && last_step_ > first_step_) {  // what it has done says more than what others took
            const double all = static_cast<double>(last_step_ - first_step_ + 1);
            const double done = static_cast<double>(running.latest->step - first_step_ + 1);
            if (done > 0) rest = done >= all ? 0 : std::max(0.0, running.seconds_at_latest * all / done - taken);
        }
        work += rest;
        // Memory may be free as soon as another attempt ends. If none runs, only the end of its time is known.
        const bool is_bound = running.waits && (running.waits->what == AttemptWait::What::pause || active_ == 0);
        longest = std::max(longest, rest + (is_bound ? std::max(0.0, running.waits->seconds - running.since.seconds()) : 0));
    }
    const auto open = wanted - static_cast<std::int64_t>(counts_.ended()) - static_cast<std::int64_t>(running_.size());
    work += usual * static_cast<double>(std::max<std::int64_t>(0, open));
    return std::max(longest, work / at_once());
}

double Progress::at_once() const {
    const double workers = static_cast<double>(std::max<std::size_t>(1, settings_.workers));
    double together = ended_seconds_;
    for (const auto& [number, running] : running_) together += running.waits ? 0 : running.since.seconds();
    const double any = any_ran_seconds_ + (active_ > 0 ? any_runs_.seconds() : 0);
    if (any <= 0) return workers;
    return std::clamp(std::max(together / any, static_cast<double>(active_)), 1.0, workers);
}

void Progress::draw(const std::vector<std::string>& above) {
    drawn_ = std::chrono::steady_clock::now();
    screen_->draw(above, block(screen_->size().columns));
}

std::string Progress::head(std::size_t width) const {
    const auto done = static_cast<std::int64_t>(counts_.ended());
    const std::int64_t wanted = wanted_trials();
    const bool is_endless = wanted >= endless_trials;
    const double share = wanted > 0 && !is_endless ? static_cast<double>(done) / static_cast<double>(wanted) : 0;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    const std::string count = std::to_string(done) + (is_endless ? "" : "/" + std::to_string(wanted));
    std::string rate;
    const auto rest = seconds_left();
    const std::string left = rest ? "left " + duration(*rest) : "";
    const std::string elapsed = "elapsed " + duration(seconds);
    if (finished_here_ > 0 && seconds > 0) rate = number(std::round(static_cast<double>(finished_here_) / seconds * 600) / 10) + "/min";
    const std::string value = best_ ? metric_value_text(settings_.metrics.at(0), *best_) : "";
    const std::string best = best_ ? "best " + settings_.metrics.at(0) + " " + value : "";
    const std::string trial = best_ ? "(trial " + std::to_string(best_trial_) + ")" : "";
    const std::string name = tools::on_one_line(study_.name);
    // What matters less goes first.
    const std::string shorter = clipped(name, 24);
    for (const std::string& text :
         {spaced({name, count, bar(share, 20), elapsed, left, rate, best, trial}),
          spaced({shorter, count, bar(share, 20), elapsed, left, rate, best, trial}),
          spaced({shorter, count, bar(share, 10), elapsed, left, rate, best}), spaced({shorter, count, elapsed, left, best}),
          spaced({shorter, count, bar(share, 10), left, rate, best, trial}), spaced({shorter, count, bar(share, 10), left, best, trial}),
          spaced({shorter, count, bar(share, 10), left, best}), spaced({shorter, count, left, best}),
          spaced({clipped(name, 12), count, left, best}), spaced({count, left, best})}) {
        if (tools::columns(text) <= width) return text;
    }
    return spaced({count, left, best_ ? "best " + value : ""});
}

std::vector<std::string> Progress::block(std::size_t columns) {
    const std::size_t width = columns > 1 ? columns - 1 : 1;  // the last column stays free
    std::vector<std::string> lines{head(width)};
    std::vector<std::string> counts{
        "complete " + std::to_string(counts_.complete), "pruned " + std::to_string(counts_.pruned),
        "failed " + std::to_string(counts_.failed), "of them infeasible " + std::to_string(counts_.infeasible),
        "out of memory " + std::to_string(counts_.oom_attempts) + " (" + std::to_string(counts_.recovered_trials) + " trials recovered)"};
    if (rejected_ > 0) counts.push_back("refused before launch " + std::to_string(rejected_));
    for (std::string& line : lines_of(counts, width)) lines.push_back(std::move(line));
    for (std::string& line : running_lines()) lines.push_back(std::move(line));
    for (std::string& line : device_lines(width)) lines.push_back(std::move(line));
    return lines;
}

std::vector<std::string> Progress::running_lines() {
    std::vector<std::string> lines;
    std::map<std::int64_t, std::int64_t> held;  // by process, on devices with an account
    std::set<std::string> with_account;
    for (const ShownDevice& device : settings_.devices) {
        const auto occupancy = device.occupancy ? device.occupancy() : std::nullopt;
        if (!occupancy) continue;
        with_account.insert(device.name);
        for (const MemoryNeighbour& process : occupancy->processes) held[process.pid] += process.bytes;
    }
    for (auto& [trial, running] : running_) {
        if (with_account.contains(running.device) && !running.waits) running.allocated = held[running.worker_pid];
        std::string text = "  trial " + std::to_string(trial);
        if (running.waits) {
            lines.push_back(text + "  " + wait_text(*running.waits, running.since.seconds()) + "  " + running.what);
            continue;
        }
        if (running.latest) {
            text += "  step " + std::to_string(running.latest->step);
            if (last_step_ >= running.latest->step) text += " of " + std::to_string(last_step_);
            text += ": " + metric_value_text(reported_metric(settings_.metrics), running.latest->value);
        }
        if (running.allocated) text += "  " + format_bytes(*running.allocated);
        if (settings_.devices.size() > 1) text += "  " + running.device;
        lines.push_back(text + "  " + running.what);
    }
    return lines;
}

std::vector<std::string> Progress::device_lines(std::size_t width) const {
    std::vector<std::string> lines;
    for (const ShownDevice& device : settings_.devices) {
        if (!device.capacity_bytes || *device.capacity_bytes <= 0) continue;
        const auto occupancy = device.occupancy ? device.occupancy() : std::nullopt;
        std::int64_t held = 0;
        for (const auto& [trial, running] : running_) held += running.device == device.name ? running.allocated.value_or(0) : 0;
        if (occupancy) held = occupancy->used_bytes;
        const double used = static_cast<double>(held) / static_cast<double>(*device.capacity_bytes);
        const auto with_bar = [&](const auto& line_of) {  // as far as the bar leaves room for the figures
            const std::string line = line_of(width < 63 ? std::size_t{0} : std::size_t{20});
            return tools::columns(line) <= width ? line : line_of(std::size_t{0});
        };
        lines.push_back(with_bar([&](std::size_t bar_width) {
            return device.name + " memory " + meter(used, bar_width) + format_bytes(held) + " of " + format_bytes(*device.capacity_bytes);
        }));
        if (device.ledger) lines.push_back(with_bar([&](std::size_t bar_width) { return ledger_line(device, bar_width); }));
    }
    return lines;
}

}  // namespace hpo::tune
