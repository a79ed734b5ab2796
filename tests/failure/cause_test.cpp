// SPDX-License-Identifier: MIT
#include "hpo/failure/cause.hpp"

#include <string>

#include "hpo/failure/classify.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"

using hpo::OomCause;
using hpo::tests::gib;
using hpo::tests::mib;

namespace {

hpo::Failure failure(const std::string& message) { return hpo::classify_text({.type = "torch.OutOfMemoryError", .message = message}); }

OomCause cause_of(const std::string& message, const hpo::OomContext& context = {}) {
    return hpo::diagnose_oom(failure(message), context).cause;
}

const std::string full_card =
    "CUDA out of memory. Tried to allocate 352.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 165.56 MiB is free. Including "
    "non-PyTorch memory, this process has 23.40 "
    "GiB memory in use. Of the allocated memory 22.73 GiB is allocated by PyTorch, and 262.33 MiB is reserved by PyTorch but unallocated.";

}  // namespace

TEST_CASE("a card that the process itself has filled is a matter of capacity") {
    const auto diagnosis = hpo::diagnose_oom(failure(full_card));
    CHECK(diagnosis.cause == OomCause::capacity);
    CHECK(diagnosis.evidence ==
          "asked for 352.00 MiB on top of the 22.73 GiB that the process has in use of 23.56 GiB; 165.56 MiB were free");
}

TEST_CASE("what an old message calls cached is the process's own, and no neighbour's") {
    const auto diagnosis =
        hpo::diagnose_oom(failure("CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 11.17 GiB total capacity; 10.62 GiB already "
                                  "allocated; 145.81 MiB free; 198.68 MiB cached)"));
    CHECK(diagnosis.cause == OomCause::capacity);
    CHECK(diagnosis.evidence ==
          "asked for 512.00 MiB on top of the 10.62 GiB that the process has in use of 11.17 GiB; 145.81 MiB were free");
}

TEST_CASE("an out-of-memory that is known by a flag alone has no message") {
    CHECK(hpo::diagnose_oom(failure("")).evidence == "no message was kept");
}

TEST_CASE("a request larger than the card is a matter of capacity, however much is free") {
    CHECK(cause_of("CUDA out of memory. Tried to allocate 26.05 GiB (GPU 0; 23.69 GiB total capacity; 479.50 MiB already allocated; 22.34 "
                   "GiB free; 502.00 MiB reserved in total by PyTorch)") == OomCause::capacity);
    CHECK(cause_of("CUDA out of memory. Tried to allocate more than 1EB memory.") == OomCause::capacity);
}

TEST_CASE("memory that is reserved and unused, and would do, is fragmentation") {
    const auto diagnosis =
        hpo::diagnose_oom(failure("CUDA out of memory. Tried to allocate 104.00 MiB. GPU 0 has a total capacty of 23.65 GiB of which 24.23 "
                                  "MiB is free. Including non-PyTorch memory, this process has "
                                  "23.63 GiB memory in use. Of the allocated memory 14.91 GiB is allocated by PyTorch, and 8.30 GiB is "
                                  "reserved by PyTorch but unallocated."));
    CHECK(diagnosis.cause == OomCause::fragmentation);
    CHECK(diagnosis.evidence == "asked for 104.00 MiB while 8.30 GiB (36 % of the reserved 23.21 GiB) were reserved but not in use");
    CHECK(cause_of("CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 23.69 GiB total capacity; 15.84 GiB already allocated; 78.60 "
                   "MiB free; 22.75 GiB reserved in total by PyTorch)") == OomCause::fragmentation);
}

TEST_CASE("what rounding leaves unused is no fragmentation") {
    CHECK(cause_of("CUDA out of memory. Tried to allocate 72.00 MiB. GPU 0 has a total capacity of 31.50 GiB of which 29.00 MiB is free. "
                   "Including non-PyTorch memory, this process has 31.47 GiB memory in use. Of the "
                   "allocated memory 30.79 GiB is allocated by PyTorch, and 279.48 MiB is reserved by PyTorch but unallocated.") ==
          OomCause::capacity);
}

