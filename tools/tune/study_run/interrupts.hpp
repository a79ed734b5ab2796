// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::tune {

/// From now on Ctrl-C, SIGTERM or the end of the terminal asks the run to end its trials and leave. The second such signal ends the process
/// at once, and its workers die with it. A reader of the progress that leaves does not end the study.
void watch_interrupts();

/// Somebody asked the run to end.
[[nodiscard]] bool was_interrupted();

/// True under nohup, where a study outlives its terminal.
[[nodiscard]] bool hangup_is_ignored();

/// From now on the end of the terminal does not end the process: it leaves the terminal. watch_interrupts keeps to that.
void outlive_terminal();

/// What the process reads or writes on a terminal comes from nowhere and goes nowhere from now on. May be called in a signal handler after
/// `outlive_terminal`.
void leave_terminal();

}  // namespace hpo::tune
