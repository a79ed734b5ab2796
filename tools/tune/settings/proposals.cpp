// SPDX-License-Identifier: MIT
#include "tune/settings/proposals.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>

#include "hpo/device/visible_cards.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/known_distributions.hpp"
#include "hpo/space/repetition.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/trainer/settings.hpp"
#include "tune/device/allocator_settings.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/run_devices.hpp"

namespace hpo::tune {
namespace {

std::string trainer_place(const Settings& settings, const TrainerInfo& info) {
    return settings.arguments().script + ": trainer " + info.name + ": ";
}

/// Failures that rules tell apart, with figures; their plans are tried with the whole batch and with the smallest micro-batch.
std::vector<Failure> made_up_failures() {
    std::vector<Failure> failures;
    for (const OomCause cause : {OomCause::capacity, OomCause::fragmentation, OomCause::neighbour}) {
        Failure failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .where = "backward"};
        failure.cause = cause;
        failure.requested_bytes = std::int64_t{512} << 20U;
        failure.memory.allocated = std::int64_t{cause == OomCause::capacity ? 7000 : 3000} << 20U;
        failure.memory.reserved = std::int64_t{7500} << 20U;
        failure.memory.free = std::int64_t{200} << 20U;
        failure.memory.capacity = std::int64_t{8} << 30U;
        failures.push_back(failure);
    }
    for (const FailureKind kind : {FailureKind::host_out_of_memory, FailureKind::crash, FailureKind::trainer_error, FailureKind::non_finite,
                                   FailureKind::cuda_sticky}) {
        failures.push_back(Failure{.kind = kind, .message = "made up"});
    }
    return failures;
}

/// "out_of_memory (capacity)"
std::string shown_failure(const Failure& failure) {
    return std::string{to_text(failure.kind)} + (failure.cause ? " (" + std::string{to_text(*failure.cause)} + ")" : "");
}

}  // namespace

std::vector<ParamSet> draw_proposals(const Settings& settings, std::int64_t count) {
    std::vector<ParamSet> drawn;
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    const Space space = settings.probe_space();
    const auto fixed = settings.fixed();
    KnownDistributions distributions;
    for (std::int64_t number = 0; number < count; ++number) {
        drawn.push_back(suggest_params(random, space, TrialContext{number, nothing}, Seed{0}, fixed));
        if (const auto changed = changed_question(space, drawn.back(), number)) {
            throw Error{Errc::bad_value, settings.arguments().script + ": space: called again with the same values, it " + *changed +
                                             "; expected a space that depends on its trial alone, and on nothing that a call changes"};
        }
        distributions.admit(drawn.back());
    }
    if (std::all_of(drawn.begin(), drawn.end(), [](const ParamSet& params) { return params.empty(); })) {
        throw Error{Errc::bad_value,
                    settings.arguments().script +
                        ": space: it asks for no parameter; expected trial:float, trial:int or trial:categorical at least once"};
    }
    return drawn;
}

std::vector<std::string> never_asked(const Settings& settings, const std::vector<ParamSet>& proposals) {
    std::vector<std::string> names;
    for (const auto& entry : settings.fixed()) {
        const auto asks = [&](const ParamSet& params) { return params.find(entry.first) != nullptr; };
        if (std::none_of(proposals.begin(), proposals.end(), asks)) names.push_back(entry.first);
    }
    return names;
}

std::map<std::string, std::string> distributions_in_words(const std::vector<ParamSet>& proposals) {
    std::map<std::string, std::string> words;
    for (const ParamSet& params : proposals) {
        for (const Param& param : params) words.try_emplace(param.name, describe(*param.distribution));
    }
    return words;
}

std::vector<std::string> parameters_beyond_sampler(const Settings& settings, const std::vector<ParamSet>& proposals) {
    const registry::AnySampler sampler = settings.policies().sampler;
    const auto fixed = settings.fixed();
    std::map<std::string, std::string> problems;  // by parameter
    for (const ParamSet& params : proposals) {
        for (const Param& param : params) {
            if (std::ranges::find(fixed, param.name, &std::pair<std::string, Value>::first) != fixed.end()) continue;
            try {
                sampler.require_parameter(param.name, *param.distribution);
            } catch (const Error& error) {
                problems.try_emplace(param.name, error.what());
            }
        }
    }
    std::vector<std::string> texts;
    for (const auto& [name, problem] : problems) texts.push_back(problem);
    return texts;
}