TEST_CASE("a neighbour is named, or is the gap that nobody here holds") {
    const auto named =
        hpo::diagnose_oom(failure("CUDA out of memory. Tried to allocate 96.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 70.23 "
                                  "MiB is free. Process 13380 has 10.26 GiB memory in use. Including "
                                  "non-PyTorch memory, this process has 13.23 GiB memory in use. Of the allocated memory 12.73 GiB is "
                                  "allocated by PyTorch, and 89.23 MiB is reserved by PyTorch but unallocated."));
    CHECK(named.cause == OomCause::neighbour);
    CHECK(named.evidence == "asked for 96.00 MiB; process 13380 holds 10.26 GiB of 23.56 GiB, this one 12.82 GiB");
    CHECK(cause_of("CUDA out of memory. Tried to allocate 192.00 MiB (GPU 0; 23.69 GiB total capacity; 11.01 GiB already allocated; 60.48 "
                   "MiB free; 11.12 GiB reserved in total by PyTorch)") == OomCause::neighbour);
    CHECK(cause_of("CUDA out of memory. Tried to allocate 320.00 MiB. GPU 1 has a total capacity of 23.56 GiB of which 93.01 MiB is free. "
                   "Process 3121620 has 23.47 GiB memory in use. Of the allocated memory 22.99 GiB is "
                   "allocated by PyTorch, and 69.84 MiB is reserved by PyTorch but unallocated.") == OomCause::capacity);
}

TEST_CASE("the process's own cap is the cause when it is what fired") {
    const std::string capped =
        "CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 23.69 GiB total capacity; 11.72 GiB already allocated; 11.05 GiB free; "
        "11.85 GiB allowed; 11.78 GiB reserved in total by PyTorch)";
    const auto diagnosis = hpo::diagnose_oom(failure(capped));
    CHECK(diagnosis.cause == OomCause::limit);
    CHECK(diagnosis.evidence ==
          "asked for 128.00 MiB with 11.78 GiB reserved, and the process may take only 11.85 GiB of 23.69 GiB; 11.05 GiB of the device are "
          "free");
    // Without the cap it would not fit, either.
    const auto too_large = hpo::diagnose_oom(failure(
        "CUDA out of memory. Tried to allocate 16.00 GiB (GPU 0; 23.69 GiB total capacity; 9.72 GiB already allocated; 11.05 GiB free; "
        "11.85 GiB allowed; 9.78 GiB reserved in total by PyTorch)"));
    CHECK(too_large.cause == OomCause::capacity);
    CHECK(too_large.evidence ==
          "asked for 16.00 GiB with 9.78 GiB reserved, and the whole device has 23.69 GiB; the process might take only 11.85 GiB");
    hpo::Failure ended;  // by who watched it
    ended.kind = hpo::FailureKind::out_of_memory;
    ended.message = "out of memory: the program took 700 MiB of its device, more than the 400 MiB that it may take, so hpo ended it";
    ended.memory.reserved = std::int64_t{700} << 20U;
    ended.memory.limit = std::int64_t{400} << 20U;
    CHECK(hpo::diagnose_oom(ended, {.capacity = std::int64_t{800} << 20U}).cause == OomCause::limit);
    CHECK(hpo::diagnose_oom(ended, {.capacity = std::int64_t{600} << 20U}).cause == OomCause::capacity);
    // The cap is far away here: the card itself is full.
    CHECK(cause_of("CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 23.69 GiB total capacity; 22.50 GiB already allocated; 64.00 "
                   "MiB free; 23.60 GiB allowed; 22.60 GiB reserved in total by PyTorch)") == OomCause::capacity);
}

TEST_CASE("memory held when the attempt began is a leak only if the attempt would have fitted without it") {
    hpo::OomContext context;
    context.at_start = hpo::MemoryReading{};
    context.at_start->allocated = 16 * gib;
    const auto diagnosis = hpo::diagnose_oom(failure(full_card), context);
    CHECK(diagnosis.cause == OomCause::leak);
    CHECK_THAT(
        diagnosis.evidence,
        Catch::StartsWith(
            "16.00 GiB were already allocated when the attempt began; without them its own 6.73 GiB and the 352.00 MiB asked for fit"));
    context.at_start->allocated = 20 * mib;
    CHECK(cause_of(full_card, context) == OomCause::capacity);
}

