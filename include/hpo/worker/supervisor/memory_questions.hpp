// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hpo/core/memory_evidence.hpp"
#include "hpo/trainer/prediction_key.hpp"
#include "hpo/trainer/record_line.hpp"
#include "hpo/worker/supervisor/known_predictions.hpp"
#include "hpo/worker/supervisor/pool_config.hpp"
#include "hpo/worker/supervisor/prediction_limit.hpp"
#include "hpo/worker/supervisor/reply.hpp"

namespace hpo::worker {

/// Asks workers how much memory an attempt will take: on a virtual card, by a dry run, by a probe, then by the model's shape, until one
/// answers. It begins with the source that is wanted. If one finds that the attempt cannot run (CannotRun), no other is asked. If a worker
/// dies of a question, does not answer in time, or is slow to say that it cannot, only time is lost. After the second such loss in a row,
/// that source is no longer asked, because every trial would wait for it. Each kind of trouble is noted once. Known predictions are not
/// asked again.
class MemoryQuestions {
public:
    /// `config` must outlive this object.
    explicit MemoryQuestions(const PoolConfig& config);
    /// Call it before the first question.
    void meet(const TrainerInfo& info, const std::string& build) {
        info_ = info;
        predictor_.build = build;
        // A key does not tell what another program is, or what it imports. So its predictions end with the run.
        if (info.open_ended) known_.keep_until_end();
    }
    /// How many predictions workers made. Predictions that were already known do not count.
    [[nodiscard]] std::int64_t made() const noexcept { return known_.kept(); }

    /// What the trainer kept (Progress::keep).
    [[nodiscard]] std::optional<std::string> recalled(const std::string& key) { return known_.text(text_key(key)); }
    void keep(const std::string& key, const std::string& text) { known_.keep_text(text_key(key), text); }

    /// `ask(question, timeout)` returns a Reply. The result is nullopt if no answer came, or if the trainer cannot tell.
    template <class Asker>
    [[nodiscard]] std::optional<Profile> profile(const TrainerJob& job, const Asker& ask) {
        Rung& rung = rungs_.back();
        if (rung.given_up()) return std::nullopt;
        const Reply reply = ask(Ask{{TrainerQuestion::profile, job}}, config_.profile_timeout);
        if (reply.interrupted) return std::nullopt;
        if (!reply.answer) {
            ++rung.losses;
            note("profile: " + reply.silence + (rung.given_up() ? "; it is not asked any more, and memory is estimated without it" : ""));
            return std::nullopt;
        }
        rung.losses = 0;
        if (reply.answer->error && rung.told.insert("error").second) note("profile: " + *reply.answer->error);
        return reply.answer->profile;
    }

    /// A prediction, or why there is none.
    struct Told {
        /// limit: the source cannot predict this. error: it threw for another reason. mishap: it gave no answer. cannot_run: the attempt
        /// ends in an error on its device. not_asked: the question was given up, or the source is no longer asked.
        enum class Kind { limit, error, mishap, cannot_run, not_asked };
        std::optional<PeakPrediction> prediction;
        std::string why_not;
        Kind kind = Kind::limit;  ///< of why_not
    };
    /// Notes each new reason for no prediction.
    template <class Asker>
    [[nodiscard]] Told predict(const TrainerJob& job, PeakSource source, const Asker& ask) {
        Told told = quietly_predict(job, source, ask);
        if (!told.prediction && told.kind != Told::Kind::not_asked) note_reason(source, told);
        return told;
    }
    /// The same without a note.
    template <class Asker>
    [[nodiscard]] Told quietly_predict(const TrainerJob& job, PeakSource source, const Asker& ask) {
        const std::string key = prediction_key(info_, predictor_, job, source, files_);
        if (auto known = job.trace_file.empty() ? known_.find(key) : std::nullopt) return {std::move(known), {}};
        Rung& rung = rung_of(source);
        if (rung.given_up()) return {std::nullopt, rung.latest, Told::Kind::not_asked};
        if (!has(source)) return refuse(source, "the trainer has none");
        if (source == PeakSource::virtual_card && !config_.virtual_card) return refuse(source, config_.why_no_virtual_card);
        const Reply reply = ask(Ask{{TrainerQuestion::predict, job, source}, config_.question_memory_bytes}, config_.prediction_timeout);
        if (reply.interrupted) return {std::nullopt, reply.silence, Told::Kind::not_asked};
        if (!reply.answer) {
            ++rung.losses;
            return refuse(source, reply.silence, Told::Kind::mishap);
        }
        if (const std::string problem = problem_in(*reply.answer); !problem.empty()) {
            constexpr double long_seconds = 1;
            rung.losses = reply.answer->cannot_run || reply.seconds < long_seconds ? 0 : rung.losses + 1;
            if (reply.answer->cannot_run) return refuse(source, problem, Told::Kind::cannot_run);
            const bool limit = reply.answer->no_memory || is_prediction_limit(problem);
            return refuse(source, problem, limit ? Told::Kind::limit : Told::Kind::error);
        }
        rung.losses = 0;
        known_.keep(key, *reply.answer->peak);
        return {reply.answer->peak, {}};
    }

