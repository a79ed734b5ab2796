// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace hpo::analysis {

/// A parameter, or a part of the plan, that memory can depend on.
struct DemandAxis {
    enum class Kind {
        number,    ///< compares in its direction
        choice,    ///< compares as equal only
        presence,  ///< only whether it is above nothing matters: a rate, which may need a buffer
    };
    std::string param;
    int direction = 0;  ///< of a number, +1: larger values need more; -1: smaller ones; 0: not known, so only equal ones compare
    Kind kind = Kind::number;
    bool unseen = false;  ///< peaks were measured, and this explains nothing of them
    double power = 2;     ///< of a number: what memory is taken to grow with at most
};

/// True for the name of a number of levels: layers, blocks, depth.
[[nodiscard]] bool counts_levels(std::string_view name);

/// True for the name of what divides the work: patches, strides, pieces, devices. More of it usually needs less memory.
[[nodiscard]] bool divides_work(std::string_view name);

/// +1 for the name of a size: a batch, a width, a length, a number of layers. More of it needs at least as much memory. 0 for all others.
/// Every word of the name must be known: one that nobody knows may turn its meaning round, as in hop_length or voxel_size.
[[nodiscard]] int direction_by_name(std::string_view name);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/demand_inl.hpp"
#endif
