// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "hpo/script/read_only.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo::script {

/// The `trial` object of a script: float, int, categorical and require in `space`; params and number everywhere. It stands for one trial at
/// a time. If a script kept the object of an earlier trial, using it is an error.
class TrialApi {
public:
    TrialApi() = default;
    TrialApi(const TrialApi&) = delete;
    TrialApi& operator=(const TrialApi&) = delete;

    void install(lua_State* L);

    /// The object from `push` works during the lifetime of a Scope. `space` is null where no parameters can be drawn (in rules).
    class Scope {
    public:
        Scope(TrialApi& api, SpaceTrial* space, std::int64_t number);
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;
        ~Scope() {
            ++api_.generation_;
            api_.space_ = nullptr;
        }

    private:
        TrialApi& api_;
    };

    /// Pushes the trial object of the current scope.
    void push(lua_State* L, const ParamSet& params) const;

    /// What a person should know of the questions so far, each once: an end of a range that is never drawn, a parameter that is asked for
    /// twice in one trial.
    [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

private:
    static constexpr const char* type_name = "hpo.trial";
    static constexpr const char* params_type = "trial.params";
    static constexpr std::size_t max_parameters = 1000;
    static constexpr std::size_t max_choice_bytes = std::size_t{8} << 20U;
    static constexpr std::size_t max_name_length = 512;  // the limit of a store

    /// One call of a method: the space, the parameter, and the place for error messages.
    struct Question {
        SpaceTrial& space;
        std::string name;
        std::string place;  ///< trial:float("lr")
    };

    static TrialApi& self(lua_State* L) { return *static_cast<TrialApi*>(lua_touserdata(L, lua_upvalueindex(1))); }

    /// The trial of the current scope, from stack index 1.
    static TrialApi& open_trial(lua_State* L, const std::string& method);

    static Question question(lua_State* L, const std::string& method);

    /// Asks the space. A mistake in the question becomes an error of the script. Everything else, such as a refused proposal, goes to the
    /// host.
    template <class Ask>
    static void ask(lua_State* L, Ask&& work);

    /// The latest question for a parameter.
    struct Asked {
        std::shared_ptr<const Distribution> distribution;
        std::string place;
        std::uint64_t generation = 0;  ///< of the trial
    };
    /// Compares the question with earlier ones for the parameter. Raises an error if a study cannot have both.
    static void see(lua_State* L, const Question& asked);
    /// Remarks an end of the range, `high`, that the step leaves out.
    void see_grid(lua_State* L, const Question& asked, double high);
    void remark(std::string text);

    /// Stores the value on top of the stack in trial.params and returns it.
    static int answer(lua_State* L, const std::string& name);

    static int suggest_float(lua_State* L);

    static int suggest_int(lua_State* L);

    static int suggest_categorical(lua_State* L);

    static int require(lua_State* L);

    /// Upvalues: this, the methods.
    static int member(lua_State* L);

    static int not_drawn(lua_State* L) {
        lua_pushnil(L);
        return 1;
    }
    /// Upvalue: this.
    static int param_assigned(lua_State* L);
    static int member_assigned(lua_State* L) {
        read_only::raise_assigned(L, "trial",
                                  "the trial is given; expected trial:float, trial:int or trial:categorical, which ask for a parameter");
    }

    /// Counts the memory that one trial's choices take outside Lua.
    static void charge(lua_State* L, const std::vector<Value>& choices, const std::string& place);

    std::uint64_t generation_ = 0;
    std::size_t choice_bytes_ = 0;
    SpaceTrial* space_ = nullptr;
    std::int64_t number_ = 0;
    std::unordered_map<std::string, Asked> asked_;
    std::vector<std::string> remarks_;
};

}  // namespace hpo::script
