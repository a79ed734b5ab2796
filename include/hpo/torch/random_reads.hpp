// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "hpo/torch/trace_recorder.hpp"
#include "hpo/torch/value_reads.hpp"

namespace hpo::torch {

/// Notices, while it lives, numbers that this thread reads in a training's passes after it drew random ones on the CPU. What is read may be
/// one of them, as where a layer is left out at random. A dry run would see the draws of a few steps only. Before a step's first draw reads
/// do not count; nor do those in evaluations and harmless ones.
///
/// One at a time in a thread. What is drawn otherwise, as by std::rand, is not noticed; nor is what is read through data_ptr.
class RandomReads {
public:
    RandomReads() : callback_{at::addThreadLocalCallback(at::RecordFunctionCallback{&look}.scopes({at::RecordScope::FUNCTION}))} {
        phase_of_read().clear();
    }
    ~RandomReads() { at::removeCallback(callback_); }
    RandomReads(const RandomReads&) = delete;
    RandomReads& operator=(const RandomReads&) = delete;

    /// The phase of the first; empty: there was none.
    [[nodiscard]] const std::string& phase() const { return phase_of_read(); }

private:
    static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function) {
        if (!phase_of_read().empty() || !reads(function.name())) return nullptr;
        if (HarmlessReads::in_force() || EvaluationReads::in_evaluation()) return nullptr;
        const std::string phase = TraceRecorder::instance().phase();
        if ((phase == "forward" || phase == "backward" || phase == "update") && has_drawn()) phase_of_read() = phase;
        return nullptr;
    }
    /// Operators whose result, or its size, is numbers that they read.
    static bool reads(std::string_view name) {
        static constexpr std::array<std::string_view, 6> readers{
            "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::equal"};
        return std::ranges::find(readers, name) != readers.end();
    }
    /// Whether the CPU's generator, which every step seeds, has given a number since.
    static bool has_drawn() {
        at::Generator generator = at::detail::getDefaultCPUGenerator();  // a handle
        const std::lock_guard lock{generator.mutex()};
        auto* const own = at::check_generator<at::CPUGeneratorImpl>(generator);
        const auto now = own->engine().data();
        const auto fresh = at::mt19937{own->current_seed()}.data();
        return now.left_ != fresh.left_ || now.next_ != fresh.next_ || now.state_ != fresh.state_;
    }
    static std::string& phase_of_read() {
        thread_local std::string phase;
        return phase;
    }

    at::CallbackHandle callback_;
};

}  // namespace hpo::torch