namespace {

/// Options of the trainer that each trial's own parameter of that name replaces.
std::vector<std::string> options_without_effect(const Settings& settings, const std::vector<ParamSet>& proposals) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : settings.description().trainer_options) {
        const auto asks = [&](const ParamSet& params) { return params.find(name) != nullptr; };
        if (!std::all_of(proposals.begin(), proposals.end(), asks)) continue;
        texts.push_back(settings.arguments().script + ": the trainer's option '" + name +
                        "' has no effect: the space asks for a parameter of that name; to hold it: --fix " + name + "=" +
                        display_text(value));
    }
    return texts;
}

}  // namespace

std::vector<std::string> unsuitable_parameters(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals) {
    std::vector<std::string> texts;
    if (!info.open_ended) texts = options_without_effect(settings, proposals);
    if (info.parameters.empty()) return texts;  // it takes whatever it is given
    struct Problem {
        std::string text;
        std::size_t proposals = 0;
    };
    std::map<std::string, Problem> problems;  // by parameter; by text for names that the trainer lacks
    TrainerJob job;
    job.options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()};
    for (const ParamSet& params : proposals) {
        job.params.clear();
        for (const Param& param : params) job.params.emplace(param.name, param.value());
        for (const TrainerProblem& found : hpo::Settings::problems(info, job)) {
            const bool is_name = found.what.starts_with("unknown ");
            if (found.what.starts_with("unknown option")) continue;  // require_known_to_trainer says it
            Problem& problem = problems[is_name ? found.what : found.where];
            if (++problem.proposals == 1) problem.text = (is_name ? "" : found.where + ": ") + found.what;
        }
    }
    for (const auto& [key, problem] : problems) {
        const std::string share = problem.proposals == proposals.size() ? ""
                                                                        : " (in " + std::to_string(problem.proposals) + " of " +
                                                                              std::to_string(proposals.size()) + " proposals)";
        const std::string all = problem.text.ends_with(" more") ? ": hpo-tune policies trainer" : "";
        texts.push_back(trainer_place(settings, info) + problem.text + all + share);
    }
    return texts;
}

std::vector<std::string> unused_parameters(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals) {
    const auto& options = settings.description().trainer_options;
    const auto arguments = options.find("arguments");
    if (info.name != "command" || arguments == options.end() || settings.description().asks_while_running) return {};
    const std::string words = display_text(arguments->second);
    std::set<std::string> unused;
    bool uses_any = false;
    const auto is_split = [&](const std::string& name) {
        return std::ranges::any_of(std::array{"batch", "micro_batch", "accumulate"}, [&](const char* split) {
            const auto given = options.find(split);
            return given != options.end() && given->second == Value{name};
        });
    };
    for (const auto& [name, distribution] : distributions_in_words(proposals)) {
        if (words.find("{" + name + "}") != std::string::npos) uses_any = true;
        else if (!is_split(name)) unused.insert(name);
    }
    if (!uses_any) return {};  // the program reads HPO_PARAMS
    std::vector<std::string> texts;
    for (const std::string& name : unused)
        texts.push_back(trainer_place(settings, info) + "parameter '" + name + "': no word of the command line has {" + name +
                        "}, so the program gets it only if it reads HPO_PARAMS");
    return texts;
}

std::optional<std::string> unsuitable_change(const Settings& settings, const TrainerInfo& info, const ParamSet& changed) {
    if (info.parameters.empty()) return std::nullopt;  // it takes whatever it is given
    TrainerJob job;
    job.options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()};
    for (const Param& param : changed) job.params.emplace(param.name, param.value());
    const auto problems = hpo::Settings::problems(info, job);
    if (problems.empty()) return std::nullopt;
    const TrainerProblem& first = problems.front();
    return (first.what.starts_with("unknown ") ? "" : first.where + ": ") + first.what;
}

