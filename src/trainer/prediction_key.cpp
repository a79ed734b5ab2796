// SPDX-License-Identifier: MIT
#include "hpo/trainer/prediction_key.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "hpo/trainer/json.hpp"

namespace hpo {

const std::string& FileStamps::of(const std::string& path) {
    const auto now = std::chrono::steady_clock::now();
    const auto [entry, is_new] = stamps_.try_emplace(path);
    Stamp& known = entry->second;
    std::error_code ignored;
    if (!is_new && now - known.looked_at < std::chrono::seconds{1} && std::filesystem::is_directory(path, ignored)) return known.text;
    known = {stamp(path), now};
    return known.text;
}

std::string FileStamps::stamp(const std::filesystem::path& path) {
    constexpr int most_entries = 10'000;
    std::error_code error;
    std::uintmax_t bytes = 0;
    auto latest = std::filesystem::file_time_type::min();  // the clock's epoch may lie in the future
    int files = 0;
    const auto add = [&](const std::filesystem::path& file) {
        std::error_code ignored;
        const auto size = std::filesystem::file_size(file, ignored);
        bytes += ignored ? 0 : size;
        const auto time = std::filesystem::last_write_time(file, ignored);
        if (!ignored) latest = std::max(latest, time);
        ++files;
    };
    if (!std::filesystem::exists(path, error)) return {};
    add(path);
    for (std::filesystem::recursive_directory_iterator item{path, error}, end; !error && item != end && files < most_entries;
         item.increment(error)) {
        add(item->path());
    }
    return std::to_string(files) + " " + std::to_string(bytes) + " " + std::to_string(latest.time_since_epoch().count());
}

std::string prediction_key(const TrainerInfo& info, const Predictor& predictor, const TrainerJob& job, PeakSource source,
                           FileStamps& files) {
    constexpr int format = 7;  // of predictions; raise it if kept predictions have to be made again
    Json key = {{"format", format},          {"trainer", info.name},
                {"build", predictor.build},  {"libtorch", info.libtorch_version},
                {"source", to_text(source)}, {"device", job.plan.device.substr(0, job.plan.device.find(':'))}};
    if (key["device"] == "cpu") {
        key["processor"] = predictor.processor;
    } else {
        key["cublas_workspace"] = encode(job.cublas_workspace_bytes);
        key["cuda_context"] = encode(job.cuda_context_bytes);
    }
    if (source == PeakSource::virtual_card) key["card"] = predictor.card;
    // The effective batch counts too, not only the micro-batch. It decides how many steps a training of few examples has, and how many
    // examples the last step of an epoch has.
    Json& plan = key["plan"] = Json::object();
    each_plan_field([&](const auto& field) {
        if (field.effect != PlanEffect::none) plan[std::string{field.key}] = encode(job.plan.*field.member);
    });
    plan["micro_batch"] = encode(job.plan.effective_micro_batch());
    const auto number = [](const Value& value) {
        if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        if (const auto* real = std::get_if<double>(&value)) return *real;
        if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1.0 : 0.0;
        return 0.0;
    };
    const auto value_of = [&](const TrainerParameter& parameter) -> const Value& {
        const Value* given = given_value(info, job, parameter.name);
        return given && !given->is_null() ? *given : parameter.standard;
    };
    // If one of these values is 1, the others decide whether the whole training is one step. Then their exact values count.
    const bool all_repeat = std::all_of(info.parameters.begin(), info.parameters.end(), [&](const TrainerParameter& parameter) {
        return parameter.memory != MemoryUse::whether_above_one || number(value_of(parameter)) > 1;
    });
    Json& settings = key["settings"] = Json::object();
    const auto add = [&](const std::string& name, const Value& value, MemoryUse use) {
        if (use == MemoryUse::none || (name == info.effective_batch_parameter && job.plan.effective_batch)) return;
        if (use == MemoryUse::whether_zero) settings[name] = number(value) != 0;
        else if (use == MemoryUse::whether_above_one && all_repeat) settings[name] = true;
        else settings[name] = encode(value);
        const auto* text = std::get_if<std::string>(&value);
        if (!text || text->empty()) return;
        if (const std::string& stamp = files.of(*text); !stamp.empty()) key["files"][*text] = stamp;
    };
    for (const TrainerParameter& parameter : info.parameters) add(parameter.name, value_of(parameter), parameter.memory);
    const auto unlisted = [&](const Values& values) {
        for (const auto& [name, value] : values) {
            const bool listed = std::any_of(info.parameters.begin(), info.parameters.end(),
                                            [&, &wanted = name](const TrainerParameter& parameter) { return parameter.name == wanted; });
            if (!listed) add(name, value, MemoryUse::value);
        }
    };
    unlisted(job.options);
    if (info.open_ended) {
        for (const auto& [name, value] : job.params) add("parameter " + name, value, MemoryUse::value);
    } else {
        unlisted(job.params);
    }
    if (const auto own = settings.find("threads"); key["device"] == "cpu" && (own == settings.end() || *own == 0))
        key["threads"] = predictor.threads;
    return json_line(key);
}

}  // namespace hpo
