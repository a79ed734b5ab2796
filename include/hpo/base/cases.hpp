// SPDX-License-Identifier: MIT
#pragma once

namespace hpo {

/// One function out of several, for std::visit.
template <class... Functions>
struct Cases : Functions... {
    using Functions::operator()...;
};

}  // namespace hpo
