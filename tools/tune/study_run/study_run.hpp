// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/tuner/options.hpp"
#include "tune/display/progress.hpp"
#include "tune/display/run_log.hpp"
#include "tune/models/checkpoint_folders.hpp"
#include "tune/optimize/optimize_call.hpp"
#include "tune/optimize/program_front.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/model_keeper.hpp"
#include "tune/study_run/run_result.hpp"
#include "tune/study_run/study_workers.hpp"
#include "tune/study_run/supervisor.hpp"

namespace hpo::tune {

struct RunOptions {
    bool json = false;
    bool verbose = false;
    bool rehearse = false;  ///< on a card that computes nothing
    Supervised supervised{};
};

/// One run of a study, from what a person typed to the exit status. Whatever can be found wrong is found before the store is made, and the
/// rest of it before a trial begins.
///
/// Design note: the tuner, the pool and the progress display call functions that refer to this object, so it is not moved. A member that
/// calls stands after those that it calls, and ends before them. There are two exceptions. Only `tune` follows the functions in `tune_`.
/// The progress display asks the workers while it draws, and is cleared before they end.
class StudyRun {
public:
    /// Reads the settings. Throws Error for anything that is wrong with the command line or the script.
    StudyRun(const StudyArguments& arguments, const RunOptions& options) : StudyRun{arguments, options, nullptr, {}} {}
    /// Runs a call of optimize of a program. `front` is null for all other studies.
    StudyRun(const StudyArguments& arguments, const RunOptions& options, ProgramFront* front, const OptimizeCall& call);
    StudyRun(const StudyRun&) = delete;
    StudyRun& operator=(const StudyRun&) = delete;
    /// Clears the progress display before the workers end, which takes a while.
    ~StudyRun();

    /// Runs the study, and returns the exit status. Throws Error. Call it once.
    [[nodiscard]] int run();

    [[nodiscard]] const std::string& study_name() const { return settings_.text("study"); }
    /// After `run`, for a study of a program: the line that names the command which goes on with it. Else empty.
    [[nodiscard]] const std::string& next_line() const noexcept { return next_line_; }

private:
    void begin_log();
    /// As `run`, without the log's beginning and end.
    [[nodiscard]] int run_unlogged();
    /// How the store waits for trouble that can pass. Others may lock it, or its disk may be full.
    [[nodiscard]] store::PatienceOptions patience();
    /// @name The steps, in their order. Those that return a bool have said what is wrong if it is true.
    /// @{
    void try_out_script();
    void ask_trainer();
    [[nodiscard]] bool trainer_refuses_script();
    void start_program();
    void find_devices();
    void start_workers();
    [[nodiscard]] bool trainer_refuses_proposals();
    [[nodiscard]] bool device_is_too_small_for(const History& learned);
    void open_store();
    /// Makes a study of a name that no other has. Others may start the same program at the same time.
    void make_new_study();
    void show_progress();
    void tell_tuner_of_trainer();
    void open_study();
    void enqueue_first_trials();
    [[nodiscard]] bool keeps(const char* word);
    void choose_sampler();
    /// Gives the tuner what other studies measured of the same program, and says so.
    void read_same_program();
    [[nodiscard]] std::string store_file() const;
    void hand_study_to_program();
    [[nodiscard]] bool device_is_too_small_for_stored_study();
    void keep_checkpoints();
    void keep_best_model();
    [[nodiscard]] TuneResult tune();
    /// The error of a store that is not in its place any more. What it held is saved to another file first.
    [[nodiscard]] Error displaced_store(const std::string& what);
    [[nodiscard]] int conclude(const TuneResult& result);
    /// @}

    /// @name What the workers, the tuner and the progress display call
    /// @{
    void note(const std::string& text);
    /// A note that is not for the log.
    void show(const std::string& text);
    /// Says what is wrong. Returns true if something is.
    [[nodiscard]] bool refused(const std::vector<std::string>& problems);
    void tell_program_of_end(const TuneResult& result);
    void tell_program_of_error(const std::string& what) noexcept;
    void attempt_started();
    void trial_finished(const Trial& trial);
    /// Says once that the batch of a program that asks for its parameters cannot be split.
    void tell_idle_batch(const Trial& trial);
    /// Says once which names of the command line the program's first complete trial did not ask for.
    void tell_unasked(const Trial& trial);
    [[nodiscard]] bool stop_requested();
    /// @}

    RunOptions options_;
    Settings settings_;
    AnyPolicies policies_;  ///< until the tuner has them
    ProgressStyle style_;
    TuneOptions tune_;
    std::vector<ParamSet> proposals_;  ///< random ones, for looking at
    TrainerInfo info_;
    std::vector<RunDevice> devices_;
    bool has_told_unmeasured_ = false;
    bool has_told_batch_ = false;
    bool has_told_unasked_ = false;
    RuleErrors rule_errors_;
    bool has_told_interrupt_ = false;
    bool has_kept_options_ = false;  ///< of the trainer, in the study

    std::optional<RunLog> log_;
    std::optional<Progress> progress_;
    std::optional<StudyWorkers> workers_;
    std::optional<ProgramFront> own_front_;  ///< of a script's program that asks for its parameters
    ProgramFront* front_ = nullptr;          ///< own_front_, or that of the program whose call of optimize this run is; null: neither
    OptimizeCall call_;
    std::optional<std::string> program_gone_;  ///< how the program ended before its study did
    bool is_study_unused_ = false;             ///< this run has made the study, and nobody has seen it yet
    std::string next_line_;                    ///< for whoever knows whether the program ran other studies, too
    bool is_handed_over_ = false;              ///< the study was opened for the program, which was not told its end
    bool is_new_ = false;                      ///< the store
    std::optional<store::Sqlite> store_;
    Study study_;
    std::vector<Trial> stored_;  ///< trials of the study, before the tuner reads them
    std::optional<CheckpointFolders> checkpoints_;
    std::optional<ModelKeeper> models_;
};

}  // namespace hpo::tune
