// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <string_view>

namespace hpo::libtorch {

/// While it lives, notices numbers that this thread reads in a training's passes after it drew random ones on the CPU. The read number may
/// be a random one, for example if a layer is left out at random. A dry run would see the draws of a few steps only. Reads before a step's
/// first draw do not count. Reads in evaluations and harmless reads do not count either.
///
/// One at a time in a thread. It does not notice draws by other means, such as std::rand, and reads through data_ptr.
class RandomReads {
public:
    RandomReads() : callback_{at::addThreadLocalCallback(at::RecordFunctionCallback{&look}.scopes({at::RecordScope::FUNCTION}))} {
        phase_of_read().clear();
    }
    ~RandomReads() { at::removeCallback(callback_); }
    RandomReads(const RandomReads&) = delete;
    RandomReads& operator=(const RandomReads&) = delete;

    /// The phase of the first such read. Empty if there was none.
    [[nodiscard]] const std::string& phase() const { return phase_of_read(); }

private:
    static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function);
    /// True for operators that read numbers to make their result or its size.
    static bool reads(std::string_view name);
    /// Whether the CPU's generator has given a number since the step seeded it.
    static bool has_drawn();
    static std::string& phase_of_read() {
        thread_local std::string phase;
        return phase;
    }

    at::CallbackHandle callback_;
};

}  // namespace hpo::libtorch
