// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::tools {

/// What hpo-tune keeps of a study for all its trials, as system attributes: those of users are the program's. Values are JSON.
inline constexpr const char* trainer_attribute = "hpo:trainer";                  ///< a text: its name
inline constexpr const char* metric_attribute = "hpo:metric";                    ///< a text: the names of the objectives, with ", " between
inline constexpr const char* trainer_options_attribute = "hpo:trainer_options";  ///< an object: the options by name

inline constexpr const char* enqueued_attribute = "hpo:enqueued";  ///< true: the script's first trials were enqueued

}  // namespace hpo::tools
