// SPDX-License-Identifier: MIT
#include "hpo/trainer/record_line.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/attempt_event.hpp"
#include "hpo/trainer/device_finding.hpp"
#include "hpo/trainer/json.hpp"

namespace hpo {

// Compiled here, so that neither a plugin's glue nor a worker's supervisor compiles the JSON library.
#define HPO_RECORD(...)                                          \
    template std::string record_line(const __VA_ARGS__& record); \
    template __VA_ARGS__ read_record(std::string_view text, const std::string& place)
HPO_RECORD(TrainerJob);
HPO_RECORD(TrainerRequest);
HPO_RECORD(TrainerInfo);
HPO_RECORD(AttemptOutcome);
HPO_RECORD(Profile);
HPO_RECORD(std::optional<Profile>);
HPO_RECORD(PeakPrediction);
HPO_RECORD(std::vector<TrainerProblem>);
HPO_RECORD(std::vector<DeviceFinding>);
HPO_RECORD(AttemptEvent);
HPO_RECORD(EventAnswer);
#undef HPO_RECORD

}  // namespace hpo
