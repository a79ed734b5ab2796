// SPDX-License-Identifier: MIT
#include "torch/recording/random_reads.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <torch/torch.h>
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "hpo/torch/recording/trace_recorder.hpp"
#include "hpo/torch/recording/value_reads.hpp"

namespace hpo::libtorch {

std::unique_ptr<at::ObserverContext> RandomReads::look(const at::RecordFunction& function) {
    if (!phase_of_read().empty() || !reads(function.name())) return nullptr;
    if (HarmlessReads::in_force() || EvaluationReads::in_evaluation()) return nullptr;
    const std::string phase = TraceRecorder::instance().phase();
    if ((phase == "forward" || phase == "backward" || phase == "update") && has_drawn()) phase_of_read() = phase;
    return nullptr;
}

bool RandomReads::reads(std::string_view name) {
    static constexpr std::array<std::string_view, 6> readers{
        "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::unique_dim", "aten::equal"};
    return std::ranges::find(readers, name) != readers.end();
}

bool RandomReads::has_drawn() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();  // a handle, not a copy
    const std::lock_guard lock{generator.mutex()};
    auto* const own = at::check_generator<at::CPUGeneratorImpl>(generator);
    const auto now = own->engine().data();
    const auto fresh = at::mt19937{own->current_seed()}.data();
    return now.left_ != fresh.left_ || now.next_ != fresh.next_ || now.state_ != fresh.state_;
}

}  // namespace hpo::libtorch
