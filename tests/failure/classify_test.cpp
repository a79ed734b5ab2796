// SPDX-License-Identifier: MIT
#include "hpo/failure/classify.hpp"

#include <set>
#include <string>

#include "hpo/failure/cause.hpp"
#include "hpo/failure/codes/error_search.hpp"
#include "hpo/failure/stack_frames.hpp"
#include "support/catch.hpp"

using hpo::classify_exit;
using hpo::classify_text;
using hpo::FailureKind;

namespace {
FailureKind kind_of(std::string_view type, std::string_view message) { return classify_text({.type = type, .message = message}).kind; }
}  // namespace

TEST_CASE("every CUDA code of the table is its own and stands in ascending order") {
    std::int64_t last = 0;
    for (const hpo::ErrorCode& error : hpo::cuda_errors) {
        CHECK(error.code > last);
        last = error.code;
        CHECK(hpo::cuda_error(error.code) == &error);
    }
    CHECK(hpo::cuda_error(12345) == nullptr);
    for (const std::int64_t sticky : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810}) {
        CAPTURE(sticky);
        REQUIRE(hpo::cuda_error(sticky));
        CHECK(hpo::cuda_error(sticky)->meaning.what == hpo::ErrorClass::sticky);
    }
}

TEST_CASE("each CUDA error is found by its text and by its name") {
    for (const hpo::ErrorCode& error : hpo::cuda_errors) {
        CAPTURE(error.name);
        const std::string by_text =
            "CUDA error: " + std::string{error.text} + "\nCUDA kernel errors might be asynchronously reported at some other API call";
        REQUIRE(hpo::cuda_error_in(by_text));
        CHECK(hpo::cuda_error_in(by_text)->code == error.code);
        const std::string by_name = "Search for `" + std::string{error.name} + "' in the documentation";
        REQUIRE(hpo::cuda_error_in(by_name));
        CHECK(hpo::cuda_error_in(by_name)->code == error.code);
    }
    CHECK(hpo::cuda_error_in("invalid argument --lr") == nullptr);
    CHECK(hpo::cuda_error_in("an unknown error occurred while reading config.yaml") == nullptr);
}

