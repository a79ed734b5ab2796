// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace hpo {

/// An optional value on the heap, for a large member that most objects lack. An empty one is as large as a pointer. It has the members of
/// std::optional that hpo uses. Copies are deep.
template <class T>
class HeapOptional {
public:
    HeapOptional() = default;
    HeapOptional(std::nullopt_t /*none*/) noexcept {}
    HeapOptional(T value) : value_{std::make_unique<T>(std::move(value))} {}
    HeapOptional(std::optional<T> value) : value_{value ? std::make_unique<T>(std::move(*value)) : nullptr} {}
    HeapOptional(const HeapOptional& other) : value_{other.value_ ? std::make_unique<T>(*other.value_) : nullptr} {}
    HeapOptional(HeapOptional&&) noexcept = default;
    HeapOptional& operator=(const HeapOptional& other) { return *this = HeapOptional{other}; }
    HeapOptional& operator=(HeapOptional&&) noexcept = default;
    ~HeapOptional() = default;

    T& emplace() { return *(value_ = std::make_unique<T>()); }
    void reset() noexcept { value_.reset(); }

    /// A copy.
    operator std::optional<T>() const { return value_ ? std::optional<T>{*value_} : std::nullopt; }

    [[nodiscard]] bool has_value() const noexcept { return value_ != nullptr; }
    [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
    [[nodiscard]] T& operator*() noexcept { return *value_; }
    [[nodiscard]] const T& operator*() const noexcept { return *value_; }
    [[nodiscard]] T* operator->() noexcept { return value_.get(); }
    [[nodiscard]] const T* operator->() const noexcept { return value_.get(); }

private:
    std::unique_ptr<T> value_;
};

}  // namespace hpo
