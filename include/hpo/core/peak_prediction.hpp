// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/estimate.hpp"
#include "hpo/core/fields.hpp"

namespace hpo {

/// The ways to predict a peak, from the strongest to the weakest.
enum class PeakSource {
    virtual_card,  ///< the attempt's own steps by LibTorch's CUDA code, in a process whose CUDA driver owns no GPU
    dry_run,       ///< the attempt's own steps on a device that stores no numbers
    probe,         ///< a few small real steps, extrapolated to the plan's sizes
};

inline constexpr std::array<PeakSource, 3> peak_sources{PeakSource::virtual_card, PeakSource::dry_run, PeakSource::probe};
inline constexpr std::array<std::string_view, peak_sources.size()> peak_source_names{"virtual_card", "dry_run", "probe"};
template <>
struct EnumNames<PeakSource> {
    static constexpr auto& names = peak_source_names;
};
[[nodiscard]] constexpr std::string_view to_text(PeakSource source) { return peak_source_names[static_cast<std::size_t>(source)]; }

/// A prediction of an attempt's peak on its device, made in a worker before the attempt starts. All sizes in bytes.
struct PeakPrediction {
    PeakSource source = PeakSource::dry_run;
    std::int64_t requested_bytes = 0;  ///< highest sum of the sizes that live tensors requested
    std::int64_t allocated_bytes = 0;  ///< the same, as the device's allocator rounds sizes
    std::int64_t reserved_bytes = 0;   ///< highest that the allocator takes from a device that never refuses
    std::int64_t need = 0;             ///< least capacity at which the attempt survives, including memory outside the allocator
    std::int64_t comfort = 0;          ///< capacity at which the allocator never has to give memory back and ask again
    std::vector<EstimatePart> parts;   ///< the summands of `need` at the moment of the peak
    double uncertainty = 0;            ///< share by which the true need may be higher, by the source's own account; 0: it is not
    bool upper_bound = false;          ///< the true need may be lower, and `remark` says why: not exact even if `uncertainty` is 0
    std::string remark;                ///< what limits the prediction, and why no stronger source answered; may be empty
    friend bool operator==(const PeakPrediction&, const PeakPrediction&) = default;

    static constexpr void fields(auto field) {
        field("source", &PeakPrediction::source);
        field("requested_bytes", &PeakPrediction::requested_bytes);
        field("allocated_bytes", &PeakPrediction::allocated_bytes);
        field("reserved_bytes", &PeakPrediction::reserved_bytes);
        field("need", &PeakPrediction::need);
        field("comfort", &PeakPrediction::comfort);
        field("parts", &PeakPrediction::parts);
        field("uncertainty", &PeakPrediction::uncertainty);
        field("upper_bound", &PeakPrediction::upper_bound);
        field("remark", &PeakPrediction::remark);
    }
};

}  // namespace hpo
