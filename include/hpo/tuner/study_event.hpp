// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hpo/core/failure.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/tuner/devices/attempt_wait.hpp"

namespace hpo {

/// An attribute of a trainer that is not kept.
struct DroppedAttribute {
    /// no_json: the store cannot keep the value. reserved: only the tuner writes attributes of this name (reserved_attributes.hpp).
    enum class Why { no_json, reserved };

    std::string name;
    std::string begin;  ///< the beginning of its value
    Why why = Why::no_json;

    /// A message for people.
    [[nodiscard]] std::string note() const {
        const std::string start = "attribute '" + name + "' ";
        if (why == Why::reserved)
            return start + "has a name that hpo keeps for itself, and is not kept: " + begin + "; give it another name";
        return start + "is no JSON and is not kept: " + begin + "; set_text writes a text as JSON";
    }
};

/// What happens in a study. The references are valid only during the call of TuneObserver::on.
namespace event {

struct StudyOpened {
    const Study& study;
    const std::vector<Trial>& trials;
};

/// `trial` was begun in place of `lost`. It goes on after the reports of `lost`, or runs from the beginning if it has none.
struct TrialGoesOn {
    const Trial& trial;
    const Trial& lost;
};

/// A lost trial is run again from its beginning. `why` says why no trial can go on from its checkpoints.
struct TrialBeginsAnew {
    const Trial& lost;
    const std::string& why;
};

/// A lost trial cannot be run again, and a new trial replaces it. `why` gives the reason.
struct TrialLeftAlone {
    const Trial& lost;
    const std::string& why;
};

/// A trial runs without an enqueued value. `what` names the parameter and the reason. Comes once for each name.
struct ValueLeftOut {
    const Trial& trial;
    const std::string& what;
};

/// Something about a trial's retry that a person should know, such as a rule of a script whose retry changes nothing.
struct RetryNoted {
    const Trial& trial;
    const std::string& what;
};

/// A trial whose attempt met a sticky CUDA error was run once more with blocking launches. `told` is what the second run told of its
/// failure.
struct TrialReplayed {
    const Trial& trial;
    const std::string& told;
};

/// An attempt was chosen and cannot start yet. May come again for the same attempt.
struct AttemptWaits {
    const Trial& trial;
    const Attempt& attempt;
    const AttemptWait& wait;
};

struct AttemptBegan {
    const Trial& trial;
    const Attempt& attempt;
};

struct Reported {
    const Trial& trial;
    const Report& report;
};

struct MemoryMarked {
    const Trial& trial;
    const MemoryMark& mark;
};

struct AttemptEnded {
    const Trial& trial;
    const Attempt& attempt;
};

/// The predicted peak of an attempt was wrong by more than a tenth. `how` says what it took instead. Comes only for the first one.
struct Mispredicted {
    const Trial& trial;
    const std::string& how;
};

struct AttributeDropped {
    const Trial& trial;
    const DroppedAttribute& dropped;
};

/// A source's predictions for a model family were too low too often. The source is no longer asked about this family.
struct SourceGivenUp {
    const std::string& source;
    const std::string& family;
};

/// Attempts failed so often by a device's own fault that no attempt runs on it for `seconds`, as long as another device works.
struct DeviceLeftOut {
    const std::string& device;
    double seconds;
    const Failure& latest;
};

struct TrialFinished {
    const Trial& trial;
};

/// The guard refused a proposal before its launch.
struct ConfigurationRejected {
    const Rejection& rejection;
};

/// Other processes have begun or finished trials. `trials` are all trials of the study, with their latest state.
struct OthersChanged {
    const std::vector<Trial>& trials;
};

/// No trial is left to begin. The `missing` ones run in other processes.
struct WaitsForOthers {
    std::int64_t missing;
};

/// Nothing runs: `trials` trials pause or wait for free memory of their devices. One of them goes on after `seconds` at the latest.
struct AllWait {
    std::size_t trials;
    double seconds;
};

/// Comes several times a second.
struct Idle {};

}  // namespace event

/// What happens in a study, from its opening to its last trial.
using StudyEvent = std::variant<event::StudyOpened, event::TrialGoesOn, event::TrialBeginsAnew, event::TrialLeftAlone, event::ValueLeftOut,
                                event::RetryNoted, event::TrialReplayed, event::AttemptWaits, event::AttemptBegan, event::Reported,
                                event::MemoryMarked, event::AttemptEnded, event::Mispredicted, event::AttributeDropped,
                                event::SourceGivenUp, event::DeviceLeftOut, event::TrialFinished, event::ConfigurationRejected,
                                event::OthersChanged, event::WaitsForOthers, event::AllWait, event::Idle>;

/// Is told what happens in a study, for example for a progress display. Each call comes on the tuner's thread, after the store has the
/// change.
class TuneObserver {
public:
    virtual ~TuneObserver() = default;
    virtual void on(const StudyEvent& event) = 0;
};

/// For a study that nobody watches.
class SilentObserver final : public TuneObserver {
public:
    void on(const StudyEvent& /*event*/) override {}
};

}  // namespace hpo
