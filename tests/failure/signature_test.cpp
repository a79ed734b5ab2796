// SPDX-License-Identifier: MIT
#include "hpo/failure/signature.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/failure/classify.hpp"
#include "hpo/failure/traits.hpp"
#include "support/catch.hpp"

using hpo::Blame;
using hpo::Failure;
using hpo::FailureKind;
using hpo::OomCause;
using hpo::Recurrence;
using hpo::signature;

TEST_CASE("numbers, addresses and paths are no part of a signature") {
    const std::vector<std::pair<std::string, std::string>> lines{
        {"Target 12 is out of bounds.", "Target N is out of bounds."},
        {"got -1.5e-07 after 3 steps", "got N after N steps"},
        {"free(): invalid pointer 0x7f12ab00", "free(): invalid pointer 0xN"},
        {"cannot open '/data/set/train-3.csv': No such file", "cannot open 'PATH': No such file"},
        {"./runs/a.txt: empty", "PATH: empty"},
        {"a 3x4 matrix and a 5x4 matrix", "a NxN matrix and a NxN matrix"},
        {"and/or is no path, nor is /tmp", "and/or is no path, nor is /tmp"},
        {"batch-2 of run-13", "batch-N of run-N"},
        {"", ""},
        {"0x is no address", "Nx is no address"},
        {"Tried to allocate 20.00 MiB (GPU 0; 1.95 GiB total)", "Tried to allocate N bytes (GPU N; N bytes total)"},
        {"cannot write runs/abfadh/model.pt: quota", "cannot write PATH: quota"},
        {"[Errno 2] No such file or directory: 'data/words/train.csv'", "[Errno N] No such file or directory: 'PATH'"},
        {"see https://pytorch.org/docs/stable/notes and a/b testing, 3/4", "see https:PATH and a/b testing, N/N"},
        {"run 3f2b8c1e-9a4d-4c7b-8e2f-0a1b2c3d4e5f was refused", "run ID was refused"},
        {"commit 9c376a52d41c0ffee0123456789abcdef0123456.", "commit ID."},
        {"step 12345678901234567890123456789012 of deadbeef", "step N of deadbeef"},
        {"DataLoader worker (pid(s) 12, 345, 6) exited", "DataLoader worker (pid(s) N) exited"},
        {"ranks [1, 2] failed, code 3, NN, N", "ranks [N] failed, code N, NN, N"},
        {"Process 1 has 2 GB. Process 1 ended. Process 3 has 10 B. Process 3 ended.", "Process N has N bytes. Process N ended."},
        {"512 bytes, 3MB and 4 MByte", "N bytes, N bytes and N MByte"},
        {"2 GiB are free. Process 17 has 1.2 GiB. Process 4411 has 310.00 MiB. This process has 3 GiB.",
         "N bytes are free. Process N has N bytes. This process has N bytes."},
    };
    for (const auto& [line, expected] : lines) CHECK(hpo::without_details(line) == expected);
}

TEST_CASE("equal failures have one signature, others have not") {
    const Failure first{.kind = FailureKind::trainer_error,
                        .message = "label 7 is out of range; configuration: lr = 0.1",
                        .type = "std::runtime_error",
                        .where = "batch"};
    Failure second = first;
    second.message = "label 12 is out of range; configuration: lr = 0.002, width = 3";
    CHECK(signature(first) == "trainer_error, batch, std::runtime_error: label N is out of range");
    CHECK(signature(first) == signature(second));
    second.where = "forward";
    CHECK(signature(first) != signature(second));
    second = first;
    second.kind = FailureKind::data;
    CHECK(signature(first) != signature(second));
    const Failure traceback{.message =
                                "Traceback (most recent call last):\n  File \"/home/a/train.py\", line 3, in <module>\nKeyError: 'x'"};
    CHECK(signature(traceback) == "trainer_error: KeyError: 'x'");
}