RuleProblems rule_problems(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals) {
    const script::StudyDescription& study = settings.description();
    if (!study.has_on_oom && !study.has_on_failure) return {};
    const script::StudyScript rules = settings.fresh_script();
    const History nothing{study.name, {}, {}, {}};
    const std::vector<std::string> devices = known_devices(settings, info);
    RuleProblems problems;
    std::set<std::string> errors;
    std::map<FailureKind, std::set<std::string>> idle;  // notes
    std::set<FailureKind> changed;                      // of which some failure is answered with a change
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    const auto ask = [&](const ParamSet& params, const ExecutionPlan& plan, const Failure& failure) {
        if (std::chrono::steady_clock::now() > deadline) return;  // of rules that need their whole time, a few answers are enough
        Trial trial;
        trial.number = 0;
        trial.params = params;
        trial.attempts.emplace_back();
        trial.attempts.back().plan = plan;
        trial.attempts.back().failure = failure;
        const FailedAttempt failed{.trial = trial,
                                   .attempt = trial.attempts.back(),
                                   .failure = failure,
                                   .history = nothing,
                                   .other_devices = devices.empty() ? 0 : devices.size() - 1,
                                   .devices = devices};
        std::optional<Recovery> answer;
        try {
            answer = rules.answer(failed);
        } catch (const Error& error) {
            if (errors.insert(error.what()).second)
                problems.failing.insert("a rule of the script fails when it is asked about " + shown_failure(failure) + ": " +
                                        error.what());
        }
        if (!answer || answer->action != Recovery::Action::retry) return;
        if (answer->note.empty()) changed.insert(failure.kind);
        else if (failed.may_have_device(answer->plan.device)) idle[failure.kind].insert(answer->note);
        else problems.idle.insert(answer->note);
        if (const auto missing = missing_lever(plan, answer->plan, info.levers)) {
            problems.impossible.insert(trainer_place(settings, info) +
                                       "a rule of the script retries with a change of the plan: " + *missing);
        }
        if (const auto wrong = answer->params ? unsuitable_change(settings, info, *answer->params) : std::nullopt)
            problems.impossible.insert(trainer_place(settings, info) + "a rule of the script retries with changed parameters: " + *wrong);
        const std::string& device = answer->plan.device;
        if (device == plan.device) return;
        if (!failed.may_have_device(device) && device::card_number(device)) {  // perhaps it has one elsewhere
            if (answer->note.empty())
                problems.idle.insert(settings.arguments().script + ": hpo.retry asks for device '" + device +
                                     "', which this run does not have; the attempt runs on one that it has");
            return;
        }
        try {
            (void)usable_device(settings.arguments().script + ": hpo.retry: device", device, info);
        } catch (const Error& error) {
            problems.impossible.insert(error.what());
        }
    };
    for (const ParamSet& params : representatives(proposals)) {
        ExecutionPlan whole = first_plan(settings, info, params, devices.empty() ? "cpu" : devices.front());
        ExecutionPlan least = whole;
        if (whole.effective_batch) least.micro_batch = 1;
        for (const Failure& failure : made_up_failures()) {
            ask(params, whole, failure);
            ask(params, least, failure);
        }
    }
    // A rule that halves the micro-batch changes nothing at 1, which is no mistake.
    for (const auto& [kind, notes] : idle) {
        if (!changed.contains(kind)) problems.idle.insert(notes.begin(), notes.end());
    }
    return problems;
}

std::vector<ParamSet> representatives(const std::vector<ParamSet>& drawn) {
    std::set<std::string> shown;
    std::vector<ParamSet> chosen;
    for (const ParamSet& params : drawn) {
        bool adds = chosen.empty();
        for (const Param& param : params) {
            if (!std::holds_alternative<CategoricalDistribution>(*param.distribution)) continue;
            adds = shown.insert(param.name + "=" + json_text(param.value())).second || adds;
        }
        if (adds) chosen.push_back(params);
    }
    return chosen;
}

