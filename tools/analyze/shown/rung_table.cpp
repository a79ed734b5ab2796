// SPDX-License-Identifier: MIT
#include "analyze/shown/rung_table.hpp"

#include <algorithm>
#include <functional>

#include "hpo/recovery/known_rungs.hpp"
#include "hpo/recovery/rungs/rung_record.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::recovery::FailureClass;

namespace {

std::string class_text(const FailureClass& failures) {
    return std::string{to_text(failures.kind)} + (failures.cause ? " (" + std::string{to_text(*failures.cause)} + ")" : "");
}

}  // namespace

std::vector<RungLine> rung_lines(const std::vector<hpo::Trial>& trials) {
    std::vector<FailureClass> classes;
    for (const hpo::Trial& trial : trials) {
        for (const hpo::Attempt& attempt : trial.attempts) {
            if (!attempt.failure) continue;
            const FailureClass failures = FailureClass::of(*attempt.failure);
            if (std::ranges::find(classes, failures) == classes.end()) classes.push_back(failures);
        }
    }
    std::vector<RungLine> lines;
    for (const FailureClass& failures : classes) {
        for (const hpo::recovery::KnownRung& rung : hpo::recovery::known_rungs()) {
            const auto record = hpo::recovery::record_of(rung.name, failures, trials);
            if (record.trials > 0) lines.push_back({std::string{rung.name}, failures, record});
        }
    }
    std::ranges::stable_sort(lines, std::greater{}, [](const RungLine& line) { return line.record.trials; });
    return lines;
}

std::vector<RungLine> memory_rung_lines(const std::vector<hpo::Trial>& trials) {
    std::vector<RungLine> lines = rung_lines(trials);
    std::erase_if(lines, [](const RungLine& line) { return !hpo::is_memory(line.failures.kind); });
    return lines;
}

Json rung_json(const std::vector<RungLine>& lines) {
    Json list = Json::array();
    for (const RungLine& line : lines) {
        list.push_back({{"rung", line.rung},
                        {"kind", std::string{to_text(line.failures.kind)}},
                        {"cause", line.failures.cause ? Json(std::string{to_text(*line.failures.cause)}) : Json(nullptr)},
                        {"trials", line.record.trials},
                        {"helped", line.record.helped}});
    }
    return list;
}

void print_rungs(const Page& page, const std::vector<RungLine>& lines) {
    if (lines.empty()) return;
    page.line();
    page.heading("What the rungs of recovery did");
    using Align = Table::Align;
    Table table{{{"trials", Align::right}, {"helped", Align::right}, {"rung"}, {"tried for"}}};
    for (const RungLine& line : lines)
        table.row({std::to_string(line.record.trials), std::to_string(line.record.helped), line.rung, class_text(line.failures)});
    table.print(page, 2);
}

}  // namespace hpo::analyze
