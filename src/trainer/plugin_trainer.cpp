// SPDX-License-Identifier: MIT
#include "trainer/plugin_trainer.hpp"

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/trainer/cannot_run.hpp"
#include "hpo/trainer/event_progress.hpp"
#include "hpo/trainer/record_line.hpp"

namespace hpo {
namespace {

/// What a plugin may call. Its events go to a Progress.
namespace host {

std::int32_t stop_requested(void* context) noexcept { return static_cast<Progress*>(context)->stop_requested() ? 1 : 0; }

void tell(void* context, abi::Text text, abi::Sink sink) noexcept {
    auto& progress = *static_cast<Progress*>(context);
    try {
        const auto event = read_record<AttemptEvent>(abi::as_view(text), "event");
        const EventAnswer answer = hpo::tell(progress, event);
        if (awaits_answer(event)) sink.write(sink.context, abi::as_text(record_line(answer)));
    } catch (const std::exception& error) {
        progress.log(error.what());
        sink.write(sink.context, abi::as_text(record_line(EventAnswer{.suggestion = {.error = error.what()}})));
    }
}

}  // namespace host
}  // namespace

PluginTrainer::PluginTrainer(const abi::Entry& entry, std::string name)
    : entry_{entry}, name_{name.empty() ? std::string{entry.name} : std::move(name)} {
    Said said;
    said.status = entry_.create(&trainer_, abi::sink_into(said.text));
    require_done("create", std::move(said));
}

TrainerInfo PluginTrainer::info() const {
    Nobody nobody;
    return answer<TrainerInfo>({TrainerQuestion::info}, nobody);
}

PeakPrediction PluginTrainer::predict(const TrainerJob& job, PeakSource source, Progress& progress) {
    const Said said = ask(record_line(TrainerRequest{TrainerQuestion::predict, job, source}), progress);
    if (said.status == abi::no_memory) throw std::bad_alloc{};
    if (said.status == abi::cannot_run) throw CannotRun{said.text};
    if (said.status != abi::done) throw Error{Errc::plugin, said.text};
    return read_record<PeakPrediction>(said.text, std::string{to_text(source)});
}

std::vector<DeviceFinding> PluginTrainer::measure(const TrainerJob& job, Progress& progress) {
    const Said said = ask(record_line(TrainerRequest{TrainerQuestion::measure, job}), progress);
    if (said.status != abi::done) throw Error{Errc::plugin, said.text};
    return read_record<std::vector<DeviceFinding>>(said.text, "measure");
}

PluginTrainer::Said PluginTrainer::ask(std::string_view request, Progress& progress) const {
    const abi::Host host{&progress, &host::stop_requested, &host::tell};
    Said said;
    said.status = entry_.ask(trainer_, abi::as_text(request), &host, abi::sink_into(said.text));
    return said;
}

AttemptOutcome PluginTrainer::outcome(const TrainerRequest& request, Progress& progress) const {
    try {
        return answer<AttemptOutcome>(request, progress);
    } catch (const Error& error) {
        return {.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()}};
    }
}

template <class Answer>
Answer PluginTrainer::answer(const TrainerRequest& request, Progress& progress) const {
    const std::string question{to_text(request.question)};
    const std::string text = require_done(question, ask(record_line(request), progress));
    try {
        return read_record<Answer>(text, question);
    } catch (const Error& error) {
        throw Error{Errc::plugin, "trainer " + name_ + ": " + error.what()};
    }
}

std::string PluginTrainer::require_done(std::string_view question, Said said) const {
    if (said.status != abi::done) throw Error{Errc::plugin, "trainer " + name_ + ": " + std::string{question} + ": " + said.text};
    return std::move(said.text);
}

}  // namespace hpo
