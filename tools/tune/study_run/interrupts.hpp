// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::tune {

/// From now on Ctrl-C, SIGTERM or the end of the terminal asks the run to end its trials and leave. The second such signal ends the process
/// at once, and its workers die with it. A reader of the progress that leaves does not end the study.
void watch_interrupts();

/// Somebody asked the run to end.
[[nodiscard]] bool was_interrupted();

}  // namespace hpo::tune
