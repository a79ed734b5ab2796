// SPDX-License-Identifier: MIT
#include "tune/settings/fixed_parameters.hpp"
#include "tune/device/own_trainer.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <vector>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/space/fixed_space.hpp"

namespace hpo::tune {
namespace {

/// Another value of one parameter.
struct Change {
    std::string name;
    double internal = 0;
};

/// Answers a space from fixed values, then from a change, then from values that are preferred, then as a trainer would.
class Preferred final : public ParamSource {
public:
    Preferred(const TrainerInfo& info, const ParamSet& values, FixedUses& fixed, std::optional<Change> change = std::nullopt)
        : info_{info}, values_{values}, fixed_{fixed}, change_{std::move(change)} {}

    double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& /*so_far*/) override {
        if (const auto chosen = fixed_.draw(name, distribution, within)) return *chosen;
        const Axis axis{distribution, within};
        if (!change_) asked_.push_back({name, axis});
        else if (change_->name == name && within.admits(change_->internal)) return change_->internal;
        const auto fits = [&](const Value& value) {
            const auto internal = to_internal(distribution, value);
            return internal && within.admits(*internal) ? internal : std::nullopt;
        };
        if (const auto value = values_.value(name)) {
            if (const auto internal = fits(*value)) return *internal;
        }
        for (const TrainerParameter& parameter : info_.parameters) {
            if (parameter.name != name) continue;
            if (const auto internal = fits(parameter.standard)) return *internal;
        }
        return std::holds_alternative<CategoricalDistribution>(distribution) ? axis.value(0) : axis.value_at(0.5);
    }

