// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace hpo::libtorch::inline recording {

/// While it lives, it counts the operators that other threads than its own run. Modes such as autocast and no-gradient hold for one thread,
/// so those operators do not follow the attempt's. One at a time in a process: operators of anybody count.
class OtherThreads {
public:
    OtherThreads() : before_{current().exchange(this)} {
        callback_ = at::addGlobalCallback(at::RecordFunctionCallback{&start, nullptr}.scopes({at::RecordScope::FUNCTION}));
    }
    ~OtherThreads() {
        at::removeCallback(callback_);
        current() = before_;
    }
    OtherThreads(const OtherThreads&) = delete;
    OtherThreads& operator=(const OtherThreads&) = delete;

    [[nodiscard]] bool ran_operators() const { return operators_ > 0; }

private:
    static std::atomic<OtherThreads*>& current() {
        static std::atomic<OtherThreads*> current{nullptr};
        return current;
    }
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& /*function*/) {
        OtherThreads* const here = current();
        if (here && std::this_thread::get_id() != here->own_) ++here->operators_;
        return nullptr;
    }

    const std::thread::id own_ = std::this_thread::get_id();
    OtherThreads* before_;
    std::atomic<std::int64_t> operators_{0};
    at::CallbackHandle callback_{};
};

}  // namespace hpo::libtorch::recording
