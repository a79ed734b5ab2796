// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;

namespace {

/// The library for a major version of CUDA.
std::string library(const std::string& cuda) { return HPO_BINARY_DIR "/lib/hpo/virtual_card/libhpo_virtual_card_cuda" + cuda + ".so"; }

std::string card_of(const std::string& more) {
    return "name=Test card;capability=80;multiprocessors=100;memory=1073741824;context=104857600" + more;
}
CommandResult use(const std::string& cuda, const Workshop& workshop, const std::string& card, std::vector<std::string> calls) {
    ::setenv("HPO_VIRTUAL_CARD", card.c_str(), 1);
    calls.insert(calls.begin(), {HPO_BINARY_DIR "/bin/hpo_test_use_card", library(cuda)});
    CommandResult result = run_command(workshop, calls);
    ::unsetenv("HPO_VIRTUAL_CARD");
    return result;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a virtual card has its memory, less the context, in steps of 2 MiB, at rising addresses") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult result =
        use(cuda, workshop, card_of(""), {"info", "malloc:100", "malloc:101", "info", "malloc:1000", "free", "info"});
    INFO(result.out << result.error);
    CHECK(result.status == 0);
    CHECK(has(result.out, "free 924 of 1024\ninfo 0\n"));
    CHECK(has(result.out, "rises 1\nmalloc:101 0\nfree 722 of 1024\n"));
    CHECK(has(result.out, "malloc:1000 2\n"));
    CHECK(has(result.out, "free 0\nfree 824 of 1024\n"));
    CHECK(result.error ==
          "hpo virtual card: 1 x Test card, 1024 MiB, 100 of them for the context: no GPU is used, and no value is computed\n");
}

TEST_CASE("without figures there is no virtual card, and mistakes in them are one line") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult none = use(cuda, workshop, "", {"count", "malloc:1"});
    CHECK(none.out == "count 0\ncount 100\nmalloc:1 100\n");
    CHECK(none.error.empty());
    for (const auto& [card, error] : std::vector<std::pair<std::string, std::string>>{
             {card_of(";speed=3"), "unknown key 'speed'; expected name, capability"},
             {card_of(";capability=8.0"), "capability is '8.0'; expected a whole number from 50 to 129"},
             {"name=x", "no memory; expected memory=BYTES"},
             {card_of(";count"), "'count'; expected KEY=VALUE"}}) {
        const CommandResult wrong = use(cuda, workshop, card, {"count"});
        CHECK(wrong.status == 2);
        CHECK(has(wrong.error, "hpo virtual card: error: HPO_VIRTUAL_CARD: " + error));
        CHECK(std::count(wrong.error.begin(), wrong.error.end(), '\n') == 1);
    }
}

TEST_CASE("copies with a host address as a device's, or beyond an end, are errors that name both addresses") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult result = use(cuda, workshop, card_of(""),
                                     {"malloc:2", "malloc:2", "copy:up", "copy:down", "copy:flag", "copy:host_as_device",
                                      "copy:device_as_host", "copy:beyond", "free_twice"});
    INFO(result.out << result.error);
    CHECK(has(result.out, "copy:up 0\nfirst byte 0\ncopy:down 0\nflag 1\ncopy:flag 0\n"));
    CHECK(has(result.out, "copy:host_as_device 1\ncopy:device_as_host 1\ncopy:beyond 1\nfree_twice 1\n"));
    CHECK(has(result.error, "a copy of 1048576 bytes from host to device, to 0x"));
    CHECK(has(result.error, "a copy of 4194304 bytes beyond the end of an allocation, to 0x"));
    CHECK(has(result.error, "(host) from 0x"));
}

TEST_CASE("pages that are mapped count once, and go when their mapping goes") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult result = use(cuda, workshop, card_of(""), {"map:200", "map:300", "info", "map:500", "unmap", "info"});
    INFO(result.out << result.error);
    CHECK(has(result.out, "map:200 0\nmap:300 0\nfree 424 of 1024\n"));
    CHECK(has(result.out, "map:500 2\nunmap 0\nfree 924 of 1024\n"));
}

TEST_CASE("several cards have memory and contexts of their own") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult result =
        use(cuda, workshop, card_of(";count=3"), {"count", "malloc:500", "device:2", "info", "malloc:900", "device:0", "info", "device:3"});
    INFO(result.out << result.error);
    CHECK(has(result.out, "count 3\n"));
    CHECK(has(result.out, "device:2 0\nfree 924 of 1024\n"));
    CHECK(has(result.out, "malloc:900 0\ndevice:0 0\nfree 424 of 1024\ninfo 0\ndevice:3 101\n"));
}

TEST_CASE("processes share a card through its state, and what a dead one held is free again") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const std::string card = card_of(";quiet=1;state=" + workshop.file("state"));
    // This process takes 300 MiB and its context, and never gives them back.
    CHECK(has(use(cuda, workshop, card, {"malloc:300", "info", "die"}).out, "malloc:300 0\nfree 624 of 1024"));
    CHECK(use(cuda, workshop, card, {"info"}).out == "free 924 of 1024\ninfo 0\n");

    ::setenv("HPO_VIRTUAL_CARD", card.c_str(), 1);
    const Workshop elsewhere;
    // It stays until its standard input ends, which is /dev/null; so it is started as one that sleeps.
    const pid_t other =
        start_command(elsewhere, {"/bin/sh", "-c",
                                  "{ while [ ! -e end ]; do sleep 0.02; done; echo; } | " HPO_BINARY_DIR "/bin/hpo_test_use_card " +
                                      library(cuda) + " malloc:300 wait"});
    REQUIRE(has_said(elsewhere, "malloc:300 0", 1, ".out"));
    CHECK(
        has(use(cuda, workshop, card, {"info", "malloc:600", "malloc:500"}).out, "free 524 of 1024\ninfo 0\nmalloc:600 2\nmalloc:500 0\n"));
    elsewhere.write("end", "");
    CHECK(finish_command(elsewhere, other).status == 0);
    ::unsetenv("HPO_VIRTUAL_CARD");
    CHECK(has(use(cuda, workshop, card, {"malloc:900"}).out, "malloc:900 0"));
}

TEST_CASE("a product of vectors is computed into the card, and refused to a caller that would read it on the host") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const std::string card = card_of(";report=" + workshop.file("report"));
    CHECK(has(use(cuda, workshop, card, {"malloc:2", "dot:card", "dot:host"}).out, "dot:card 0\ndot:host 15\n"));
    CHECK(has(read_file(workshop.path("report")), "{\"not_modelled\":\"cublasSdot_v2\"}\n"));
}

TEST_CASE("a function that is not modelled is named in the report, once") {
    const std::string cuda = GENERATE(as<std::string>{}, "12", "13");
    const Workshop workshop;
    const CommandResult result =
        use(cuda, workshop, card_of(";report=" + workshop.file("report")),
            {"malloc:2", "call:cudnnRNNForward", "call:cudnnRNNForward", "call:cublasSetStream_v2", "call:cusolverDnSgetrf_bufferSize"});
    INFO(result.out << result.error);
    CHECK(has(result.out, "call:cudnnRNNForward 0\n"));
    CHECK(has(result.out, "call:cublasSetStream_v2 0\ncall:cusolverDnSgetrf_bufferSize 9\n"));
    const std::string report = read_file(workshop.path("report"));
    CHECK(has(report, "{\"not_modelled\":\"cudnnRNNForward\"}\n{\"not_modelled\":\"cusolverDnSgetrf_bufferSize\"}\n"));
    CHECK(has(report, "\"card\":0,\"peak_bytes\":2097152,\"launches\":0}"));
}
