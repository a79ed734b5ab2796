// SPDX-License-Identifier: MIT
#include "hpo/trainer/event_progress.hpp"

#include <exception>
#include <variant>

#include "hpo/base/cases.hpp"

namespace hpo {

EventAnswer tell(Progress& progress, const AttemptEvent& event) {
    EventAnswer answer;
    const auto suggest = [&](const Question& question) {
        try {
            answer.suggestion.value = progress.suggest(question.name, question.distribution);
        } catch (const Error& error) {
            answer.goes_on = error.code() != Errc::interrupted;
            answer.suggestion.error = error.what();
        } catch (const std::exception& error) {
            answer.suggestion.error = error.what();
        }
    };
    std::visit(Cases{[&](const Report& report) {
                         if (report.is_last) progress.last_step(report.step);
                         answer.goes_on = progress.report(report.step, report.value);
                     },
                     suggest, [&](const Recall& recall) { answer.text = progress.recall(recall.key); },
                     [&](const Kept& kept) { progress.keep(kept.key, kept.text); }, [&](const MemoryMark& mark) { progress.memory(mark); },
                     [&](const Checkpoint& checkpoint) { progress.checkpointed(checkpoint.step); }, [&](const Alive&) { progress.alive(); },
                     [&](const Phase& phase) { progress.phase(phase.name); }, [&](const LogLine& line) { progress.log(line.text); },
                     // These two come from what runs the trainer.
                     [](const AttemptStarted&) {}, [](const AttemptOutcome&) {}},
               event);
    return answer;
}

}  // namespace hpo
