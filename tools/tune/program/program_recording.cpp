// SPDX-License-Identifier: MIT
#include "tune/program/program_recording.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/program/program_estimate.hpp"
#include "tune/program/program_run.hpp"

namespace hpo::tune {

namespace {

using tools::Json;

Json recorded(const std::filesystem::path& folder, ProgramRun run) {
    run.folder = folder / "run";
    std::filesystem::create_directory(run.folder);
    ProgramEnd end = run_on_virtual_card(run, [](double) {});
    const ProgramEstimate estimate = estimate_from(run, std::move(end));
    allocator::AllocationTrace trace = estimate.recording.trace;
    trace.libtorch = estimate.process().torch;
    allocator::write_trace(folder / "trace", trace);
    std::vector<std::string> notes = estimate.end.not_modelled;
    for (const SizeFromData& each : estimate.process().sizes_from_data) notes.push_back(each.line + " is " + each.assumed);
    std::string unknown = estimate.unknown();
    if (unknown.empty() && estimate.adapts()) unknown = "the program looks at how large the card is, or tries what fits";
    return {{"torch", estimate.process().torch},
            {"conf", estimate.recording.conf},
            {"beside_bytes", estimate.beside_bytes},
            {"unknown", unknown},
            {"failed", estimate.end.status != 0 || !estimate.process().error.empty() || estimate.process().why == "limit"},
            {"notes", notes}};
}

}  // namespace

int record_program(const std::vector<std::string>& words) {
    if (words.size() < 4) return exit_code(Errc::usage);
    const std::filesystem::path folder = words[0];
    // The program is nobody's attempt: what it says is not heard.
    ::unsetenv("HPO_REPORT_FD");
    ::unsetenv("HPO_ANSWER_FD");
    Json told;
    try {
        ProgramRun run;
        run.words.assign(words.begin() + 3, words.end());
        run.card = card_of_figures(words[1]);
        run.limit = std::chrono::seconds{std::stoi(words[2])};
        told = recorded(folder, std::move(run));
    } catch (const std::exception& error) {
        told = {{"error", error.what()}};
    }
    std::ofstream{folder / "told.json"} << tools::one_line_text(told) << "\n";
    return told.contains("error") ? exit_code(Errc::check_failed) : 0;
}

}  // namespace hpo::tune
