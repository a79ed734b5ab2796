// SPDX-License-Identifier: MIT
// Operators one by one: which of them a dry run for CUDA can run on the LibTorch of this build, forward and backward.
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "gpu/operators/dry_run.hpp"
#include "support/catch.hpp"

TEST_CASE("a dry run for CUDA runs each operator but those that LibTorch has no meta kernel for") {
    std::set<std::string> without;
    std::ifstream in{HPO_OPERATORS_WITHOUT_DRY_RUN};
    for (std::string line; std::getline(in, line);) {
        if (!line.empty() && line.front() != '#') without.insert(line);
    }
    const gpu::DryRunForCuda dry_run;
    std::set<std::string> failed;
    for (const gpu::Operator& each : gpu::all_operators()) {
        for (const hpo::Precision precision : gpu::precisions) {
            if (precision == hpo::Precision::fp16) continue;  // this LibTorch's autocast for the CPU, which a dry run uses, has bf16 alone
            const gpu::Taken taken = dry_run.of(each, precision);
            const std::string name = each.name + "\t" + gpu::name_of(precision);
            CAPTURE(name, taken.problem);
            if (!taken.problem.empty()) failed.insert(name);
            CHECK(taken.problem.empty() != without.contains(name));
            CHECK(taken.problem.size() < 300);  // LibTorch's own texts have a kilobyte and more
        }
    }
    if (failed == without) return;
    for (const std::string& each : failed) std::printf("%s\n", each.c_str());
}