    /// Changes of what was asked, the latest questions first.
    [[nodiscard]] std::vector<Change> changes() const {
        constexpr std::uint64_t most_values = 40;
        std::vector<Change> all;
        for (auto asked = asked_.rbegin(); asked != asked_.rend(); ++asked) {
            const std::uint64_t count = std::min(asked->axis.is_continuous() ? most_values : asked->axis.size(), most_values);
            for (std::uint64_t i = 0; i < count; ++i) {
                const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
                all.push_back({asked->name, asked->axis.size() == count ? asked->axis.value(i) : asked->axis.value_at(share)});
            }
        }
        return all;
    }

private:
    struct Asked {
        std::string name;
        Axis axis;
    };
    const TrainerInfo& info_;
    const ParamSet& values_;
    FixedUses& fixed_;
    std::optional<Change> change_;
    std::vector<Asked> asked_;
};

/// Nothing: the space refuses it.
std::optional<ParamSet> proposal(const Space& space, Preferred& source) {
    SpaceTrial trial{source};
    try {
        space(trial);
    } catch (const SpaceRejection&) {
        return std::nullopt;
    }
    return trial.params();
}

/// Draws at random what is not fixed, and keeps what the space says to the rest.
struct AroundFixed {
    FixedUses* uses;
    sampler::Random random{};
    double suggest(const Ask& ask) {
        const auto chosen = uses->draw(ask.name, ask.distribution, ask.within);
        return chosen ? *chosen : random.suggest(ask);
    }
};
static_assert(Sampler<AroundFixed>);

/// Where a name that the space does not have goes, when it is one of the trainer's or nearly so; empty: nobody knows.
std::string trainer_hint(const Settings& settings, const std::pair<std::string, Value>& fixed, std::span<const std::string> in_space) {
    std::vector<std::string> options;
    try {
        const worker::WorkerDescription described = describe_own_trainer(settings);
        for (const TrainerParameter& parameter : described.plugins.front().info->parameters) options.push_back(parameter.name);
    } catch (const Error&) {  // what is wrong with the trainer is another story
        return {};
    }
    const bool is_option = std::find(options.begin(), options.end(), fixed.first) != options.end();
    if (!is_option && !nearest_name(fixed.first, in_space).empty()) return {};
    const std::string name{is_option ? fixed.first : nearest_name(fixed.first, options)};
    if (name.empty()) return {};
    const std::string& trainer = settings.description().trainer;
    const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == std::string::npos;
    const std::string whose = "option " + (is_option ? "" : "'" + name + "' ") + "of trainer " + trainer;
    return (is_option ? "; '" + name + "' is an " + whose + "." : "; did you mean the " + whose + "?") +
           " It goes into the script: trainer = { " + json_quote(trainer) + ", " + (is_word ? name : "[" + json_quote(name) + "]") + " = " +
           json_text(fixed.second) + " }, or on the command line: --trainer-option " + name + "=" + display_text(fixed.second);
}

/// "study.lua:7: fix"
std::string place_in_script(const Settings& settings, const char* member) {
    const auto& places = settings.description().places;
    const auto found = places.find(member);
    return (found == places.end() ? settings.arguments().script : found->second) + ": " + member;
}

/// Names of the space's parameters, and those of `fixed` that are none.
struct MetNames {
    std::vector<std::string> known;
    std::vector<std::string> unmet;
};

MetNames met_names(const Settings& settings, const FixedValues& fixed) {
    MetNames names;
    auto& [known, unmet] = names;
    for (const auto& [name, value] : fixed) unmet.push_back(name);
    const auto meet = [&](const ParamSet& params) {
        for (const Param& param : params) {
            if (std::find(known.begin(), known.end(), param.name) != known.end()) continue;
            known.push_back(param.name);
            std::erase(unmet, param.name);
        }
    };
    const Space space = settings.probe_space();
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    for (std::int64_t draw = 0; draw < 1000 && !unmet.empty(); ++draw)
        meet(suggest_params(random, space, TrialContext{draw, nothing}, Seed{0}));
    if (!unmet.empty()) (void)for_each_combination(space, 20'000, [&](const ParamSet& params, bool /*refused*/) { meet(params); });
    return names;
}

void require_fixed_names(const Settings& settings, const FixedValues& fixed) {
    const auto& [known, unmet] = met_names(settings, fixed);
    if (unmet.empty()) return;
    const bool on_command_line = is_fixed_by_option(settings, unmet.front());
    const auto wrong = std::find_if(fixed.begin(), fixed.end(), [&](const auto& each) { return each.first == unmet.front(); });
    const Error unknown = unknown_name(on_command_line ? "--fix" : settings.arguments().script + ": fix", "parameter", wrong->first, known);
    throw Error{Errc::unknown_name, unknown.what() + trainer_hint(settings, *wrong, known)};
}

/// A value that no branch has would quietly drop the branches that ask for its parameter. It is refused where no combination has it, or
/// where very many proposals asked for the parameter and none had the value.
void require_fixed_value(const Settings& settings, const FixedValues& one) {
    constexpr std::size_t often = 1000;
    FixedUses uses{one};
    AroundFixed sampler{&uses};
    const Space space = settings.probe_space();
    const History nothing{settings.description().name, {}, {}, {}};
    for (std::int64_t draw = 0; draw < 1000 && !uses.all_met() && uses.refusals() < often; ++draw) {
        try {
            (void)suggest_params(sampler, space, TrialContext{draw, nothing}, Seed{0});
        } catch (const Error&) {
            if (uses.refusals() == 0) throw;
        }
    }
    if (uses.all_met() || uses.refusals() == 0) return;
    const Enumerated all = for_each_combination(with_fixed(space, uses), 20'000, [](const ParamSet& /*params*/, bool /*refused*/) {});
    if (!uses.all_met() && (all.complete || uses.refusals() >= often)) throw uses.nothing_left();
}

void require_fixed_values(const Settings& settings, const FixedValues& fixed) {
    for (const auto& each : fixed) require_fixed_value(settings, {each});
    FixedUses uses{fixed};
    AroundFixed sampler{&uses};
    const History nothing{settings.description().name, {}, {}, {}};
    try {
        (void)suggest_params(sampler, settings.probe_space(), TrialContext{0, nothing}, Seed{0});
    } catch (const Error&) {
        if (uses.refusals() == 0) throw;
        throw uses.nothing_left();
    }
}

}  // namespace

void require_fixed(const Settings& settings) {
    const FixedValues fixed = settings.fixed();
    if (fixed.empty()) return;
    require_fixed_names(settings, fixed);
    require_fixed_values(settings, fixed);
}

void require_enqueued(const Settings& settings) {
    int trial = 0;
    for (const FixedValues& values : enqueued_trials(settings)) {
        const std::string place = place_in_script(settings, "enqueue") + "[" + std::to_string(++trial) + "]";
        const auto& [known, unmet] = met_names(settings, values);
        if (!unmet.empty()) throw unknown_name(place, "parameter", unmet.front(), known);
        try {
            require_fixed_values(settings, values);
        } catch (const Error& error) {
            throw Error{error.code(), place + ": " + error.what()};
        }
    }
}

std::vector<FixedValues> enqueued_trials(const Settings& settings) {
    std::vector<FixedValues> trials;
    for (const auto& values : settings.description().enqueued) trials.emplace_back(values.begin(), values.end());
    return trials;
}

SpaceCount count_space(const Settings& settings, const std::string& by) {
    require_fixed(settings);
    const FixedValues fixed = settings.fixed();
    FixedUses uses{fixed};
    CountOptions options;
    options.by = by;
    return hpo::count(with_fixed(settings.probe_space(), uses), options);
}

std::string fewer_combinations(const Settings& settings) {
    const std::int64_t trials = settings.whole("trials", 1);
    constexpr std::int64_t most_runs = 20'000;  // of the space, which answers some of them with a refusal
    if (trials > most_runs || is_exhaustive(settings.policies().sampler)) return {};
    const FixedValues fixed = settings.fixed();
    FixedUses uses{fixed};
    Enumerated all;
    try {
        all =
            for_each_combination(with_fixed(settings.probe_space(), uses), static_cast<std::uint64_t>(std::max(2 * trials, trials + 1000)),
                                 [](const ParamSet& /*params*/, bool /*refused*/) {});
    } catch (const Error&) {  // what is wrong with the space is told elsewhere
        return {};
    }
    const auto known = static_cast<std::int64_t>(all.accepted);
    const std::int64_t seeds = settings.whole("seeds", 1, most_seeds);
    if (!all.complete || !all.continuous.empty() || known == 0 || known * seeds >= trials) return {};
    return settings.place("trials") + ": " + std::to_string(trials) + " trials, but the space has " + std::to_string(known) +
           (known == 1 ? " combination" : " combinations") + ": the same ones will run several times";
}

bool is_fixed_by_option(const Settings& settings, const std::string& name) {
    const auto& given = settings.arguments().fix;
    return std::any_of(given.begin(), given.end(), [&](const std::string& text) { return parse_assignment("--fix", text).first == name; });
}

Error named_by_option(const Settings& settings, const Error& error) {
    std::string text = error.what();
    for (const auto& [name, value] : settings.fixed()) {
        const std::string words = "fixed parameter '" + name + "'";
        const auto at = text.find(words);
        if (at != std::string::npos && is_fixed_by_option(settings, name)) text.replace(at, words.size(), "--fix " + name);
    }
    return {error.code(), text};
}

Error placed_fixed(const Settings& settings, const Error& error) {
    const std::string text = error.what();
    for (const auto& [name, value] : settings.fixed()) {
        if (!text.starts_with("fixed parameter '" + name + "'")) continue;
        if (is_fixed_by_option(settings, name)) return {error.code(), "--fix: " + text};
        return {error.code(), place_in_script(settings, "fix") + ": " + text};
    }
    return error;
}

void note_unused_fixed(const Settings& settings, const ParamSet& params) {
    for (const auto& [name, value] : settings.fixed()) {
        if (!params.find(name)) std::cerr << "hpo-tune: note: --fix " << name << ": the space does not ask for it under these values\n";
    }
}

TypicalConfiguration::TypicalConfiguration(const Settings& settings, const TrainerInfo& info) : settings_{settings}, info_{info} {
    const Space space = settings.probe_space();
    const FixedValues values = settings.fixed();
    FixedUses fixed{values};
    const ParamSet none;
    Preferred usual{info, none, fixed};
    std::optional<ParamSet> found = proposal(space, usual);
    if (!found) {
        for (const Change& change : usual.changes()) {
            Preferred changed{info, none, fixed, change};
            if ((found = proposal(space, changed))) break;
        }
    }
    if (!found) {
        sampler::Random random;
        const History nothing{settings.description().name, {}, {}, {}};
        found = suggest_params(random, space, TrialContext{0, nothing}, Seed{0}, settings.fixed());
    }
    params_ = std::move(*found);
}

std::optional<ParamSet> TypicalConfiguration::with(const std::string& name, const Value& value) const {
    FixedValues values{{name, value}};
    for (const auto& each : settings_.fixed()) {
        if (each.first != name) values.push_back(each);
    }
    FixedUses fixed{values};
    Preferred source{info_, params_, fixed};
    return proposal(settings_.probe_space(), source);
}

}  // namespace hpo::tune
