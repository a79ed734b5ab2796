// SPDX-License-Identifier: MIT
#include <set>
#include <string>
#include <string_view>

#include "hpo/failure/classify.hpp"
#include "hpo/failure/codes/error_search.hpp"
#include "hpo/failure/codes/xid_message.hpp"
#include "hpo/failure/traits.hpp"
#include "support/catch.hpp"

using hpo::Blame;
using hpo::classify_text;
using hpo::ErrorClass;
using hpo::FailureKind;
using hpo::Recurrence;

namespace {

hpo::Failure told(std::string_view message) { return classify_text({.type = {}, .message = message}); }

}  // namespace

TEST_CASE("each table of a library has names of its own, in ascending order of codes") {
    for (const hpo::ErrorTable& table : hpo::library_errors) {
        CAPTURE(table.library);
        std::set<std::string_view> names;
        std::int64_t last = 0;
        for (const hpo::ErrorCode& error : table.errors) {
            CAPTURE(error.name);
            CHECK(names.insert(error.name).second);
            CHECK(error.name.starts_with(table.prefix));
            CHECK(error.code >= last);  // two names of one code stand together
            last = error.code;
        }
    }
}

TEST_CASE("an error that a library names tells its kind, whose fault it is and whether it comes again") {
    for (const hpo::ErrorTable& table : hpo::library_errors) {
        for (const hpo::ErrorCode& error : table.errors) {
            const std::string message = "epoch 3\nRuntimeError: " + std::string{error.name} + " when calling `f(handle)`\nbye\n";
            CAPTURE(message);
            CHECK(hpo::library_error_in(message) == &error);
            const hpo::Failure failure = told(message);
            const bool is_unsupported = error.name == "CUDNN_STATUS_NOT_SUPPORTED";  // missing memory, unless the message says more
            CHECK(failure.kind == (is_unsupported ? FailureKind::out_of_memory : hpo::failure_kind_of(error.meaning.what)));
            if (hpo::is_memory(failure.kind)) continue;
            const hpo::FailureTraits traits = hpo::traits_of(failure);
            CHECK(traits.blame == error.meaning.blame);
            CHECK(traits.recurrence == error.meaning.recurrence);
            CHECK(traits.sticky == hpo::ends_process(error.meaning.what));
        }
    }
}

TEST_CASE("an error of the driver means what the runtime's error of this code means, and gives the code") {
    int shared = 0;
    for (const hpo::ErrorCode& error : hpo::cuda_driver_errors) {
        CAPTURE(error.name);
        if (const hpo::ErrorCode* const runtime = hpo::cuda_error(error.code)) {
            CHECK(error.meaning == runtime->meaning);
            ++shared;
        }
        CHECK(told("RuntimeError: Triton Error [CUDA]: " + std::string{error.name}).code == error.code);
    }
    CHECK(shared > 35);
    CHECK_FALSE(told("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED").code);  // no code of CUDA's
}

TEST_CASE("a name inside a longer one is not found") {
    REQUIRE(hpo::library_error_in("CUDNN_STATUS_NOT_SUPPORTED_SHAPE"));
    CHECK(hpo::library_error_in("CUDNN_STATUS_NOT_SUPPORTED_SHAPE")->name == "CUDNN_STATUS_NOT_SUPPORTED_SHAPE");
    for (const char* line : {"MY_CUFFT_INVALID_PLAN", "CUFFT_INVALID_PLANS", "CUBLAS_STATUS_SUCCESS", "cudaErrorAssert", "ncclSuccess",
                             "ncclCommInitRank succeeded", "invalid argument (run with NCCL_DEBUG=WARN for details)", ""}) {
        CAPTURE(line);
        CHECK(hpo::library_error_in(line) == nullptr);
    }
    CHECK(hpo::library_error_in("CUFFT_PLAN then CUFFT_INVALID_SIZE and CUFFT_ALLOC_FAILED")->name == "CUFFT_INVALID_SIZE");  // the first
}

TEST_CASE("NCCL is read by its texts, too") {
    const auto* const remote = hpo::library_error_in("NCCL error: remote process exited or there was a network error, NCCL version 2.20.5");
    REQUIRE(remote);
    CHECK(remote->name == "ncclRemoteError");
    const hpo::Failure failure = told("NCCL Error 5: invalid usage (run with NCCL_DEBUG=WARN for details)");
    CHECK(failure.kind == FailureKind::cuda_sticky);
    CHECK(hpo::traits_of(failure).blame == Blame::own);
    CHECK(hpo::traits_of(failure).recurrence == Recurrence::deterministic);
}

TEST_CASE("a text of CUDA's runtime counts only where an error of CUDA is announced") {
    for (const char* message : {"CUDA error: misaligned address", "CUDA Error: misaligned address (716) file.cuh: line 3",
                                "CUDA error 716 [/usr/include/cub/util_device.cuh, 351]: misaligned address",
                                "Check failed: error == cudaSuccess (74 vs. 0)  misaligned address",
                                "cuda runtime error (74) : misaligned address at /pytorch/aten/src/THC/THC.cu:9",
                                "THCudaCheck FAIL file=/pytorch/THC.cu line=58 error=74 : misaligned address"}) {
        CAPTURE(message);
        const hpo::Failure failure = told(message);
        CHECK(failure.kind == FailureKind::cuda_sticky);
        CHECK(failure.code == 716);
    }
    for (const char* message :
         {"misaligned address of the table", "the CUDA error that was no misaligned address", "CUDA error misaligned addresses",
          "train.py: error: invalid argument", "CUDA errors are logged\ninvalid argument"}) {
        CAPTURE(message);
        CHECK(hpo::cuda_error_in(message) == nullptr);
    }
    CHECK(told("CUDA error: all CUDA-capable devices are busy or unavailable").code == 46);
}

