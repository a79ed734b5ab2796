// SPDX-License-Identifier: MIT
#include "card_recordings.hpp"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <system_error>
#include <utility>

#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/cuda_overheads.hpp"
#include "hpo/allocator/trace_file.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/device/card_figures.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "hpo/trainer/json.hpp"
#include "hpo/worker/environment.hpp"
#include "law_confidence.hpp"

namespace hpo::command {
namespace {

using Json = nlohmann::json;

constexpr int most_seconds = 30;              // for two steps
constexpr double most_recorder_seconds = 42;  // to write what was recorded, too; the worker's answer is awaited for 50 s

hpo::Error cannot(const std::string& why) { return hpo::Error{hpo::Errc::plugin, "the program on a virtual card: " + why}; }

/// What the tool that started this worker tells of the recorder. Empty: nothing.
std::string recorder_variable(const char* name) { return hpo::worker::variable(hpo::worker::inherited_environment(), name).value_or(""); }

/// What recordings of a family are kept under. It names the program and the card, and not what the program imports or reads.
std::string program_key(const hpo::TrainerJob& job, const std::string& family) {
    Json options = Json::object();
    for (const auto& [name, value] : job.options) options[name] = hpo::json_text(value);
    const std::string card = recorder_variable("HPO_RECORDER_CARD");
    std::error_code ignored;
    const std::string folder = std::filesystem::current_path(ignored).string();
    return Json{{"program", std::move(options)}, {"folder", folder}, {"card", card}, {"family", family}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
}
std::string fixed_key(const std::string& key) { return "the number that is fixed in " + key; }
std::string kept_key(const std::string& key, std::size_t number) { return "recording " + std::to_string(number) + " of " + key; }

hpo::allocator::CardThreads threads_of_card() {
    const std::string figures = recorder_variable("HPO_RECORDER_CARD");
    const auto number = [&](const char* key, int usual) { return static_cast<int>(hpo::device::card_figure_number(figures, key, usual)); };
    const int capability = number("capability", 80);
    return hpo::allocator::CardThreads::of({capability / 10, capability % 10}, number("multiprocessors", 108));
}

/// Runs the recorder to its end. What it and the program print is not kept.
void run_recorder(const ProgramStart& start, hpo::Progress& progress) {
    KeptProgram recorder{start};
    const hpo::Stopwatch watch;
    std::array<char, 4096> ignored{};
    for (;;) {
        std::array<pollfd, 3> watched{
            {{recorder.ended(), POLLIN, 0}, {recorder.output(), POLLIN, 0}, {recorder.error_output(), POLLIN, 0}}};
        ::poll(watched.data(), watched.size(), 100);
        if (watched[0].revents != 0) break;
        if (watch.seconds() > most_recorder_seconds) {
            recorder.signal(SIGKILL);
            throw cannot("it was not recorded within " + std::to_string(static_cast<int>(most_recorder_seconds)) + " s");
        }
        if (progress.stop_requested()) {
            recorder.signal(SIGKILL);
            throw hpo::Error{hpo::Errc::interrupted, "the prediction was stopped"};
        }
        bool has_read = false;
        for (std::size_t i = 1; i < watched.size(); ++i)
            has_read = (watched[i].revents != 0 && ::read(watched[i].fd, ignored.data(), ignored.size()) > 0) || has_read;
        if (!has_read && (watched[1].revents | watched[2].revents) != 0) ::poll(nullptr, 0, 20);  // both are at their end
    }
    static_cast<void>(recorder.wait());
}

Json told_by(const std::filesystem::path& folder) {
    std::ifstream file{folder / "told.json"};
    Json told = Json::parse(file, nullptr, false);
    if (!told.is_object()) throw cannot("it was ended before it was recorded");
    return told;
}

}  // namespace

std::int64_t context_bytes_of(const hpo::TrainerJob& job) {
    return job.cuda_context_bytes.value_or(hpo::allocator::usual_cuda_overheads({}).context_bytes);
}

void CardRecordings::record(Family& family, const std::vector<double>& numbers, const ProgramStart& start, hpo::Progress& progress) {
    const std::string recorder = recorder_variable("HPO_RECORDER");
    if (recorder.empty()) throw cannot("there is none");
    const hpo::TemporaryFolder folder{"hpo-recording"};
    ProgramStart recording{
        .words = {recorder, "record-program", folder.path().string(), recorder_variable("HPO_RECORDER_CARD"), std::to_string(most_seconds)},
        .environment = start.environment};
    recording.words.insert(recording.words.end(), start.words.begin(), start.words.end());
    run_recorder(recording, progress);
    const Json told = told_by(folder.path());
    if (told.contains("error")) {
        const std::string error = told.value("error", "");
        constexpr int most_errors = 2;
        if (++family.errors >= most_errors && family.series.law.recordings() == 0) family.unknown = error;
        throw cannot(error);
    }
    if (const std::string unknown = told.value("unknown", ""); !unknown.empty()) {
        if (!told.value("failed", false)) family.unknown = unknown;  // another configuration may not fail
        throw cannot(unknown);
    }
    ProgramRecording recorded{.series = family.series.name, .numbers = numbers};
    try {
        recorded.torch = told.value("torch", "");
        recorded.conf = told.value("conf", "");
        recorded.beside_bytes = told.value("beside_bytes", std::int64_t{0});
        recorded.notes = told.value("notes", std::vector<std::string>{});
        recorded.trace = hpo::allocator::read_trace(folder.path() / "trace");
        take(family, std::move(recorded), progress);
    } catch (const hpo::Error& error) {
        family.unknown = error.what();
        throw cannot(family.unknown);
    }
}

void CardRecordings::take(Family& family, ProgramRecording recorded, hpo::Progress& progress) {
    if (family.earlier && agree(*family.earlier, recorded)) family.series = *std::move(family.earlier);
    family.earlier.reset();
    if (family.series.law.is_recorded(recorded.numbers)) return;
    recorded.series = family.series.name;
    family.series.add(recorded);
    const std::size_t recordings = family.series.law.recordings();
    if (recordings > 2) recorded.error = family.series.law.errors().back();
    progress.keep(kept_key(family.key, recordings - 1), text_of(recorded));
}

bool CardRecordings::agree(const Series& earlier, const ProgramRecording& recorded) {
    if (!earlier.law.covers(recorded.numbers) || earlier.torch != recorded.torch || earlier.conf != recorded.conf) return false;
    const auto is_known = [&](const std::string& note) { return std::ranges::find(earlier.notes, note) != earlier.notes.end(); };
    if (recorded.beside_bytes > earlier.beside_bytes || !std::ranges::all_of(recorded.notes, is_known)) return false;
    double usual = 0;  // of its last two errors
    for (const double error : earlier.law.errors() | std::views::reverse | std::views::take(2)) usual = std::max(usual, error);
    constexpr double rounding = 1e-9;
    const auto error = earlier.law.error_of(recorded.numbers, recorded.trace);
    return error && *error <= std::min(little_error, 2 * usual + rounding);
}

std::optional<CardRecordings::Series> CardRecordings::recalled(const std::string& key, std::size_t numbers, hpo::Progress& progress) {
    Series series{numbers};
    for (std::size_t i = 0; i < most_recordings && !progress.stop_requested(); ++i) {
        const auto text = progress.recall(kept_key(key, i));
        auto recording = text ? recording_of(*text) : std::nullopt;
        if (!recording || recording->numbers.size() != numbers || (i > 0 && recording->series != series.name)) break;
        series.name = recording->series;
        try {
            series.add(*std::move(recording));
        } catch (const hpo::Error&) {
            break;
        }
        ++series.earlier;
    }
    return series.earlier > 0 ? std::optional{std::move(series)} : std::nullopt;
}

CardRecordings::Series::Series(std::size_t numbers)
    : law{numbers, threads_of_card()}, name{std::chrono::system_clock::now().time_since_epoch().count()} {}

void CardRecordings::Series::add(ProgramRecording recording) {
    law.add(std::move(recording.numbers), std::move(recording.trace), recording.error);
    torch = std::move(recording.torch);
    conf = std::move(recording.conf);
    beside_bytes = std::max(beside_bytes, recording.beside_bytes);
    for (const std::string& note : recording.notes) {
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
}

CardRecordings::Sizes CardRecordings::sizes_of(const hpo::TrainerJob& job) {
    Sizes sizes;
    Json others = Json::object();
    // The micro-batch first: where it is the whole batch in all recordings, the law is taken to be its own.
    if (const auto micro = job.plan.effective_micro_batch()) {
        sizes.numbers = {static_cast<double>(*micro), static_cast<double>(job.plan.accumulation_steps())};
    }
    const bool has_micro_batch = !sizes.numbers.empty();
    for (const auto& [name, value] : job.params) {
        const auto* const whole = std::get_if<std::int64_t>(&value);
        const auto* const real = std::get_if<double>(&value);
        if (whole && *whole > 0) {
            sizes.numbers.push_back(static_cast<double>(*whole));
            others[name] = "number";
        } else if (real) {
            others[name] = *real == 0 ? "zero" : "real";  // a rate of 0 may leave a kernel out
        } else {
            others[name] = hpo::json_text(value);
        }
    }
    const Json plan{{"conf", job.plan.allocator_settings}, {"expandable", job.plan.expandable_segments}, {"split", has_micro_batch}};
    sizes.family = Json{{"params", std::move(others)}, {"plan", plan}}.dump();
    return sizes;
}

void CardRecordings::fix(Sizes& sizes, std::size_t number) {
    const auto place = sizes.numbers.begin() + static_cast<std::ptrdiff_t>(number);
    sizes.family += "; number " + std::to_string(number) + " is " + std::to_string(std::llround(*place));
    sizes.numbers.erase(place);
}

CardRecordings::Family& CardRecordings::family_of(Sizes& sizes, const hpo::TrainerJob& job, hpo::Progress& progress) {
    for (;;) {
        if (const auto found = fixed_.find(sizes.family); found != fixed_.end()) {
            fix(sizes, found->second);
            continue;
        }
        if (const auto found = families_.find(sizes.family); found != families_.end()) return found->second;
        const std::string key = program_key(job, sizes.family);
        const std::string kept = progress.recall(fixed_key(key)).value_or("");
        std::size_t number = 0;
        if (std::from_chars(kept.data(), kept.data() + kept.size(), number).ec == std::errc{} && number < sizes.numbers.size()) {
            fixed_.emplace(sizes.family, number);
            continue;
        }
        Family made{.key = key, .series = Series{sizes.numbers.size()}, .earlier = recalled(key, sizes.numbers.size(), progress)};
        return families_.emplace(sizes.family, std::move(made)).first->second;
    }
}

void CardRecordings::separate(const std::string& name, std::size_t number, const hpo::TrainerJob& job, hpo::Progress& progress) {
    const Family mixed = std::move(families_.at(name));
    families_.erase(name);
    fixed_.emplace(name, number);
    progress.keep(fixed_key(mixed.key), std::to_string(number));
    for (const auto& each : mixed.series.law.recorded()) {
        Sizes sizes{.numbers = each.numbers, .family = name};
        Family& family = family_of(sizes, job, progress);
        take(family,
             {.numbers = sizes.numbers,
              .torch = mixed.series.torch,
              .conf = mixed.series.conf,
              .beside_bytes = mixed.series.beside_bytes,
              .notes = mixed.series.notes,
              .trace = each.trace},
             progress);
    }
}

hpo::PeakPrediction CardRecordings::predict(const hpo::TrainerJob& job, const ProgramStart& start, hpo::Progress& progress) {
    Sizes sizes = sizes_of(job);
    Family& family = family_of(sizes, job, progress);
    const std::vector<double>& numbers = sizes.numbers;
    if (!family.unknown.empty()) throw cannot(family.unknown);
    const auto traced = [&](hpo::PeakPrediction prediction) {
        if (!job.trace_file.empty()) hpo::allocator::write_trace(job.trace_file, family.series.law.at(numbers)->trace);
        return prediction;
    };
    if (!family.series.law.is_recorded(numbers)) {
        if (auto prediction = by_law(family, numbers, job)) return traced(*std::move(prediction));
        if (family.series.law.recordings() >= most_recordings)
            throw cannot("its memory does not grow evenly with its parameters: " + std::to_string(most_recordings) +
                         " recordings do not tell how much it takes with these");
        record(family, numbers, start, progress);
        if (const auto number = family.series.law.number_of_blocks_by()) {
            separate(sizes.family, *number, job, progress);
            return predict(job, start, progress);  // by the recording that was just made
        }
    }
    return traced(predicted(family, numbers, job));
}

std::optional<hpo::PeakPrediction> CardRecordings::by_law(const Family& family, const std::vector<double>& numbers,
                                                          const hpo::TrainerJob& job) {
    const hpo::allocator::TraceLaw& law = family.series.law;
    if (!may_predict(law, numbers)) return std::nullopt;
    hpo::PeakPrediction prediction = predicted(family, numbers, job);
    return is_predicted(law, prediction.uncertainty) ? std::optional{std::move(prediction)} : std::nullopt;
}

hpo::PeakPrediction CardRecordings::predicted(const Family& family, const std::vector<double>& numbers, const hpo::TrainerJob& job) {
    using namespace hpo::allocator;
    const Series& series = family.series;
    const auto version = parse_libtorch_version(series.torch).value_or(LibTorchVersion{});
    AllocatorSettings settings = read_allocator_conf(series.conf, version, "the program's allocator settings");
    if (!job.plan.allocator_settings.empty())
        settings = read_allocator_conf(job.plan.allocator_settings, version, "plan.allocator_settings");
    settings.expandable_segments = settings.expandable_segments || job.plan.expandable_segments;
    const std::int64_t context = context_bytes_of(job);
    const std::int64_t outside = context + series.beside_bytes;
    const auto found = family.series.law.at(numbers);
    const CapacityNeed need = capacity_need(found->trace, settings, outside);
    const TracePeak peak = requested_peak(found->trace);
    hpo::PeakPrediction prediction{.source = hpo::PeakSource::virtual_card};
    prediction.requested_bytes = need.unlimited.counts.requested_peak;
    prediction.allocated_bytes = need.unlimited.counts.allocated_peak;
    prediction.reserved_bytes = need.unlimited.counts.reserved_peak;
    prediction.need = need.need;
    prediction.comfort = std::max(need.comfort, need.unlimited.counts.reserved_peak + outside);
    prediction.parts = parts_after(found->trace, peak.event);
    prediction.parts.push_back({"CUDA context", context});  // seen from outside, a program's peak includes it
    if (series.beside_bytes > 0) prediction.parts.push_back({"beside PyTorch", series.beside_bytes});
    prediction.parts.push_back({"allocator", need.need - outside - peak.bytes});
    if (!family.series.law.is_recorded(numbers)) {
        double doubt = 0;
        for (const AllocationTrace* const other : {&found->least, &found->most}) {
            const auto bytes = static_cast<double>(capacity_need(*other, settings, outside).need);
            doubt = std::max(doubt, std::abs(bytes / static_cast<double>(need.need) - 1));
        }
        prediction.uncertainty = std::max(doubt, latest_error(family.series.law));
        prediction.remark = "from " + std::to_string(series.law.recordings()) + " recordings of the program on a virtual card";
        if (series.earlier > 0) prediction.remark += ", " + std::to_string(series.earlier) + " of them of an earlier run";
    } else {
        prediction.remark = "the program was recorded on a virtual card";
    }
    prediction.remark += "; the context is taken to be " + hpo::format_bytes(context);
    for (const std::string& note : series.notes) prediction.remark += "; not counted: " + note;
    return prediction;
}

}  // namespace hpo::command
