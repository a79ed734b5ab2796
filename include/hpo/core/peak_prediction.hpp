// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/estimate.hpp"

namespace hpo {

/// The ways to predict a peak, from the strongest to the weakest.
enum class PeakSource {
    dry_run,  ///< the attempt's own steps on a device that holds no numbers
    probe,    ///< a few small real steps, extrapolated
};

inline constexpr std::array<std::string_view, 2> peak_source_names{"dry_run", "probe"};
[[nodiscard]] constexpr std::string_view to_text(PeakSource source) { return peak_source_names[static_cast<std::size_t>(source)]; }

/// An attempt's peak on its device, computed in a worker before it starts. All bytes.
struct PeakPrediction {
    PeakSource source = PeakSource::dry_run;
    std::int64_t requested_bytes = 0;  ///< highest sum of what live tensors asked for
    std::int64_t allocated_bytes = 0;  ///< the same as the device's allocator rounds it
    std::int64_t reserved_bytes = 0;   ///< highest that the allocator takes from a device that never refuses
    std::int64_t need = 0;             ///< least capacity at which the attempt survives, what is outside the allocator included
    std::int64_t comfort = 0;          ///< capacity at which the allocator never has to give memory back and ask again
    std::vector<EstimatePart> parts;   ///< what `need` is made of, at the moment of the peak
    double uncertainty = 0;            ///< share by which the true need may be higher, as far as the source knows; 0: it is not
    bool upper_bound = false;          ///< the true need may be lower, and `remark` says why: not exact even without uncertainty
    std::string remark;                ///< what limits it, and why a stronger source did not answer; may be empty
    friend bool operator==(const PeakPrediction&, const PeakPrediction&) = default;
};

}  // namespace hpo
