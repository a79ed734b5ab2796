// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/trainer/attempt_event.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// A Progress that makes each call an AttemptEvent.
class EventProgress : public Progress {
public:
    [[nodiscard]] bool report(std::int64_t step, double value) final {
        return on(Report{.step = step, .value = value, .is_last = step == last_step_}).goes_on;
    }
    void last_step(std::int64_t step) final { last_step_ = step; }
    void memory(const MemoryMark& mark) final { on(mark); }
    void alive() final { on(Alive{}); }
    void checkpointed(std::int64_t step) final { on(Checkpoint{step}); }
    void phase(std::string_view name) final { on(Phase{std::string{name}}); }
    void log(std::string_view line) final { on(LogLine{std::string{line}}); }
    [[nodiscard]] Value suggest(const std::string& name, const std::string& distribution) final {
        EventAnswer answer = on(Question{name, distribution});
        if (!answer.goes_on) throw Error{Errc::interrupted, "parameter '" + name + "': the attempt is to end"};
        if (!answer.suggestion.error.empty()) throw Error{Errc::bad_value, answer.suggestion.error};
        return std::move(answer.suggestion.value);
    }
    [[nodiscard]] std::optional<std::string> recall(const std::string& key) final { return on(Recall{key}).text; }
    void keep(const std::string& key, const std::string& text) final { on(Kept{key, text}); }

protected:
    /// Returns the default for an event that needs no answer. Thread safety: one thread at a time, except for LogLine.
    virtual EventAnswer on(const AttemptEvent& event) = 0;
    void forget_last_step() { last_step_.reset(); }

private:
    std::optional<std::int64_t> last_step_;
};

/// Makes an event the call of Progress for it. What `suggest` throws is the answer.
EventAnswer tell(Progress& progress, const AttemptEvent& event);

}  // namespace hpo
