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
/// `run` and `evaluate` return a failed outcome. The other functions throw Error{plugin}.
class PluginTrainer final : public Trainer {
public:
    /// `entry` belongs to a library that stays loaded. `name` is the plugin's name, for messages. Throws Error{plugin} if the trainer
    /// cannot be made.
    explicit PluginTrainer(const abi::Entry& entry, std::string name = {});
    PluginTrainer(const PluginTrainer&) = delete;
    PluginTrainer& operator=(const PluginTrainer&) = delete;
    ~PluginTrainer() override { entry_.destroy(trainer_); }

    [[nodiscard]] TrainerInfo info() const override;
    AttemptOutcome run(const TrainerJob& job, Progress& progress) override { return outcome({TrainerQuestion::run, job}, progress); }
    AttemptOutcome evaluate(const TrainerJob& job, Progress& progress) override {
        return outcome({TrainerQuestion::evaluate, job}, progress);
    }
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_profile(job, nobody);
    }
    [[nodiscard]] std::vector<TrainerProblem> check(const TrainerJob& job) override {
        Nobody nobody;
        return stoppable_check(job, nobody);
    }
    [[nodiscard]] std::optional<Profile> stoppable_profile(const TrainerJob& job, Progress& progress) override {
        return answer<std::optional<Profile>>({TrainerQuestion::profile, job}, progress);
    }
    [[nodiscard]] std::vector<TrainerProblem> stoppable_check(const TrainerJob& job, Progress& progress) override {
        return answer<std::vector<TrainerProblem>>({TrainerQuestion::check, job}, progress);
    }
    /// Throws Error{plugin} with the plugin's own reason alone, because the caller knows which plugin it asked. Throws bad_alloc if the
    /// host memory did not suffice.
    [[nodiscard]] PeakPrediction predict(const TrainerJob& job, PeakSource source, Progress& progress) override;
    /// Throws Error{plugin} with the plugin's own reason alone.
    [[nodiscard]] std::vector<DeviceFinding> measure(const TrainerJob& job, Progress& progress) override;

    /// What the plugin wrote: its answer, or in words why there is none.
    struct Said {
        std::int32_t status = abi::failed;
        std::string text;
    };
    /// Asks the plugin a TrainerRequest, as JSON.
    [[nodiscard]] Said ask(std::string_view request, Progress& progress) const;

private:
    /// The progress of a question that nobody stops.
    struct Nobody final : Progress {
        [[nodiscard]] bool report(std::int64_t, double) override { return true; }
        [[nodiscard]] bool stop_requested() const override { return false; }
        void memory(const MemoryMark&) override {}
        void log(std::string_view) override {}
    };

    [[nodiscard]] AttemptOutcome outcome(const TrainerRequest& request, Progress& progress) const;
    /// Throws Error{plugin} that names trainer and question, if there is no answer or none that can be read.
    template <class Answer>
    [[nodiscard]] Answer answer(const TrainerRequest& request, Progress& progress) const;
    /// The text of the answer. If there is none, throws an Error that names trainer and question.
    std::string require_done(std::string_view question, Said said) const;

    const abi::Entry entry_;
    const std::string name_;
    void* trainer_ = nullptr;
};

}  // namespace hpo
