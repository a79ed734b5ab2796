// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/trial_reading.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/failure/source_attributes.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/optuna_schema.hpp"

namespace hpo::store {

void extract_constraints(Trial& trial) {
    for (auto it = trial.system_attributes.lower_bound(constraint_prefix); it != trial.system_attributes.end();) {
        if (!it->first.starts_with(constraint_prefix)) break;
        const auto value = json_number(parse_json(it->second));
        if (value) trial.constraints[it->first.substr(constraint_prefix.size())] = *value;
        it = value ? trial.system_attributes.erase(it) : std::next(it);
    }
    const auto list = trial.system_attributes.find(constraint_list);
    if (list == trial.system_attributes.end()) return;
    const Json values = parse_json(list->second);
    if (!values.is_array()) return;
    std::vector<double> numbers;
    for (const Json& item : values) {
        const auto value = json_number(item);
        if (!value) return;
        numbers.push_back(*value);
    }
    trial.system_attributes.erase(list);
    // hpo writes the list, too, for readers that do not know the names.
    if (std::ranges::equal(numbers, trial.constraints, {}, {}, [](const auto& named) { return named.second; })) return;
    for (std::size_t i = 0; i < numbers.size(); ++i) trial.constraints[std::to_string(i)] = numbers[i];
}

std::vector<std::pair<std::string, Value>> fixed_params(const Attributes& system_attributes) {
    std::vector<std::pair<std::string, Value>> fixed;
    const auto stored = system_attributes.find("fixed_params");
    if (stored == system_attributes.end()) return fixed;
    const auto json = parse_json<nlohmann::ordered_json>(stored->second);
    if (!json.is_object()) return fixed;
    for (const auto& [name, value] : json.items()) fixed.emplace_back(name, json_value(value));
    return fixed;
}

TrialState parse_state(std::string_view place, std::string_view text) {
    for (std::size_t i = 0; i < trial_state_names.size(); ++i) {
        if (trial_state_names[i] == text) return static_cast<TrialState>(i);
    }
    throw Error{Errc::store, std::string{place} + "unknown trial state '" + std::string{text} + "'"};
}

void TrialReader::read_directions(Study& study) {
    constexpr const char* expected = "MINIMIZE or MAXIMIZE";
    Rows row = connection_.query(shape_.has_objectives ? "SELECT direction FROM study_directions WHERE study_id = ?1 ORDER BY objective"
                                                       : "SELECT direction FROM studies WHERE study_id = ?1",
                                 study.id);
    while (row.next()) {
        const std::string_view text = row.text_view(0);
        if (text != "MAXIMIZE" && text != "MINIMIZE" && text != "NOT_SET") row.refuse(0, expected);
        study.directions.push_back(text == "MAXIMIZE" ? Direction::maximize : Direction::minimize);
    }
    if (study.directions.empty()) throw UnreadableColumn{"direction", "nothing, since the study has no row", expected};
}

std::vector<Study> TrialReader::studies(std::optional<std::string_view> asked) {
    std::vector<Study> all;
    {
        Rows row = connection_.query("SELECT study_id, study_name FROM studies ORDER BY study_id");
        while (row.next()) {
            Study& study = all.emplace_back();
            study.id = row.integer(0);
            study.name = row.text(1);
        }
    }
    for (Study& study : all) {
        try {
            read_directions(study);
        } catch (const UnreadableColumn& error) {
            if (!asked || *asked == study.name) {
                throw Error{error.code(), connection_.place() + "study '" + study.name +
                                              (shape_.has_objectives ? "': study_directions." : "': studies.") + error.what()};
            }
            study.directions.clear();
        }
    }
    for (Study& study : all) {
        read_attributes("SELECT \"key\", value_json FROM study_user_attributes WHERE study_id = ?1", study.id, study.user_attributes);
        read_attributes("SELECT \"key\", value_json FROM study_system_attributes WHERE study_id = ?1", study.id, study.system_attributes);
    }
    return all;
}

std::vector<Trial> TrialReader::trials(const TrialRange& range, const TrialParts& parts) {
    std::vector<Trial> trials = heads(range);
    read_parts(range.study_id, trials, parts);
    return trials;
}

std::vector<Trial> TrialReader::heads(const TrialRange& range) {
    std::vector<Trial> trials;
    {
        Rows count = connection_.query("SELECT COUNT(*) FROM trials WHERE study_id = ?1 AND trial_id BETWEEN ?2 AND ?3", range.study_id,
                                       range.first_id, range.last_id);
        if (count.next()) trials.reserve(static_cast<std::size_t>(count.integer(0)));
    }
    Rows row = connection_.query(
        shape_.has_discarded       ? "SELECT trial_id, state, datetime_start, datetime_complete, number FROM trials "
                                     "WHERE study_id = ?1 AND trial_id BETWEEN ?2 AND ?3 AND discarded_at IS NULL ORDER BY trial_id"
        : shape_.has_trial_numbers ? "SELECT trial_id, state, datetime_start, datetime_complete, number FROM trials "
                                     "WHERE study_id = ?1 AND trial_id BETWEEN ?2 AND ?3 ORDER BY trial_id"
                                   : "SELECT trial_id, state, datetime_start, datetime_complete, NULL FROM trials "
                                     "WHERE study_id = ?1 AND trial_id BETWEEN ?2 AND ?3 ORDER BY trial_id",
        range.study_id, range.first_id, range.last_id);
    while (row.next()) {
        Trial& trial = trials.emplace_back();
        trial.id = row.integer(0);
        trial.state = parse_state(connection_.place(), row.text_view(1));
        trial.started = parse_time(row.text_view(2), shape_.zone);
        trial.completed = parse_time(row.text_view(3), shape_.zone);
        trial.number = row.maybe_integer(4).value_or(static_cast<std::int64_t>(trials.size()) - 1);
    }
    return trials;
}

void TrialReader::read_parts(std::int64_t study_id, std::span<Trial> trials, const TrialParts& parts) {
    if (trials.empty()) return;
    if (parts.params) read_params(study_id, trials);
    read_values(study_id, trials);
    if (parts.reports) read_reports(study_id, trials);
    if (!parts.details && shape_.has_hpo_tables) {
        read_attempts_in_brief(connection_, study_id, trials, distributions_);
        read_attributes(study_id, trials, [](const Trial& trial, std::string_view name) {
            return trial.attempts.empty() || trial.state == TrialState::fail ||
                   (trial.state == TrialState::pruned && name == prune_reason_attribute);
        });
        read_constraints(study_id, trials, [](std::string_view json) { return !json.starts_with('-'); });
        return;
    }
    read_attributes(study_id, trials, [](const Trial&, std::string_view) { return true; });
    read_constraints(study_id, trials, [](std::string_view) { return true; });
    if (shape_.has_hpo_tables) read_attempts(connection_, study_id, trials, distributions_);
    if (shape_.has_hpo_tables && parts.reports) read_attempt_reports(connection_, study_id, trials);
}

void TrialReader::read_params(std::int64_t study_id, std::span<Trial> trials) {
    while (!trials.empty()) {
        const std::span<Trial> stretch = dense_stretch(trials);
        read_params_of_stretch(study_id, stretch);
        trials = trials.subspan(stretch.size());
    }
}

void TrialReader::read_params_of_stretch(std::int64_t study_id, std::span<Trial> stretch) {
    // If the study is most of the file, the table is read in the order of its rows. A trial's rows may then lie apart.
    const char* sql = is_most_of_file(stretch) ? "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params "
                                                 "WHERE +trial_id BETWEEN ?1 AND ?2 ORDER BY param_id"
                                               : "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params "
                                                 "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id, param_id";
    Trial* last = nullptr;
    std::size_t usual = 0;  // most trials have as many parameters as the one before
    const auto fit = [&] {  // frees memory that was reserved for more parameters than came
        if (last && last->params.size() != usual) last->params = ParamSet{std::as_const(last->params)};
    };
    each(study_id, stretch, "trial_params", sql, [&](Trial& trial, const Rows& row) {
        auto distribution =
            distributions_.read(row.text_view(3), [&] { return connection_.place() + "trial " + std::to_string(trial.number); });
        const double internal = internal_value(*distribution, row);
        if (&trial != last) {
            fit();
            if (last) usual = last->params.size();
            last = &trial;
            trial.params.reserve(usual);
        }
        trial.params.set({row.text(1), std::move(distribution), internal});
    });
    fit();
}

void TrialReader::read_reports(std::int64_t study_id, std::span<Trial> trials) {
    each(study_id, trials, shape_.has_objectives ? "trial_intermediate_values" : "trial_values",
         shape_.has_intermediate_types
             ? "SELECT trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values "
               "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id"
         : shape_.has_objectives ? "SELECT trial_id, step, intermediate_value, 'FINITE' FROM trial_intermediate_values "
                                   "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id"
                                 : "SELECT trial_id, step, value, 'FINITE' FROM trial_values "
                                   "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id",
         [](Trial& trial, const Rows& row) { trial.intermediate[row.integer(1)] = optuna::read_number(row.real(2), row.text_view(3)); });
}

template <class Wanted>
void TrialReader::read_attributes(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted) {
    each(study_id, trials, "trial_user_attributes",
         "SELECT trial_id, \"key\", value_json FROM trial_user_attributes WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id",
         [&](Trial& trial, const Rows& row) {
             if (wanted(trial, row.text_view(1))) trial.user_attributes[row.text(1)] = row.text(2);
         });
}

template <class Wanted>
void TrialReader::read_constraints(std::int64_t study_id, std::span<Trial> trials, const Wanted& wanted) {
    each(study_id, trials, "trial_system_attributes",
         "SELECT trial_id, \"key\", value_json FROM trial_system_attributes WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id",
         [&](Trial& trial, const Rows& row) {
             std::string value = row.text(2);
             if (wanted(value)) trial.system_attributes[row.text(1)] = std::move(value);
         });
    for (Trial& trial : trials) {
        if (trial.system_attributes.empty()) continue;
        extract_constraints(trial);
        trial.fixed = fixed_params(trial.system_attributes);
    }
}

bool TrialReader::is_most_of_file(std::span<const Trial> trials) {
    constexpr std::size_t few = 1000;
    if (trials.size() < few) return false;
    Rows count = connection_.query("SELECT COUNT(*) FROM trials");
    return count.next() && static_cast<std::int64_t>(trials.size()) * 2 > count.integer(0);
}

void TrialReader::read_values(std::int64_t study_id, std::span<Trial> trials) {
    each(study_id, trials, shape_.has_objectives ? "trial_values" : "trials",
         shape_.has_value_types  ? "SELECT trial_id, value, value_type FROM trial_values "
                                   "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id, objective"
         : shape_.has_objectives ? "SELECT trial_id, value, 'FINITE' FROM trial_values "
                                   "WHERE trial_id BETWEEN ?1 AND ?2 ORDER BY trial_id, objective"
                                 : "SELECT trial_id, value, 'FINITE' FROM trials "
                                   "WHERE trial_id BETWEEN ?1 AND ?2 AND value IS NOT NULL ORDER BY trial_id",
         [](Trial& trial, const Rows& row) { trial.values.push_back(optuna::read_number(row.real(1), row.text_view(2))); });
}

double TrialReader::internal_value(const Distribution& distribution, const Rows& row) {
    const auto stored = row.real(2);
    const auto* categorical = std::get_if<CategoricalDistribution>(&distribution);
    const bool is_real = std::holds_alternative<FloatDistribution>(distribution);
    const double end = categorical ? static_cast<double>(categorical->choices.size()) : 0x1.0p63;
    if (!is_real && !(stored && *stored >= (categorical ? 0 : -end) && *stored < end)) {
        throw UnreadableColumn{"param_value of '" + row.text(1) + "'", stored ? display_text(*stored) : "NULL",
                               categorical ? "the index of one of " + std::to_string(categorical->choices.size()) + " choices"
                                           : std::string{"a whole number"}};
    }
    return stored.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace hpo::store
