// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "hpo/analysis/study_counts.hpp"
#include "hpo/tuner/options.hpp"
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

    void study_opened(const Study& study, const std::vector<Trial>& trials) override;
    void goes_on(const Trial& trial, const Trial& lost) override;
    void begins_anew(const Trial& lost, const std::string& why) override;
    void left_alone(const Trial& lost, const std::string& why) override;
    void left_out(const Trial& trial, const std::string& what) override;
    void retry_noted(const Trial& trial, const std::string& what) override;
    void attempt_started(const Trial& trial, const Attempt& attempt) override;
    void memory_marked(const Trial& trial, const MemoryMark& mark) override;
    void attempt_ended(const Trial& trial, const Attempt& attempt) override;
    void mispredicted(const Trial& trial, const std::string& how) override;
    void attribute_dropped(const Trial& trial, const DroppedAttribute& dropped) override;
    void source_given_up(const std::string& source, const std::string& family) override;
    void all_wait(std::size_t trials, double seconds) override;
    void device_left_out(const std::string& device, double seconds, const Failure& latest) override;
    void replayed(const Trial& trial, const std::string& told) override;
    void trial_finished(const Trial& trial) override;
    void rejected(const Rejection& rejection) override;
    void others_changed(const std::vector<Trial>& trials) override;
    void waiting_for_others(std::int64_t missing) override;

private:
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