TEST_CASE("processes that told no cause differ by status, by signal and by their last line") {
    const auto ended = [](std::optional<int> status, std::optional<int> by_signal, std::string_view words) {
        return signature(hpo::classify_exit({.exit_status = status, .signal = by_signal, .last_words = words}));
    };
    const auto with_status = [&](int status, std::string_view words) { return ended(status, std::nullopt, words); };
    CHECK(with_status(3, "step 1\nbad token 17 at 0x7f3a\n\n") == "trainer_error: the process ended with status 3: bad token N at 0xN");
    CHECK(with_status(3, "bad token 17 at 0x7f3a") == with_status(3, "bad token 4 at 0x10c2\n"));
    CHECK(with_status(3, "bad token 17") != with_status(4, "bad token 17"));
    CHECK(with_status(3, "bad token 17") != with_status(3, "no licence for /opt/solver"));
    CHECK(with_status(3, "no licence for /opt/solver") == with_status(3, "no licence for /usr/lib/solver"));
    CHECK(with_status(3, "") == "trainer_error: the process ended with status 3");
    CHECK(with_status(3, "bad token 17\r\n 45%|####  | 45/100\r 46%|#### | 46/100") == with_status(3, "bad token 1"));
    CHECK(with_status(3, "bad token 17\nwandb: Synced run-7\nwandb: logs are in ./wandb\n=========\n") == with_status(3, "bad token 1"));
    CHECK(with_status(3, "=========\n\n---\n") == "trainer_error: the process ended with status 3");
    CHECK(with_status(3, std::string(1000, 'x')).size() < 300);
    CHECK(ended(std::nullopt, 10, "") == "crash: the process was ended by SIGUSR1");
    CHECK(ended(std::nullopt, 24, "") == "crash: the process was ended by SIGXCPU");
    CHECK(ended(std::nullopt, 10, "") != ended(std::nullopt, 12, ""));
    CHECK(ended(std::nullopt, 35, "") != ended(std::nullopt, 36, ""));
    CHECK(ended(std::nullopt, 6, "t.c:12: main: Assertion `n > 0' failed.") !=
          ended(std::nullopt, 6, "t.c:19: main: Assertion `m > 0' failed."));
    CHECK(ended(139, std::nullopt, "step 4") == ended(139, std::nullopt, "step 5"));
}

TEST_CASE("a failure's traits follow from its kind, cause and code") {
    const auto traits = [](Failure failure) { return hpo::traits_of(failure); };
    CHECK(traits({.kind = FailureKind::out_of_memory, .cause = OomCause::neighbour}).blame == Blame::neighbour);
    CHECK(traits({.kind = FailureKind::out_of_memory, .cause = OomCause::neighbour}).recurrence == Recurrence::transient);
    CHECK(traits({.kind = FailureKind::out_of_memory, .cause = OomCause::capacity}).recurrence == Recurrence::deterministic);
    CHECK(traits({.kind = FailureKind::out_of_memory, .cause = OomCause::leak}).recurrence == Recurrence::transient);
    CHECK(traits({.kind = FailureKind::host_out_of_memory}).blame == Blame::host);
    CHECK(traits({.kind = FailureKind::cuda_sticky}).sticky);
    CHECK(traits({.kind = FailureKind::cuda_sticky}).recurrence == Recurrence::unknown);
    CHECK(traits({.kind = FailureKind::cuda_sticky, .code = 710}).recurrence == Recurrence::deterministic);
    CHECK(traits({.kind = FailureKind::hardware}).blame == Blame::device);
    CHECK(traits({.kind = FailureKind::environment}).blame == Blame::host);
    const auto around = [&](std::string message) { return traits({.kind = FailureKind::environment, .message = std::move(message)}); };
    CHECK(around("No module named 'fast_layers'").recurrence == Recurrence::deterministic);
    CHECK(around("[Errno 116] Stale file handle").recurrence == Recurrence::transient);
    CHECK(around("Temporary failure in name resolution").recurrence == Recurrence::transient);
    CHECK(around("[Errno 24] Too many open files").recurrence == Recurrence::unknown);
    CHECK(around("[Errno 28] No space left on device").blame == Blame::host);
    CHECK_FALSE(traits({.kind = FailureKind::trainer_error}).follows_parameters);
    CHECK(traits({.kind = FailureKind::non_finite}).follows_parameters);
    for (std::size_t i = 0; i < hpo::failure_kind_names.size(); ++i) {
        const auto kind = static_cast<FailureKind>(i);
        CAPTURE(hpo::to_text(kind));
        if (hpo::is_memory(kind)) CHECK(traits({.kind = kind}).follows_parameters);
    }
}
