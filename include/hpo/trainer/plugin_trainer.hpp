// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/trainer/plugin_abi.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// A trainer behind the plugin border, used like any other. What the plugin itself gets wrong (an answer that is not
/// understood) is a failed outcome in `run` and an Error{plugin} elsewhere.
class PluginTrainer final : public Trainer {
public:
    /// `entry` belongs to a library that stays loaded; `name` is the plugin's, for messages. Throws Error{plugin} when the trainer cannot
    /// be made.
    explicit PluginTrainer(const abi::Entry& entry, std::string name = {})
        : entry_{entry}, name_{name.empty() ? std::string{entry.name} : std::move(name)} {
        call("create", [&](abi::Sink sink) { return entry_.create(&trainer_, sink); });
    }
    PluginTrainer(const PluginTrainer&) = delete;
    PluginTrainer& operator=(const PluginTrainer&) = delete;
    ~PluginTrainer() override { entry_.destroy(trainer_); }

    [[nodiscard]] TrainerInfo info() const override {
        return answer<TrainerInfo>("info", [&](abi::Sink sink) { return entry_.info(trainer_, sink); });
    }
    AttemptOutcome run(const TrainerJob& job, Progress& progress) override {
        const abi::Host host = lend(progress);
        try {
            return asked<AttemptOutcome>("run", job,
                                         [&](abi::Text text, abi::Sink sink) { return entry_.run(trainer_, text, &host, sink); });
        } catch (const Error& error) {
            AttemptOutcome outcome;
            outcome.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()};
            return outcome;
        }
    }
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_profile(job, nobody);
    }
    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_check(job, nobody);
    }
    /// A plugin without this function cannot tell.
    [[nodiscard]] std::optional<Profile> stoppable_profile(const TrainerJob& job, Progress& progress) override {
        if (!entry_.profile) return std::nullopt;
        const abi::Host host = lend(progress);
        return asked<std::optional<Profile>>("profile", job,
                                             [&](abi::Text text, abi::Sink sink) { return entry_.profile(trainer_, text, &host, sink); });
    }
    /// A plugin without this function finds nothing wrong.
    [[nodiscard]] std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& progress) override {
        if (!entry_.check) return {};
        const abi::Host host = lend(progress);
        return asked<std::vector<TrainerProblem>>(
            "check", job, [&](abi::Text text, abi::Sink sink) { return entry_.check(trainer_, text, &host, sink); });
    }
    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) override {
        try {
            return decoded<AttemptOutcome>(ask(abi::evaluate_question, job, progress), abi::evaluate_question);
        } catch (const Error& error) {
            return {.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()}};
        }
    }
    /// Throws Error{plugin} with nothing but the plugin's own reason, and bad_alloc where it found no memory: whoever asked knows whom.
    [[nodiscard]] PeakPrediction predict(const TrainerJob& job, PeakSource source, Progress& progress) override {
        const std::string question{to_text(source)};
        const Said said = put(question, job, progress);
        if (said.status == abi::no_memory) throw std::bad_alloc{};
        if (said.status != abi::done) throw Error{Errc::plugin, said.text};
        return decoded<PeakPrediction>(parse_json(said.text, question), question);
    }
    /// The answer to any other question; throws Error{plugin} when the plugin does not know it.
    [[nodiscard]] Json ask(std::string_view question, const TrainerJob& job, Progress& progress) const {
        return parse_json(require_done("ask", put(question, job, progress)), std::string{question});
    }

private:
    /// Watches a question that nobody stops.
    struct Nobody final : Progress {
        [[nodiscard]] bool report(std::int64_t, double) override { return true; }
        [[nodiscard]] bool stop_requested() const override { return false; }
        void memory(const MemoryMark&) override {}
        void log(std::string_view) override {}
    };

    static abi::Host lend(Progress& progress) { return {sizeof(abi::Host), &progress, &report, &stop_requested, &memory, &log, &tell}; }

    /// What a function of the plugin wrote: its answer or, in words, why there is none.
    struct Said {
        std::int32_t status = abi::failed;
        std::string text;
    };
    template <class F>
    static Said said_by(F&& function) {
        Said said;
        const abi::Sink sink{
            &said.text, [](void* context, abi::Text part) noexcept { static_cast<std::string*>(context)->assign(part.data, part.size); }};
        said.status = function(sink);
        return said;
    }
    /// Puts a question to `ask`.
    [[nodiscard]] Said put(std::string_view question, const TrainerJob& job, Progress& progress) const {
        if (!entry_.ask) return {.text = unknown_name("", "question", question, {}).what()};
        const abi::Host host = lend(progress);
        const std::string job_text = json_line(encode(job));
        return said_by([&](abi::Sink sink) {
            return entry_.ask(trainer_, {question.data(), question.size()}, {job_text.data(), job_text.size()}, &host, sink);
        });
    }
    /// The answer's text; throws an Error that names trainer and function where there is none.
    std::string require_done(const std::string& what, Said said) const {
        if (said.status != abi::done) throw Error{Errc::plugin, "trainer " + name_ + ": " + what + ": " + said.text};
        return std::move(said.text);
    }
    template <class F>
    std::string call(const std::string& what, F&& function) const {
        return require_done(what, said_by(std::forward<F>(function)));
    }
    template <class Answer, class F>
    Answer answer(const std::string& what, F&& function) const {
        const std::string text = call(what, function);
        try {
            return decoded<Answer>(parse_json(text, what), what);
        } catch (const Error& error) {
            throw Error{Errc::plugin, "trainer " + name_ + ": " + error.what()};
        }
    }
    template <class Answer, class F>
    Answer asked(const std::string& what, const TrainerJob& job, F&& function) const {
        const std::string text = json_line(encode(job));
        return answer<Answer>(what, [&](abi::Sink sink) { return function(abi::Text{text.data(), text.size()}, sink); });
    }

    static std::int32_t report(void* context, std::int64_t step, double value) noexcept {
        return static_cast<Progress*>(context)->report(step, value) ? 1 : 0;
    }
    static std::int32_t stop_requested(void* context) noexcept { return static_cast<Progress*>(context)->stop_requested() ? 1 : 0; }
    static void memory(void* context, abi::Text mark) noexcept {
        try {
            const std::string place = "memory mark";
            static_cast<Progress*>(context)->memory(decoded<MemoryMark>(parse_json({mark.data, mark.size}, place), place));
        } catch (const Error& error) {
            static_cast<Progress*>(context)->log(error.what());
        }
    }
    static void log(void* context, abi::Text line) noexcept { static_cast<Progress*>(context)->log({line.data, line.size}); }
    /// News that this version knows goes to its own function.
    static void tell(void* context, abi::Text json) noexcept {
        auto& progress = *static_cast<Progress*>(context);
        try {
            const std::string place = "news";
            const News news = decoded<News>(parse_json({json.data, json.size}, place), place);
            if (news.checkpoint) progress.checkpointed(*news.checkpoint);
            else if (news.last_step) progress.last_step(*news.last_step);
            else progress.tell({json.data, json.size});
        } catch (const Error& error) {
            progress.log(error.what());
        }
    }

    const abi::Entry entry_;
    const std::string name_;
    void* trainer_ = nullptr;
};

}  // namespace hpo
