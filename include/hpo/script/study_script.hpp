// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/recovery/concept.hpp"
#include "hpo/script/sandbox.hpp"
#include "hpo/script/study_description.hpp"
#include "hpo/script/trial_api.hpp"

namespace hpo::script {

/// How a script is loaded.
struct ScriptOptions {
    std::map<std::string, std::string, std::less<>> set;        ///< `--set name=value`: values of hpo.option
    std::map<std::string, Value, std::less<>> trainer_options;  ///< `--trainer-option name=value`: replaces the script's value
    LuaLimits limits{};
    Sandbox::Print print;  ///< receives what the script prints; empty: the text is dropped
    /// Where `require "name"` looks for name.lua. A script that is a file first looks beside itself.
    std::vector<std::filesystem::path> module_folders{};
};

/// A study script: its description, its space, and its rules for failures. Thread safety: none; use it only on the tuner's thread. Copies
/// share one interpreter.
class StudyScript {
public:
    /// Throws Error{Errc::script} `file:line: what` if the script cannot be read or loaded. Throws Errc::unknown_name for a `set` that the
    /// script does not declare.
    [[nodiscard]] static StudyScript load(const std::filesystem::path& path, ScriptOptions options = {});
    /// `name` replaces the file name in errors.
    [[nodiscard]] static StudyScript from_text(std::string_view text, std::string name, ScriptOptions options = {}) {
        return StudyScript{std::make_shared<Runtime>(text, std::move(name), std::move(options))};
    }

    [[nodiscard]] const StudyDescription& description() const noexcept { return runtime_->study; }

    /// The space of the script. A call throws SpaceRejection with `file:line: reason` if trial:require refuses, and Error{Errc::script} if
    /// the script has an error.
    [[nodiscard]] Space space() const {
        return [runtime = runtime_](SpaceTrial& trial) { runtime->ask(trial); };
    }

    /// What a person should know of the space, as far as it has been asked (TrialApi::remarks).
    [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return runtime_->remarks(); }

    /// The answer of on_oom (for memory failures), else that of on_failure. Returns nullopt if neither answers. Throws Error{Errc::script}
    /// if a rule itself fails.
    [[nodiscard]] std::optional<Recovery> answer(const FailedAttempt& failed) const { return runtime_->answer(failed); }

private:
    class Runtime : public Sandbox {
    public:
        Runtime(std::string_view text, std::string name, ScriptOptions options);

        /// Runs the space for a trial. What it prints is dropped if it refuses the proposal, because another proposal follows for the same
        /// trial.
        void ask(SpaceTrial& trial);

        std::optional<Recovery> answer(const FailedAttempt& failed);
        [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return trial_.remarks(); }

        StudyDescription study;

    private:
        static constexpr const char* module_name = "hpo";

        static Runtime& self(lua_State* L) { return static_cast<Runtime&>(LuaState::of(L)); }

        std::optional<Recovery> run_rule(int rule, const char* name, const FailedAttempt& failed);

        void install_module(lua_State* L);

        void run_chunk(lua_State* L, std::string_view text);

        static int module_assigned(lua_State* L);
        static int unknown_function(lua_State* L);

        /// hpo.study { ... }: returns a token, which the script must return.
        static int define_study(lua_State* L);

        static int function_member(lua_State* L, const char* name);

        /// hpo.option(name, default, help): returns the default, or the value of `--set` in the default's type.
        static int declare_option(lua_State* L);

        /// Reads `text` as a value of the type of `like`. A whole number is accepted if `like` is a real number.
        static std::optional<Value> parse(std::string_view text, const Value& like, std::string_view& expected);

        /// hpo.command { "program", "argument", ..., option = value }: the trainer named command. Its arguments become a JSON list.
        static int command(lua_State* L);
        /// hpo.python { "FILE.py", "objective", "argument", ..., python = "python3", option = value }: the same for an objective of Optuna.
        static int python(lua_State* L);
        static int command_trainer(lua_State* L, const char* function, const char* what, const std::vector<std::string>& first_words,
                                   bool optimizes);

        std::map<std::string, std::string, std::less<>> set_;
        std::vector<std::filesystem::path> module_folders_;
        TrialApi trial_;
        int space_ = LUA_NOREF;
        int on_oom_ = LUA_NOREF;
        int on_failure_ = LUA_NOREF;
        bool defined_ = false;
        bool loaded_ = false;
    };

    explicit StudyScript(std::shared_ptr<Runtime> runtime) : runtime_{std::move(runtime)} {}

    std::shared_ptr<Runtime> runtime_;
};

}  // namespace hpo::script
