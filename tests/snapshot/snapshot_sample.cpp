// SPDX-License-Identifier: MIT
// Writes traces as memory snapshots for PyTorch's own viewer: FOLDER/N.pickle, and a line for each with what the viewer must find: the
// file, the peak of requested bytes, and the bytes reserved at the end.
//   snapshot_sample FOLDER
#include <iostream>
#include <string>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "hpo/core/seed.hpp"
#include "snapshot/random_recording.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    hpo::Rng rng{5};
    for (int i = 0; i < 20; ++i) {
        hpo::allocator::WrittenSettings written;
        std::tie(written.conf, written.settings) = hpo::tests::random_conf(rng);
        hpo::allocator::AllocationTrace trace = hpo::tests::random_trace(rng, 100);
        trace.scopes.emplace_back("encoder.layer.0 aten::mm");
        for (auto& block : trace.blocks) block.scope = 1;
        trace.enter("forward");
        const std::string file = std::string{argv[1]} + "/" + std::to_string(i) + ".pickle";
        hpo::allocator::write_snapshot(file, trace, written);
        const auto counts = simulate(trace, written.settings).counts;
        std::cout << file << ' ' << counts.requested_peak << ' ' << counts.reserved << '\n';
    }
    return 0;
}
