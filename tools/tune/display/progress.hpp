// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/time.hpp"
#include "hpo/store/configurations.hpp"
#include "hpo/tuner/devices/attempt_wait.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/screen.hpp"
#include "support/text.hpp"
#include "tune/display/shown_device.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {

/// Learns from attempts that reached their end how long one takes, and finds running ones that take far longer.
class AttemptTimes {
public:
    static constexpr std::int64_t least_known = 10;  ///< attempts
    static constexpr double most_times = 5;          ///< the longest of them
    static constexpr double least_seconds = 60;

    void ended(double seconds) {
        ++known_;
        longest_ = std::max(longest_, seconds);
    }
    /// A warning about an attempt of a trial that has run for so long. Nothing if it is not overlong, or if the trial was warned of before.
    [[nodiscard]] std::optional<std::string> warning(std::int64_t trial, double seconds) {
        if (known_ < least_known || seconds < std::max(least_seconds, most_times * longest_) || !warned_.insert(trial).second)
            return std::nullopt;
        return "trial " + std::to_string(trial) + " has run for " + duration(seconds) + ", and the longest of " + std::to_string(known_) +
               " complete attempts took " + duration(longest_) + ": it may hang; --attempt-time ends such attempts";
    }

private:
    std::int64_t known_ = 0;
    double longest_ = 0;  ///< seconds
    std::set<std::int64_t> warned_;
};

enum class ProgressStyle { bar, plain, none };

/// What a person watches while a study runs: on a terminal a block that is redrawn, with notable events scrolling above
/// it; on a pipe one line for each event.
class Progress final : public TuneObserver {
public:
    struct Settings {
        ProgressStyle style = ProgressStyle::plain;
        int out = STDERR_FILENO;                                 ///< a descriptor
        std::int64_t trials = 0;                                 ///< asked for
        std::optional<std::int64_t> own_trials{};                ///< asked of this run alone; `trials` does not count then
        std::vector<std::string> metrics;                        ///< the objectives' names
        std::vector<ShownDevice> devices;                        ///< that trials run on
        std::function<void(const Trial& trial)> trial_finished;  ///< may be empty
        std::function<void()> attempt_started{};                 ///< may be empty
        std::size_t workers = 1;                                 ///< trials at once
    };

    explicit Progress(Settings settings) : settings_{std::move(settings)} {
        if (settings_.style == ProgressStyle::bar) screen_.emplace(settings_.out);
    }
    ~Progress() override { finish(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// One line for the person, in every style.
    void note(const std::string& text);
    /// Removes the block, so that what follows is written on clean lines.
    void finish();
    /// The block that is redrawn, for a terminal of `width` columns.
    [[nodiscard]] std::vector<std::string> block(std::size_t width);

    void on(const StudyEvent& event) override;

private:
    void show(const event::StudyOpened& event);
    void show(const event::OthersChanged& event);
    void show(const event::WaitsForOthers& event);
    void show(const event::TrialGoesOn& event);
    void show(const event::TrialBeginsAnew& event);
    void show(const event::TrialLeftAlone& event);
    void show(const event::ValueLeftOut& event);
    void show(const event::RetryNoted& event);
    void show(const event::TrialReplayed& event);
    void show(const event::AttemptWaits& event);
    void show(const event::AttemptBegan& event);
    void show(const event::Reported& event);
    void show(const event::MemoryMarked& event);
    void show(const event::AttemptEnded& event);
    void show(const event::TrialFinished& event);
    void show(const event::ConfigurationRejected& event);
    void show(const event::Mispredicted& event);
    void show(const event::DeviceLeftOut& event);
    void show(const event::AllWait& event);
    void show(const event::AttributeDropped& event);
    void show(const event::SourceGivenUp& event);
    void show(const event::Idle& /*event*/) { refresh(); }

    /// Says what is due, warns of overlong attempts, and draws the block if it is old.
    void refresh();

    /// A trial that was begun and has not ended.
    struct Running {
        std::string what;
        std::string device;
        std::optional<AttemptWait> waits{};  ///< nullopt: an attempt runs
        std::optional<Report> latest{};
        double seconds_at_latest = 0;  ///< that it had taken then
        std::int64_t worker_pid = 0;
        std::optional<std::int64_t> allocated{};  ///< at the latest mark, where the device has no account
        double earlier_seconds = 0;               ///< of the attempts that ended
        Stopwatch since{};                        ///< its attempt began, or began to wait

        /// The seconds that its attempts have taken.
        [[nodiscard]] double taken() const { return earlier_seconds + (waits ? 0 : since.seconds()); }
    };

    /// The end of an attempt that failed, until it is known whether its trial ends with it.
    struct Due {
        std::int64_t trial = -1;
        std::string figures;
        std::string line;
    };

    /// Trials in all that the study has once the run has done its part.
    [[nodiscard]] std::int64_t wanted_trials() const;
    void line(const std::string& text);
    /// What was held back: the end of an attempt, and how many proposals were refused in a row.
    void say_what_is_due();
    void write(const std::string& text);
    void draw(const std::vector<std::string>& above);
    void count(const Trial& trial);
    /// Learns from a finished trial how long one takes, and how many steps it has.
    void learn_pace(const Trial& trial);
    /// The seconds that the running and the missing trials will take; nothing before a trial of the study has ended.
    [[nodiscard]] std::optional<double> seconds_left() const;
    /// How many attempts of this run ran at once, on average over the time in which any ran, and at least as many as run now. That
    /// counts what the workers alone do not show: memory for fewer attempts than workers.
    [[nodiscard]] double at_once() const;
    /// An attempt of the trial runs no longer.
    void stops(Running& running);
    void describe(Running& running, const Trial& trial, const Attempt& attempt) const;
    [[nodiscard]] std::string head(std::size_t width) const;
    /// The lines of the running trials, and of the devices' memory.
    [[nodiscard]] std::vector<std::string> running_lines();
    [[nodiscard]] std::vector<std::string> device_lines(std::size_t width) const;

    Settings settings_;
    Study study_;
    analysis::StudyCounts counts_;
    std::int64_t rejected_ = 0;
    std::int64_t refused_in_a_row_ = 0;
    std::string latest_refusal_;
    std::optional<Due> due_;
    SeedGroups seeds_;
    std::optional<double> best_;  ///< of trials that differ in their seed alone the mean
    std::int64_t best_trial_ = -1;
    std::map<std::int64_t, Running> running_;
    std::int64_t finished_here_ = 0;
    std::int64_t counted_here_ = 0;  ///< of these, those that count
    std::int64_t paced_ = 0;         ///< finished trials of the study whose time is known, earlier runs' too
    double paced_seconds_ = 0;       ///< of all of them
    std::int64_t last_step_ = -1;    ///< of the longest complete trial
    std::int64_t first_step_ = 0;    ///< of the complete trials
    std::size_t active_ = 0;         ///< attempts that run now
    Stopwatch any_runs_;             ///< since one of them began while no other ran
    double any_ran_seconds_ = 0;     ///< before that
    double ended_seconds_ = 0;       ///< of the attempts of this run that ended
    AttemptTimes times_;
    std::set<std::string, std::less<>> dropped_;  ///< attributes of which a note was given
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point drawn_{};
    std::optional<tools::Screen> screen_;  ///< for a bar
};

}  // namespace hpo::tune
