// SPDX-License-Identifier: MIT
#include "tune/program/program_run.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/log_file.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/program/scratch_folder.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {

namespace {

constexpr std::chrono::seconds time_to_begin_writing{10};
constexpr std::chrono::seconds time_to_write{60};

/// The variables that the program sees.
worker::Environment environment_of(const ProgramRun& run, const std::filesystem::path& card) {
    worker::Environment environment = worker::inherited_environment();
    const auto set = [&](const std::string& name, const std::string& value) { worker::set_variable(environment, name, value); };
    const auto prepend = [&](const std::string& name, const std::string& value) {
        const std::string present = worker::variable(environment, name).value_or("");
        set(name, present.empty() ? value : value + ":" + present);
    };
    worker::remove_variable(environment, "CUDA_VISIBLE_DEVICES");  // it names real cards; the program may still set it
    set("HPO_VIRTUAL_CARD", run.card.text({"state=" + (run.folder / "state").string(), "report=" + (run.folder / "report").string()}));
    set("HPO_PREDICTION_FOLDER", run.folder.string());
    set("HPO_PREDICTION_STEPS", std::to_string(run.steps));
    set("HPO_PREDICTION_DEADLINE", std::to_string(std::time(nullptr) + run.limit.count()));
    set("HPO_PREDICTION_PARENT", std::to_string(::getpid()));
    set("HPO_PREDICTING", "1");
    // Nobody is told of a run that trains nothing.
    set("WANDB_MODE", "disabled");
    set("COMET_MODE", "DISABLED");
    set("NEPTUNE_MODE", "debug");
    set("CLEARML_OFFLINE_MODE", "1");
    set("MLFLOW_TRACKING_URI", "file://" + (run.folder / "mlflow").string());
    set("PYTHONUNBUFFERED", "1");
    // What is compiled and timed for a card that is not there is no use to anybody. Lines of what lies in site-packages are not the
    // program's own: so its own line holds what compiled code takes.
    set("TORCHINDUCTOR_CACHE_DIR", (run.folder / "site-packages" / "inductor").string());
    set("TRITON_CACHE_DIR", (run.folder / "triton").string());
    prepend("PYTHONPATH", (card / "site-packages").string());
    set("HPO_PREDICTION_PYTHON", (card / "site-packages").string());
    prepend("LD_PRELOAD", (card / "libhpo_keep_python_path.so").string());
    return environment;
}

worker::Process start(const ProgramRun& run, const worker::LogFile& output) {
    const std::vector<std::string> words = run.in_place ? run.words : words_in_scratch(run.folder, run.words);
    try {
        return worker::Process::start({.program = words[0],
                                       .arguments = {words.begin() + 1, words.end()},
                                       .environment = environment_of(run, virtual_card_folder()),
                                       .output = output.descriptor(),
                                       .errors = output.descriptor()});
    } catch (const Error& error) {  // which takes every program for a worker
        if (error.code() != Errc::plugin) throw;
        throw Error{Errc::bad_value, error.what()};
    }
}

/// While it lives, processes that the program leaves become children of this one, whatever group they are in. Then they are ended.
/// Children that were there before are left alone.
class Subreaper {
public:
    Subreaper() : others_{children()} { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }
    Subreaper(const Subreaper&) = delete;
    Subreaper& operator=(const Subreaper&) = delete;
    ~Subreaper() {
        end_children();
        ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }

private:
    static std::vector<pid_t> children() {
        std::ifstream list{"/proc/self/task/" + std::to_string(::getpid()) + "/children"};
        return {std::istream_iterator<pid_t>{list}, {}};
    }
    void end_children() const;

