// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/record_function.h>
#include <torch/torch.h>

#include <memory>
#include <string>
#include <string_view>

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
    static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function);
    /// Operators whose result, or its size, is numbers that they read.
    static bool reads(std::string_view name);
    /// Whether the CPU's generator, which every step seeds, has given a number since.
    static bool has_drawn();
    static std::string& phase_of_read() {
        thread_local std::string phase;
        return phase;
    }

    at::CallbackHandle callback_;
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/random_reads_inl.hpp"
#endif
