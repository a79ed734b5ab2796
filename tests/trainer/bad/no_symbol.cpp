// SPDX-License-Identifier: MIT
// A library that is no plugin: it lacks the symbol that the loader looks for.
extern "C" __attribute__((visibility("default"))) int somebody_elses_symbol() { return 1; }
