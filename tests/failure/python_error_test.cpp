// SPDX-License-Identifier: MIT
#include "hpo/failure/python_error.hpp"

#include <random>
#include <string>

#include "hpo/failure/cause.hpp"
#include "hpo/failure/failure_line.hpp"
#include "support/catch.hpp"

using namespace hpo;

TEST_CASE("an exception is read from its repr, with quotes and line ends") {
    const auto error = exception_from_repr(R"(RuntimeError('CUDA error: it\'s\nlost'))");
    REQUIRE(error);
    CHECK(error->type == "RuntimeError");
    CHECK(error->message == "CUDA error: it's\nlost");
    CHECK(exception_from_repr(R"(torch.OutOfMemoryError("can't"))")->message == "can't");
    CHECK(exception_from_repr("KeyboardInterrupt()")->message.empty());
    CHECK(exception_from_repr("CalledProcessError(1, ['train'])")->message == "1, ['train']");
    CHECK_FALSE(exception_from_repr("tensor([1.0])"));
    CHECK_FALSE(exception_from_repr("Error in line 3"));
}

TEST_CASE("losses by the name of an error are no exceptions, and escapes that a repr shows stay as they are") {
    for (const char* text : {"MeanSquaredError()", "MeanAbsoluteError", "keras.losses.MeanSquaredLogarithmicError()"}) {
        CAPTURE(text);
        CHECK_FALSE(exception_from_repr(text));
        CHECK_FALSE(hpo::detail::exception_line(text));
    }
    const auto shown = exception_from_repr("ValueError('bad\\x1b[31mred \\\\ \\'q\\'\\nline two')");
    REQUIRE(shown);
    CHECK(shown->message == "bad\\x1b[31mred \\ 'q'\nline two");
}

TEST_CASE("a message of one word or none is told with the exception's type") {
    const auto message = [](const char* text) { return hpo::classify_python(text).message; };
    CHECK(message("KeyError('lr')") == "KeyError: lr");
    CHECK(message("KeyError: 'lr'") == "KeyError: 'lr'");
    CHECK(message("AssertionError()") == "AssertionError");
    CHECK(message("Traceback (most recent call last):\n  File \"t.py\", line 1\nStopIteration\n") == "StopIteration at t.py:1");
    CHECK(message("ValueError: bad shape (3, 4)") == "bad shape (3, 4)");
}

TEST_CASE("the exceptions of a traceback come in the order in which they were raised, each with its whole message") {
    const std::string traceback =
        "[W 2026-01-01] Trial 3 failed\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    x = g()\n"
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\nsecond line\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n  File \"a.py\", line 5, in f\n    raise ValueError('gave up')\nValueError: gave up\n";
    const auto chain = exceptions_in(traceback);
    REQUIRE(chain.size() == 2);
    CHECK(chain[0].type == "torch.cuda.OutOfMemoryError");
    CHECK(chain[0].message == "CUDA out of memory. Tried to allocate 2.00 GiB\nsecond line");
    CHECK(chain[1].type == "ValueError");
    CHECK(chain[1].message == "gave up");
    const auto failure = classify_exceptions(chain);
    REQUIRE(failure);
    CHECK(failure->kind == FailureKind::out_of_memory);  // what was raised while it was handled is not the cause
    CHECK(failure->requested_bytes == std::int64_t{2} << 30);
    CHECK(classify_python(traceback).kind == FailureKind::out_of_memory);
    for (const char* text :
         {"pyopencl._cl.MemoryError: create_buffer failed: MEM_OBJECT_ALLOCATION_FAILURE",
          "torch.distributed.DistBackendError: NCCL error: unhandled cuda error\nFailed to CUDA calloc async 608 bytes"}) {
        INFO(text);
        CHECK(classify_python(text).kind == FailureKind::out_of_memory);
    }
    CHECK(exceptions_in("Traceback (most recent call last):\n  File \"a.py\", line 3\n").empty());
    CHECK(exceptions_in("no traceback at all").empty());
}

TEST_CASE("behind the frames of a traceback stands an exception, whatever its class is called") {
    const std::string frames = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    raise Stop(1)\n";
    for (const char* name : {"MyErr", "Stop", "lib.flow.stop_here", "queue.Empty", "_Halt"}) {
        CAPTURE(name);
        const auto chain = exceptions_in(frames + name + ": 1 of 2\nmore\n");
        REQUIRE(chain.size() == 1);
        CHECK(chain[0].type == name);
        CHECK(chain[0].message == "1 of 2\nmore");
        CHECK(chain[0].place == "a.py:3");
        CHECK(exceptions_in(frames + name + "\n").at(0).type == name);
    }
    CHECK(exceptions_in(frames + "INFO: step 3\n").empty());
    CHECK(exceptions_in(frames + "step 3\n").empty());
    CHECK(exceptions_in("Traceback (most recent call last):\nMyErr: 1 of 2\n").empty());  // without a frame it may be any line
}

TEST_CASE("torchrun's own exception does not hide the one of its process, and what Python ignored is none") {
    const std::string own = "Traceback (most recent call last):\n  File \"train.py\", line 1, in f\nValueError: bad option alpha\n";
    const std::string of_torchrun =
        "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n-----\n=====\n";
    CHECK(hpo::classify_python(own + of_torchrun).type == "ValueError");
    CHECK_THAT(hpo::classify_python(of_torchrun).message, Catch::Contains("train.py FAILED"));
    const std::string ignored =
        "Exception ignored in: <function A.__del__ at 0x7f>\nTraceback (most recent call last):\n  File \"train.py\", line 3, in __del__\n"
        "AttributeError: x\n";
    const auto chain = hpo::exceptions_in(own + ignored);
    REQUIRE(chain.size() == 1);
    CHECK(chain[0].type == "ValueError");
    CHECK(chain[0].message == "bad option alpha");
    CHECK(hpo::exceptions_in(ignored + own).size() == 1);
}

TEST_CASE("an exception without a message is told by its name and its place") {
    const std::string traceback =
        "Traceback (most recent call last):\n  File \"/home/a/train.py\", line 12, in <module>\n    main()\n"
        "  File \"load.py\", line 7, in load\n    raise MemoryError()\nMemoryError\n";
    const auto chain = exceptions_in(traceback);
    REQUIRE(chain.size() == 1);
    CHECK(chain[0].place == "load.py:7");
    Failure failure = classify_python(traceback);
    CHECK(failure.kind == FailureKind::host_out_of_memory);
    CHECK(failure.message == "MemoryError at load.py:7");
    failure.exit_status = 1;
    CHECK(hpo::failure_line(failure) == "MemoryError at load.py:7");
    CHECK(classify_python("MemoryError()").message == "MemoryError");
    failure.message.clear();  // as older stores have it
    CHECK(hpo::failure_line(failure) == "MemoryError");
}

TEST_CASE("Optuna's own words tell a NaN from an exception") {
    CHECK(classify_python("The value nan is not acceptable").kind == FailureKind::non_finite);
    CHECK(classify_python("Setting status of trial#5 as TrialState.FAIL because the objective function returned nan.").kind ==
          FailureKind::non_finite);
    const auto raised =
        classify_python("Setting status of trial#7 as TrialState.FAIL because of the following error: ValueError('no such file')");
    CHECK(raised.kind == FailureKind::trainer_error);
    CHECK(raised.type == "ValueError");
    CHECK(raised.message == "no such file");
    CHECK(classify_python("The value None could not be cast to float.").kind == FailureKind::trainer_error);
    CHECK(classify_python("RuntimeError: CUDA error: out of memory").kind == FailureKind::out_of_memory);
}

TEST_CASE("other frameworks' out-of-memory messages have figures") {
    const auto asked = [](const char* text) {
        const Failure failure = classify_python(text);
        CHECK(failure.kind == FailureKind::out_of_memory);
        return failure.requested_bytes.value_or(-1);
    };
    CHECK(asked("XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.") == 2147483648);
    CHECK(asked("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 8589934592 bytes.") == 8589934592);
    CHECK(asked("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2.50GiB.") == 2684354560);
    CHECK(asked("RESOURCE_EXHAUSTED: Failed to allocate request for 2.00GiB (2147483648B) on device ordinal 0") == 2147483648);
    CHECK(asked("OOM when allocating tensor with shape[64,128,56,56] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by "
                "allocator GPU_0_bfc [Op:Conv2D]") == 64LL * 128 * 56 * 56 * 4);
    CHECK(asked("OOM when allocating tensor with shape[1024] and type half on /device:GPU:1 by allocator GPU_1_bfc") == 2048);
    CHECK(asked("cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,589,934,592 bytes (allocated so far: 1,073,741,824 bytes, "
                "limit set to: 4,294,967,296 bytes).") == 8589934592);
    CHECK(asked("[10:11:12] xgboost: Memory allocation error on worker 0: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n"
                "- Free memory: 12582912\n- Requested memory: 9232383000") == 9232383000);
    CHECK(asked("OOM when allocating tensor with shape[] and type float on /device:GPU:0") == 4);
    CHECK(asked("OOM when allocating tensor with shape[9999999999999,999999999999] and type float on /device:GPU:0") == -1);
    CHECK(asked("OOM when allocating tensor with shape[12") == -1);

    const Failure host =
        classify_python("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 12.0 GiB for an array with shape (1,)");
    CHECK(host.kind == FailureKind::host_out_of_memory);
    CHECK(host.requested_bytes == std::int64_t{12} << 30);
    CHECK(
        classify_python("OOM when allocating tensor with shape[64] and type float on /job:localhost/device:CPU:0 by allocator cpu").kind ==
        FailureKind::host_out_of_memory);
    CHECK(classify_python("MemoryError: std::bad_alloc").kind == FailureKind::host_out_of_memory);

    const auto figures = [](const char* text) {
        const Failure failure = classify_python(text);
        CAPTURE(text);
        CHECK(failure.kind == FailureKind::out_of_memory);
        return failure;
    };
    const auto in_gib = [](const std::optional<std::int64_t>& bytes) { return bytes ? static_cast<double>(*bytes) / 0x1.0p30 : -1; };
    const Failure tpu = figures(
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
        "Used 18.20G of 15.48G hbm. Exceeded hbm capacity by 2.72G.");
    CHECK(in_gib(tpu.requested_bytes) == Approx(18.20));
    CHECK(in_gib(tpu.memory.capacity) == Approx(15.48));
    const Failure arena =
        figures("RESOURCE_EXHAUSTED: Attempting to allocate 3.00G. That was not possible. There are 2.12G free.; (0x0x0_HBM0)");
    CHECK(in_gib(arena.requested_bytes) == Approx(3));
    CHECK(in_gib(arena.memory.free) == Approx(2.12));
    const Failure async = figures(
        "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 14.50 "
        "GiB\nRequested               : 2.00 GiB\nDevice limit            : 15.70 GiB\nFree (according to CUDA): 8.00 MiB\nPyTorch limit "
        "(set by user-supplied memory fraction)\n                        : 17179869184.00 GiB");
    CHECK(in_gib(async.requested_bytes) == Approx(2));
    CHECK(in_gib(async.memory.allocated) == Approx(14.5));
    CHECK(in_gib(async.memory.capacity) == Approx(15.7));
    CHECK(in_gib(async.memory.free) == Approx(8.0 / 1024));
    CHECK_FALSE(async.memory.limit);  // no limit was set
    for (const char* text :
         {"MPS backend out of memory (MPS allocated: 17.50 GB, other allocations: 384.00 KB, max allowed: 18.13 GB). Tried to "
          "allocate 1.00 GB on private pool.",
          "MPS backend out of memory (MPS allocated: 17.50 GiB, other allocations: 384.00 KiB, max allowed: 18.13 GiB). "
          "Tried to allocate 1024.00 MiB on shared pool."}) {
        const Failure mps = figures(text);
        CHECK(in_gib(mps.requested_bytes) == Approx(1));
        CHECK(in_gib(mps.memory.allocated) == Approx(17.5));
        CHECK(in_gib(mps.memory.capacity) == Approx(18.13));
    }
    const Failure catboost = figures(
        "catboost/libs/train_lib/train_model.cpp:123: NCudaLib::TOutOfMemoryError: Error: Out of memory. Requested 4096.000000 MB; Free "
        "1024.000000 MB");
    CHECK(in_gib(catboost.requested_bytes) == Approx(4));
    CHECK(in_gib(catboost.memory.free) == Approx(1));

    const Failure old_catboost = figures("stack_like_memory_pool.h:305: Error: Out of memory. Requested 4096.5; Free 1024.25");
    CHECK(old_catboost.requested_bytes == (std::int64_t{8193} << 19));
    CHECK(old_catboost.memory.free == (std::int64_t{4097} << 18));
    const Failure paddle = figures(
        "Out of memory error on GPU 0. Cannot allocate 2.000000GB memory on GPU 0, 6.000000GB memory has been allocated and available "
        "memory is "
        "only 512.000000MB.");
    CHECK(in_gib(paddle.requested_bytes) == Approx(2));
    CHECK(in_gib(paddle.memory.allocated) == Approx(6));
    CHECK(in_gib(paddle.memory.free) == Approx(0.5));
    const Failure old_paddle =
        figures("Out of memory error on GPU 1. Cannot allocate 2.000000GB memory on GPU 1, available memory is only 0.000000B.");
    CHECK(old_paddle.memory.free == 0);
    CHECK_FALSE(old_paddle.memory.allocated);
    const Failure vllm = figures(
        "ValueError: Free memory on device cuda:0 (10.5/16.0 GiB) on startup is less than desired GPU memory utilization (0.9, 14.4 GiB).");
    CHECK(in_gib(vllm.requested_bytes) == Approx(14.4));
    CHECK(in_gib(vllm.memory.free) == Approx(10.5));
    CHECK(in_gib(vllm.memory.capacity) == Approx(16));
    const Failure apple = figures(
        "RuntimeError: [metal::malloc] Attempting to allocate 4294967296 bytes which is greater than the maximum allowed buffer size of "
        "2147483648 bytes.");
    CHECK(in_gib(apple.requested_bytes) == Approx(4));
    CHECK(in_gib(apple.memory.limit) == Approx(2));

    const auto evidence = [](const char* text) {
        Failure failure = classify_python(text);
        explain_oom(failure);
        return std::string{to_text(failure.cause.value())} + ": " + failure.evidence;
    };
    CHECK(evidence("XlaRuntimeError: Ran out of memory in memory space hbm. Used 18.20G of 15.48G hbm.") ==
          "capacity: asked for 18.20 GiB, more than the device's 15.48 GiB");
    CHECK(evidence(
              "xgboost: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Free memory: 1048576\n- Requested memory: 2097152") ==
          "unknown: asked for 2.00 MiB; 1.00 MiB were free");
    CHECK(evidence("MemoryError()") == "host: host memory ran out: MemoryError");

    Failure jax = classify_python("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes.");
    explain_oom(jax);
    CHECK(jax.evidence == "asked for 2.00 GiB; the message gives no other figure");
}

TEST_CASE("no mutation of a traceback harms the reader") {
    const std::string seed =
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
        "2.00 GiB\nOOM when allocating tensor with shape[64,3] and type float\nRuntimeError('x\\n')";
    std::mt19937_64 random{11};
    std::size_t memory = 0;
    for (int round = 0; round < 5000; ++round) {
        std::string text = seed;
        for (auto edits = 1 + random() % 10; edits > 0 && !text.empty(); --edits) {
            const auto at = random() % text.size();
            if (random() % 2 == 0) text.erase(at, 1 + random() % 12);
            else text[at] = static_cast<char>(random() % 256);
        }
        const Failure failure = classify_python(text);
        if (failure.requested_bytes) CHECK(*failure.requested_bytes >= 0);
        memory += is_memory(failure.kind) ? 1 : 0;
    }
    CHECK(memory > 1000);
}

TEST_CASE("an error that was caught in another thread or process and raised again has the figures of the first") {
    const std::string figures =
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 23.56 GiB of which 165.56 MiB is free.";
    const std::string raised = "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n    g()\n";
    const std::string again =
        "Original Traceback (most recent call last):\n  File \"w.py\", line 9, in h\n    k()\ntorch.OutOfMemoryError: " + figures + "\n";
    for (const std::string& text : {raised + "torch.OutOfMemoryError: Caught OutOfMemoryError in replica 1 on device 1.\n" + again,
                                    raised + "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\n" + again,
                                    "OutOfMemoryError('Caught OutOfMemoryError in replica 1 on device 1.\\nOriginal Traceback (most recent "
                                    "call last):\\n  File \"w.py\", line 9, in h\\n    k()\\ntorch.OutOfMemoryError: " +
                                        figures + "\\n')"}) {
        CAPTURE(text);
        const hpo::Failure failure = hpo::classify_python(text);
        CHECK(failure.kind == hpo::FailureKind::out_of_memory);
        CHECK(failure.requested_bytes == std::int64_t{2} << 30);
    }
}
