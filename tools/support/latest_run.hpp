// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/patience.hpp"

namespace hpo::tools {

/// What the latest run of a study in a store's file was configured as; no object if nothing says. Waits for the file as `patience` says.
[[nodiscard]] store::Json latest_configuration(const std::string& file, std::int64_t study_id, const store::PatienceOptions& patience);

/// A text in it; nothing if it is not there.
[[nodiscard]] std::optional<std::string> text_in(const store::Json& configuration, const char* key);

/// A setting of the latest run, as `--sampler` and others have it. Nothing if there was no run, or if it did not say.
[[nodiscard]] inline std::optional<std::string> latest_setting(const std::string& file, std::int64_t study_id, const char* word,
                                                               const store::PatienceOptions& patience) {
    return text_in(latest_configuration(file, study_id, patience), word);
}

}  // namespace hpo::tools
