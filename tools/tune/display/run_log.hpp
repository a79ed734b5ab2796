// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/rotating_file.hpp"

namespace hpo::tune {

/// Writes what happens in a run to a file that people read later: the run, its trials, failures, decisions and notes. Each line begins with
/// the time (UTC) and the process, so that several runs can share a file.
class RunLog final : public TuneObserver {
public:
    struct Settings {
        std::vector<std::string> metrics;                ///< the objectives' names
        std::function<void(const std::string&)> failed;  ///< is told once if the file cannot be written
    };

    RunLog(tools::RotatingFile file, Settings settings) : file_{std::move(file)}, settings_{std::move(settings)} {}

    /// The head of a run; one line each.
    void run_begins(const std::vector<std::string>& lines);
    /// `how` says how it ended: "status 0".
    void run_ends(const std::string& how);
    void note(const std::string& text);

    void on(const StudyEvent& event) override;

private:
    void record(const event::StudyOpened& event);
    void record(const event::OthersChanged& event);
    void record(const event::WaitsForOthers& event);
    void record(const event::TrialGoesOn& event);
    void record(const event::TrialBeginsAnew& event);
    void record(const event::TrialLeftAlone& event);
    void record(const event::ValueLeftOut& event);
    void record(const event::RetryNoted& event);
    void record(const event::AttemptBegan& event);
    void record(const event::MemoryMarked& event);
    void record(const event::AttemptEnded& event);
    void record(const event::Mispredicted& event);
    void record(const event::AttributeDropped& event);
    void record(const event::SourceGivenUp& event);
    void record(const event::DeviceLeftOut& event);
    void record(const event::AllWait& event);
    void record(const event::TrialReplayed& event);
    void record(const event::TrialFinished& event);
    void record(const event::ConfigurationRejected& event);

    /// Lines that belong together, and so are one write.
    void write(const std::string& subject, const std::vector<std::string>& lines);
    void write(const std::string& subject, const std::string& line) { write(subject, std::vector{line}); }

    tools::RotatingFile file_;
    Settings settings_;
    analysis::StudyCounts counts_;
    std::set<std::string, std::less<>> dropped_;  ///< attributes that were told
    bool has_failed_ = false;
};

}  // namespace hpo::tune
