// SPDX-License-Identifier: MIT
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

namespace hpo {

/// The exception that a `catch` block handles, in words.
struct Thrown {
    std::string type;     ///< "c10::OutOfMemoryError"
    std::string message;  ///< what(), or a sentence if it is no std::exception
};

/// Call only inside a `catch` block.
[[nodiscard]] inline Thrown current_thrown() {
    Thrown thrown;
    if (const std::type_info* type = ::abi::__cxa_current_exception_type()) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> readable{::abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free};
        thrown.type = readable ? readable.get() : type->name();
    }
    try {
        throw;
    } catch (const std::exception& error) {
        thrown.message = error.what();
    } catch (...) {
        thrown.message = "threw something that is no std::exception";
    }
    return thrown;
}

}  // namespace hpo
