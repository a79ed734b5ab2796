// SPDX-License-Identifier: MIT
#include "tune/program/program_report.hpp"

#include <algorithm>

#include "hpo/base/bytes.hpp"
#include "tune/card/known_cards.hpp"

namespace hpo::tune {

namespace {

using tools::Json;
using tools::Page;
using tools::Table;

constexpr std::size_t indent = 9;

std::string steps_text(int steps) { return steps == 1 ? "1 optimizer step" : std::to_string(steps) + " optimizer steps"; }

/// "at least " and its like, before a figure of what the program takes.
std::string bound_text(const ProgramEstimate& estimate) {
    const bool more = estimate.at_least() || !estimate.need_known();
    return more && estimate.at_most() ? "about " : more ? "at least " : estimate.at_most() ? "at most " : "";
}

std::string least_text(const ProgramEstimate& estimate) {
    if (estimate.adapts()) return "adapts to the card, and takes " + format_bytes(estimate.reserved_peak) + " of this one";
    return "needs a card of " + bound_text(estimate) + rounded_up(estimate.least_card);
}

/// "needs a card of 754.00 MiB"; empty: it is not known.
std::string need_text(const ProgramEstimate& estimate) {
    return estimate.need_known() && !estimate.lacks_kernels() ? "; it " + least_text(estimate) : "";
}

const KnownCard* smallest_card(const ProgramAnswer& answer) {
    const ProgramEstimate& whole = answer.furthest();
    const auto found = std::ranges::find_if(known_cards, [&](const KnownCard& each) {
        return card_bytes(each) >= whole.least_card && runs_on(each.capability, whole.process().architectures);
    });
    return found == known_cards.end() ? nullptr : &*found;
}

std::string smallest_text(const ProgramAnswer& answer) {
    const ProgramEstimate& whole = answer.furthest();
    if (!whole.failure().empty()) return "not known: the program failed";
    if (!whole.need_known()) return "not known: the requests after the one that failed are not known";
    if (!whole.unknown().empty()) return "not known: " + whole.unknown();
    if (whole.adapts()) return "not known: the program adapts to the card";
    const KnownCard* const card = smallest_card(answer);
    if (card == nullptr) return "none of those that hpo-tune knows";
    return std::string{card->name} + ", " + format_bytes(card_bytes(*card));
}

/// What another setting of the allocator would do on a card that is too small.
std::string setting_text(const ProgramAnswer& answer) {
    if (answer.settings.empty()) return "";
    if (!answer.worth_setting) return "no setting of the allocator makes it fit";
    const allocator::WhatIf& best = answer.settings[*answer.worth_setting];
    const ProgramEstimate& whole = answer.furthest();
    const std::int64_t others = answer.on_card.run.card.context_bytes + whole.beside_bytes;
    return "PYTORCH_CUDA_ALLOC_CONF=" + (best.conf.empty() ? "''" : best.conf) + ": the same requests are served, " +
           (*best.retries == 0 ? "without a retry" : "after " + tools::retries_text(*best.retries)) + ". It needs a card of " +
           rounded_up(best.least_capacity + others) + " instead of " + rounded_up(whole.least_card);
}

void print_steps(const Page& page, const ProgramEstimate& estimate) {
    if (estimate.steps.empty()) return;
    std::string text;
    for (std::size_t i = 0; i < estimate.steps.size(); ++i) {
        if (i == 4 && estimate.steps.size() > 6) {
            text += ", ...";
            i = estimate.steps.size() - 2;
        }
        const auto& each = estimate.steps[i];
        text += (i == 0 ? "" : ", ") + std::to_string(i + 1) + ": " + format_bytes(each.reserved) + " reserved, " +
                format_bytes(each.allocated) + " allocated";
    }
    page.paragraph("by step  " + text, indent);
}

/// What cuDNN's convolutions took for themselves where people measured it with PyTorch 2, as a multiple of their input, output and weights:
/// github.com/pytorch/pytorch/issues/95024 (1.0), 128947 (0.9), 123533 (1.0 to 1.5). Nothing bounds it: single older cards took gigabytes.
constexpr double seen_workspaces = 1.5;

std::int64_t largest_workspace(const ProgramEstimate& estimate) {
    return static_cast<std::int64_t>(seen_workspaces * static_cast<double>(estimate.end.convolution_bytes));
}

/// The lines that read made-up values, in one sentence: those that may be sizes first.
std::string made_up_text(const ProgramEstimate& estimate) {
    std::vector<ValueRead> reads = estimate.process().value_reads;
    if (reads.empty()) return "";
    std::ranges::stable_sort(reads, std::ranges::greater{}, &ValueRead::whole_number);
    std::string text = "made-up values are read at " + reads.front().line;
    if (reads.front().whole_number) text += ", a whole number. If it becomes a size, the figures are others";
    else text += ". If a size depends on them, it is not predicted";
    if (reads.size() > 1) text += ". " + tools::counted(reads.size() - 1, "other line") + " read some, too (--json)";
    return text;
}

/// What was assumed where a size depends on data, below the verdict.
void print_assumed(const Page& page, const ProgramEstimate& estimate) {
    const std::vector<SizeFromData>& sizes = estimate.process().sizes_from_data;
    for (auto first = sizes.begin(); first != sizes.end(); ++first) {
        if (std::find_if(sizes.begin(), first, [&](const SizeFromData& each) { return each.assumed == first->assumed; }) != first) continue;
        const auto same = std::count_if(first, sizes.end(), [&](const SizeFromData& each) { return each.assumed == first->assumed; });
        page.paragraph("assumed  " + first->line +
                           (same > 1 ? " and " + tools::counted(static_cast<std::size_t>(same - 1), "other line") : "") + ": " +
                           first->assumed,
                       indent);
    }
}

/// A line of the program with which it takes another way, one that is modelled; empty: none is known.
std::string setting_that_is_modelled(const ProgramEstimate& estimate) {
    const bool recurrent = std::ranges::any_of(estimate.end.not_modelled, [](const std::string& each) {
        return each.starts_with("cudnnRNN") || each.starts_with("cudnnGetRNN") || each.starts_with("cudnnSetRNN");
    });
    return recurrent ? "torch.backends.cudnn.enabled = False" : "";
}

void print_notes(const Page& page, const ProgramEstimate& estimate) {
    const auto note = [&](const std::string& text) { page.paragraph("note     " + text, indent); };
    for (const std::string& each : estimate.end.not_modelled) {
        if (each != cudnn_workspace || estimate.end.convolution_bytes == 0) note("not modelled: " + each);
        else
            note("not modelled: " + each + ". While a convolution runs, people saw 0 to " + display_text(seen_workspaces) +
                 " times what it reads and writes, here up to " + format_bytes(largest_workspace(estimate)) +
                 "; a few saw more. PyTorch takes less where there is no room");
    }
    if (estimate.end.processes.size() > 1)
        note(std::to_string(estimate.end.processes.size()) + " processes used the cards; this is the one that took most");
    if (estimate.process().why == "steps")
        note("it was ended after its optimizers' " +
             (estimate.process().steps == 1 ? std::string{"first step"} : "step " + std::to_string(estimate.process().steps)) +
             ": what it does later, such as evaluating or saving, is not counted");
    for (const std::string& each : estimate.end.untried) note(each);
    for (const std::string& each : estimate.process().card_questions) note("the card's size is read at " + each);
    if (estimate.caught > 0)
        note(tools::counted(estimate.caught, "request") + " ran out of memory, and the program went on with something else");
    if (estimate.process().cards.size() > 1)
        note("it uses " + std::to_string(estimate.process().cards.size()) + " cards; this is card " +
             std::to_string(estimate.recording.device) + ", of which it takes most");
    if (estimate.end.wrote_in_place && !estimate.run.in_place)
        note("what the program wrote is in the current folder: this machine does not allow a folder laid over it");
    if (estimate.beside_bytes > 0) note(format_bytes(estimate.beside_bytes) + " were taken beside PyTorch's allocator, by other libraries");
    if (const std::string text = made_up_text(estimate); !text.empty()) note(text);
}

}  // namespace

std::string rounded_up(std::int64_t bytes) {
    const std::int64_t unit = bytes >= std::int64_t{1} << 30 ? std::int64_t{1} << 30 : std::int64_t{1} << 20;
    const std::int64_t hundredths = (100 * (bytes / unit)) + (100 * (bytes % unit) + unit - 1) / unit;
    return format_bytes(hundredths * unit / 100 + (hundredths * unit % 100 != 0 ? 1 : 0));
}

std::string verdict(const ProgramAnswer& answer) {
    const ProgramEstimate& here = answer.on_card;
    if (here.lacks_kernels()) {
        const int capability = here.run.card.capability;
        std::string compiled;
        for (const std::string& each : here.process().architectures) compiled += (compiled.empty() ? "" : ", ") + each;
        return "no: PyTorch " + here.process().torch + " has no kernels for its compute capability " + std::to_string(capability / 10) +
               "." + std::to_string(capability % 10) + ", only for " + compiled;
    }
    if (here.fails_line) {
        return std::string{answer.fits() ? "no" : "not known, it depends on data. Here"} + ": out of memory, " +
               format_bytes(here.fails_bytes) + " asked for by " + *here.fails_line + ", after " + steps_text(here.process().steps);
    }
    if (const auto room = here.room_for_attention())
        return "yes, while " + std::string{attention_workspace} + " is under " + format_bytes(*room);
    if (!here.failure().empty()) return "not known: the program failed after " + steps_text(here.process().steps);
    if (const std::string why = here.unknown(); !why.empty()) return "not known: " + why;
    return here.caught > 0 ? "yes, by catching its out-of-memory" : "yes";
}

void print_program(const Page& page, const ProgramAnswer& answer, std::size_t top) {
    const ProgramEstimate& here = answer.on_card;
    const ProgramEstimate& whole = answer.furthest();
    std::string words;
    for (const std::string& each : here.run.words) words += (words.empty() ? "" : " ") + each;
    page.paragraph(words + ": on a virtual " + here.run.card.name + " (" + format_bytes(here.run.card.bytes) + "), " +
                       steps_text(whole.process().steps) + " in " + tools::duration(whole.end.seconds) + ", PyTorch " +
                       whole.process().torch,
                   indent);
    if (!whole.failure().empty()) page.paragraph("failed   " + whole.unknown(), indent);
    page.paragraph("peak     " + bound_text(whole) + format_bytes(whole.reserved_peak) + " reserved, " +
                       format_bytes(whole.allocated_peak) + " allocated, and " + format_bytes(here.run.card.context_bytes) +
                       " for the CUDA context (" + here.run.card.context_from + ")" +
                       (answer.unlimited ? "; on a card that refuses nothing" : ""),
                   indent);
    page.paragraph("fits     " + verdict(answer) + need_text(whole), indent);
    print_assumed(page, whole);
    if (const std::string line = setting_that_is_modelled(whole); !line.empty())
        page.paragraph("try      " + line + " in the program: PyTorch's own kernels are modelled. cuDNN's take another amount", indent);
    if (const std::string text = setting_text(answer); !text.empty()) page.paragraph("set      " + text, indent);
    page.paragraph("smallest " + smallest_text(answer), indent);
    print_steps(page, whole);
    print_notes(page, whole);
    page.line();
    page.heading("Who holds the peak: " + format_bytes(whole.holders.bytes) + " requested");
    Table table{{{"bytes", Table::Align::right}, {"blocks", Table::Align::right}, {"line"}}, Table::Last::wrap};
    for (std::size_t i = 0; i < whole.holders.scopes.size() && i < top; ++i) {
        const auto& each = whole.holders.scopes[i];
        table.row({format_bytes(each.bytes), std::to_string(each.blocks), ProgramEstimate::shown_line(each.scope)});
    }
    table.print(page, 2);
    page.line();
    page.paragraph("A virtual card computes nothing. Not counted: cuDNN's workspaces, NCCL, other processes.", 0);
}

Json program_json(const ProgramAnswer& answer) {
    const ProgramEstimate& here = answer.on_card;
    const ProgramEstimate& whole = answer.furthest();
    const RecordedProcess& process = whole.process();
    const KnownCard* const smallest = whole.need_known() && whole.unknown().empty() && !whole.adapts() ? smallest_card(answer) : nullptr;
    Json json{{"card", here.run.card.name},
              {"card_bytes", here.run.card.bytes},
              {"context_bytes", here.run.card.context_bytes},
              {"fits", tools::or_null(answer.fits())},
              {"fails_at", nullptr},
              {"least_device_bytes", whole.need_known() ? Json(whole.least_card) : Json(nullptr)},
              {"at_least", whole.at_least()},
              {"at_most", whole.at_most()},
              {"failed", tools::text_or_null(whole.failure())},
              {"try", tools::text_or_null(setting_that_is_modelled(whole))},
              {"lacks_kernels", here.lacks_kernels()},
              {"fits_if_attention_takes_less_than_bytes", tools::or_null(here.room_for_attention())},
              {"adapts_to_card", whole.adapts()},
              {"card_questions", process.card_questions},
              {"caught_out_of_memory", whole.caught},
              {"smallest_card", smallest != nullptr ? Json(smallest->name) : Json(nullptr)},
              {"allocated_bytes", whole.allocated_peak},
              {"reserved_bytes", whole.reserved_peak},
              {"beside_pytorch_bytes", whole.beside_bytes},
              {"pytorch_max_memory_allocated", process.allocated_bytes},
              {"pytorch_max_memory_reserved", process.reserved_bytes},
              {"cards", here.run.card.count},
              {"processes", whole.end.processes.size()},
              {"steps", process.steps},
              {"steps_on_card", here.process().steps},
              {"ended_by", process.why},
              {"not_known_because", answer.fits() ? Json(nullptr) : tools::text_or_null(here.unknown())},
              {"error", tools::text_or_null(here.process().error)},
              {"timed_out", whole.end.timed_out},
              {"wrote_in_place", whole.end.wrote_in_place},
              {"torch", process.torch},
              {"seconds", whole.end.seconds},
              {"not_modelled", whole.end.not_modelled},
              {"convolution_workspace_seen_bytes", whole.end.convolution_bytes > 0 ? Json{0, largest_workspace(whole)} : Json(nullptr)},
              {"untried", whole.end.untried},
              {"by_step", Json::array()},
              {"settings_table", Json::array()},
              {"worth_setting", answer.worth_setting ? Json(answer.settings[*answer.worth_setting].conf) : Json(nullptr)},
              {"asked", Json::array()},
              {"depends_on_data", Json::array()},
              {"lines", Json::array()}};
    if (here.fails_line) json["fails_at"] = {{"line", *here.fails_line}, {"requested_bytes", here.fails_bytes}};
    for (const auto& each : whole.steps)
        json["by_step"].push_back({{"allocated_bytes", each.allocated}, {"reserved_bytes", each.reserved}});
    for (const allocator::WhatIf& row : answer.settings)
        json["settings_table"].push_back({{"settings", row.conf},
                                          {"reserved_peak_bytes", row.reserved_peak},
                                          {"least_capacity_bytes", row.least_capacity},
                                          {"capacity_without_retry_bytes", row.capacity_without_retry},
                                          {"fits", tools::or_null(row.fits)},
                                          {"retries", tools::or_null(row.retries)}});
    for (const ValueRead& each : process.value_reads)
        json["asked"].push_back({{"line", each.line}, {"times", each.times}, {"whole_number", each.whole_number}});
    for (const SizeFromData& each : process.sizes_from_data)
        json["depends_on_data"].push_back({{"line", each.line},
                                           {"assumed", each.assumed},
                                           {"at_least", each.bound == SizeFromData::Bound::at_least},
                                           {"at_most", each.bound == SizeFromData::Bound::at_most}});
    for (const auto& each : whole.holders.scopes)
        json["lines"].push_back({{"line", ProgramEstimate::shown_line(each.scope)}, {"bytes", each.bytes}, {"blocks", each.blocks}});
    return json;
}

}  // namespace hpo::tune
