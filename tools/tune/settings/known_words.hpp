// SPDX-License-Identifier: MIT
#pragma once

namespace hpo::tune {

/// A setting of a run: the word of the command line. A script's member has `_` in the place of `-`.
struct KnownWord {
    const char* name;
    const char* standard;
    const char* value;  ///< how the value is shown in --help
    const char* help;
};

inline constexpr KnownWord known_words[] = {
    {"store", "hpo.db", "PATH", "SQLite file of the study"},
    {"study", "", "NAME", "name of the study (default: the script's)"},
    {"trials", "100", "N", "trials in all, including those that the study already has"},
    {"time", "", "DURATION", "start no trial after this: 45s, 90min, 1h30min"},
    {"device", "auto", "auto|cpu|cuda|cuda:N|cuda:*|LIST",
     "where trials run; several devices with commas, each with its own size if you like: cuda:0,cuda:1=20GiB"},
    {"device-memory", "", "SIZE", "how much memory all trials together may hold on each device: 600MiB"},
    {"min-free", "", "SIZE", "use only GPUs that have so much free when the run begins"},
    {"device-wait", "", "DURATION", "wait so long for a GPU that can be used (default: not at all)"},
    {"device-interval", "10s", "DURATION", "how often a GPU is looked for meanwhile"},
    {"fallback-device", "", "DEVICE", "where trials run while no other device can be used: cpu"},
    {"compute-capability", "", "N.N", "compute capability of the GPU to predict for: 9.0 is Hopper (default: the driver's answer)"},
    {"ledger", "auto", "auto|FILE", "file in which runs reserve memory of the device; the same file for all runs that share it"},
    {"workers", "auto", "auto|N", "trials at once"},
    {"threads", "auto", "auto|N", "threads of each worker"},
    {"target-share", "auto", "auto|SHARE",
     "a trial that must shrink is shrunk to this share of the device's memory (above 0, at most 1), if a quarter of its micro-batch "
     "is enough for that; auto: nearly half if trials share the device"},
    {"seed", "0", "N", "root of all randomness of the study"},
    {"seeds", "1", "N", "trials of each configuration, which differ in their seed alone; the sampler learns their mean"},
    {"sampler", "auto", "NAME[:key=value,...]", "see hpo-tune policies sampler; a study that goes on keeps the one that it had"},
    {"pruner", "median", "NAME[:key=value,...]", "see hpo-tune policies pruner"},
    {"guard", "auto", "auto|NAME[:key=value,...]",
     "see hpo-tune policies guard; auto: calibrated if the device's memory is known, else unlimited"},
    {"recovery", "shrink_micro_batch", "NAME[:key=value,...]", "see hpo-tune policies recovery"},
    {"worker-trials", "0", "N", "replace a worker by a new process after so many attempts; 0: only after leaks, fragments and errors"},
    {"attempt-time", "", "DURATION", "end an attempt that takes longer, as a failure of the kind timeout: 45min (default: never)"},
    {"silence-time", "", "DURATION",
     "end an attempt whose worker says nothing for so long: no report, no memory mark; of a program: nothing printed (default: never)"},
    {"breaker", "10", "N",
     "end the run after so many trials that failed in the same way one after another, or half of 5 times as many; 0: never"},
    {"plugin-timeout", "60s", "DURATION", "how long a trainer plugin may take to load, and to check a proposal"},
    {"save-best", "", "FOLDER", "keep the best trial's model: --save-best=FOLDER; without a folder beside the store"},
    {"store-wait", "10min", "DURATION", "how long to wait for a store that is locked, or whose disk is full or fails"},
    {"progress", "auto", "auto|bar|plain|none", "what is shown while the study runs"},
    {"log", "", "FILE", "append what happens to this file: the run, trials, failures, decisions (default: no log)"},
    {"log-size", "10MiB", "SIZE", "begin the log anew at this size; FILE.1 to FILE.4 keep the older parts"},
};

}  // namespace hpo::tune
