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
#include "hpo/trainer/news.hpp"
#include "hpo/trainer/record_line.hpp"

namespace hpo {

PluginTrainer::PluginTrainer(const abi::Entry& entry, std::string name)
    : entry_{entry}, name_{name.empty() ? std::string{entry.name} : std::move(name)} {
    call("create", [&](abi::Sink sink) { return entry_.create(&trainer_, sink); });
}

TrainerInfo PluginTrainer::info() const {
    return answer<TrainerInfo>("info", [&](abi::Sink sink) { return entry_.info(trainer_, sink); });
}

AttemptOutcome PluginTrainer::run(const TrainerJob& job, Progress& progress) {
    const abi::Host host = lend(progress);
    try {
        return asked<AttemptOutcome>("run", job, [&](abi::Text text, abi::Sink sink) { return entry_.run(trainer_, text, &host, sink); });
    } catch (const Error& error) {
        AttemptOutcome outcome;
        outcome.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()};
        return outcome;
    }
}

std::optional<Profile> PluginTrainer::stoppable_profile(const TrainerJob& job, Progress& progress) {
    if (!entry_.profile) return std::nullopt;
    const abi::Host host = lend(progress);
    return asked<std::optional<Profile>>("profile", job,
                                         [&](abi::Text text, abi::Sink sink) { return entry_.profile(trainer_, text, &host, sink); });
}

std::vector<TrainerProblem> PluginTrainer::stoppable_check(const TrainerJob& job, Progress& progress) {
    if (!entry_.check) return {};
    const abi::Host host = lend(progress);
    return asked<std::vector<TrainerProblem>>("check", job,
                                              [&](abi::Text text, abi::Sink sink) { return entry_.check(trainer_, text, &host, sink); });
}

AttemptOutcome PluginTrainer::evaluate(const TrainerJob& job, Progress& progress) {
    try {
        return read_record<AttemptOutcome>(ask(abi::evaluate_question, job, progress), abi::evaluate_question);
    } catch (const Error& error) {
        return {.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()}};
    }
}

PeakPrediction PluginTrainer::predict(const TrainerJob& job, PeakSource source, Progress& progress) {
    const std::string question{to_text(source)};
    const Said said = put(question, job, progress);
    if (said.status == abi::no_memory) throw std::bad_alloc{};
    if (said.status == abi::cannot_run) throw CannotRun{said.text};
    if (said.status != abi::done) throw Error{Errc::plugin, said.text};
    return read_record<PeakPrediction>(said.text, question);
}

std::vector<DeviceFinding> PluginTrainer::measure(const TrainerJob& job, Progress& progress) {
    const Said said = put(abi::measure_question, job, progress);
    if (said.status != abi::done) throw Error{Errc::plugin, said.text};
    return read_record<std::vector<DeviceFinding>>(said.text, abi::measure_question);
}

template <class F>
PluginTrainer::Said PluginTrainer::said_by(F&& function) {
    Said said;
    const abi::Sink sink{&said.text,
                         [](void* context, abi::Text part) noexcept { static_cast<std::string*>(context)->assign(part.data, part.size); }};
    said.status = function(sink);
    return said;
}

PluginTrainer::Said PluginTrainer::put(std::string_view question, const TrainerJob& job, Progress& progress) const {
    if (!entry_.ask) return {.text = unknown_name("", "question", question, {}).what()};
    const abi::Host host = lend(progress);
    const std::string job_text = record_line(job);
    return said_by([&](abi::Sink sink) {
        return entry_.ask(trainer_, {question.data(), question.size()}, {job_text.data(), job_text.size()}, &host, sink);
    });
}

std::string PluginTrainer::require_done(const std::string& what, Said said) const {
    if (said.status != abi::done) throw Error{Errc::plugin, "trainer " + name_ + ": " + what + ": " + said.text};
    return std::move(said.text);
}

template <class F>
std::string PluginTrainer::call(const std::string& what, F&& function) const {
    return require_done(what, said_by(std::forward<F>(function)));
}

template <class Answer, class F>
Answer PluginTrainer::answer(const std::string& what, F&& function) const {
    const std::string text = call(what, function);
    try {
        return read_record<Answer>(text, what);
    } catch (const Error& error) {
        throw Error{Errc::plugin, "trainer " + name_ + ": " + error.what()};
    }
}

template <class Answer, class F>
Answer PluginTrainer::asked(const std::string& what, const TrainerJob& job, F&& function) const {
    const std::string text = record_line(job);
    return answer<Answer>(what, [&](abi::Sink sink) { return function(abi::Text{text.data(), text.size()}, sink); });
}

void PluginTrainer::memory(void* context, abi::Text mark) noexcept {
    try {
        const std::string place = "memory mark";
        static_cast<Progress*>(context)->memory(read_record<MemoryMark>({mark.data, mark.size}, place));
    } catch (const Error& error) {
        static_cast<Progress*>(context)->log(error.what());
    }
}

void PluginTrainer::tell(void* context, abi::Text json) noexcept {
    auto& progress = *static_cast<Progress*>(context);
    try {
        const std::string place = "news";
        const News news = read_record<News>({json.data, json.size}, place);
        if (news.checkpoint) progress.checkpointed(*news.checkpoint);
        else if (news.last_step) progress.last_step(*news.last_step);
        else if (news.alive) progress.alive();
        else progress.tell({json.data, json.size});
    } catch (const Error& error) {
        progress.log(error.what());
    }
}

void PluginTrainer::suggest(void* context, abi::Text name, abi::Text distribution, abi::Sink sink) noexcept {
    Suggestion answer;
    try {
        answer.value = static_cast<Progress*>(context)->suggest({name.data, name.size}, {distribution.data, distribution.size});
    } catch (const std::exception& error) {
        answer.error = error.what();
    }
    const std::string text = record_line(answer);
    sink.write(sink.context, {text.data(), text.size()});
}

void PluginTrainer::recall(void* context, abi::Text key, abi::Sink sink) noexcept {
    auto& progress = *static_cast<Progress*>(context);
    try {
        if (const auto text = progress.recall({key.data, key.size})) sink.write(sink.context, {text->data(), text->size()});
    } catch (const std::exception& error) {
        progress.log(error.what());
    }
}

void PluginTrainer::keep(void* context, abi::Text key, abi::Text text) noexcept {
    auto& progress = *static_cast<Progress*>(context);
    try {
        progress.keep({key.data, key.size}, {text.data, text.size});
    } catch (const std::exception& error) {
        progress.log(error.what());
    }
}

}  // namespace hpo