TEST_CASE("memory held when the attempt began is looked at before its cap is blamed") {
    hpo::Failure capped{.kind = hpo::FailureKind::out_of_memory, .message = "out of memory"};
    capped.requested_bytes = 8 * mib;
    capped.memory.allocated = capped.memory.reserved = 60 * mib;
    capped.memory.limit = 64 * mib;
    capped.memory.capacity = 256 * mib;
    hpo::OomContext context;
    CHECK(hpo::diagnose_oom(capped, context).cause == OomCause::limit);
    context.at_start = hpo::MemoryReading{};
    context.at_start->allocated = 20 * mib;
    const auto diagnosis = hpo::diagnose_oom(capped, context);
    CHECK(diagnosis.cause == OomCause::leak);
    CHECK(diagnosis.evidence ==
          "20.00 MiB were already allocated when the attempt began; without them its own 40.00 MiB and the 8.00 MiB asked for fit into the "
          "64.00 MiB that the process may take");
    context.at_start->allocated = 2 * mib;  // without them it would not have fitted
    CHECK(hpo::diagnose_oom(capped, context).cause == OomCause::limit);
}

TEST_CASE("an error without figures is judged by what stood at the start, or is unknown") {
    const auto plain =
        hpo::classify_text({.type = "RuntimeError", .message = "CUDA error: out of memory\nCUDA kernel errors might be reported later"});
    CHECK(hpo::diagnose_oom(plain).cause == OomCause::unknown);
    hpo::OomContext context;
    context.at_start = hpo::MemoryReading{};
    context.at_start->free = 110 * mib;
    context.at_start->reserved = 0;
    context.at_start->capacity = 24 * gib;
    CHECK(hpo::diagnose_oom(plain, context).cause == OomCause::neighbour);
    const auto cublas =
        hpo::classify_text({.type = {}, .message = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"});
    CHECK(hpo::diagnose_oom(cublas).cause == OomCause::workspace);
    CHECK(hpo::diagnose_oom(cublas, context).cause == OomCause::neighbour);
}

TEST_CASE("on a small metered device the neighbours are exact") {
    const std::string message =
        "CPU out of memory. Tried to allocate 64.00 MiB. Device 0 has a total capacity of 600.00 MiB of which 20.00 MiB is free. Process "
        "77 has 400.00 MiB memory in use. Including non-PyTorch memory, this process has "
        "180.00 MiB memory in use. Of the allocated memory 180.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
        "unallocated.";
    CHECK(cause_of(message) == OomCause::neighbour);
}

TEST_CASE("explain_oom fills memory failures and leaves others alone") {
    hpo::Failure oom = failure(full_card);
    hpo::explain_oom(oom);
    CHECK(oom.cause == OomCause::capacity);
    CHECK_FALSE(oom.evidence.empty());
    hpo::Failure other = hpo::classify_text({.type = {}, .message = "ValueError"});
    hpo::explain_oom(other);
    CHECK_FALSE(other.cause);
    hpo::Failure host = hpo::classify_text({.type = "MemoryError", .message = ""});
    hpo::explain_oom(host);
    CHECK(host.cause == OomCause::host);
}

TEST_CASE("memory that others hold is no cause where more was free than was asked for, unless the message names them") {
    const auto enough =
        hpo::diagnose_oom(failure("CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 23.69 GiB total capacity; 4.00 GiB already "
                                  "allocated; 9.00 GiB free; 4.10 GiB reserved in total by PyTorch)"));
    CHECK(enough.cause == OomCause::unknown);
    CHECK(enough.evidence == "asked for 512.00 MiB while 9.00 GiB were free; the message does not say why that was not enough");
    CHECK(cause_of("CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 9.00 GiB is free. "
                   "Process 77 has 10.00 GiB memory in use. Including non-PyTorch memory, this process has 4.50 GiB memory in use. Of the "
                   "allocated memory 4.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.") ==
          OomCause::neighbour);
}

TEST_CASE(
    "processes that are named with nothing leave open who holds the device, and the process's own figure counts where it is the larger") {
    const std::string of_card =
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 39.39 GiB of which 300.00 MiB is free. ";
    const std::string of_pytorch =
        "Of the allocated memory 20.00 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.";
    const auto nobody =
        hpo::diagnose_oom(failure(of_card + "Process 3811 has 0 bytes memory in use. Process 99 has 0 bytes memory in use. " + of_pytorch));
    CHECK(nobody.cause == OomCause::unknown);
    CHECK(nobody.evidence == "asked for 1.00 GiB; the message does not say who holds 18.90 GiB of 39.39 GiB");
    const auto own = hpo::diagnose_oom(
        failure(of_card + "Including non-PyTorch memory, this process has 39.00 GiB memory in use. Of the allocated memory 3.00 GiB is "
                          "allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."));
    CHECK(own.cause == OomCause::capacity);
    CHECK_THAT(own.evidence, Catch::Contains("on top of the 39.00 GiB that the process holds of 39.39 GiB"));
}

TEST_CASE("figures that do not say what the process itself holds prove no cause") {
    const auto cupy = hpo::diagnose_oom(failure("Out of memory allocating 1,610,612,736 bytes (allocated so far: 9,663,676,416 bytes)."));
    CHECK(cupy.cause == OomCause::unknown);
    CHECK(cupy.evidence ==
          "asked for 1.50 GiB on top of the 9.00 GiB that the process has in use; the message does not say how large the device is");
    const auto theano = hpo::diagnose_oom(failure(
        "Error allocating 4194304 bytes of device memory (out of memory). Driver report 1048576 bytes free and 8388608 bytes total"));
    CHECK(theano.cause == OomCause::unknown);
    CHECK(theano.evidence == "asked for 4.00 MiB; 1.00 MiB of 8.00 MiB were free");
    CHECK(hpo::diagnose_oom(failure("Maximum pool size exceeded (failed to allocate 3.0 GiB): no room, current/max/try size = 6.0 GiB, 8.0 "
                                    "GiB, 3.0 GiB"))
              .evidence == "asked for 3.00 GiB with 6.00 GiB reserved, and the process may take only 8.00 GiB");
}

TEST_CASE("the evidence quotes the line that tells, and not the first line of a long output") {
    hpo::Failure host = hpo::classify_text(
        {.type = "RuntimeError", .message = "the command failed with this output:\nepoch 1\nsrun: error: n1: task 0: Out Of Memory\nbye"});
    hpo::explain_oom(host);
    CHECK(host.evidence == "host memory ran out: srun: error: n1: task 0: Out Of Memory");
    hpo::Failure workspace =
        hpo::classify_text({.type = "RuntimeError", .message = "in layer 3:\ncuDNN error: CUDNN_STATUS_ALLOC_FAILED\nhint"});
    hpo::explain_oom(workspace);
    CHECK(workspace.evidence == "a library's temporary did not fit: cuDNN error: CUDNN_STATUS_ALLOC_FAILED");
}

TEST_CASE("processes that together hold more than there is leave open who holds the rest") {
    const auto more = hpo::diagnose_oom(failure(
        "CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 500.00 MiB is free. Process 11 "
        "has 15.00 GiB memory in use. Process 12 has 19.50 GiB memory in use. Of the allocated memory 19.00 GiB is allocated by PyTorch, "
        "and "
        "90.00 MiB is reserved by PyTorch but unallocated."));
    CHECK(more.cause == OomCause::unknown);
    CHECK(more.evidence == "asked for 1.00 GiB; the message does not say who holds 3.66 GiB of 23.65 GiB");
}

TEST_CASE("figures that do not add up are no neighbour") {
    const std::string begin = "CUDA out of memory. Tried to allocate 3.68 GiB. GPU 0 has a total capacity of 21.98 GiB of which ";
    const std::string own =
        "Of the allocated memory 16.17 GiB is allocated by PyTorch, and 3.27 GiB is reserved by PyTorch but unallocated.";
    // In some containers the driver counts nothing for the process, or names it by its number outside.
    for (const std::string process :
         {"Including non-PyTorch memory, this process has 0 bytes memory in use. ", "Process 881 has 19.75 GiB memory in use. "}) {
        CAPTURE(process);
        const auto diagnosis = hpo::diagnose_oom(failure(begin + "2.23 GiB is free. " + process + own));
        CHECK(diagnosis.cause == OomCause::capacity);
    }
    const auto beside = hpo::diagnose_oom(failure(
        "CUDA out of memory. Tried to allocate 3.68 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.50 GiB is free. Including "
        "non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 6.00 GiB is allocated by PyTorch, and 1.10 "
        "GiB is reserved by PyTorch but unallocated."));
    CHECK(beside.cause == OomCause::neighbour);
    CHECK(beside.evidence == "asked for 3.68 GiB; other processes hold 13.84 GiB of 23.69 GiB, this one 7.10 GiB");  // less a context
}
