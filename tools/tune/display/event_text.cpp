// SPDX-License-Identifier: MIT
#include "tune/display/event_text.hpp"

#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/failure_line.hpp"
#include "tune/display/text.hpp"

namespace hpo::tune {

std::string failure_text(const Failure& failure) { return std::string{analysis::failure_name(failure)} + ": " + failure_line(failure); }

std::string goes_on_text(const Trial& trial, const Trial& lost) {
    const std::string which = "trial " + std::to_string(lost.number);
    if (trial.intermediate.empty()) return "runs " + which + " again, which was interrupted";
    return "goes on with " + which + ", which was interrupted, after step " + std::to_string(trial.intermediate.rbegin()->first);
}

std::string replaced_text(const MemoryMark& mark) {
    if (mark.name == held_cache_mark && mark.reading.reserved)
        return format_bytes(*mark.reading.reserved) + " stayed reserved without use after it; its worker is replaced";
    if (mark.name == host_growth_mark && mark.reading.allocated) {
        return "the host memory of its worker has grown by " + format_bytes(*mark.reading.allocated) +
               " over its latest attempts; the worker is replaced";
    }
    return {};
}

std::string device_left_out_text(const std::string& device, double seconds, const Failure& latest) {
    return device + " is left out for " + duration(seconds) +
           ": attempts fail there by its own fault, the latest with: " + failure_text(latest);
}

std::string all_wait_text(std::size_t trials, double seconds) {
    const std::string who =
        trials == 1 ? "a trial waits to be tried again, and" : std::to_string(trials) + " trials wait to be tried again, and the first";
    return "nothing runs: " + who + " goes on in " + duration(seconds) + " at the latest";
}

std::string source_given_up_text(const std::string& source, const std::string& family) {
    return source + " predicted too little for half of the trials of '" + family + "' or more: it is not asked about them any more";
}

std::string rejected_text(const Rejection& rejection) {
    return "refused before launch: " + rejection.reason + (rejection.params.empty() ? "" : " (" + summary_of(rejection.params) + ")");
}

}  // namespace hpo::tune
