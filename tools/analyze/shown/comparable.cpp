// SPDX-License-Identifier: MIT
#include "analyze/shown/comparable.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analyze/shown/objectives.hpp"
#include "hpo/base/error.hpp"
#include "support/study_attributes.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

using Named = std::multiset<std::pair<std::string, hpo::Direction>>;

/// The objectives with their directions, whatever their order.
Named named(const Objectives& objectives) {
    Named all;
    for (std::size_t i = 0; i < objectives.size(); ++i) all.emplace(objectives.names()[i], objectives.directions()[i]);
    return all;
}

bool has_same_names(const Objectives& a, const Objectives& b) {
    return std::multiset(a.names().begin(), a.names().end()) == std::multiset(b.names().begin(), b.names().end());
}

/// Why the values of two studies cannot be compared; empty if they can.
std::string difference(const Objectives& a, const Objectives& b) {
    if (a.size() != b.size()) return "have different numbers of objectives";
    if (a.names().empty() || b.names().empty())
        return a.directions() == b.directions() ? std::string{} : "optimise in different directions";
    if (named(a) == named(b)) return {};
    return has_same_names(a, b) ? "optimise in different directions" : "have different metrics";
}

std::string described(const hpo::Study& study) { return "'" + study.name + "' (" + Objectives{study}.text() + ")"; }

/// The studies that can be compared with `first`, and it before them. The ones in `refused` are not among them.
std::vector<std::string> fitting(const hpo::Study& first, std::span<const hpo::Study> known, const std::set<std::string>& refused) {
    const Objectives objectives{first};
    std::vector<Objectives> group{objectives};
    std::vector<std::string> names{"'" + first.name + "'"};
    constexpr std::size_t most = 5;
    for (const hpo::Study& study : known) {
        if (study.name == first.name || refused.contains(study.name) || names.size() == most) continue;
        Objectives own{study};
        if (!std::ranges::all_of(group, [&](const Objectives& other) { return difference(other, own).empty(); })) continue;
        group.push_back(std::move(own));
        names.push_back("'" + study.name + "'");
    }
    return names;
}

using TextOf = std::function<std::optional<std::string>(const StudyData&)>;

/// "2 in 'plain'; 3 in 'guarded', 'late'"; empty if all studies of which it is known have the same.
std::string different_texts(std::span<const StudyData> compared, const TextOf& text_of) {
    std::map<std::string, std::vector<std::string>> groups;
    for (const StudyData& data : compared) {
        if (const auto text = text_of(data)) groups[*text].push_back("'" + data.study.name + "'");
    }
    std::string text;
    if (groups.size() < 2) return text;
    for (const auto& [value, studies] : groups) text += (text.empty() ? "" : "; ") + value + " in " + hpo::join_names(studies);
    return text;
}

std::optional<std::string> trainer_of(const StudyData& data) {
    const Json trainer = json_attribute(data.study.system_attributes, trainer_attribute);
    return trainer.is_string() ? std::optional{trainer.get<std::string>()} : std::nullopt;
}

/// Each option that the studies' runs set differently.
void add_options(std::span<const StudyData> compared, std::vector<std::string>& notes) {
    std::set<std::string> names;
    for (const StudyData& data : compared) {
        const Json options = json_attribute(data.study.system_attributes, trainer_options_attribute);
        if (!options.is_object()) continue;
        for (const auto& [name, value] : options.items()) names.insert(name);
    }
    for (const std::string& name : names) {
        const std::string text = different_texts(compared, [&](const StudyData& data) -> std::optional<std::string> {
            const Json options = json_attribute(data.study.system_attributes, trainer_options_attribute);
            if (!options.is_object()) return std::nullopt;
            return options.contains(name) ? one_line_text(options[name]) : "not set";
        });
        if (!text.empty()) notes.push_back("The trainer option " + name + " differs: " + text + ".");
    }
}

/// What the trainer said of its data, over all trials of a study; empty if it said nothing.
std::set<std::string> data_of(const StudyData& data) {
    std::set<std::string> hashes;
    for (const hpo::Trial& trial : data.trials) {
        if (const auto found = trial.user_attributes.find("data_hash"); found != trial.user_attributes.end()) hashes.insert(found->second);
    }
    return hashes;
}

bool share_no_data(const StudyData& a, const StudyData& b) {
    const std::set<std::string> of_a = data_of(a);
    const std::set<std::string> of_b = data_of(b);
    return !of_a.empty() && !of_b.empty() && std::ranges::none_of(of_a, [&](const std::string& hash) { return of_b.contains(hash); });
}

void add_names(std::span<const StudyData> compared, std::vector<std::string>& notes) {
    std::vector<std::string> nameless;
    std::string metrics;
    for (const StudyData& data : compared) {
        const Objectives objectives{data.study};
        if (objectives.names().empty()) nameless.push_back("'" + data.study.name + "'");
        else if (metrics.empty()) metrics = hpo::join_names(objectives.names());
    }
    if (nameless.empty()) return;
    if (nameless.size() == compared.size()) {
        notes.emplace_back("No study stores the name of its metric. It is not known whether all have the same.");
    } else if (nameless.size() == 1) {
        notes.push_back("Study " + nameless.front() + " stores no name of its metric. It is not known whether it is " + metrics + ", too.");
    } else {
        notes.push_back("Studies " + hpo::join_names(nameless) + " store no names of their metrics. It is not known whether they are " +
                        metrics + ", too.");
    }
}

}  // namespace

void require_comparable(const std::string& store, std::span<const StudyData> compared, std::span<const hpo::Study> known) {
    for (std::size_t i = 0; i < compared.size(); ++i) {
        for (std::size_t j = i + 1; j < compared.size(); ++j) {
            const std::string why = difference(Objectives{compared[i].study}, Objectives{compared[j].study});
            if (why.empty()) continue;
            std::set<std::string> refused;  // what does not fit the first
            for (const StudyData& data : compared) {
                if (!difference(Objectives{compared[i].study}, Objectives{data.study}).empty()) refused.insert(data.study.name);
            }
            const auto group = fitting(compared[i].study, known, refused);
            const std::string some = group.size() < 2 ? "; no other study of this store has those of '" + compared[i].study.name + "'"
                                                      : ", such as " + hpo::join_names(group);
            throw hpo::bad_value("store '" + store + "'",
                                 "studies " + described(compared[i].study) + " and " + described(compared[j].study) + ", which " + why,
                                 "studies with the same metrics and directions" + some);
        }
    }
}

std::vector<std::string> comparison_notes(std::span<const StudyData> compared) {
    std::vector<std::string> notes;
    add_names(compared, notes);
    if (const std::string trainers = different_texts(compared, trainer_of); !trainers.empty())
        notes.push_back("The trainers differ: " + trainers + ".");
    else add_options(compared, notes);
    for (const StudyData& data : compared.subspan(1)) {
        if (!share_no_data(compared.front(), data)) continue;
        notes.push_back("Studies '" + compared.front().study.name + "' and '" + data.study.name +
                        "' were run on different data: their trials have different values of data_hash.");
    }
    return notes;
}

}  // namespace hpo::analyze
