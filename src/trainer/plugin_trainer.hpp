// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/plugin_abi.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// A trainer behind the plugin border, used like any other. If the plugin itself makes a mistake, such as an answer that cannot be read,
/// `run` returns a failed outcome. The other functions throw Error{plugin}.
class PluginTrainer final : public Trainer {
public:
    /// `entry` belongs to a library that stays loaded. `name` is the plugin's name, for messages. Throws Error{plugin} if the trainer
    /// cannot be made.
    explicit PluginTrainer(const abi::Entry& entry, std::string name = {});
    PluginTrainer(const PluginTrainer&) = delete;
    PluginTrainer& operator=(const PluginTrainer&) = delete;
    ~PluginTrainer() override { entry_.destroy(trainer_); }

    [[nodiscard]] TrainerInfo info() const override;
    AttemptOutcome run(const TrainerJob& job, Progress& progress) override;
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_profile(job, nobody);
    }
    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_check(job, nobody);
    }
    /// Returns nullopt if the plugin lacks this function.
    [[nodiscard]] std::optional<Profile> stoppable_profile(const TrainerJob& job, Progress& progress) override;
    /// Returns no problems if the plugin lacks this function.
    [[nodiscard]] std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& progress) override;
    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) override;
    /// Throws Error{plugin} with the plugin's own reason alone, because the caller knows which plugin it asked. Throws bad_alloc if the
    /// host memory did not suffice.
    [[nodiscard]] PeakPrediction predict(const TrainerJob& job, PeakSource source, Progress& progress) override;
    /// Throws Error{plugin} if the plugin cannot measure.
    [[nodiscard]] std::vector<DeviceFinding> measure(const TrainerJob& job, Progress& progress) override;
    /// The answer to any other question, as JSON text. Throws Error{plugin} if the plugin does not know the question.
    [[nodiscard]] std::string ask(std::string_view question, const TrainerJob& job, Progress& progress) const {
        return require_done("ask", put(question, job, progress));
    }

private:
    /// The progress of a question that nobody stops.
    struct Nobody final : Progress {
        [[nodiscard]] bool report(std::int64_t, double) override { return true; }
        [[nodiscard]] bool stop_requested() const override { return false; }
        void memory(const MemoryMark&) override {}
        void log(std::string_view) override {}
    };

    static abi::Host lend(Progress& progress) {
        return {sizeof(abi::Host), &progress, &report, &stop_requested, &memory, &log, &tell, &suggest, &recall, &keep};
    }

    /// What a function of the plugin wrote: its answer, or in words why there is none.
    struct Said {
        std::int32_t status = abi::failed;
        std::string text;
    };
    template <class F>
    static Said said_by(F&& function);
    /// Asks the plugin's `ask` a question.
    [[nodiscard]] Said put(std::string_view question, const TrainerJob& job, Progress& progress) const;
    /// The text of the answer. If there is none, throws an Error that names trainer and function.
    std::string require_done(const std::string& what, Said said) const;
    template <class F>
    std::string call(const std::string& what, F&& function) const;
    template <class Answer, class F>
    Answer answer(const std::string& what, F&& function) const;
    template <class Answer, class F>
    Answer asked(const std::string& what, const TrainerJob& job, F&& function) const;

    static std::int32_t report(void* context, std::int64_t step, double value) noexcept {
        return static_cast<Progress*>(context)->report(step, value) ? 1 : 0;
    }
    static std::int32_t stop_requested(void* context) noexcept { return static_cast<Progress*>(context)->stop_requested() ? 1 : 0; }
    static void memory(void* context, abi::Text mark) noexcept;
    static void log(void* context, abi::Text line) noexcept { static_cast<Progress*>(context)->log({line.data, line.size}); }
    /// Hands news of a known kind to the function of Progress for it.
    static void tell(void* context, abi::Text json) noexcept;
    static void suggest(void* context, abi::Text name, abi::Text distribution, abi::Sink sink) noexcept;
    static void recall(void* context, abi::Text key, abi::Sink sink) noexcept;
    static void keep(void* context, abi::Text key, abi::Text text) noexcept;

    const abi::Entry entry_;
    const std::string name_;
    void* trainer_ = nullptr;
};

}  // namespace hpo