namespace {

/// Gives each parameter one end of its range, and its fixed value where it has one.
class EndOfRange final : public ParamSource {
public:
    enum class End { smallest, largest };
    EndOfRange(End end, const FixedValues& fixed) : end_{end}, fixed_{fixed} {}

    double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& /*so_far*/) override {
        for (const auto& [fixed_name, value] : fixed_) {
            const auto internal = fixed_name == name ? to_internal_as_written(distribution, value) : std::nullopt;
            if (internal && within.admits(*internal)) return *internal;
        }
        if (const auto* const categorical = std::get_if<CategoricalDistribution>(&distribution)) return choice(*categorical, within);
        const Distribution left = narrowed(distribution, within).value_or(distribution);
        const bool smallest = end_ == End::smallest;
        if (const auto* const whole = std::get_if<IntDistribution>(&left)) return static_cast<double>(smallest ? whole->low : whole->high);
        const auto* const real = std::get_if<FloatDistribution>(&left);
        return smallest ? real->low : real->high;
    }

private:
    [[nodiscard]] double choice(const CategoricalDistribution& categorical, const Narrowing& within) const {
        std::optional<std::size_t> chosen;
        const bool numbers = std::ranges::all_of(categorical.choices, [](const Value& each) { return number_in(each).has_value(); });
        for (std::size_t i = 0; i < categorical.choices.size(); ++i) {
            if (!within.admits(static_cast<double>(i))) continue;
            if (!chosen) chosen = i;
            if (!numbers) continue;
            const double here = *number_in(categorical.choices[i]);
            const double best = *number_in(categorical.choices[*chosen]);
            if (end_ == End::smallest ? here < best : here > best) chosen = i;
        }
        return static_cast<double>(chosen.value_or(0));
    }
    static std::optional<double> number_in(const Value& value) {
        if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        if (const auto* real = std::get_if<double>(&value)) return *real;
        return std::nullopt;
    }

    End end_;
    const FixedValues& fixed_;
};

}  // namespace

std::vector<ParamSet> extremes(const Settings& settings) {
    std::vector<ParamSet> found;
    const Space space = settings.probe_space();
    const FixedValues fixed = settings.fixed();
    for (const EndOfRange::End end : {EndOfRange::End::smallest, EndOfRange::End::largest}) {
        EndOfRange source{end, fixed};
        SpaceTrial proposal{source};
        try {
            space(proposal);
            found.push_back(proposal.params());
        } catch (const SpaceRejection&) {  // no trial has these values
        }
    }
    return found;
}

std::optional<std::int64_t> unsearched_batch(const Settings& settings, const TrainerInfo& info) {
    const auto& options = settings.description().trainer_options;
    Value batch;
    for (const TrainerParameter& parameter : info.parameters) {
        if (parameter.name == info.effective_batch_parameter) batch = parameter.standard;
    }
    if (const auto given = options.find(info.effective_batch_parameter); given != options.end()) batch = given->second;
    const auto* const whole = std::get_if<std::int64_t>(&batch);
    return whole && *whole > 0 ? std::optional{*whole} : std::nullopt;
}

ExecutionPlan first_plan(const Settings& settings, const TrainerInfo& info, const ParamSet& params, const std::string& device) {
    ExecutionPlan plan = settings.plan();
    plan.device = device;
    inherit_allocator_settings(plan);
    plan.effective_batch = unsearched_batch(settings, info);
    if (const auto batch = params.whole_number(info.effective_batch_parameter)) plan.effective_batch = batch;
    return plan;
}

void require_micro_batch(const Settings& settings, const TrainerInfo& info, const std::vector<ParamSet>& proposals) {
    const auto micro = settings.plan().micro_batch;
    std::int64_t largest = 0;
    for (const ParamSet& params : proposals) {
        const auto batch = first_plan(settings, info, params, "cpu").effective_batch;
        if (!batch) return;
        largest = std::max(largest, *batch);
    }
    if (!micro || *micro <= largest) return;
    throw bad_value(settings.plan_place(), "micro_batch " + std::to_string(*micro),
                    "at most " + std::to_string(largest) + ", the largest batch of " + std::to_string(proposals.size()) + " proposals");
}

}  // namespace hpo::tune