TEST_CASE("a device-side assert is sticky, whoever words it") {
    const auto failure = classify_text({.type = "RuntimeError",
                                        .message = "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously "
                                                   "reported at some other API call, so the stacktrace below "
                                                   "might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1."});
    CHECK(failure.kind == FailureKind::cuda_sticky);
    CHECK(failure.code == 710);
    CHECK(failure.type == "RuntimeError");
    CHECK(kind_of("torch.AcceleratorError", "CUDA error: an illegal memory access was encountered") == FailureKind::cuda_sticky);
    CHECK(kind_of("", "terminate called: device-side assert triggered") == FailureKind::cuda_sticky);
    CHECK(kind_of("", "CUDA error: uncorrectable ECC error encountered") == FailureKind::hardware);
    CHECK(kind_of("", "CUDA error: no kernel image is available for execution on the device") == FailureKind::environment);
    CHECK(kind_of("", "CUDA error: too many resources requested for launch") == FailureKind::cuda_transient);
    CHECK(kind_of("", "NCCL error in: ProcessGroupNCCL.cpp:1269, unhandled cuda error, NCCL version 2.14.3\nncclUnhandledCudaError") ==
          FailureKind::cuda_sticky);
    CHECK(kind_of("", "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)") == FailureKind::timeout);
    CHECK(kind_of("RuntimeError", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED") == FailureKind::cuda_sticky);
}

TEST_CASE("device memory is told from host memory") {
    const auto device = classify_text({.type = "torch.cuda.OutOfMemoryError",
                                       .message = "CUDA out of memory. Tried to allocate 360.00 MiB. GPU 0 has a total capacity of 23.56 "
                                                  "GiB of which 259.88 MiB is free. Including non-PyTorch memory, "
                                                  "this process has 22.72 GiB memory in use."});
    CHECK(device.kind == FailureKind::out_of_memory);
    CHECK(device.requested_bytes == 377487360);
    CHECK(device.memory.capacity == 25297357373);
    CHECK_FALSE(device.memory.allocated);

    const auto host = classify_text({.type = "RuntimeError",
                                     .message = "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: "
                                                "you tried to allocate 68719476736 bytes. Error code 12 "
                                                "(Cannot allocate memory)"});
    CHECK(host.kind == FailureKind::host_out_of_memory);
    CHECK(host.requested_bytes == 68719476736);
    CHECK(kind_of("MemoryError", "") == FailureKind::host_out_of_memory);
    CHECK(kind_of("std::bad_alloc", "std::bad_alloc") == FailureKind::host_out_of_memory);
    CHECK(kind_of("numpy.core._exceptions._ArrayMemoryError",
                  "Unable to allocate 7.45 GiB for an array with shape (1000000, 1000) and data type float64") ==
          FailureKind::host_out_of_memory);
    CHECK(kind_of("OSError", "[Errno 12] Cannot allocate memory") == FailureKind::host_out_of_memory);
    CHECK(kind_of("",
                  "E xla/stream_executor/cuda/cuda_driver.cc:1070] failed to alloc 4096 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of "
                  "memory") == FailureKind::host_out_of_memory);
    CHECK(kind_of("", "could not allocate pinned host memory of size: 4096") == FailureKind::host_out_of_memory);
    CHECK(kind_of("", "failed to alloc 4096 bytes unified memory; result: CUDA_ERROR_OUT_OF_MEMORY: out of memory") ==
          FailureKind::out_of_memory);
    for (const char* message :
         {"slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch. Some of the step tasks have been OOM Killed.",
          "Task was killed due to the node running low on memory.", "java.lang.OutOfMemoryError: Java heap space",
          "pod 'trial-7' terminated: OOMKilled"}) {
        CAPTURE(message);
        CHECK(kind_of("", message) == FailureKind::host_out_of_memory);
    }
    CHECK(kind_of("ray.exceptions.OutOfMemoryError", "Task was killed due to the node running low on memory.") ==
          FailureKind::host_out_of_memory);
}

TEST_CASE("words of memory and resources alone are no out-of-memory") {
    for (const char* message : {"index out of bounds", "out of patience, memory of 5 epochs", "Resource exhausted: too many threads",
                                "the replay memory is out of date", "not out of memory yet"}) {
        CAPTURE(message);
        CHECK(kind_of("RuntimeError", message) == FailureKind::trainer_error);
    }
}

TEST_CASE("out-of-memory has many wordings") {
    for (const char* message : {"CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
                                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                                "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
                                "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
                                "Not enough memory for workspace!",
                                "CUDA out of memory. Tried to allocate more than 1EB memory.",
                                "HIP out of memory. Tried to allocate 2.00 GiB",
                                "XPU out of memory, tried to allocate 4 GB",
                                "MPS backend out of memory (MPS allocated: 5.05 GB, other allocations: 3.5 GB, max allowed: 9.07 GB).",
                                "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 123 bytes.",
                                "Resource exhausted: Out of memory while trying to allocate 2147483648 bytes.",
                                "Resource exhausted: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0",
                                "Out of memory",
                                "lightgbm.basic.LightGBMError: Out of memory.",
                                "ResourceExhaustedError: OOM when allocating tensor with shape[64,512]",
                                "Hip error: hipErrorOutOfMemory",
                                "Memory object allocation failure, code: -4",
                                "Ran out of memory in memory space hbm. Used 18.20G of 15.48G hbm.",
                                "Error: Out of memory. Requested 4096.0 MB; Free 1024.0 MB",
                                "Attempting to allocate 3.00G. That was not possible. There are 2.12G free.; (0x0x0_HBM0)",
                                "Allocation on device 0 would exceed allowed memory. (out of memory)",
                                "CPU out of memory. Tried to allocate 64.00 MiB. Device 0 has a total capacity of 600.00 MiB"}) {
        CAPTURE(message);
        CHECK(kind_of("RuntimeError", message) == FailureKind::out_of_memory);
    }
    CHECK(classify_text({.type = {}, .message = "CUDA error: out of memory"}).code == 2);
}

TEST_CASE("what nobody recognises is the trainer's, and a word about memory is no out-of-memory") {
    CHECK(kind_of("AttributeError", "'NoneType' object has no attribute 'shape'") == FailureKind::trainer_error);
    CHECK(kind_of("ValueError", "batch lowered after an earlier trial ran out; memory_limit must be an int") == FailureKind::trainer_error);
    CHECK(kind_of("", "") == FailureKind::trainer_error);
    CHECK(kind_of("ValueError", "Invalid labels detected in batch! Expected range [0, 1], but got min=0, max=7.") ==
          FailureKind::bad_batch);
    CHECK(kind_of("IndexError", "Target 5 is out of bounds.") == FailureKind::bad_batch);
}

TEST_CASE("a process that SIGKILL ended is a crash whose sender nobody knows") {
    for (const char* message : {"Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "exit code 137",
                                "Command '['python', 't.py']' died with <Signals.SIGKILL: 9>.", "exitcode: -9 (pid: 17)",
                                "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed. ", "signal: killed"}) {
        CAPTURE(message);
        const auto failure = classify_text({.type = {}, .message = message});
        CHECK(failure.kind == FailureKind::crash);
        CHECK(failure.signal == 9);
    }
    for (const char* message : {"exit code 1", "exit code 1370", "exit status -90", "a batch of 137"}) {
        CAPTURE(message);
        CHECK(kind_of("", message) == FailureKind::trainer_error);
    }
}

TEST_CASE("how a process ended says as much as its words") {
    const auto segv = classify_exit({.exit_status = {}, .signal = 11, .last_words = "loading\n"});
    CHECK(segv.kind == FailureKind::crash);
    CHECK(segv.signal == 11);
    CHECK(segv.message == "the process was ended by SIGSEGV");
    CHECK(classify_exit({.exit_status = 159, .signal = {}, .last_words = ""}).message == "the process was ended by SIGSYS");
    CHECK(segv.traceback == "loading\n");

    CHECK(classify_exit({.exit_status = 137, .signal = {}, .last_words = ""}).kind == FailureKind::crash);
    CHECK_THAT(classify_exit({.exit_status = 137, .signal = {}, .last_words = ""}).message,
               Catch::Contains("perhaps the kernel's out-of-memory killer"));
    const auto by_kernel = classify_exit({.exit_status = {}, .signal = 9, .last_words = "", .host_memory_was_short = true});
    CHECK(by_kernel.kind == FailureKind::host_out_of_memory);
    CHECK(by_kernel.message == "the process was ended by SIGKILL, and the kernel counted an out-of-memory kill");
    const auto by_another = classify_exit({.exit_status = 137, .signal = {}, .last_words = "", .host_memory_was_short = false});
    CHECK(by_another.kind == FailureKind::crash);
    CHECK(by_another.message == "the process was ended by SIGKILL; hpo did not send it, and the kernel counted no out-of-memory kill");
    CHECK(classify_exit({.exit_status = {}, .signal = 11, .last_words = "", .host_memory_was_short = true}).kind == FailureKind::crash);

    const char* const loader = "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.";
    CHECK(classify_exit({.exit_status = 1, .signal = {}, .last_words = loader}).kind == FailureKind::crash);
    const auto counted = classify_exit({.exit_status = 1, .signal = {}, .last_words = loader, .host_memory_was_short = true});
    CHECK(counted.kind == FailureKind::host_out_of_memory);
    CHECK(counted.message == "the kernel counted an out-of-memory kill: " + std::string{loader});

    const auto status = classify_exit({.exit_status = 3, .signal = {}, .last_words = "usage: train.py\n"});
    CHECK(status.kind == FailureKind::trainer_error);
    CHECK(status.exit_status == 3);
    CHECK(classify_exit(
              {.exit_status = 1, .signal = {}, .last_words = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"})
              .requested_bytes == std::int64_t{2} << 30);
    CHECK(classify_exit({.exit_status = 1, .signal = {}, .last_words = "Traceback (most recent call last):\nMemoryError"}).kind ==
          FailureKind::host_out_of_memory);
    CHECK(classify_exit({.exit_status = {}, .signal = 6, .last_words = "CUDA error: device-side assert triggered"}).kind ==
          FailureKind::cuda_sticky);
    CHECK(classify_exit({.exit_status = {}, .signal = {}, .last_words = ""}).kind == FailureKind::lost_worker);
}

TEST_CASE("stack frames after a message are kept apart from it") {
    const std::string said = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 24.00 GiB";
    const std::string frames =
        "\nException raised from malloc at ../c10/cuda/CUDACachingAllocator.cpp:1131 (most recent call first):"
        "\nframe #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f17 in /usr/lib/libc10.so)"
        "\nframe #1: <unknown function> + 0x2f2d1 (device-side assert triggered)\n";
    const hpo::Failure failure = classify_text({.type = "c10::OutOfMemoryError", .message = said + frames});
    CHECK(failure.kind == FailureKind::out_of_memory);
    CHECK(failure.requested_bytes == std::int64_t{2} << 30U);
    CHECK(failure.message == said);
    CHECK(failure.traceback == said + frames);
    CHECK_FALSE(failure.code);  // a frame's words are no message
    CHECK(classify_text({.type = {}, .message = "a\nb\n"}).message == "a\nb\n");
    CHECK(classify_text({.type = {}, .message = "a\nb\n"}).traceback.empty());
    CHECK(hpo::without_frames("first" + frames + "last") == "first\nlast");
    const std::string last_words = "terminate called after throwing an instance of 'c10::Error'\n  what():  " + said + frames;
    const hpo::Failure death = classify_exit({.exit_status = {}, .signal = 6, .last_words = last_words});
    CHECK(death.kind == FailureKind::out_of_memory);
    CHECK_THAT(death.message, Catch::EndsWith(said));
    CHECK(death.traceback == last_words);
}

TEST_CASE("memory of the host that is pinned or shared, and a cuDNN that finds no algorithm, are out-of-memories") {
    const auto kind = [](const std::string& text) { return hpo::classify_text({.type = {}, .message = text}).kind; };
    for (const char* text : {"OSError: [Errno 28] No space left on device: '/dev/shm/psm_1234'",
                             "Error while creating shared memory segment /dev/shm/nccl-Ab12 (size 9637888)",
                             "cudaHostAlloc failed: out of memory", "RuntimeError: unable to pin memory: out of memory"}) {
        CAPTURE(text);
        CHECK(kind(text) == hpo::FailureKind::host_out_of_memory);
    }
    for (const char* text : {"RuntimeError: Unable to find a valid cuDNN algorithm to run convolution",
                             "RuntimeError: FIND was unable to find an engine to execute this computation",
                             "RuntimeError: GET was unable to find an engine to execute this computation"}) {
        CAPTURE(text);
        hpo::Failure failure = hpo::classify_text({.type = {}, .message = text});
        CHECK(failure.kind == hpo::FailureKind::out_of_memory);
        hpo::explain_oom(failure, {});
        CHECK(failure.cause == hpo::OomCause::workspace);
        CHECK(failure.evidence.find("probably") != std::string::npos);
    }
    CHECK(kind("OSError: [Errno 28] No space left on device: '/data/model.pt'") != hpo::FailureKind::host_out_of_memory);
    CHECK(kind("pin_memory=True is set") == hpo::FailureKind::trainer_error);
}