    /// The evidence from the strongest source that answers, never from a stronger one than `wanted`. `capacity`: of the device, if it is
    /// known.
    template <class Asker>
    [[nodiscard]] MemoryEvidence gather(const TrainerJob& job, Evidence wanted, std::optional<std::int64_t> capacity, const Asker& ask) {
        MemoryEvidence evidence;
        std::string instead;
        if (wanted == Evidence::none) return evidence;
        if (info_.open_ended) return gather_of_program(job, wanted, capacity, ask);
        for (const PeakSource source : sources_of(wanted)) {
            Told told = predict(job, source, ask);
            if (told.prediction) {
                if (!instead.empty()) told.prediction->remark += (told.prediction->remark.empty() ? "" : "; ") + instead;
                evidence.prediction = std::move(told.prediction);
                return evidence;
            }
            if (told.kind == Told::Kind::cannot_run) {
                evidence.remark = told.why_not;
                evidence.cannot_run = true;
                return evidence;
            }
            instead = instead_of(source) + without(told);
            evidence.remark += (evidence.remark.empty() ? "no " : "; no ") + std::string{to_text(source)} + ": " + told.why_not;
        }
        if (!evidence.remark.empty() && info_.peak_sources.empty()) evidence.remark = "the trainer has neither a dry run nor a probe";
        evidence.profile = profile_of_any_batch(job, ask);
        return evidence;
    }

private:
    /// Nobody knows another program's shape, and it has no dry run. So a virtual card is asked where the device is one for CUDA, whatever
    /// prediction is wanted. Its silence is no news: then the program's own peaks are what is known.
    ///
    /// A program's allocator does not know its share of the device, so it takes all that it would cache (PeakPrediction::comfort). It gives
    /// cached memory back only where the whole device is full.
    template <class Asker>
    [[nodiscard]] MemoryEvidence gather_of_program(const TrainerJob& job, Evidence wanted, std::optional<std::int64_t> capacity,
                                                   const Asker& ask) {
        MemoryEvidence evidence;
        if (wanted == Evidence::shape || !has(PeakSource::virtual_card) || !config_.virtual_card) return evidence;
        if (job.params.empty()) return evidence;  // it asks for them while it runs
        Told told = predict(job, PeakSource::virtual_card, ask);
        evidence.prediction = std::move(told.prediction);
        if (evidence.prediction) {
            std::int64_t& need = evidence.prediction->need;
            const std::int64_t cached = std::max(need, evidence.prediction->comfort);
            std::int64_t taken = cached;
            if (capacity) taken = need <= *capacity ? std::min(cached, *capacity) : need;
            if (taken > need) evidence.prediction->parts.push_back({"cached", taken - need});
            need = taken;
            evidence.prediction->comfort = std::max(evidence.prediction->comfort, need);
        }
        if (!evidence.prediction) evidence.remark = "no virtual_card: " + told.why_not;
        return evidence;
    }
    /// What happened to one kind of question.
    struct Rung {
        int losses = 0;              ///< in a row: no answer in time, or a late error
        std::string latest;          ///< why there was no answer
        std::set<std::string> told;  ///< reasons that were noted, without their numbers
        [[nodiscard]] bool given_up() const { return losses >= 2; }
    };

    /// No prediction has such a key.
    [[nodiscard]] std::string text_key(const std::string& key) const { return "kept by " + info_.name + ": " + key; }
    void note(const std::string& what) const {
        if (config_.note) config_.note("trainer " + config_.trainer + ": " + what);
    }
    /// From the strongest that is wanted to the weakest.
    [[nodiscard]] static std::span<const PeakSource> sources_of(Evidence wanted);
    /// The next weaker source that the trainer has.
    [[nodiscard]] std::optional<PeakSource> next_after(PeakSource source) const;
    /// "probed with real steps instead of a dry run": what the next weaker source does.
    [[nodiscard]] std::string instead_of(PeakSource missing) const;
    [[nodiscard]] Rung& rung_of(PeakSource source) { return rungs_.at(static_cast<std::size_t>(source)); }
    [[nodiscard]] bool has(PeakSource source) const {
        return std::find(info_.peak_sources.begin(), info_.peak_sources.end(), to_text(source)) != info_.peak_sources.end();
    }
    /// The note that says what is asked instead, and why.
    [[nodiscard]] std::string note_of(PeakSource source, const std::string& why, Told::Kind kind, bool given_up) const;
    /// Why a source did not answer. For a limit it also says that no action is needed.
    [[nodiscard]] static std::string without(const Told& told) {
        return (told.kind == Told::Kind::limit ? "; no action is needed (" : " (") + told.why_not + ")";
    }
    Told refuse(PeakSource source, const std::string& why, Told::Kind what = Told::Kind::limit) {
        rung_of(source).latest = why;
        return {std::nullopt, why, what};
    }
    /// Notes it, unless the same reason was noted with other numbers.
    void note_reason(PeakSource source, const Told& told);
    [[nodiscard]] std::string problem_in(const Answered& answer) const;
    /// The profile is per example, so the micro-batch does not change it. If a guard tries several micro-batches, it is asked only once.
    template <class Asker>
    std::optional<Profile> profile_of_any_batch(TrainerJob job, const Asker& ask) {
        job.plan.micro_batch.reset();
        std::string key = record_line(job);
        if (key != latest_job_) {
            latest_profile_ = profile(job, ask);
            latest_job_ = std::move(key);
        }
        return latest_profile_;
    }

    const PoolConfig& config_;
    TrainerInfo info_;
    Predictor predictor_;
    FileStamps files_;
    KnownPredictions known_;
    std::array<Rung, peak_source_names.size() + 1> rungs_;  ///< one for each PeakSource, then one for the profile
    std::string latest_job_;
    std::optional<Profile> latest_profile_;
};

}  // namespace hpo::worker
