// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace hpo::analysis {

/// A parameter, or a part of the plan, that memory can depend on.
struct MemoryAxis {
    enum class Kind {
        number,    ///< compared in its direction
        choice,    ///< compared for equality only
        presence,  ///< a rate that needs a buffer if above 0: only this matters
    };
    std::string param;
    int direction = 0;  ///< of a number. +1: larger values need more; -1: smaller values do; 0: unknown, compared for equality
    Kind kind = Kind::number;
    bool unseen = false;  ///< peaks were measured, and this axis does not explain them
    double power = 2;     ///< of a number: memory grows at most with this power of it
};

/// True for names of a number of levels: layers, blocks, depth.
[[nodiscard]] bool counts_levels(std::string_view name);

/// True for names of things that divide the work: patches, strides, pieces, devices. More of them usually needs less memory.
[[nodiscard]] bool divides_work(std::string_view name);

/// +1 for names of sizes: a batch, a width, a length, a number of layers. A larger size needs at least as much memory. 0 for all other
/// names. Every word of the name must be known, since an unknown word may reverse the meaning, as in hop_length or voxel_size.
[[nodiscard]] int direction_by_name(std::string_view name);

/// True for sizes that mean the same everywhere: a batch, a width, a number of layers or heads. Others depend on the program: a finer
/// resolution may be a smaller number, and larger blocks may be fewer.
[[nodiscard]] bool is_plain_size(std::string_view name);

}  // namespace hpo::analysis
