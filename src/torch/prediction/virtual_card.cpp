// SPDX-License-Identifier: MIT
#include "torch/prediction/virtual_card.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "hpo/torch/recording/value_reads.hpp"

namespace hpo::libtorch {

/// A function of the virtual card's library; null if this process has none.
template <class Function>
[[nodiscard]] Function* function_of_card(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

bool is_on_virtual_card() { return ::dlsym(RTLD_DEFAULT, "hpo_virtual_card_on_read") != nullptr; }

std::vector<std::string> take_unmodelled() {
    std::vector<std::string> names;
    const auto take = function_of_card<const char*()>("hpo_virtual_card_take_unmodelled");
    while (const char* const name = take ? take() : nullptr) names.emplace_back(name);
    return names;
}

CardReads::CardReads(const RunningAttempt& attempt) : attempt_{attempt} {
    current_ = this;
    if (const auto listen = function_of_card<void(void (*)(std::size_t))>("hpo_virtual_card_on_read")) listen(&look);
}

CardReads::~CardReads() {
    if (const auto listen = function_of_card<void(void (*)(std::size_t))>("hpo_virtual_card_on_read")) listen(nullptr);
    current_ = nullptr;
}

std::string CardReads::phase() const {
    const std::lock_guard lock{mutex_};
    return phase_;
}

void CardReads::look(std::size_t /*bytes*/) {
    CardReads* const here = current_;
    if (!here || HarmlessReads::in_force() || EvaluationReads::in_evaluation()) return;
    // Autograd computes in threads of its own.
    const std::string phase{std::this_thread::get_id() == here->thread_ ? here->attempt_.phase() : "backward"};
    const std::lock_guard lock{here->mutex_};
    if (here->phase_.empty()) here->phase_ = phase;
}

}  // namespace hpo::libtorch
