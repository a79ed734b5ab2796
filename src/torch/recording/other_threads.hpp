// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace hpo::libtorch {

/// Says whether another thread of this process has run an operator since this object was made. Modes such as autocast and no-gradient hold
/// for one thread, so they do not hold for those operators. One at a time in a process.
class OtherThreads {
public:
    OtherThreads() {
        owner() = std::this_thread::get_id();
        operators() = 0;
        callback_ = at::addGlobalCallback(at::RecordFunctionCallback{&start, nullptr}.scopes({at::RecordScope::FUNCTION}));
    }
    ~OtherThreads() { at::removeCallback(callback_); }
    OtherThreads(const OtherThreads&) = delete;
    OtherThreads& operator=(const OtherThreads&) = delete;

    [[nodiscard]] bool ran_operators() const { return operators() > 0; }

private:
    // They outlive the object, because another thread may be inside `start` when the object ends.
    static std::atomic<std::thread::id>& owner() {
        static std::atomic<std::thread::id> owner;
        return owner;
    }
    static std::atomic<std::int64_t>& operators() {
        static std::atomic<std::int64_t> operators{0};
        return operators;
    }
    static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& /*function*/) {
        if (std::this_thread::get_id() != owner().load()) ++operators();
        return nullptr;
    }

    at::CallbackHandle callback_{};
};

}  // namespace hpo::libtorch
