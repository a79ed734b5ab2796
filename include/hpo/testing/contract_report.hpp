// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace hpo::testing {

/// The rules of a contract that a policy broke. Empty if it broke none. The suites need no test framework: `REQUIRE(sampler_contract(make)
/// == ContractReport{})`, `assert(...)`, or print `broken`.
struct ContractReport {
    std::vector<std::string> broken;  ///< each rule once, in words

    void expect(bool holds, std::string rule) {
        if (!holds && std::find(broken.begin(), broken.end(), rule) == broken.end()) broken.push_back(std::move(rule));
    }
    friend bool operator==(const ContractReport&, const ContractReport&) = default;
};

}  // namespace hpo::testing
