// SPDX-License-Identifier: MIT
// How long 500 simulated trials take on one card of 24 GiB: admitted by the ledger as `hpo-tune run` uses it, by a fixed number of workers,
// and by a packer that knows every peak beforehand; and the same where all of them may use 80 % of the card. The clock is simulated; the
// ledger and the reservations in it are the real ones. What a guard would learn is given: reservations know how far predictions are off
// from the first trial on. Nothing is reported, so that the gate against sharing that slows everything stays open.
//
//   packing [SEEDS=20] [FIRST=1]     the ledger's constants were chosen on seeds from 101 on
//
// The workload, after the runs that made people halve their workers (fine-tuning of encoders of two sizes):
// - three trials of four need 6 GiB, the others 12 GiB, each times exp(N(0, 0.15)), at most 19 GiB;
// - alone, a trial takes 20 minutes times exp(N(0, 0.5)); it reaches its peak after a uniform 2 to 20 % of its work and holds 60 % of it
//   before that;
// - a trial keeps a share of the card busy, uniform in 0.2 to 0.6. Trials that together ask for more than 1 share it evenly, and each one
//   more costs all of them 2 %;
// - a prediction is the need times exp(N(0, noise)); a reservation is its 99 % quantile. Under a reservation a trial is capped at it:
// should it
//   need more it fails alone, and comes back with half as much again. After a third of its work, the first of three epochs, it is
//   capped at what it needed and a 16th, and the rest of its reservation is given back;
// - with a fixed number of workers nothing is predicted or capped. Where the card has no room for a trial's peak, that trial fails and is
//   put at the queue's end, what it did is lost; the fifth time it is lost, and runs
//   alone when all others are done.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "bench/number_argument.hpp"
#include "hpo/device/ledger_reservations.hpp"

namespace {

using hpo::device::Ledger;

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double card_bytes = 24 * gib;
constexpr double part = 0.8;  // of the card, in the second table
constexpr int trials = 500;
constexpr std::size_t slots = 8;  // processes that may be on the card, and trials that may wait for it

struct Trial {
    int number = 0;
    double need = 0;  ///< bytes
    double seconds = 0;
    double peak_at = 0;                            ///< share of the work
    double busy = 0;                               ///< share of the card
    double noise = 0;                              ///< logarithm of predicted by need, in standard deviations
    static constexpr double settles_at = 1.0 / 3;  ///< share of the work
};

std::vector<Trial> workload(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<Trial> drawn;
    for (int i = 0; i < trials; ++i) {
        Trial trial{.number = i};
        const double size = uniform(random) < 0.75 ? 6 : 12;
        trial.need = std::min(19.0, size * std::exp(0.15 * normal(random))) * gib;
        trial.seconds = 1200 * std::exp(0.5 * normal(random));
        trial.peak_at = 0.02 + 0.18 * uniform(random);
        trial.busy = 0.2 + 0.4 * uniform(random);
        trial.noise = normal(random);
        drawn.push_back(trial);
    }
    return drawn;
}

struct Running {
    Trial trial;
    double done = 0;  ///< share of the work
    double reservation = std::numeric_limits<double>::infinity();
    bool has_settled = false;
    [[nodiscard]] bool at_peak() const { return done >= trial.peak_at; }
    /// Share of the work until something changes.
    [[nodiscard]] double next() const { return !at_peak() ? trial.peak_at : !has_settled ? Trial::settles_at : 1; }
    [[nodiscard]] double held() const { return at_peak() ? trial.need : 0.6 * trial.need; }
};

struct Result {
    double hours = 0;
    int failed_alone = 0;      ///< above their own reservation
    int failed_by_others = 0;  ///< no room on the card
    int lost = 0;              ///< failed so five times
    double longest_wait = 0;   ///< minutes between asking and starting
    double peak_share = 0;     ///< of the card, at the fullest moment
    double together = 0;       ///< trials at a time, averaged over the time
    int longest_row = 0;       ///< successes without a failure between them
};

/// Who is let onto the card.
struct Admission {
    virtual ~Admission() = default;
    virtual bool admits(const Trial& trial, double retry_factor, const std::vector<Running>& running, double now) = 0;
    virtual double reservation(const Trial&, double) { return std::numeric_limits<double>::infinity(); }
    virtual void settled(const Trial&) {}
    virtual void ended(const Trial&) {}
};

struct FixedWorkers final : Admission {
    explicit FixedWorkers(std::size_t workers) : count{workers} {}
    bool admits(const Trial&, double, const std::vector<Running>& running, double) override { return running.size() < count; }
    std::size_t count;
};

struct Omniscient final : Admission {
    explicit Omniscient(double bytes) : budget{bytes} {}
    bool admits(const Trial& trial, double, const std::vector<Running>& running, double) override {
        double sum = trial.need;
        for (const Running& each : running) sum += each.trial.need;
        return running.size() < slots && sum <= budget;
    }
    double budget;
};

struct ByLedger final : Admission {
    struct Options {
        double budget = 0;
        double noise = 0;
    };
    ByLedger(const std::filesystem::path& file, Options chosen)
        : options{chosen},
          room{Ledger{file, Ledger::standard_patience, [this] { return now; }},
               {.budget_bytes = static_cast<std::int64_t>(chosen.budget)}} {}
    double reservation(const Trial& trial, double) override { return static_cast<double>(reserved_bytes.at(trial.number)); }
    bool admits(const Trial& trial, double retry_factor, const std::vector<Running>& running, double at) override {
        now = at;
        if (running.size() >= slots) return false;
        constexpr double quantile_99 = 2.3263;
        const auto need = static_cast<std::int64_t>(trial.need * std::exp(options.noise * (trial.noise + quantile_99)) * retry_factor);
        const auto reserved = room.reserve({.trial = trial.number, .need_bytes = need, .comfort_bytes = need});
        if (reserved) reserved_bytes[trial.number] = *reserved;
        return reserved.has_value();
    }
    void settled(const Trial& trial) override { room.shrink(trial.number, static_cast<std::int64_t>(trial.need * 17 / 16)); }
    void ended(const Trial& trial) override { room.release(trial.number); }

