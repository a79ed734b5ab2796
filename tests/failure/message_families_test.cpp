// SPDX-License-Identifier: MIT
#include "hpo/failure/message_families.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "hpo/failure/classify.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using hpo::FailureKind;
using hpo::tests::gib;
using hpo::tests::mib;

namespace {

struct Example {
    std::string_view family;
    std::string_view text;
    FailureKind kind;
    std::optional<int> signal{};
    std::optional<std::int64_t> requested{};
};

constexpr auto host = FailureKind::host_out_of_memory;
constexpr auto device = FailureKind::out_of_memory;
constexpr auto sticky = FailureKind::cuda_sticky;
constexpr auto broken = FailureKind::hardware;
constexpr auto late = FailureKind::timeout;
constexpr auto nan = FailureKind::non_finite;
constexpr auto crash = FailureKind::crash;
constexpr auto around = FailureKind::environment;
constexpr auto data = FailureKind::data;

/// Made up, in the form in which programs print them.
constexpr auto examples = std::to_array<Example>({
    {"TensorFlow's tensor on the host",
     "OOM when allocating tensor with shape[256] and type float on /device:CPU:0 by allocator cpu",
     host,
     {},
     1024},
    {"what the kernel's out-of-memory killer ended", "[ 812.3] Out of memory: Killed process 777 (trainer) total-vm:900kB, anon-rss:800kB",
     host},
    {"what the kernel's out-of-memory killer ended", "Out of memory: Kill process 777 (trainer) score 912 or sacrifice child", host},
    {"what the kernel's out-of-memory killer ended", "Reason:       OOMKilled", host},
    {"what the kernel's out-of-memory killer ended", "Memory cgroup out of memory: Killed process 777 (trainer)", host},
    {"the kernel's out-of-memory killer", "trainer invoked oom-killer: gfp_mask=0xcc0, order=0", host},
    {"the kernel's line about a killed process", "Killed process 777 (trainer), UID 1000, total-vm:900kB", host},
    {"systemd-oomd", "systemd-oomd killed 3 process(es) in this unit.", host},
    {"systemd-oomd", "Killed /user.slice/t.scope due to memory pressure for /user.slice being 61.00% > 50.00%", host},
    {"systemd-oomd's journal", "systemd-oomd[611]: Killed /user.slice/user-1000.slice/user@1000.service due to memory pressure", host},
    {"Ray's memory monitor", "Memory on the node was 60.1GB / 62.0GB (0.969), which exceeds the memory usage threshold of 0.95.", host},
    {"Ray's memory monitor", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.", host},
    {"Dask's memory monitor", "distributed.nanny - WARNING - Worker exceeded 95% memory budget. Restarting", host},
    {"a batch system's memory limit", "slurmstepd: error: Exceeded job memory limit at some point.", host},
    {"a batch system's memory limit", "=>> PBS: job killed: mem 2048kb exceeded limit 1024kb", host},
    {"a batch system's memory limit", "job 17 exceeds job hard limit \"h_vmem\" of queue", host},
    {"a batch system's memory limit", "Job has gone over cgroup memory limit of 4096 megabytes.", host},
    {"earlyoom", "sending SIGTERM to process 7 uid 1000 \"trainer\": badness 1200, VmRSS 60000 MiB", host},
    {"Slurm's account of a job", "17.batch   train  OUT_OF_MEMORY  0:125", host},
    {"srun's task", "srun: error: node7: task 0: Out Of Memory", host},
    {"Windows", "OSError: [WinError 1455] The paging file is too small for this operation to complete.", host},
    {"R", "Error: cannot allocate vector of size 2.0 Gb", host, {}, 2 * gib},
    {"a GPU's runtime, about the host", "lightgbm.basic.LightGBMError: Out of Host Memory", host},
    {"shared memory of a loader", "RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error.", host},
    {"shared memory of a loader", "ERROR: Unexpected bus error. This might be caused by insufficient shared memory (shm).", host},
    {"OpenCV", "cv2.error: error: (-4:Insufficient memory) Failed to allocate 4096 bytes in function 'OutOfMemoryError'", host, {}, 4096},
    {"Java and JavaScript", "java.lang.OutOfMemoryError: Java heap space", host},
    {"numpy's array", "Unable to allocate 2.00 GiB for an array with shape (1,) and data type uint8", host, {}, 2 * gib},
    {"the host's allocator", "MemoryError", host},
    {"an uncaught failure of the host's allocator",
     "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc", host},
    {"the host's allocator", "OSError: [Errno 12] Cannot allocate memory", host},
    {"the host's allocator", "LightGBMError: bad allocation", host},
    {"the host's allocator", "memory allocation of 8192 bytes failed", host, {}, 8192},

    {"a CUDA library's allocation", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `f()`", device},
    {"cuDNN without memory for an algorithm", "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_SUPPORTED", device},
    {"cuDNN without an algorithm or engine", "RuntimeError: FIND was unable to find an engine to execute this computation", device},
    {"a full /dev/shm", "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1234'", host},
    {"pinned memory", "RuntimeError: unable to pin memory: out of memory", host},
    {"pinned memory", "failed to alloc 4096 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory", host, {}, 4096},
    {"pinned memory", "could not allocate pinned host memory of size: 4096", host, {}, 4096},
    {"cuDNN's scratch space", "CUDNN failed to allocate the scratch space for the runner", device},
    {"cuBLAS's handle", "CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", device},
    {"an OutOfMemoryError", "torch.OutOfMemoryError: Tried to allocate 2.00 GiB", device, {}, 2 * gib},
    {"PyTorch's figures without its first words", "Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity)", device, {}, 2 * gib},
    {"out of memory on a device", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", device, {}, 2 * gib},
    {"out of memory on a device",
     "Out of memory error on GPU 0. Cannot allocate 2.000000GB memory on GPU 0, 6.000000GB memory has been allocated and available memory "
     "is only 512.000000MB.",
     device,
     {},
     2 * gib},
    {"out of memory on a device", "allocating 64.00 MiB on device 0: cudaMalloc failed: out of memory", device, {}, 64 * mib},
    {"out of memory on a device", "out of memory to allocate 4096 bytes (total 8192 bytes)", device, {}, 4096},
    {"out of memory, and no more", "Fatal: Out of memory.", device},
    {"an exhausted resource", "RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB", device, {}, 2 * gib},
    {"TensorFlow's tensor on a device", "OOM when allocating tensor with shape[256] and type float on /device:GPU:0", device, {}, 1024},
    {"XLA's arena on a TPU", "Attempting to allocate 2.00G. That was not possible. There are 1.00G free.", device, {}, 2 * gib},
    {"XLA's compiler for TPUs", "Ran out of memory in memory space hbm. Used 2.00G of 1.00G hbm.", device, {}, 2 * gib},
    {"JAX on a device", "XlaRuntimeError: INTERNAL: Failed to allocate 4096 bytes for new constant", device, {}, 4096},
    {"the name of a driver's error", "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY", device},
    {"PyTorch's asynchronous allocator", "Allocation on device 0 would exceed allowed memory.\nRequested  : 2.00 GiB", device, {}, 2 * gib},
    {"PyTorch's expandable segments", "RuntimeError: memory mapping failed with OOM", device},
    {"PyTorch's refusal without NVML", "NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"c10/cuda/CUDACachingAllocator.cpp\":1", device},
    {"Intel's GPUs", "level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", device},
    {"Apple's GPUs", "RuntimeError: Invalid buffer size: 2.00 GB", device, {}, 2 * gib},
    {"ONNX Runtime's arena", "BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 4096", device, {}, 4096},
    {"TensorRT", "Requested amount of GPU memory (4096 bytes) could not be allocated.", device, {}, 4096},
    {"a language model server's cache", "ValueError: No available memory for the cache blocks. Try more.", device},
    {"vLLM's check of free memory",
     "ValueError: Free memory on device (1.0/8.0 GiB) on startup is less than desired GPU memory utilization (0.5, 4.0 GiB).",
     device,
     {},
     4 * gib},
    {"NCCL's buffers", "Last error:\nFailed to CUDA calloc async 608 bytes", device},
    {"bitsandbytes", "Error out of memory at line 12 in file /src/ops.c", device},
    {"RMM's pool", "MemoryError: std::bad_alloc: RMM failure at: pool.hpp:1: Maximum pool size exceeded", device},
    {"llama.cpp", "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4096", device},
    {"llama.cpp", "ggml_vulkan: Device memory allocation of size 4096 failed.", device, {}, 4096},
    {"faiss",
     "Error: 'err == cudaSuccess' failed: StandardGpuResources: alloc fail type FlatData dev 2 space Device stream 0 size 4096 bytes",
     device,
     {},
     4096},
    {"faiss", "Error: 'err == cudaSuccess' failed: Failed to cudaMalloc 4096 bytes on device 0", device, {}, 4096},
    {"Theano",
     "Error allocating 4096 bytes of device memory (unknown). Driver report 1024 bytes free and 8192 bytes total",
     device,
     {},
     4096},
    {"CatBoost's estimate", "Error: not enough memory for tree-ctrs: 10.5 available, need at least 20.5", device},
    {"accelerate's search for a batch", "RuntimeError: No executable batch size found, reached zero.", device},
    {"a program's own words", "GPU OOM with batch 64", device},

    {"a collective operation's time", "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)", late},
    {"a batch system's time limit", "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", late},
    {"a batch system's time limit", "Job failed: DeadlineExceeded", late},
    {"a program's own time limit", "TimeoutError: objective did not finish within 3600 seconds", late},
    {"a program's own time limit", "exceeded 1800 s", late},
    {"a command's time", "subprocess.TimeoutExpired: Command 'train' timed out after 60 seconds", late},
    {"a device that is gone", "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", broken},
    {"ROCm's access fault", "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2. Reason: Unknown.", sticky},
    {"a lost device of Intel or Vulkan", "level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)", sticky},
    {"a CUDA library that failed", "UnknownError: cuDNN launch failure : input shape ([1,2,3])", sticky},
    {"a batch that does not fit the task", "IndexError: Target 5 is out of bounds.", FailureKind::bad_batch},

    {"Optuna's objective", "The value nan is not acceptable", nan},
    {"Optuna's objective", "ValueError: `nan` is invalid value", nan},
    {"a loss that is no number", "Loss is nan, stopping training", nan},
    {"a loss scale at its minimum", "FloatingPointError: Minimum loss scale reached (0.5).", nan},
    {"a loss scale at its minimum", "Exception: Current loss scale already at minimum - cannot decrease it", nan},
    {"anomaly mode", "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.", nan},
    {"a distribution's argument", "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", nan},
    {"a reward or a probability", "ValueError: pvals < 0, pvals > 1 or pvals contains NaNs", nan},
    {"a distribution's parameter",
     "Expected parameter loc of distribution Normal to satisfy the constraint Real(), but found invalid values:", nan},
    {"a check of JAX or TensorFlow", "FloatingPointError: invalid value (nan) encountered in mul", nan},
    {"a gradient's norm", "The total norm of order 2.0 is non-finite, so it cannot be clipped.", nan},
    {"linear algebra", "ValueError: array must not contain infs or NaNs", nan},
    {"scikit-learn's predictions", "ValueError: Input contains NaN.", nan},

    {"room for thread-local memory", "ImportError: libx.so.1: cannot allocate memory in static TLS block", around},
    {"a missing or unfit library", "error while loading shared libraries: libx.so.1: cannot open shared object file", around},
    {"an old system library", "/lib/libstdc++.so.6: version `GLIBCXX_9.9' not found", around},
    {"a missing or old driver", "RuntimeError: Found no NVIDIA driver on your system.", around},
    {"a build without what is asked for", "AssertionError: Torch not compiled with CUDA enabled", around},
    {"a licence", "gurobipy.GurobiError: No Gurobi license found", around},
    {"a licence", "gurobipy.GurobiError: HostID mismatch (licensed to 12ab)", around},
    {"a full disk", "OSError: [Errno 28] No space left on device", around},
    {"a disk that fails", "OSError: [Errno 5] Input/output error: 'runs/last.pt'", around},
    {"a network file system that was away", "OSError: [Errno 116] Stale file handle: 'runs/last.pt'", around},
    {"the limit of open files", "OSError: [Errno 24] Too many open files: 'part-7.bin'", around},
    {"no permission", "PermissionError: [Errno 13] Permission denied: 'runs/last.pt'", around},
    {"no permission", "bash: ./train.sh: Permission denied", around},
    {"no network", "OSError: We couldn't connect to 'https://huggingface.co' to load this file", around},
    {"no network", "curl: (6) Could not resolve host: data.example.org", around},
    {"no network", "wget: unable to resolve host address 'data.example.org'", around},
    {"no network", "fatal: unable to access 'https://git.example.org/x/': Could not resolve host: git.example.org", around},
    {"no network", "ssh: Could not resolve hostname node7: Name or service not known", around},
    {"no network", "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: \"https://s3.example.org/\"",
     around},
    {"no network", "aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host data.example.org:443 ssl:default", around},
    {"no network", "OSError: [Errno 101] Network is unreachable", around},
    {"no network", "requests.exceptions.ConnectionError: Max retries exceeded with url: /api/olympics/compiler/nccl?alias=champion",
     around},
    {"no network", "fatal: unable to access 'https://git.example.org/igloo.git/': Could not resolve host: compiler.example.org", around},
    {"no network", "LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and it is not there", around},
    {"no network", "httpx.ConnectError: All connection attempts failed", around},
    {"a network file system that was away", "OSError: [Errno 112] Host is down: '/mnt/runs/last.pt'", around},
    {"a network file system that was away", "cp: cannot stat '/mnt/runs/last.pt': Host is down", around},
    {"a network file system that was away", "OSError: [Errno 121] Remote I/O error: '/mnt/runs/last.pt'", around},
    {"a server that refused", "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server", around},
    {"a server that refused", "Connecting to 127.0.0.1:9... failed: Connection refused.", around},
    {"a server that refused", "127.0.0.1[0: 127.0.0.1]: errno=Connection refused", around},
    {"a server that refused", "ssh: connect to host node7 port 22: Connection refused", around},
    {"a server that refused", "connect: Connection refused", around},
    {"a server that refused", "ConnectionRefusedError: [Errno 111] Connection refused", around},
    {"a server that refused", "httpx.ConnectError: [Errno 111] Connection refused", around},
    {"a server that refused", "psycopg2.OperationalError: connection to server at \"db\", port 5432 failed: Connection refused", around},
    {"a server that refused", "redis.exceptions.ConnectionError: Error 111 connecting to db:6379. Connection refused.", around},
    {"a connection that broke", "ConnectionResetError: [Errno 104] Connection reset by peer", around},
    {"a connection that broke", "ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))", around},
    {"a connection that broke", "curl: (56) Recv failure: Connection reset by peer", around},
    {"a connection that broke", "curl: (52) Empty reply from server", around},
    {"a connection that broke", "read: Connection reset by peer", around},
    {"a connection that broke", "http.client.IncompleteRead: IncompleteRead(1 bytes read, 999 more expected)", around},
    {"a connection that broke", "ssl.SSLEOFError: EOF occurred in violation of protocol (_ssl.c:1006)", around},
    {"a server's error, with its address", "HfHubHTTPError: 503 Server Error: Service Unavailable for url: /models/x", around},
    {"a server's error, by its number", "urllib.error.HTTPError: HTTP Error 503: Service Unavailable", around},
    {"a server's error, by its number", "curl: (22) The requested URL returned error: 503", around},
    {"a server's error, by its number", "2026-11-27 18:08:36 ERROR 503: Service Unavailable.", around},
    {"an answer that did not come",
     "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='127.0.0.1', port=80): Read timed out. (read timeout=1)", around},
    {"an answer that did not come", "curl: (28) Operation timed out after 1001 milliseconds with 0 bytes received", around},
    {"an answer that did not come", "TimeoutError: [Errno 110] Connection timed out", around},
    {"an answer that did not come", "ssh: connect to host node7 port 22: Connection timed out", around},
    {"an answer that did not come", "Read error (Connection timed out) in headers.", around},
    {"an answer that did not come", "urllib.error.URLError: <urlopen error timed out>", around},
    {"a missing program", "run.sh: line 3: nvcc: command not found", around},
    {"a missing module", "ModuleNotFoundError: No module named 'fast_layers'", around},
    {"a missing module", "ImportError", around},
    {"a missing module", "ImportError: cannot import name 'layer' from 'fast_layers'", around},

    {"SIGKILL", "Killed", crash, 9},
    {"SIGKILL", "run.sh: line 3:   712 Killed                  ./train", crash, 9},
    {"SIGKILL", "The exit codes of the workers are {SIGKILL(-9)}", crash, 9},
    {"SIGKILL", "zsh: killed     ./train", crash, 9},
    {"SIGKILL", "process 0 terminated with signal SIGKILL", crash, 9},
    {"SIGKILL", "mpirun noticed that process rank 0 with PID 7 on node n1 exited on signal 9 (Killed).", crash, 9},
    {"make's killed command", "make: *** [Makefile:3: train] Killed", crash, 9},
    {"the exit code of SIGKILL in Python", "['python', 't.py'] exits with return code = -9", crash, 9},
    {"a job that was cancelled", "*** JOB 17 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO PREEMPTION ***", crash},
    {"srun's killed task", "srun: error: node7: task 3: Killed", crash, 9},
    {"the exit status of SIGKILL", "[1] terminated with exit code (137). Reason [Error].", crash, 9},
    {"the exit code of SIGKILL in Python", "  exitcode  : -9 (pid: 712)", crash, 9},
    {"SIGSEGV", "Segmentation fault (core dumped)", crash, 11},
    {"SIGSEGV", "Fatal Python error: Segmentation fault", crash, 11},
    {"SIGSEGV", "Program received signal SIGSEGV, Segmentation fault.", crash, 11},
    {"SIGSEGV", "The exit codes of the workers are {SIGSEGV(-11)}", crash, 11},
    {"a damaged heap", "malloc(): corrupted top size", crash, 6},
    {"a damaged heap", "double free or corruption (out)", crash, 6},
    {"SIGABRT", "Aborted (core dumped)", crash, 6},
    {"SIGBUS", "Bus error (core dumped)", crash, 7},
    {"SIGFPE", "Floating point exception (core dumped)", crash, 8},
    {"SIGILL", "Illegal instruction (core dumped)", crash, 4},
    {"SIGTRAP", "Trace/BPT trap: 5", crash, 5},
    {"SIGTERM", "The exit codes of the workers are {SIGTERM(-15)}", crash, 15},
    {"Windows' access violation", "Windows fatal exception: access violation", crash},
    {"a loader's dead worker", "RuntimeError: DataLoader worker (pid(s) 9) exited unexpectedly", crash},
    {"a pool's dead worker", "ray.exceptions.WorkerCrashedError: The worker died unexpectedly.", crash},
    {"a job that was cancelled", "slurmstepd: error: *** JOB 17 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***", crash},

    {"a missing data file", "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'", data},
    {"a missing data set", "RuntimeError: Dataset not found. You can use download=True to download it", data},
    {"a damaged image", "PIL.UnidentifiedImageError: cannot identify image file 'cat.jpg'", data},
    {"a damaged file", "OSError: Unable to open file (truncated file: eof = 96)", data},
    {"a table that cannot be read", "pandas.errors.ParserError: Error tokenizing data. C error: Expected 5 fields", data},
    {"text in another encoding", "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 1", data},
});

}  // namespace

TEST_CASE("of an operator that a device lacks, the one sentence is told that says so") {
    const std::string sentence = "Could not run 'aten::gather_backward' with arguments from the 'AutogradMeta' backend.";
    const std::string advice =
        " This could be because the operator doesn't exist for this backend, or was omitted during the selective/custom "
        "build process (if using custom build). 'aten::gather_backward' is only available for these backends: [Dense].";
    hpo::Failure failure;
    failure.kind = hpo::FailureKind::trainer_error;
    failure.message = "NotImplementedError: " + sentence + advice + "\n\nMeta: registered at /dev/null:228 [kernel]\n";
    CHECK(hpo::failure_line(failure) == "NotImplementedError: " + sentence);
    failure.message = sentence;
    CHECK(hpo::failure_line(failure) == sentence);
}

TEST_CASE("every family has a name of its own and phrases to look for") {
    std::set<std::string_view> names;
    for (const auto& families : hpo::message_families) {
        for (const hpo::MessageFamily& family : families) {
            CAPTURE(family.name);
            CHECK(names.insert(family.name).second);
            CHECK_FALSE((family.all.empty() && family.any.empty()));
            CHECK((!family.signal || family.kind == crash));
            for (const hpo::Phrases* phrases : {&family.all, &family.any, &family.none}) {
                for (const std::string_view phrase : *phrases) {
                    CAPTURE(phrase);
                    CHECK((!phrase.empty() && phrase.front() != '#'));
                    CHECK(hpo::detail::lower_case(phrase) == phrase);
                }
            }
        }
    }
    for (const Example& example : examples) names.erase(example.family);
    CHECK(names == std::set<std::string_view>{});  // each has an example
}

TEST_CASE("an example belongs to its family and to no earlier one") {
    for (const Example& example : examples) {
        CAPTURE(example.text);
        const auto part = hpo::find_telling_part({}, example.text);
        REQUIRE(part);
        REQUIRE(part->family);
        CHECK(part->family->name == example.family);
        CHECK(part->kind == example.kind);
        const hpo::Failure failure = hpo::classify_python(example.text);
        CHECK(failure.kind == example.kind);
        CHECK(failure.signal == example.signal);
        CHECK(failure.requested_bytes == example.requested);
        const std::string in_output = "epoch 1, loss 0.5\n" + std::string{example.text} + "\nbye\n";
        CHECK(hpo::classify_text({.type = {}, .message = in_output}).kind == example.kind);
    }
}

TEST_CASE("look-alikes belong to no family") {
    for (const char* text :
         {"oom-safe batch size found: 48",
          "killed 3 stale processes before the start",
          "x = np.nan_to_num(x)",
          "time limit: none",
          "INFO: no time limit, no memory limit",
          "skipped: 0 out of 12 files",
          "AttributeError: module 'torch.cuda' has no attribute 'OutOfMemoryError'",
          "GPU OOM guard enabled",
          "no GPU OOM with batch 64 so far",
          "W bfc_allocator.cc: Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.20GiB. The caller indicates that this is not a "
          "failure",
          "use gradient checkpointing to avoid running out of memory on the GPU",
          "ValueError: batch 512 is too large; set chunk=64 to avoid CUDA out of memory",
          "expandable segments reduce CUDA out of memory errors",
          "RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: shared memory, Required: 180224, Hardware limit: "
          "101376",
          "psycopg2.errors.OutOfMemory: out of shared memory",
          "sqlite3.OperationalError: out of memory",
          "the exit code 1370 is not known",
          "returned 137 rows",
          "epoch 137, exit code 0",
          "signal 9.5 dB above noise",
          "the segmentation fault detector is on",
          "segmentation model: 11 classes, fault masks",
          "aborted the search early: no improvement",
          "loss: nan is replaced by 0",
          "dropped 3 rows with NaN",
          "Gradient overflow. Skipping step, loss scaler 0 reducing loss scale to 32768.0",
          "Xid is a name for the sample's id",
          "xid: 79 samples",
          "the bus route has fallen off",
          "except ImportError:",
          "from zipfile import BadZipFile",
          "aborted.",
          "the run that was\n    killed.",
          "paging file is on drive D",
          "using memory pressure of 0.5 as a feature",
          "worker is at 80 % of its memory budget",
          "lib.py:3: UserWarning: CUDA initialization: Found no NVIDIA driver on your system.",
          "W tensorflow: Could not load dynamic library 'libcudart.so.10.1'; dlerror: cannot open shared object file",
          "E tensorflow: failed call to cuInit: CUDA_ERROR_NO_DEVICE",
          "ValueError: license column is missing",
          "the module named 'encoder' is frozen",
          "ImportError: cannot import name 'a' from partially initialized module 'b'",
          "FileNotFoundError: [Errno 2] No such file or directory: 'config.yaml'",
          "FileNotFoundError: [Errno 2] No such file or directory: 'runs/checkpoint-500/model.npz'",
          "images: 512 found, 0 corrupt",
          "decoded 512 bytes with the codec",
          "Detected 0 oom_kill events",
          "\"OOMKilled\": false,",
          "W bfc_allocator.cc:291] Allocator ran out of memory trying to allocate 2.00GiB. The caller indicates that this is not a failure",
          "12:00:00.1: I external/xla/cuda_driver.cc:739] failed to allocate 2.00G from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
          "0 Workers (tasks / actors) killed due to memory pressure (OOM)",
          "curl: (22) The requested URL returned error: 404",
          "urllib.error.HTTPError: HTTP Error 404: Not Found",
          "node7:812:812 [0] NCCL WARN socketStartConnect: Connect to 10.0.0.1<4375> failed : Connection refused",
          "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node7]:29500 (errno: 111 - Connection refused).",
          "RuntimeError: [/gloo/transport/tcp/pair.cc:589] Read error [127.0.1.1]:1234: Connection reset by peer",
          "torch.distributed.DistNetworkError: The addresses of (node1, 29500) cannot be retrieved (-2 - Name or service not known)",
          "[node7][[1,0],0][btl_tcp_endpoint.c:625] connect() to 10.0.0.1 failed: Connection refused (111)",
          "wandb: Network error (ConnectionRefusedError), entering retry loop.",
          "the connection refused to converge",
          "requests.exceptions.SSLError: Max retries exceeded with url: / (Caused by SSLError(CERTIFICATE_VERIFY_FAILED))",
          "requests.exceptions.RetryError: Max retries exceeded with url: / (Caused by ResponseError('too many 404 error responses'))",
          "requests.exceptions.ProxyError: Max retries exceeded with url: / (Tunnel connection failed: 407 Proxy Authentication Required)",
          "curl: (56) CONNECT tunnel failed, response 403",
          "curl: (35) OpenSSL/3.0.17: error:0A00010B:SSL routines::wrong version number",
          "kex_exchange_identification: banner line contains invalid characters",
          "fatal: the remote end hung up unexpectedly",
          "solver returned error: 4290 rows have no label",
          "ValueError: http error 5001 is not a known code",
          "AssertionError: the graph has no route to host node",
          "model.c: send failure: tensor shape 3 does not match 4",
          "MemoryErrorBudget=3"}) {
        CAPTURE(text);
        const auto part = hpo::find_telling_part({}, text);
        CHECK((!part ? std::string_view{} : part->family ? part->family->name : "a CUDA error") == std::string_view{});
    }
}

TEST_CASE("source code that a traceback shows tells nothing") {
    const std::string shown =
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in step\n    except torch.cuda.OutOfMemoryError as "
        "error:\nKeyError: 'lr'\n";
    CHECK_FALSE(hpo::find_telling_part({}, shown));
    CHECK(hpo::classify_exit({.exit_status = 1, .signal = {}, .last_words = shown}).kind == FailureKind::trainer_error);
}

TEST_CASE("a missing module counts only if nothing was raised after it") {
    const std::string missing =
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    import fast\nModuleNotFoundError: No module "
        "named 'fast'\n";
    const std::string after =
        "\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"train.py\", "
        "line "
        "5, in <module>\n    fallback()\nValueError: bad shape\n";
    CHECK(hpo::classify_python(missing).kind == around);
    CHECK(hpo::classify_python(missing + after).kind == FailureKind::trainer_error);
    const auto exit = [](const std::string& words, std::optional<int> signal) {
        return hpo::classify_exit({.exit_status = signal ? std::nullopt : std::optional{1}, .signal = signal, .last_words = words});
    };
    CHECK(exit(missing, {}).kind == around);
    CHECK(exit(missing + after, {}).kind == FailureKind::trainer_error);
    CHECK(exit(missing, 11).kind == crash);
    CHECK(exit("error: libx.so: cannot open shared object file\n", 6).kind == around);
}

TEST_CASE("a network that was away may be back, and an address that is wrong is no outage") {
    const auto recurs = [](std::string_view text) { return hpo::traits_of(hpo::classify_python(text)).recurrence; };
    for (const std::string_view line : {"curl: (7) Failed to connect to db port 80 after 0 ms: Couldn't connect to server",
                                        "bash: connect: Connection refused", "urllib.error.HTTPError: HTTP Error 503: Service Unavailable",
                                        "cp: cannot stat '/mnt/x': Host is down", "TimeoutError: [Errno 110] Connection timed out"}) {
        CAPTURE(line);
        CHECK(recurs(line) == hpo::Recurrence::transient);
    }
    CHECK(recurs("urllib.error.HTTPError: HTTP Error 404: Not Found") != hpo::Recurrence::transient);
    CHECK(recurs("curl: (22) The requested URL returned error: 401") != hpo::Recurrence::transient);
}

TEST_CASE("if a program prints another error after an outage, it is not known why it ended, and both are told") {
    const auto ended = [](const std::string& words) { return hpo::classify_exit({.exit_status = 2, .signal = {}, .last_words = words}); };
    const std::string away = "curl: (7) Failed to connect to 127.0.0.1 port 9 after 0 ms: Couldn't connect to server\n";
    const hpo::Failure plain = ended("epoch 1\n" + away);
    CHECK(hpo::traits_of(plain).recurrence == hpo::Recurrence::transient);
    CHECK(hpo::later_words(plain).empty());
    for (const char* repeated : {"make: *** [Makefile:3: all] Error 7\n", "no cache server, using the local copy\n", "Giving up.\n\n",
                                 "curl: (6) Could not resolve host: data.example.org\n", "  at load (failed)\n", "==> ...\n"}) {
        CAPTURE(repeated);
        CHECK(hpo::traits_of(ended(away + repeated)).recurrence == hpo::Recurrence::transient);
    }
    std::set<std::string> signatures;
    for (const char* later :
         {"train.py: error: unrecognized arguments: --foo\n", "python3: can't open file 'nosuch.py'\n", "sh: 1: trainx: not found\n",
          "config: batch 7 does not divide 100\n", "main.c:3: main: Assertion `n > 0' failed.\n"}) {
        CAPTURE(later);
        const hpo::Failure failure = ended(away + "no cache server, using the local copy\n" + later);
        CHECK(hpo::traits_of(failure).recurrence == hpo::Recurrence::unknown);
        CHECK(hpo::traits_of(failure).blame == hpo::Blame::unknown);
        CHECK(hpo::failure_line(failure) + "\n" == away.substr(0, away.size() - 1) + "; later: " + later);
        signatures.insert(hpo::signature(failure));
    }
    CHECK(signatures.size() == 5);
    const hpo::Failure caught = ended("Aborted (core dumped)\ntrain: error: lr must be below 1\n");
    CHECK(hpo::failure_line(caught) == "Aborted (core dumped); later: train: error: lr must be below 1");
    const hpo::Failure missing = ended("cat: data/extra.csv: No such file or directory\ntrain: error: lr must be below 1\n");
    CHECK(missing.kind == data);
    CHECK(hpo::traits_of(missing).recurrence == hpo::Recurrence::unknown);
}

TEST_CASE("what another program raised may hide an out-of-memory, and a missing module does not") {
    const std::string oom =
        "Traceback (most recent call last):\n  File \"t.py\", line 1, in f\nRuntimeError: CUDA out of memory.\n\nDuring handling of the "
        "above "
        "exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"t.py\", line 2, in f\nModuleNotFoundError: "
        "No "
        "module named 'report'\n";
    CHECK(hpo::classify_python(oom).kind == device);
}

TEST_CASE("the message of a long output begins with the line that tells") {
    const std::string output = "loading\nepoch 1\n   Segmentation fault (core dumped)\nbye\n";
    CHECK(hpo::telling_line(output) == "Segmentation fault (core dumped)");
    CHECK(hpo::telling_line("loading\r\nGPU has fallen off the bus.\r\n") == "GPU has fallen off the bus.");
    CHECK(hpo::telling_line("nothing\nto tell") == "");
    CHECK(hpo::telling_line("") == "");
    const hpo::Failure failure = hpo::classify_text({.type = {}, .message = output});
    CHECK(failure.message == "Segmentation fault (core dumped)\nbye\n");
    CHECK(failure.traceback == output);
    CHECK(hpo::telling_line("first\nRuntimeError: CUDA error: device-side assert triggered\n") ==
          "RuntimeError: CUDA error: device-side assert triggered");
    CHECK(hpo::classify_text({.type = "RuntimeError", .message = output}).message == output);  // an exception's message stays whole
}

TEST_CASE("words about host memory explain a SIGKILL") {
    const auto told = hpo::classify_exit({.exit_status = 137, .signal = {}, .last_words = "srun: error: n1: task 0: Out Of Memory\n"});
    CHECK(told.kind == host);
    CHECK(told.signal == 9);
    CHECK(hpo::classify_exit({.exit_status = 137, .signal = {}, .last_words = "Killed\n"}).kind == crash);
}

TEST_CASE("the signs of a phrase ask for a place in the line, a whole word or a number") {
    using hpo::detail::contains_phrase;
    CHECK(contains_phrase("killed", "^killed$"));
    CHECK_FALSE(contains_phrase("killed.", "^killed$"));
    CHECK_FALSE(contains_phrase("was killed", "^killed$"));
    CHECK_FALSE(contains_phrase("killed it", "^killed$"));
    CHECK(contains_phrase("a memoryerror: b", "~memoryerror~"));
    CHECK_FALSE(contains_phrase("outofmemoryerror", "~memoryerror~"));
    CHECK_FALSE(contains_phrase("memoryerrors", "~memoryerror~"));
    CHECK(contains_phrase("exit code 1370, exit code 137", "exit code 137~"));
    CHECK(contains_phrase("x.sh: line 31: 712 killed", ": line #: # killed"));
    CHECK_FALSE(contains_phrase("x.sh: line : 712 killed", ": line #: # killed"));
    CHECK(hpo::detail::searchable(" A \t b \r\n  C\n") == "a b\nc\n");
}
