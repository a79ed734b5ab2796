// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "hpo/core/error.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/trace_peak.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/meta_device.hpp"

namespace hpo::torch {

/// Why a dry run could not go through, in a line: an operator without a meta kernel is named.
[[nodiscard]] inline std::string dry_run_problem(const std::string& message) {
    const std::string line = message.substr(0, message.find('\n'));
    const std::string quoted =
        "Could not run '";  // LibTorch 1.13 and others: Could not run 'aten::x' with arguments from the 'Meta' backend.
    const std::string plain = ": attempted to run this operator with Meta tensors";  // later ones: aten::x: attempted to ...
    std::string name;
    if (const auto begin = line.find(quoted); begin != std::string::npos && line.find("'Meta' backend") != std::string::npos) {
        const std::size_t first = begin + quoted.size();
        name = line.substr(first, line.find('\'', first) - first);
    } else if (const auto end = line.find(plain); end != std::string::npos) {
        name = line.substr(0, end);
    }
    return name.empty() ? line : "LibTorch has no meta kernel for " + name;
}

/// What `trace()`, which makes a trace in a thread of its own, threw as an Error that says so in a line.
template <class Trace>
[[nodiscard]] memory::AllocationTrace traced_apart(std::string_view source, const Trace& trace) {
    memory::AllocationTrace result;
    std::exception_ptr error;
    std::thread{[&] {
        try {
            result = trace();
        } catch (...) {
            error = std::current_exception();
        }
    }}.join();
    if (!error) return result;
    throw Error{Errc::plugin, std::string{source} + ": " + dry_run_problem(translate_failure(error, "", {}).message)};
}

/// The peak of a trace on a metered CPU device, which counts what tensors ask for and nothing else.
[[nodiscard]] inline PeakPrediction metered_prediction(const memory::AllocationTrace& trace) {
    const memory::TracePeak peak = memory::requested_peak(trace);
    PeakPrediction prediction;
    prediction.requested_bytes = prediction.allocated_bytes = prediction.reserved_bytes = peak.bytes;
    prediction.need = prediction.comfort = peak.bytes;
    prediction.parts = memory::parts_after(trace, peak.event);
    return prediction;
}

}  // namespace hpo::torch
