// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

/// Messages that say that host memory ran out.
inline constexpr auto host_memory_messages = std::to_array<MessageFamily>({
    {.name = "TensorFlow's tensor on the host",
     .kind = FailureKind::host_out_of_memory,
     .all = {"oom when allocating tensor", "device:cpu:"}},
    {.name = "the kernel's out-of-memory killer",
     .kind = FailureKind::host_out_of_memory,
     .any = {"out of memory: kill", "memory cgroup out of memory", "oom-kill", "oom_kill event", "oom killed", "oomkilled",
             "killed by the oom killer"},
     .none = {"oom-kill-disable", "detected 0 oom_kill"}},
    {.name = "the kernel's line about a killed process",
     .kind = FailureKind::host_out_of_memory,
     .all = {"killed process # (", "total-vm:"}},
    {.name = "systemd-oomd",
     .kind = FailureKind::host_out_of_memory,
     .any = {"systemd-oomd killed", "due to memory pressure for /", "due to memory used (#"}},
    {.name = "systemd-oomd's journal", .kind = FailureKind::host_out_of_memory, .all = {"killed /", "due to memory pressure"}},
    {.name = "Ray's memory monitor",
     .kind = FailureKind::host_out_of_memory,
     .any = {"node running low on memory", "exceeds the memory usage threshold of", "killed due to memory pressure (oom)",
             "rayoutofmemoryerror", "objectstorefullerror"},
     .none = {"0 workers (tasks / actors) killed"}},
    {.name = "Dask's memory monitor", .kind = FailureKind::host_out_of_memory, .any = {"exceeded #% memory budget"}},
    {.name = "a batch system's memory limit",
     .kind = FailureKind::host_out_of_memory,
     .any = {"exceeded job memory limit", "exceeded step memory limit", "exceeded memory limit (#", "cgroup out-of-memory handler",
             "term_memlimit", "pbs: job killed: mem", "pbs: job killed: vmem", "for exceeding memory limits",
             "is running beyond physical memory limits", "node was low on resource: memory"}},
    {.name = "srun's task", .kind = FailureKind::host_out_of_memory, .all = {"srun: error: ", ": out of memory$"}},
    {.name = "Windows",
     .kind = FailureKind::host_out_of_memory,
     .any = {"paging file is too small", "winerror 1455", "os error 1455", "not enough memory resources are available"}},
    {.name = "R",
     .kind = FailureKind::host_out_of_memory,
     .any = {"cannot allocate vector of size", "vector memory exhausted", "vector memory limit of #",
             "cannot allocate memory block of size"}},
    {.name = "a GPU's runtime, about the host",
     .kind = FailureKind::host_out_of_memory,
     .any = {"out of host memory", "out_of_host_memory", "bytes from host memory"}},
    {.name = "shared memory of a loader",
     .kind = FailureKind::host_out_of_memory,
     .any = {"insufficient shared memory (shm)", "workers are out of shared memory", "is killed by signal: bus error",
             "is killed by signal: killed", "unable to write to file </torch_", "unable to allocate shared memory"}},
    {.name = "OpenCV", .kind = FailureKind::host_out_of_memory, .any = {"(-4:insufficient memory)"}},
    {.name = "Java and JavaScript",
     .kind = FailureKind::host_out_of_memory,
     .any = {"java heap space", "gc overhead limit exceeded", "java.lang.outofmemoryerror", "javascript heap out of memory"}},
    {.name = "numpy's array",
     .kind = FailureKind::host_out_of_memory,
     .all = {"unable to allocate "},
     .any = {" for an array", "allocate array with shape"}},
    {.name = "the host's allocator",
     .kind = FailureKind::host_out_of_memory,
     .any = {"defaultcpuallocator", "bad_alloc", ": bad allocation", "'bad allocation'", "^bad allocation$", "arraymemoryerror",
             "~memoryerror~", "cannot allocate memory", "memory allocation of # bytes failed", "malloc of size # failed",
             "fail to alloc memory of #"},
     .none = {"cudaerrormemoryallocation", "out_of_memory: cuda", "rmm failure", "maximum pool size exceeded", "throwing an instance of",
              "static tls block", "has no attribute", "cupy.cuda", "allocate memory on gpu"}},
});

}  // namespace hpo
