// SPDX-License-Identifier: MIT
#include "tune/program/per_values.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "tune/program/program_report.hpp"

namespace hpo::tune {

PerOption read_per(const std::string& text, const std::vector<std::string>& words) {
    const auto equals = text.find('=');
    PerOption per{.name = text.substr(0, equals)};
    std::istringstream values{equals == std::string::npos ? "" : text.substr(equals + 1)};
    for (std::string each; std::getline(values, each, ',');) {
        if (each.empty()) throw bad_value("--per", "'" + text + "'", "a value on each side of a comma");
        per.values.push_back(each);
    }
    if (per.name.empty() || per.values.empty()) throw bad_value("--per", "'" + text + "'", "NAME=VALUE,VALUE,..., such as BATCH=8,16,32");
    const std::string place = "{" + per.name + "}";
    if (std::ranges::none_of(words, [&](const std::string& word) { return word.find(place) != std::string::npos; }))
        throw Error{Errc::usage,
                    "--per: no argument of the program has " + place + ", for example -- python train.py --batch-size " + place};
    return per;
}

std::vector<std::string> with_value(std::vector<std::string> words, const std::string& name, const std::string& value) {
    const std::string place = "{" + name + "}";
    for (std::string& word : words) {
        for (auto at = word.find(place); at != std::string::npos; at = word.find(place, at + value.size()))
            word.replace(at, place.size(), value);
    }
    return words;
}

const PerValue* largest_that_fits(const std::vector<PerValue>& rows) {
    const auto number = [](const std::string& text) {
        std::optional<double> value{0};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
        if (error != std::errc{} || end != text.data() + text.size()) value.reset();
        return value;
    };
    const bool numbers = std::ranges::all_of(rows, [&](const PerValue& each) { return number(each.value).has_value(); });
    const PerValue* found = nullptr;
    for (const PerValue& each : rows) {
        if (!each.answer || !each.answer->fits().value_or(false) || each.answer->furthest().adapts()) continue;
        if (found == nullptr || !numbers || *number(each.value) > *number(found->value)) found = &each;
    }
    return found;
}

void print_per(const tools::Page& page, const ProgramRun& run, const std::string& name, const std::vector<PerValue>& rows) {
    using tools::Table;
    using Align = Table::Align;
    page.paragraph("On a virtual " + run.card.name + " (" + format_bytes(run.card.bytes) + "), of which the CUDA context takes " +
                   format_bytes(run.card.context_bytes) + ":");
    page.line();
    Table table{{{name, Align::right}, {"reserved", Align::right}, {"allocated", Align::right}, {"needs", Align::right}, {"fits"}},
                Table::Last::wrap};
    for (const PerValue& each : rows) {
        if (!each.answer) {
            table.row({each.value, "-", "-", "-", "not known: " + each.error});
            continue;
        }
        const ProgramEstimate& whole = each.answer->furthest();
        const bool is_more = whole.at_least() || !whole.need_known();
        const std::string more = is_more && whole.at_most() ? "~ " : is_more ? ">= " : whole.at_most() ? "<= " : "";
        table.row({each.value, more + format_bytes(whole.reserved_peak), more + format_bytes(whole.allocated_peak),
                   whole.need_known() && !whole.adapts() ? more + rounded_up(whole.least_card) : "-", verdict(*each.answer)});
    }
    table.print(page, 2);
    page.line();
    const PerValue* const largest = largest_that_fits(rows);
    const bool none = std::ranges::all_of(rows, [](const PerValue& each) { return each.answer && each.answer->fits() == false; });
    page.paragraph(largest != nullptr ? "The largest " + name + " that fits is " + largest->value + "."
                   : none             ? "None of them fits."
                                      : "No value is known to fit.");
    for (const PerValue& each : rows) {
        if (each.answer && (each.answer->furthest().at_least() || each.answer->furthest().at_most())) {
            page.paragraph(">= : at least; <= : at most; ~ : neither is known. Ask for " + each.value + " alone to see why.");
            break;
        }
    }
}

}  // namespace hpo::tune
