// SPDX-License-Identifier: MIT
#include "worker/check_plugin.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "hpo/process/temporary_folder.hpp"
#include "hpo/testing/saving_contract.hpp"
#include "hpo/testing/trainer_contract.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/trainer/parameter_type.hpp"
#include "hpo/worker/channel.hpp"
#include "hpo/worker/supervisor/plugin_report.hpp"

namespace hpo::tools {
namespace {

/// A value as a command line writes it, for a parameter.
Value value_of(const TrainerParameter& parameter, const std::string& text) {
    const ParameterType type = ParameterType::of(parameter);
    Value value{text};
    if (type.kind == ParameterType::Kind::truth && (text == "true" || text == "false")) value = Value{text == "true"};
    if (type.is_number()) {
        double number = 0;
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (status == std::errc{} && end == text.data() + text.size()) value = Value{number};
    }
    if (const auto accepted = type.accepted(value)) return *accepted;
    throw bad_value("--fix " + parameter.name, "'" + text + "'", expected_of(parameter));
}

const TrainerParameter* find_parameter(const TrainerInfo& info, std::string_view name) {
    for (const TrainerParameter& parameter : info.parameters) {
        if (parameter.name == name) return &parameter;
    }
    return nullptr;
}

/// The values that the job is tried with: those given, and what keeps a training of LibTorch short and makes it write checkpoints.
Values tried_values(const TrainerInfo& info, const std::vector<std::string>& fixed) {
    Values values;
    if (!info.libtorch_version.empty()) {
        for (const auto& [name, value] :
             {std::pair<const char*, Value>{"epochs", std::int64_t{2}}, {"checkpoint_seconds", 0.0}, {"threads", std::int64_t{1}}}) {
            if (find_parameter(info, name)) values.emplace(name, value);
        }
    }
    Values given;
    for (const std::string& assignment : fixed) {
        const auto equals = assignment.find('=');
        if (equals == std::string::npos) throw bad_value("--fix", "'" + assignment + "'", "NAME=VALUE");
        const std::string name = assignment.substr(0, equals);
        const TrainerParameter* parameter = find_parameter(info, name);
        if (!parameter) {
            std::vector<std::string> known;
            for (const TrainerParameter& each : info.parameters) known.push_back(each.name);
            throw unknown_name("--fix", "parameter", name, known);
        }
        Value value = value_of(*parameter, assignment.substr(equals + 1));
        if (const auto [earlier, is_new] = given.try_emplace(name, value); !is_new)
            throw bad_value("--fix " + name, display_text(earlier->second) + " and " + display_text(value), "one value");
        values.insert_or_assign(name, std::move(value));
    }
    std::string missing;
    for (const TrainerParameter& parameter : info.parameters) {
        if (parameter.standard.is_null() && !values.contains(parameter.name)) missing += " --fix " + parameter.name + "=VALUE";
    }
    if (!missing.empty())
        throw Error{Errc::usage, "trainer " + info.name + " has parameters without a standard value; give them:" + missing};
    return values;
}

/// Keeps what a trainer logs, and passes on the phases that it tells.
class Remarks final : public Progress {
public:
    explicit Remarks(std::function<void(const std::string& phase)> enter) : enter_{std::move(enter)} {}
    [[nodiscard]] bool report(std::int64_t, double) override { return true; }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const MemoryMark&) override {}
    void log(std::string_view line) override {  // a loader's threads may call it
        const std::lock_guard lock{mutex_};
        lines_.emplace_back(line);
    }
    void phase(std::string_view name) override { enter_(std::string{name}); }
    [[nodiscard]] std::vector<std::string> lines() {
        const std::lock_guard lock{mutex_};
        return lines_;
    }

private:
    std::function<void(const std::string& phase)> enter_;
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

}  // namespace

void check_plugin_here(const std::string& name, const PluginFolders& folders, const std::vector<std::string>& fixed, int descriptor) {
    worker::Channel channel{worker::Descriptor{descriptor}};
    worker::PluginReport report{.name = name};
    const auto step = [&](const std::string& what) { channel.send(what + "\n"); };
    try {
        const auto path = find_plugin(name, folders);
        report.path = path.string();
        require_whole_library(path);
        step(std::string{worker::load_step} + report.path);
        static_cast<void>(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
        step(std::string{worker::describe_step} + report.path);
        // Trainers that the contract makes may be destroyed; this one outlives them, since what LibTorch starts has no orderly end.
        Trainer& trainer = *load_trainer(name, folders).release();
        report.info = trainer.info();
        for (const std::string& problem : info_problems(*report.info)) report.problems.push_back({"info", problem});
        if (report.problems.empty()) {
            TrainerJob job{.study = "check-plugin", .seed = 1};
            job.metric = report.info->metrics.front().name;
            report.tried = job.params = tried_values(*report.info, fixed);
            step("check");
            Remarks remarks{[&](const std::string& phase) { step("check, in its phase " + phase); }};
            report.problems = trainer.stoppable_check(job, remarks);
            report.remarks = remarks.lines();
            // What its own check finds wrong would be found again by all that follows.
            if (report.problems.empty()) {
                const auto make = [&] { return load_trainer(name, folders); };
                report.problems = testing::TrainerContract{make, job}.violations(step);
                step("saved models and checkpoints");
                const TemporaryFolder scratch{"hpo-check-plugin"};
                if (report.problems.empty()) report.problems = testing::saving_contract_violations(make, job, scratch.path());
            }
        }
    } catch (const Error& error) {
        report.error = error.what();
        report.status = exit_code(error.code());
    }
    channel.send(record_line(report) + '\n');
}

}  // namespace hpo::tools