TEST_CASE("a wrong call is not blamed on the device, and the MPS client that was ended is a victim") {
    const hpo::FailureTraits wrong = hpo::traits_of(told("CUDA error: invalid argument"));
    CHECK(wrong.blame == Blame::own);
    CHECK(wrong.recurrence == Recurrence::deterministic);
    CHECK_FALSE(wrong.sticky);
    const hpo::FailureTraits victim = hpo::traits_of(told("CUDA error: the MPS client has been terminated by the server"));
    CHECK(victim.blame == Blame::neighbour);
    CHECK(victim.recurrence == Recurrence::transient);
    CHECK(victim.sticky);
    hpo::Failure other = told("CUDA error: invalid argument");
    other.kind = FailureKind::crash;  // an error of another kind tells nothing
    CHECK(hpo::traits_of(other).blame == Blame::unknown);
}

TEST_CASE("the kernel's line about an Xid is read in all its forms") {
    const auto full = hpo::xid_report_in("[1.2] NVRM: Xid (PCI:0000:9b:00): 119, pid=4071838, name=python, Timeout after 45s of waiting");
    REQUIRE(full);
    CHECK(*full == hpo::XidReport{119, "0000:9b:00", 4071838, "python"});
    const auto unknown = hpo::xid_report_in("NVRM: Xid (PCI:0000:0a:00): 62, pid='<unknown>', name=<unknown>, 2023b230 20238a3a");
    REQUIRE(unknown);
    CHECK(*unknown == hpo::XidReport{62, "0000:0a:00", {}, ""});
    const auto without_name = hpo::xid_report_in("NVRM: Xid (PCI:0000:3d:00): 43, pid=35521, Ch 00000008");
    REQUIRE(without_name);
    CHECK(*without_name == hpo::XidReport{43, "0000:3d:00", 35521, ""});
    const auto bare = hpo::xid_report_in("NVRM: Xid (PCI:0000:01:00): 31, Ch 00000013, engmask 00000101, intr 10000000");
    REQUIRE(bare);
    CHECK(*bare == hpo::XidReport{31, "0000:01:00", {}, ""});
    const auto old = hpo::xid_report_in("NVRM: Xid (0000:01:00): 79, GPU has fallen off the bus.");
    REQUIRE(old);
    CHECK(*old == hpo::XidReport{79, "0000:01:00", {}, ""});
    for (const char* line : {"Xid is a name for the sample's id", "xid: 79 samples", "Xid (PCI:0000:01:00): ", "Xid (PCI:0000:01:00): 7x",
                             "Xid (the id): 79", "Xid (12): 79", "SXid (PCI:0000:85:00.0): 20034, Fatal", "Xid (PCI:0000:01:00) 79", ""}) {
        CAPTURE(line);
        const auto report = hpo::xid_report_in(line);
        CHECK_FALSE(report);
    }
}

TEST_CASE("the Xids stand in ascending order, and each that reports a failure tells its kind") {
    int last = 0;
    for (const hpo::XidCode& xid : hpo::xid_codes) {
        CAPTURE(xid.code);
        CHECK(xid.code > last);
        last = xid.code;
        CHECK(hpo::xid_code(xid.code) == &xid);
        const std::string kernel =
            "epoch 1\nNVRM: Xid (PCI:0000:01:00): " + std::string{std::to_string(xid.code)} + ", pid=77, name=python\n";
        const std::string ours = "the process was ended by SIGABRT; the driver reported " + hpo::describe_xid(xid.code);
        for (const std::string& text : {kernel, ours}) {
            CAPTURE(text);
            const hpo::XidCode* const found = hpo::failing_xid_in(text);
            CHECK(found == (xid.action == hpo::XidAction::nothing ? nullptr : &xid));
        }
        if (xid.action == hpo::XidAction::nothing) {
            CHECK(told(kernel).kind == FailureKind::trainer_error);
            continue;
        }
        const hpo::Failure failure = told(kernel);
        CHECK(failure.kind == hpo::failure_kind_of(xid.meaning.what));
        CHECK(hpo::traits_of(failure).blame == xid.meaning.blame);
        CHECK(failure.message.starts_with("NVRM: Xid (PCI:0000:01:00): "));
    }
    CHECK(hpo::xid_code(1) == nullptr);
    CHECK(hpo::describe_xid(79) == "Xid 79: the device has fallen off the bus (restart the machine)");
    CHECK(hpo::describe_xid(999) == "Xid 999");
}

TEST_CASE("of several Xids, the one that means a broken device counts") {
    const std::string text =
        "NVRM: Xid (PCI:0000:dc:00): 45, pid=18, name=python3, Ch 1\nNVRM: Xid (PCI:0000:dc:00): 79, pid=18, GPU has fallen off the bus.\n";
    CHECK(told(text).kind == FailureKind::hardware);
    CHECK(told(text).message.starts_with("NVRM: Xid (PCI:0000:dc:00): 79"));
    CHECK(told("NVRM: Xid (PCI:0000:dc:00): 94, pid=18, name=python3, Contained: SM (0x1).").kind == FailureKind::cuda_sticky);
    // The timeout of the system processor is no timeout of the program.
    CHECK(told("NVRM: Xid (PCI:0000:9b:00): 119, pid=4, name=python, Timeout after 45s of waiting for RPC response from GPU4 GSP!").kind ==
          FailureKind::hardware);
}
