// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

/// Messages about what a program found around it: drivers, libraries, licences, the disk.
inline constexpr auto environment_messages = std::to_array<MessageFamily>({
    {.name = "room for thread-local memory", .kind = FailureKind::environment, .any = {"in static tls block"}},
    {.name = "a missing or unfit library",
     .kind = FailureKind::environment,
     .any = {"cannot open shared object file", "error while loading shared libraries", "dll load failed",
             "undefined symbol: ", "could not load library libcud", "unable to load any of {libcud", "symbol not found in flat namespace",
             "image not found", "with link time reference"},
     .none = {"could not load dynamic library", "dlerror"}},
    {.name = "an old system library", .kind = FailureKind::environment, .all = {"version `gl", "not found"}},
    {.name = "a missing or old driver",
     .kind = FailureKind::environment,
     .any = {"nvidia driver on your system is too old", "found no nvidia driver", "no cuda gpus are available", "no visible gpu is found",
             "driver/library version mismatch", "communicate with the nvidia driver", "no opencl device found", "no hip gpus are available",
             "cuda driver initialization failed"},
     .none = {"failed call to cuinit"}},
    {.name = "a build without what is asked for",
     .kind = FailureKind::environment,
     .any = {"torch not compiled with cuda enabled", "not compiled with gpu support", "not compiled with cuda support",
             "tree learner was not enabled in this build", "environment for task type [gpu] not found",
             "torch.cuda.is_available() is false", "have nccl built in", "only supports ampere gpus or newer",
             "only supported on gpus with compute capability", "no kernel image is available"}},
    {.name = "a licence",
     .kind = FailureKind::environment,
     .any = {"no gurobi license found", "license has expired", "licence has expired", "license expired", "license checkout failed",
             "failed to check out a license", "model too large for size-limited license", "hostid mismatch (licensed to",
             "failed to connect to token server"}},
    {.name = "a full disk",
     .kind = FailureKind::environment,
     .any = {"no space left on device", "disk quota exceeded"},
     .recurrence = Recurrence::unknown},
    {.name = "a disk that fails",
     .kind = FailureKind::environment,
     .any = {"input/output error", "pytorchstreamwriter failed writing file", "read-only file system"}},
    {.name = "the limit of open files",
     .kind = FailureKind::environment,
     .any = {": too many open files", "[errno 24] too many open files"},
     .recurrence = Recurrence::unknown},
    {.name = "no permission",
     .kind = FailureKind::environment,
     .any = {"^permissionerror: ", "~permissionerror: [errno 13]", "[errno 13] permission denied", ": permission denied$"}},
    {.name = "a missing program", .kind = FailureKind::environment, .any = {": command not found$"}},
});

/// Messages about missing modules.
inline constexpr auto import_messages = std::to_array<MessageFamily>({
    {.name = "a missing module",
     .kind = FailureKind::environment,
     .any = {"modulenotfounderror: ", "^modulenotfounderror:", "^modulenotfounderror$", "importerror: ", "^importerror:", "^importerror$",
             "^no module named ", "there is no package called"},
     .none = {"partially initialized module", "circular import"}},
});

/// Messages about data that are missing or damaged. They are few: a missing file may be the program's own error.
inline constexpr auto data_messages = std::to_array<MessageFamily>({
    {.name = "a missing data file",
     .kind = FailureKind::data,
     .all = {"no such file or directory"},
     .any = {".csv~", ".tsv~",  ".parquet~", ".jsonl~", ".arrow~", ".npy~", ".npz~",  ".h5~",  ".hdf5~", ".tfrecord",
             ".jpg~", ".jpeg~", ".png~",     ".tif~",   ".tiff~",  ".wav~", ".flac~", ".mp3~", "data/",  "dataset"},
     .none = {"checkpoint", "config", ".py~", ".yaml~", ".so~", "shared object"}},
    {.name = "a missing data set",
     .kind = FailureKind::data,
     .any = {"datasetnotfounderror", "dataset not found", "couldn't find a dataset script", "couldn't find any data file",
             "couldn't find any class folder", "found no valid file for the classes", "found 0 files in subfolders", "images not found",
             "no labels found in", "no images found in", "got num_samples=0"}},
    {.name = "a damaged image",
     .kind = FailureKind::data,
     .any = {"cannot identify image file", "image file is truncated", "broken data stream when reading image file", "broken png file",
             "invalid jpeg data or crop window", "unknown image file format", "could not decode datum", "decompressionbomberror"}},
    {.name = "a damaged file",
     .kind = FailureKind::data,
     .any = {"(truncated file: eof", "(file read failed", "can't read data (", "] can't read data", "file signature not found",
             "bad crc-32 for file", "badzipfile: ", "before the end-of-stream marker", "not a gzipped file", "datalosserror",
             "corrupted record at #", "parquet magic bytes not found"}},
    {.name = "a table that cannot be read",
     .kind = FailureKind::data,
     .any = {"error tokenizing data", "no columns to parse from file", "input x contains nan", "input y contains nan", "label contains nan",
             "input data contains `inf`", "found array with 0 sample(s)"}},
    {.name = "text in another encoding", .kind = FailureKind::data, .any = {"codec can't decode byte"}},
});

}  // namespace hpo