    Options options;
    double now = 0;
    hpo::device::LedgerReservations room;
    std::map<int, std::int64_t> reserved_bytes;  ///< by trial
};

/// On a device of `bytes`.
Result simulate(const std::vector<Trial>& work, Admission& admission, double bytes) {
    struct Asked {
        Trial trial;
        double since = 0;
        double retry_factor = 1;
    };
    std::deque<Asked> queue;
    for (const Trial& trial : work) queue.push_back({trial});
    std::vector<Asked> waiting;
    std::vector<Running> running;
    std::vector<double> factors(work.size(), 1);
    std::vector<int> failures(work.size(), 0);  // by others
    Result result;
    double now = 0;
    double alone_at_last = 0;  // seconds that lost trials take
    int row = 0;
    const auto failed = [&](std::size_t index, bool alone) {
        (alone ? result.failed_alone : result.failed_by_others)++;
        row = 0;
        const Trial trial = running[index].trial;
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
        admission.ended(trial);
        double& factor = factors[static_cast<std::size_t>(trial.number)];
        if (alone) factor *= 1.5;
        if (alone) queue.push_front({trial, 0, factor});
        else if (++failures[static_cast<std::size_t>(trial.number)] < 5) queue.push_back({trial, 0, factor});
        else {
            ++result.lost;
            alone_at_last += trial.seconds;
        }
    };
    while (!queue.empty() || !waiting.empty() || !running.empty()) {
        while (!queue.empty() && waiting.size() + running.size() < slots) {
            waiting.push_back(queue.front());
            waiting.back().since = now;
            queue.pop_front();
        }
        for (std::size_t i = 0; i < waiting.size();) {
            if (!admission.admits(waiting[i].trial, waiting[i].retry_factor, running, now)) {
                ++i;
                continue;
            }
            result.longest_wait = std::max(result.longest_wait, (now - waiting[i].since) / 60);
            running.push_back({.trial = waiting[i].trial, .reservation = admission.reservation(waiting[i].trial, waiting[i].retry_factor)});
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (running.empty()) {
            std::fprintf(stderr, "packing: a trial of %.1f GiB is never admitted\n", waiting.front().trial.need / gib);
            std::exit(1);
        }
        double busy = 0;
        for (const Running& each : running) busy += each.trial.busy;
        const double speed = std::min(1.0, 1 / busy) * std::pow(0.98, static_cast<double>(running.size() - 1));
        double step = std::numeric_limits<double>::infinity();
        for (const Running& each : running) {
            step = std::min(step, (each.next() - each.done) * each.trial.seconds / speed);
        }
        now += step;
        result.together += step * static_cast<double>(running.size());
        std::vector<int> peaked;
        for (Running& each : running) {
            const bool before = each.at_peak();
            each.done += step * speed / each.trial.seconds;
            if (each.done > 1 - 1e-9) each.done = 1;
            if (before && !each.has_settled && each.done > Trial::settles_at - 1e-9) {
                each.has_settled = true;
                admission.settled(each.trial);
            }
            if (!before && each.done > each.trial.peak_at - 1e-9) {
                each.done = std::max(each.done, each.trial.peak_at);
                peaked.push_back(each.trial.number);
            }
        }
        for (const int number : peaked) {
            const auto at = std::find_if(running.begin(), running.end(), [&](const Running& each) { return each.trial.number == number; });
            double held = 0;
            for (const Running& each : running) held += each.held();
            const auto index = static_cast<std::size_t>(at - running.begin());
            if (at->trial.need > at->reservation) failed(index, true);
            else if (held > bytes) failed(index, false);
            else result.peak_share = std::max(result.peak_share, held / card_bytes);
        }
        for (std::size_t i = 0; i < running.size();) {
            if (running[i].done < 1) {
                ++i;
                continue;
            }
            admission.ended(running[i].trial);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
            result.longest_row = std::max(result.longest_row, ++row);
        }
    }
    result.together /= now;
    result.hours = (now + alone_at_last) / 3600;
    return result;
}

struct Row {
    std::string name;
    std::vector<Result> results;  ///< of each seed
};

struct Seeds {
    std::uint64_t first = 1;
    int count = 20;
};

/// The packers and the fixed numbers of workers on a device of `bytes`.
std::vector<Row> measure(double bytes, const Seeds& seeds) {
    const std::filesystem::path file = std::filesystem::temp_directory_path() / ("hpo-packing-" + std::to_string(::getpid()));
    std::vector<Row> rows;
    const auto add = [&](const std::string& name, const auto& make) {
        Row row{name, {}};
        for (int i = 0; i < seeds.count; ++i) {
            std::filesystem::remove(file);
            auto admission = make();
            row.results.push_back(simulate(workload(seeds.first + static_cast<std::uint64_t>(i)), *admission, bytes));
        }
        rows.push_back(std::move(row));
    };
    add("knows every peak", [&] { return std::make_unique<Omniscient>(bytes); });
    for (const double noise : {0.01, 0.02, 0.05, 0.1, 0.2}) {
        char name[64];
        std::snprintf(name, sizeof name, "ledger, off by %2.0f %%", 100 * noise);
        add(name, [&] { return std::make_unique<ByLedger>(file, ByLedger::Options{.budget = bytes, .noise = noise}); });
    }
    for (std::size_t workers = 1; workers <= 6; ++workers)
        add("workers: " + std::to_string(workers), [&] { return std::make_unique<FixedWorkers>(workers); });
    std::filesystem::remove(file);
    return rows;
}

void print(const std::vector<Row>& rows) {
    std::printf("%-24s %8s %9s %9s %9s %6s %9s %8s %8s %9s\n", "", "hours", "by known", "alone", "by others", "lost", "wait min", "row",
                "peak", "together");
    for (const Row& row : rows) {
        double hours = 0, alone = 0, others = 0, wait = 0, peak = 0, together = 0, ratio = 0, lost = 0;
        int least_row = trials;
        for (std::size_t seed = 0; seed < row.results.size(); ++seed) {
            const Result& each = row.results[seed];
            const double share = 1.0 / static_cast<double>(row.results.size());
            hours += share * each.hours;
            ratio += share * each.hours / rows[0].results[seed].hours;
            alone += share * each.failed_alone;
            others += share * each.failed_by_others;
            lost += share * each.lost;
            together += share * each.together;
            wait = std::max(wait, each.longest_wait);
            peak = std::max(peak, each.peak_share);
            least_row = std::min(least_row, each.longest_row);
        }
        std::printf("%-24s %8.1f %9.3f %9.2f %9.2f %6.2f %9.0f %8d %7.1f%% %9.2f\n", row.name.c_str(), hours, ratio, alone, others, lost,
                    wait, least_row, 100 * peak, together);
    }
}

}  // namespace

int main(int count, char** words) {
    const bench::NumberArguments numbers{count, words, 2, "packing [seeds] [first seed]"};
    const Seeds seeds{.first = static_cast<std::uint64_t>(numbers.at(2, {.standard = 1})),
                      .count = static_cast<int>(numbers.at(1, {.standard = 20, .least = 1}))};
    std::printf("%d trials, %d seeds from %llu on; means, and the worst of all seeds for wait, row and peak (of the whole card)\n", trials,
                seeds.count, static_cast<unsigned long long>(seeds.first));
    for (const double share : {1.0, part}) {
        std::printf("\n%.0f %% of the card of %.0f GiB:\n", 100 * share, card_bytes / gib);
        print(measure(share * card_bytes, seeds));
    }
}