    std::vector<pid_t> others_;
};

void Subreaper::end_children() const {
    for (int round = 0; round < 100; ++round) {  // those of a child that is ended are adopted
        bool any = false;
        for (const pid_t each : children()) {
            if (std::ranges::find(others_, each) != others_.end()) continue;
            ::kill(each, SIGKILL);
            ::waitpid(each, nullptr, 0);
            any = true;
        }
        if (!any) return;
    }
}

/// The last line that the program printed itself.
std::string last_line(const worker::LogFile& output) {
    constexpr std::size_t looked_at = 2000;
    std::istringstream text{output.tail(looked_at)};
    std::string last;
    for (std::string line; std::getline(text, line);) {
        if (line.find_first_not_of(" \r") != std::string::npos && !line.starts_with("hpo virtual card: ")) last = line;
    }
    return last;
}

SizeFromData::Bound bound_of(const std::string& word) {
    using enum SizeFromData::Bound;
    return word == "most" ? at_most : word == "least" ? at_least : word == "unknown" ? unknown : neither;
}

std::vector<RecordedProcess> recorded_processes(const std::filesystem::path& folder) {
    std::vector<RecordedProcess> found;
    std::error_code gone;  // a program may delete anything
    for (const auto& entry : std::filesystem::directory_iterator{folder, gone}) {
        if (entry.path().extension() != ".json") continue;
        std::ifstream file{entry.path()};
        const nlohmann::json told = nlohmann::json::parse(file, nullptr, false);
        if (!told.is_object()) continue;
        RecordedProcess process{.snapshot = entry.path()};
        process.snapshot.replace_extension(".pickle");
        process.complete = std::filesystem::exists(process.snapshot);
        process.why = told.value("why", "");
        process.steps = told.value("steps", 0);
        process.optimizers = told.value("optimizers", 0);
        process.ranks = told.value("ranks", 1);
        process.error = told.value("error", "");
        process.error_line = told.value("error_line", "");
        process.torch = told.value("torch", "");
        process.architectures = told.value("architectures", std::vector<std::string>{});
        process.card_peak_bytes = told.value("card_peak_bytes", std::int64_t{0});
        process.allocated_bytes = told.value("allocated_bytes", std::int64_t{0});
        process.reserved_bytes = told.value("reserved_bytes", std::int64_t{0});
        process.cards = told.value("devices", std::vector<int>{});
        process.step_times_us = told.value("step_times_us", std::vector<std::int64_t>{});
        for (const nlohmann::json& each : told.value("asked", nlohmann::json::array()))
            process.value_reads.push_back({each.value("line", ""), each.value("times", 0), each.value("whole_number", false)});
        process.card_questions = told.value("card_questions", std::vector<std::string>{});
        for (const nlohmann::json& each : told.value("sizes_from_data", nlohmann::json::array()))
            process.sizes_from_data.push_back({each.value("line", ""), each.value("assumed", ""), bound_of(each.value("bound", "least"))});
        found.push_back(std::move(process));
    }
    std::ranges::sort(found, std::ranges::greater{}, [](const RecordedProcess& each) {
        return std::pair{each.ran_out_of_memory(), each.reserved_bytes};
    });
    return found;
}

/// Adds what the report on the card says.
void read_report(const std::filesystem::path& report, ProgramEnd& end) {
    const auto add_once = [](std::vector<std::string>& names, const std::string& name) {
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    std::ifstream in{report};
    for (std::string line; std::getline(in, line);) {
        const nlohmann::json told = nlohmann::json::parse(line, nullptr, false);
        if (!told.is_object()) continue;
        add_once(end.not_modelled, told.value("not_modelled", ""));
        add_once(end.untried, told.value("untried", ""));
        end.convolution_bytes = std::max(end.convolution_bytes, told.value("convolution_bytes", std::int64_t{0}));
    }
}

ProgramEnd run_to_its_end(const ProgramRun& run, const worker::LogFile& output, const std::function<void(double)>& progress) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    ProgramEnd end;
    const Subreaper subreaper;
    worker::Process process = start(run, output);
    double told = 0;
    while (!process.wait(std::chrono::milliseconds{200})) {
        if (was_interrupted()) throw Error{Errc::interrupted, "interrupted; the program was ended"};
        const Clock::duration over = Clock::now() - begin - run.limit;
        if (over.count() > 0) end.timed_out = true;  // each of its processes ends itself now, and writes what was recorded
        if (over > time_to_write || (over > time_to_begin_writing && recorded_processes(run.folder).empty())) process.signal(SIGKILL);
        if (seconds() - told >= 1) progress(told = seconds());
    }
    const worker::ProcessExit exit = process.wait();
    end.seconds = seconds();
    end.status = exit.status ? *exit.status : 128 + exit.signal.value_or(0);
    return end;
}

}  // namespace

bool ProgramEnd::shares_card() const {
    std::vector<int> cards;
    for (const RecordedProcess& each : processes) cards.insert(cards.end(), each.cards.begin(), each.cards.end());
    std::ranges::sort(cards);
    return std::ranges::adjacent_find(cards) != cards.end();
}

ProgramEnd run_on_virtual_card(const ProgramRun& run, const std::function<void(double)>& progress) {
    watch_interrupts();
    worker::LogFile output{run.output};
    output.begin_attempt();  // what others wrote to the file is not the program's
    ProgramEnd end = run_to_its_end(run, output, progress);
    tidy_scratch(run.folder);
    if (const std::string why = why_not_started(run.folder); !why.empty())
        throw Error{Errc::bad_value, run.words[0] + ": cannot be started: " + why};
    end.last_words = last_line(output);
    if (std::ifstream version{run.folder / "no_cuda"}) std::getline(version, end.torch_without_cuda.emplace());
    if (std::ifstream why{run.folder / "refused"}) std::getline(why, end.refused);
    end.processes = recorded_processes(run.folder);
    // Those that only looked at the card, such as compilers, are told if there is no other.
    const auto used = std::ranges::find(end.processes, 0, &RecordedProcess::reserved_bytes);
    if (used != end.processes.begin()) end.processes.erase(used, end.processes.end());
    end.wrote_in_place = run.in_place || wrote_in_place(run.folder);
    read_report(run.folder / "report", end);
    return end;
}

}  // namespace hpo::tune
