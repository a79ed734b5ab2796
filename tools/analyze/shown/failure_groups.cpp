// SPDX-License-Identifier: MIT
#include "analyze/shown/failure_groups.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "analyze/shown/failed_devices.hpp"
#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::analysis::FailureCase;

namespace {

std::string kind_name(const FailureCase& entry) {
    if (!entry.is_oom()) return std::string{hpo::analysis::failure_name(entry)};
    return std::string{to_text(entry.failure.kind)} + (entry.failure.cause ? " (" + std::string{to_text(*entry.failure.cause)} + ")" : "");
}

/// When it failed. Of an attempt that was lost, and of a trial that is not over, only the start is known.
std::optional<hpo::Time> time_of(const FailureCase& entry) {
    const auto started = entry.attempt ? entry.attempt->started : entry.trial->started;
    if (!entry.attempt && entry.trial->completed) return entry.trial->completed;
    if (!started || !entry.seconds) return started;
    return *started + std::chrono::microseconds{static_cast<std::int64_t>(*entry.seconds * 1e6)};
}

std::string process_of(const FailureCase& entry) {
    if (entry.attempt) return entry.attempt->worker_pid > 0 ? std::to_string(entry.attempt->worker_pid) : std::string{};
    return entry.process;
}

using Counts = std::map<std::string, std::size_t>;

std::vector<std::pair<std::string, std::size_t>> most_first(const Counts& counts) {
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::ranges::stable_sort(sorted, std::greater{}, [](const auto& each) { return each.second; });
    return sorted;
}

/// "cuda:0", or of several "cuda:0 (3), cuda:1 (1)".
std::string counts_text(const Counts& counts) {
    if (counts.size() == 1) return counts.begin()->first;
    std::string text;
    for (const auto& [name, count] : most_first(counts)) text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(count) + ")";
    return text;
}

struct Noun {
    const char* one;
    const char* several;
};

std::string processes_text(const Counts& counts, const Noun& noun) {
    constexpr std::size_t most = 3;
    if (counts.size() == 1) return std::string{"in "} + noun.one + " " + counts_text(counts);
    const std::string plural = noun.several;
    if (counts.size() <= most) return "in " + plural + " " + counts_text(counts);
    const auto [name, count] = most_first(counts).front();
    return "in " + std::to_string(counts.size()) + " " + plural +
           (count == 1 ? ", once in each" : ", most in " + name + " (" + std::to_string(count) + ")");
}

/// "2026-11-21 09:37:09 to 10:02:40 UTC".
std::string span_text(hpo::Time first, hpo::Time last) {
    const std::string begin = clock_time(first);
    const std::string end = clock_time(last);
    if (begin == end) return begin;
    constexpr std::size_t date_length = std::string_view{"2026-11-21 "}.size();
    const bool same_day = begin.substr(0, date_length) == end.substr(0, date_length);
    return begin.substr(0, begin.rfind(' ')) + " to " + (same_day ? end.substr(date_length) : end);
}

Json counts_json(const Counts& counts, const char* name) {
    Json list = Json::array();
    for (const auto& [key, count] : most_first(counts)) list.push_back({{name, key}, {"count", count}});
    return list;
}

}  // namespace

hpo::FailureTraits FailureGroup::traits() const {
    // Nobody knows what ended a trial that was not run again, or whose program said that it failed and no more.
    const bool says_nothing = first->attempt && first->silent();
    return first->not_run() || says_nothing ? hpo::FailureTraits{} : hpo::traits_of(first->failure);
}

std::string FailureGroup::where() const {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (!devices.empty()) add("on " + counts_text(devices));
    if (!processes.empty()) add(processes_text(processes, first->attempt ? Noun{"worker", "workers"} : Noun{"process", "processes"}));
    if (first_seen) add(span_text(*first_seen, *last_seen));
    return text;
}

Json FailureGroup::json() const {
    return {{"failure", name},
            {"count", count},
            {"seconds", or_null(seconds)},
            {"first_trial", first->trial->number},
            {"last_trial", last->trial->number},
            {"first_seen", time_or_null(first_seen)},
            {"last_seen", time_or_null(last_seen)},
            {"devices", counts_json(devices, "device")},
            {"processes", counts_json(processes, "process")},
            {"blame", std::string{to_text(traits().blame)}},
            {"recurrence", std::string{to_text(traits().recurrence)}},
            {"signature", text_or_null(first->is_oom() ? std::string{} : hpo::signature(first->failure))},
            {"message", text_or_null(first->failure.message)},
            {"line", text_or_null(line)},
            {"told_in", text_or_null(first->told_in)}};
}

std::vector<FailureGroup> failure_groups(const std::vector<FailureCase>& cases) {
    std::map<std::pair<std::string, std::string>, FailureGroup> groups;
    for (const FailureCase& entry : cases) {
        const std::string name = kind_name(entry);
        const std::string key = entry.is_oom() ? std::string{} : hpo::signature(entry.failure);
        FailureGroup& group = groups[{name, key}];
        if (group.count++ == 0) {
            group.name = name;
            group.first = &entry;
            group.line = failure_line(entry.failure);
        }
        group.last = &entry;
        hpo::analysis::add_known(group.seconds, entry.seconds);
        if (std::string device = device_place(entry); !device.empty()) ++group.devices[std::move(device)];
        if (std::string process = process_of(entry); !process.empty()) ++group.processes[std::move(process)];
        if (const auto time = time_of(entry)) {
            group.first_seen = std::min(group.first_seen.value_or(*time), *time);
            group.last_seen = std::max(group.last_seen.value_or(*time), *time);
        }
    }
    std::vector<FailureGroup> sorted;
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    const auto is_of_script = [](const FailureGroup& group) { return group.first->failure.kind == hpo::FailureKind::script_error; };
    std::ranges::stable_sort(sorted, std::greater{}, [&](const FailureGroup& group) {
        return std::pair{is_of_script(group), group.count};
    });
    Counts alike, numbered;
    for (const FailureGroup& group : sorted) ++alike[group.name];
    for (FailureGroup& group : sorted)
        group.label = group.name + (alike[group.name] > 1 ? " " + std::to_string(++numbered[group.name]) : std::string{});
    return sorted;
}

}  // namespace hpo::analyze
