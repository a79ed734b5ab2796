// SPDX-License-Identifier: MIT
#include "hpo/script/study_script.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/script/read_only.hpp"
#include "hpo/script/recovery_answer.hpp"
#include "hpo/script/study_reader.hpp"
#include "script/durations.hpp"

namespace hpo::script {

inline namespace source_files {

inline std::string read_source(const std::filesystem::path& path, const char* expected) {
    constexpr std::size_t max_source_bytes = std::size_t{1} << 20U;
    std::error_code problem;
    const auto size = std::filesystem::file_size(path, problem);
    std::ifstream file{path, std::ios::binary};
    if (problem || !file) throw Error{Errc::script, path.string() + ": cannot be read; expected " + expected};
    if (size > max_source_bytes)
        throw Error{Errc::script, path.string() + ": " + format_bytes(static_cast<std::int64_t>(size)) + " of source; at most 1 MiB"};
    return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

/// Finds NAME.lua in one of the folders. A name has letters, digits, _ and -, so it names no other folder.
inline std::optional<Sandbox::File> find_module(const std::vector<std::filesystem::path>& folders, const std::string& name) {
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    if (name.empty() || !std::ranges::all_of(name, is_plain)) return std::nullopt;
    for (const std::filesystem::path& folder : folders) {
        const std::filesystem::path file = folder / (name + ".lua");
        std::error_code none;
        if (std::filesystem::is_regular_file(file, none))
            return Sandbox::File{file.string(), read_source(file, "a Lua file that a script requires")};
    }
    return std::nullopt;
}

}  // namespace source_files

StudyScript StudyScript::load(const std::filesystem::path& path, ScriptOptions options) {
    const std::string text = read_source(path, "a study script (a Lua file)");
    options.module_folders.insert(options.module_folders.begin(), path.parent_path());
    return from_text(text, path.string(), std::move(options));
}

StudyScript::Runtime::Runtime(std::string_view text, std::string name, ScriptOptions options)
    : Sandbox{options.limits, std::move(name), std::move(options.print)},
      set_{std::move(options.set)},
      module_folders_{std::move(options.module_folders)} {
    call([&](lua_State* L) {
        trial_.install(L);
        recovery_answer::install(L);
        install_module(L);
    });
    call([&](lua_State* L) { run_chunk(L, text); });
    for (auto& [option, value] : options.trainer_options) study.trainer_options.insert_or_assign(option, std::move(value));
    for (const auto& [set_name, value] : set_) {
        std::vector<std::string> known;
        for (const ScriptOption& option : study.options) known.push_back(option.name);
        if (std::find(known.begin(), known.end(), set_name) == known.end()) throw unknown_name(chunk(), "option", set_name, known);
    }
}

void StudyScript::Runtime::ask(SpaceTrial& trial) {
    if (space_ == LUA_NOREF) return;
    hold_back();
    try {
        call([&](lua_State* L) {
            const TrialApi::Scope scope{trial_, &trial, trial.number()};
            lua_rawgeti(L, LUA_REGISTRYINDEX, space_);
            trial_.push(L, trial.params());
            lua_call(L, 1, 0);
        });
    } catch (const Error&) {
        hand_on();
        throw;
    } catch (...) {
        drop();
        throw;
    }
    hand_on();
}

std::optional<Recovery> StudyScript::Runtime::answer(const FailedAttempt& failed) {
    std::optional<Recovery> recovery;
    if (is_memory(failed.failure.kind) && study.has_on_oom) recovery = run_rule(on_oom_, "on_oom", failed);
    if (!recovery && study.has_on_failure) recovery = run_rule(on_failure_, "on_failure", failed);
    return recovery;
}

std::optional<Recovery> StudyScript::Runtime::run_rule(int rule, const char* name, const FailedAttempt& failed) {
    std::optional<Recovery> recovery;
    call([&](lua_State* L) {
        const TrialApi::Scope scope{trial_, nullptr, failed.trial.number};
        lua_rawgeti(L, LUA_REGISTRYINDEX, rule);
        lua_Debug function{};
        lua_pushvalue(L, -1);
        lua_getinfo(L, ">S", &function);
        const std::string file = function.source[0] == '@' ? function.source + 1 : chunk();  // the script, or one that it requires
        const std::string place = function.linedefined > 0 ? file + ":" + std::to_string(function.linedefined) : file;
        trial_.push(L, params_of(failed.trial, failed.attempt));
        recovery_answer::push_failure(L, failed);
        recovery_answer::push_plan(L, failed.attempt.plan);
        lua_call(L, 3, 1);
        recovery = recovery_answer::read(L, -1, {.name = name, .place = place}, failed);
    });
    return recovery;
}

void StudyScript::Runtime::install_module(lua_State* L) {
    static constexpr luaL_Reg functions[] = {
        {"study", &Runtime::define_study}, {"option", &Runtime::declare_option}, {"command", &Runtime::command},
        {"python", &Runtime::python},      {"retry", &recovery_answer::retry},   {"prune", &recovery_answer::prune},
        {"fail", &recovery_answer::fail},  {"seconds", &script::seconds},        {nullptr, nullptr}};
    lua_pushcfunction(L, &Runtime::unknown_function);
    lua_pushcfunction(L, &Runtime::module_assigned);
    read_only::install(L, module_name);
    luaL_newlib(L, functions);
    read_only::wrap(L, module_name);
    set_module(L, module_name, [this](const std::string& name) { return find_module(module_folders_, name); });
}

void StudyScript::Runtime::run_chunk(lua_State* L, std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    keep_source(text);
    const std::string source_name = "@" + chunk();
    if (luaL_loadbufferx(L, text.data(), text.size(), source_name.c_str(), "t") != LUA_OK) lua_error(L);
    lua_call(L, 0, 1);
    loaded_ = true;
    if (!defined_ || lua_touserdata(L, -1) != this) {
        raise(L, "the script returned " + type_text(L, -1) + "; expected return hpo.study { ... }");
    }
}

int StudyScript::Runtime::module_assigned(lua_State* L) {
    read_only::raise_assigned(L, module_name, "the module is given; a study's settings stand in the table of hpo.study { ... }");
}

int StudyScript::Runtime::unknown_function(lua_State* L) {
    static const std::vector<std::string> known{"command", "fail", "option", "prune", "python", "retry", "seconds", "study"};
    raise(L, unknown_name("hpo", "function", lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : type_text(L, 2), known).what());
}

int StudyScript::Runtime::define_study(lua_State* L) {
    Runtime& runtime = self(L);
    if (runtime.loaded_) raise(L, "hpo.study: only once, while the script loads");
    if (runtime.defined_) raise(L, "hpo.study: a script describes one study; this is a second one");
    if (lua_type(L, 1) != LUA_TTABLE) raise_wrong_type(L, 1, "hpo.study", "the study", "a table");
    study_reader::read(L, 1, runtime.study);
    runtime.space_ = function_member(L, "space");
    const auto optimize = runtime.study.trainer_options.find("optimize");
    runtime.study.asks_while_running = optimize != runtime.study.trainer_options.end() && optimize->second == Value{true};
    if (runtime.study.asks_while_running && runtime.space_ != LUA_NOREF)
        raise(L, "hpo.study: got a space; the program asks for its parameters itself, so leave it out");
    if (!runtime.study.asks_while_running && runtime.space_ == LUA_NOREF)
        raise(L, "hpo.study: got no space; expected space = function(trial) ... end");
    runtime.on_oom_ = function_member(L, "on_oom");
    runtime.on_failure_ = function_member(L, "on_failure");
    runtime.study.has_on_oom = runtime.on_oom_ != LUA_NOREF;
    runtime.study.has_on_failure = runtime.on_failure_ != LUA_NOREF;
    runtime.defined_ = true;
    lua_pushlightuserdata(L, &runtime);
    return 1;
}

int StudyScript::Runtime::function_member(lua_State* L, const char* name) {
    lua_pushstring(L, name);
    lua_rawget(L, 1);
    if (lua_toboolean(L, -1) == 0) {
        lua_pop(L, 1);
        return LUA_NOREF;
    }
    const AtMember at{L, name};
    if (lua_type(L, -1) != LUA_TFUNCTION) raise_wrong_type(L, -1, "hpo.study", name, "a function");
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

int StudyScript::Runtime::declare_option(lua_State* L) {
    Runtime& runtime = self(L);
    const std::string name = require_text(L, 1, "hpo.option", "the name");
    const std::string place = "hpo.option(\"" + clipped(name) + "\")";
    if (name.empty() || name.size() > 128 || runtime.study.options.size() >= 1000) {
        raise(L, place + ": expected a name of 1 to 128 bytes, for at most 1000 options");
    }
    if (runtime.loaded_) raise(L, place + ": options are declared while the script loads; put this at its top");
    const auto standard = to_value(L, 2);
    if (!standard || standard->is_null()) {
        raise_wrong_type(L, 2, place, "the default", "a string, a number, true or false");
    }
    ScriptOption option{name, *standard, *standard, lua_isnoneornil(L, 3) ? "" : require_text(L, 3, place, "the help")};
    for (const ScriptOption& earlier : runtime.study.options) {
        if (earlier.name == name) raise(L, place + ": declared twice");
    }
    if (const auto given = runtime.set_.find(name); given != runtime.set_.end()) {
        std::string_view expected;
        const auto parsed = parse(given->second, *standard, expected);
        if (!parsed) raise(L, bad_value(place + ": --set " + name, "'" + given->second + "'", expected).what());
        option.value = *parsed;
    }
    push_value(L, option.value);
    runtime.study.options.push_back(std::move(option));
    return 1;
}

std::optional<Value> StudyScript::Runtime::parse(std::string_view text, const Value& like, std::string_view& expected) {
    const auto as = [&]<class T>(std::type_identity<T>) -> std::optional<Value> {
        expected = field_traits<T>::expected;
        const auto value = field_traits<T>::parse(text);
        return value ? std::optional{Value{*value}} : std::nullopt;
    };
    if (std::holds_alternative<bool>(like)) return as(std::type_identity<bool>{});
    if (std::holds_alternative<std::int64_t>(like)) return as(std::type_identity<std::int64_t>{});
    if (std::holds_alternative<double>(like)) return as(std::type_identity<double>{});
    if (std::holds_alternative<std::string>(like)) return as(std::type_identity<std::string>{});
    return std::nullopt;
}

/// The words of a command line, each in quotes, as a Lua list has them.
[[nodiscard]] std::string quoted_words(std::string_view line) {
    std::string text;
    for (std::size_t at = 0; at < line.size() && text.size() < 200;) {
        const std::size_t end = std::min(line.find(' ', at), line.size());
        if (end > at) text += (text.empty() ? "" : ", ") + json_quote(line.substr(at, end - at));
        at = end + 1;
    }
    return text;
}

int StudyScript::Runtime::command(lua_State* L) { return command_trainer(L, "hpo.command", "the command line", {}, false); }

int StudyScript::Runtime::python(lua_State* L) {
    if (lua_type(L, 1) != LUA_TTABLE) (void)require_list(L, 1, "hpo.python", "the file and the objective");
    lua_getfield(L, 1, "python");
    const std::string interpreter = lua_isnil(L, -1) ? "python3" : require_text(L, -1, "hpo.python", "python");
    lua_pop(L, 1);
    return command_trainer(L, "hpo.python", "the file and the objective", {interpreter, "-m", "hpo._loop._named"}, true);
}

int StudyScript::Runtime::command_trainer(lua_State* L, const char* function, const char* what, const std::vector<std::string>& first_words,
                                          bool optimizes) {
    if (lua_type(L, 1) == LUA_TSTRING)
        raise(L, std::string{function} + ": got a text for " + what + "; expected a list of its words: { " +
                     quoted_words(lua_tostring(L, 1)) + " }");
    if (lua_type(L, 1) != LUA_TTABLE) (void)require_list(L, 1, function, what);
    lua_settop(L, 1);
    constexpr int words = 2, trainer = 3;
    lua_newtable(L);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 1) != 0; lua_pop(L, 1)) {  // named members are options of the trainer
        const bool is_option = lua_type(L, -2) == LUA_TSTRING;
        const std::string_view name = is_option ? lua_tostring(L, -2) : "";
        if (optimizes && name == "python") continue;
        if (name == "name" || name == "arguments" || (optimizes && name == "optimize"))
            raise(L, std::string{function} + ": got the option '" + std::string{name} +
                         "'; expected the words of the command line without a name");
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, is_option ? trainer : words);
    }
    std::string arguments = "[";
    const auto add = [&](const std::string& word) { arguments += (arguments.size() > 1 ? ", " : "") + json_quote(word); };
    for (const std::string& word : first_words) add(word);
    const std::vector<Value> parts = require_list(L, words, function, what);
    if (optimizes && parts.size() < 2) raise(L, std::string{function} + ": expected a file and the name of an objective in it");
    for (const Value& part : parts) add(display_text(part));
    set_member(L, "name", Value{std::string{"command"}});
    set_member(L, "arguments", Value{arguments + "]"});
    if (optimizes) set_member(L, "optimize", Value{true});
    return 1;
}

}  // namespace hpo::script
