// SPDX-License-Identifier: MIT
#include "tune/program/program_answer.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "support/text.hpp"

namespace hpo::tune {

namespace {

constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 40;

ProgramEstimate estimate_on(ProgramRun run, const std::string& folder, const std::function<void(const std::string&)>& say) {
    run.folder /= folder;
    std::filesystem::create_directory(run.folder);
    const std::string what = "running " + run.words[0] + " on a virtual " + run.card.name + ": ";
    ProgramEnd end = run_on_virtual_card(run, [&](double seconds) { say(what + tools::duration(seconds)); });
    return estimate_from(run, std::move(end));
}

void ask_settings(ProgramAnswer& answer, const std::function<void(const std::string&)>& say) {
    const ProgramEstimate& whole = answer.furthest();
    // Only where the program does not fit, and would run.
    if (!answer.on_card.fails_line || answer.on_card.lacks_kernels()) return;
    if (!whole.unknown().empty() || whole.fails_line || !whole.recording.replay.exact()) return;
    const allocator::WhatIfQuestion question{whole.recording.settings.version,
                                             answer.on_card.run.card.bytes - answer.on_card.run.card.context_bytes - whole.beside_bytes};
    std::vector<std::string> confs = allocator::usual_what_ifs(question);
    std::erase(confs, whole.recording.conf);
    confs.insert(confs.begin(), whole.recording.conf);
    answer.settings = allocator::what_ifs(whole.recording.trace, confs, question, [&](std::size_t done) {
        say("replaying under " + std::to_string(confs.size()) + " settings of the allocator: " + std::to_string(done) + " done");
    });
    answer.worth_setting = allocator::worth_setting(answer.settings);
}

}  // namespace

std::optional<bool> ProgramAnswer::fits() const {
    if (on_card.lacks_kernels()) return false;
    // A size that was assumed as large as it can be may have been the reason.
    if (on_card.fails_line) return on_card.at_most() ? std::nullopt : std::optional{false};
    if (!on_card.unknown().empty()) return std::nullopt;
    return true;
}

ProgramAnswer ask_card(ProgramRun run, const std::function<void(const std::string&)>& say) {
    ProgramAnswer answer{.on_card = estimate_on(run, "on_card", say)};
    if (answer.on_card.fails_line) {
        ProgramRun larger = run;
        larger.card.bytes = unlimited_bytes;
        larger.card.name += " without a limit";
        answer.unlimited = estimate_on(std::move(larger), "unlimited", say);
    }
    ask_settings(answer, say);
    return answer;
}

}  // namespace hpo::tune
