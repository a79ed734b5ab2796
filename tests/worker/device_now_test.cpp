// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/device_now.hpp"

#include <unistd.h>

#include "support/bytes.hpp"
#include "support/catch.hpp"

using namespace hpo;
using namespace hpo::device;
using hpo::tests::mib;

TEST_CASE("a driver's library tells devices and who is on them") {
    const auto nvml = Nvml::load(HPO_FAKE_NVML);
    REQUIRE(nvml);
    const auto cards = nvml->devices();
    REQUIRE(cards.size() == 4);
    CHECK(cards[1].uuid == "GPU-11112222-bbbb-0000-0000-000000000000");
    const Occupancy occupancy = nvml->occupancy(cards[0]);
    CHECK(cards[0].total_bytes == 24576 * mib);
    CHECK(occupancy.capacity_bytes == (24576 - 512) * mib);  // without what the driver needs itself
    CHECK(occupancy.used_bytes == 3584 * mib);
    REQUIRE(occupancy.processes.size() == 100);  // more than are asked for at first
    CHECK(occupancy.processes[0] == MemoryNeighbour{1000, 16 * mib});
    CHECK(occupancy.processes[99] == MemoryNeighbour{1099, 0});  // whose memory is not told
    CHECK(left_by_others(occupancy, [](std::int64_t pid) { return pid < 1050; }).free == (24576 - 4096 + 50 * 16) * mib);
    CHECK_FALSE(Nvml::load("/nowhere/libnvidia-ml.so.1"));
}

TEST_CASE("a worker's card is found as its environment shows it") {
    const auto nvml = Nvml::load(HPO_FAKE_NVML);
    REQUIRE(nvml);
    const auto card = [&](const std::string& device, const worker::Environment& environment) {
        const auto found = card_of(device, nvml->devices(), worker::card_selection(environment));
        return found ? found->name : "none";
    };
    CHECK(card("cuda:1", {}) == "large test card");
    CHECK(card("cuda:0", {"CUDA_VISIBLE_DEVICES=1"}) == "large test card");
    CHECK(card("cuda:1", {"CUDA_VISIBLE_DEVICES=1"}) == "none");
    CHECK(card("cuda:1", {"CUDA_VISIBLE_DEVICES=GPU-3,GPU-11110", "CUDA_DEVICE_ORDER=FASTEST_FIRST"}) == "test card");
    CHECK(card("cuda:1", {"CUDA_VISIBLE_DEVICES=2,1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}) == "large test card");
    CHECK(card("cuda:1", {"CUDA_VISIBLE_DEVICES=2,1", "CUDA_DEVICE_ORDER=FASTEST_FIRST"}).empty());  // nobody knows which
    CHECK(card("cpu", {}) == "none");
    const auto large = card_of("cuda", nvml->devices(), {.list = "1"});
    REQUIRE(large);
    CHECK(nvml->occupancy(*large).capacity_bytes == (49152 - 512) * mib);
    CHECK(nvml->occupancy(*large).processes.empty());
}

TEST_CASE("a worker is shown the card of its plan, counted as the driver counts") {
    const auto shown = [](worker::Environment environment, const std::string& device) {
        ExecutionPlan plan;
        plan.device = device;
        const auto inside = worker::worker_environment(std::move(environment), plan, 1);
        return worker::variable(inside, "CUDA_VISIBLE_DEVICES").value() + " " + worker::variable(inside, "CUDA_DEVICE_ORDER").value_or("-");
    };
    CHECK(shown({}, "cuda:2") == "2 PCI_BUS_ID");
    CHECK(shown({"CUDA_VISIBLE_DEVICES=GPU-33, 1", "CUDA_DEVICE_ORDER="}, "cuda:1") == "1 PCI_BUS_ID");
    CHECK(shown({"CUDA_VISIBLE_DEVICES=GPU-33,1"}, "cuda") == "GPU-33 PCI_BUS_ID");
    CHECK(shown({"CUDA_VISIBLE_DEVICES=3"}, "cuda:1") == " PCI_BUS_ID");
    CHECK(shown({"CUDA_VISIBLE_DEVICES=3", "CUDA_DEVICE_ORDER=FASTEST_FIRST"}, "cuda:0") == "3 FASTEST_FIRST");
    CHECK(shown({"CUDA_VISIBLE_DEVICES=3"}, "cpu") == " -");
}

TEST_CASE("on the CPU the metered device and host memory are looked at, and whichever leaves less decides") {
    worker::PoolConfig config;
    const auto host = worker::device_now(config, std::nullopt);
    REQUIRE(host);
    CHECK(host->capacity == host_memory()->total);
    CHECK(host->free > 0);
    CHECK(host->neighbours.size() <= 8);
    const Occupancy metered{64 * mib, 50 * mib, {{1, 30 * mib}, {::getpid(), 20 * mib}}};
    const auto device = worker::device_now(config, metered);
    REQUIRE(device);
    CHECK(device->capacity == 64 * mib);
    CHECK(device->free == 34 * mib);
    REQUIRE(device->neighbours.size() == 1);
    CHECK(device->neighbours[0].pid == 1);
    CHECK(device->neighbours[0].program == process_name(1));
    const Occupancy endless{std::int64_t{1} << 60, 0, {}};
    CHECK(worker::device_now(config, endless)->free < std::int64_t{1} << 50);  // there is not so much host memory
}

TEST_CASE("who takes memory from the same ledger is no stranger") {
    worker::PoolConfig config;
    config.ledger_owners = [] { return std::vector<std::int64_t>{1}; };
    const Occupancy metered{64 * mib, 50 * mib, {{1, 30 * mib}, {::getppid(), 20 * mib}}};
    const auto device = worker::device_now(config, metered);
    REQUIRE(device);
    const bool parent_is_a_child_of_it = parent_process(::getppid()) == 1;
    CHECK(device->free == (parent_is_a_child_of_it ? 64 : 44) * mib);
}

TEST_CASE("a GPU without a driver is not known") {
    worker::PoolConfig config;
    config.device = "cuda:99";
    CHECK_FALSE(worker::device_now(config, std::nullopt));
}
