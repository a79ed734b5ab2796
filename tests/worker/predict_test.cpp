// SPDX-License-Identifier: MIT
#include <map>
#include <memory>
#include <new>
#include <sstream>

#include "support/catch.hpp"
#include "support/pool.hpp"
#include "support/sanitizer.hpp"
#include "support/set_clock.hpp"
#include "support/wording.hpp"
#include "worker/child/host_memory_limit.hpp"
#include "worker/processor.hpp"

using namespace hpo;
using namespace hpo::test;

namespace {

/// A pool that keeps its notes.
struct Noted {
    std::vector<std::string> notes;
    worker::PoolConfig config = [this] {
        auto fault = fault_config();
        fault.prediction_timeout = 1500ms;
        fault.note = [this](const std::string& text) { notes.push_back(text); };
        return fault;
    }();
    /// `kept` stands for a store.
    void keep_in(std::map<std::string, std::string>& kept) {
        config.recall = [&kept](const std::string& key) {
            const auto found = kept.find(key);
            return found == kept.end() ? std::nullopt : std::optional{found->second};
        };
        config.keep = [&kept](const std::string& key, const std::string& text) { kept[key] = text; };
    }
};

ParamSet fault(const std::string& name) { return fault_job(0, name).params; }

ExecutionPlan batch(std::int64_t effective, std::optional<std::int64_t> micro = std::nullopt) {
    ExecutionPlan plan;
    plan.effective_batch = effective;
    plan.micro_batch = micro;
    return plan;
}

}  // namespace

TEST_CASE("a worker predicts an attempt's peak under its plan, from the source that was asked for") {
    Noted noted;
    noted.config.device_budget_bytes = 1;  // the device's account and the plan's cap are left out of it
    worker::Pool pool{noted.config};
    ExecutionPlan plan = batch(64, 8);
    plan.cap_bytes = 1;
    const MemoryEvidence dry = pool.evidence(fault("none"), plan, Evidence::dry_run);
    REQUIRE(dry.prediction);
    CHECK(dry.prediction->need == 180);
    CHECK(dry.prediction->source == PeakSource::dry_run);
    CHECK(dry.prediction->remark.empty());
    CHECK_FALSE(dry.profile);
    CHECK(pool.evidence(fault("none"), batch(64), Evidence::dry_run).prediction->need == 740);
    CHECK(pool.evidence(fault("none"), batch(64), Evidence::probe).prediction->source == PeakSource::probe);
    CHECK(pool.evidence(fault("none"), batch(64), Evidence::shape).profile->weight_bytes == 8);
    CHECK_FALSE(pool.evidence(fault("none"), batch(64), Evidence::none).profile);
    CHECK(noted.notes.empty());
}

TEST_CASE("a virtual card is asked in a worker of its own, which has the card") {
    Noted noted;
    noted.config.virtual_card = {"name=T4", noted.config.environment};
    worker::set_variable(noted.config.virtual_card->environment, "HPO_VIRTUAL_CARD", "name=T4");
    worker::Pool pool{noted.config};
    const std::int64_t trained_in = run(pool, fault_job(0)).worker_pid;
    const MemoryEvidence found = pool.evidence(fault("none"), batch(64, 8), Evidence::virtual_card);
    REQUIRE(found.prediction);
    CHECK(found.prediction->source == PeakSource::virtual_card);
    CHECK(found.prediction->need == 180);
    CHECK(pool.evidence(fault("none"), batch(64, 8), Evidence::dry_run).prediction->source == PeakSource::dry_run);
    CHECK(run(pool, fault_job(1)).worker_pid == trained_in);
    CHECK(noted.notes.empty());
    // A crash there costs no attempt, and the next question finds a new worker.
    const MemoryEvidence after = pool.evidence(fault("segv_in_predict"), batch(8), Evidence::virtual_card);
    CHECK_FALSE(after.prediction);
    CHECK(run(pool, fault_job(2)).kind == OutcomeKind::complete);
}

TEST_CASE("a question about another card is another question") {
    std::map<std::string, std::string> kept;
    for (const std::string card : {"name=T4", "name=L4", "name=T4"}) {
        Noted noted;
        noted.config.virtual_card = {card, noted.config.environment};
        worker::set_variable(noted.config.virtual_card->environment, "HPO_VIRTUAL_CARD", card);
        noted.keep_in(kept);
        worker::Pool pool{noted.config};
        CHECK(pool.evidence(fault("none"), batch(8), Evidence::virtual_card).prediction);
    }
    CHECK(kept.size() == 2);
}

TEST_CASE("without a virtual card a dry run is asked, and the answer says so") {
    Noted noted;
    worker::Pool pool{noted.config};
    const MemoryEvidence found = pool.evidence(fault("none"), batch(8), Evidence::virtual_card);
    REQUIRE(found.prediction);
    CHECK(found.prediction->source == PeakSource::dry_run);
    CHECK(found.prediction->remark ==
          "run dry instead of training on a virtual card; no action is needed (there is no virtual card for this device)");
}

TEST_CASE("a worker that keeps memory after a prediction runs no attempt with it") {
    Noted noted;
    noted.config.device_budget_bytes = 64 << 20;
    worker::Pool pool{noted.config};
    const auto keep = [](std::int64_t bytes) {
        return with(fault_job(0, "keep_in_predict"), "weights", static_cast<double>(bytes)).params;
    };
    const std::int64_t first = run(pool, fault_job(0)).worker_pid;
    REQUIRE(pool.evidence(keep(1 << 20), batch(8), Evidence::dry_run).prediction);
    CHECK(run(pool, fault_job(1)).worker_pid == first);
    REQUIRE(pool.evidence(keep(20 << 20), batch(8), Evidence::dry_run).prediction);
    CHECK(run(pool, fault_job(2)).worker_pid != first);
}

TEST_CASE("where a dry run throws a probe is asked, then the model's shape, and each reason is named once") {
    Noted noted;
    worker::Pool pool{noted.config};
    for (int i = 0; i < 4; ++i) {
        const MemoryEvidence found = pool.evidence(fault("throw_in_dry_run"), batch(8), Evidence::dry_run);
        REQUIRE(found.prediction);
        CHECK(found.prediction->source == PeakSource::probe);
        CHECK(found.prediction->remark == probed_instead +
                                              "; no action is needed (std::runtime_error: no meta kernel for aten::frob of "
                                              "trial 0)");
    }
    CHECK(noted.notes == std::vector<std::string>{"trainer fault: this configuration is " + probed_instead +
                                                  "; no action is needed "
                                                  "(std::runtime_error: no meta kernel for aten::frob of trial 0)"});
    const MemoryEvidence shape = pool.evidence(fault("throw_in_predict"), batch(8), Evidence::dry_run);
    CHECK_FALSE(shape.prediction);
    CHECK(shape.profile->weight_bytes == 8);
    CHECK(shape.remark ==
          "no dry_run: std::runtime_error: no meta kernel for aten::frob of trial 0; no probe: std::runtime_error: no meta kernel for "
          "aten::frob of trial 0");
    CHECK(pool.evidence(fault("nonsense_in_dry_run"), batch(8), Evidence::dry_run).prediction->remark ==
          probed_instead + " (a need of -5 bytes)");
    // An error that comes at once costs nothing: other parameters are still asked about.
    CHECK(pool.evidence(fault("none"), batch(8), Evidence::dry_run).prediction->source == PeakSource::dry_run);
}

TEST_CASE("a trainer's own reason is told to the letter, whatever words it has") {
    Noted noted;
    worker::Pool pool{noted.config};
    const std::string said = "trainer fault: ask: dry run: std::bad_alloc is what this is not";
    CHECK(pool.evidence(fault("say_in_dry_run"), batch(8), Evidence::dry_run).prediction->remark == probed_instead + " (" + said + ")");
    CHECK(noted.notes == std::vector<std::string>{"trainer fault: this configuration is " + probed_instead + " (" + said + ")"});
}

TEST_CASE("a dry run that crashes or hangs is bounded in time, and not asked any more after the second in a row") {
    Noted noted;
    SetClock clock;
    noted.config.loop = clock.loop();
    worker::Pool pool{noted.config};
    CHECK(pool.evidence(fault("segv_in_dry_run"), batch(8), Evidence::dry_run).prediction->source == PeakSource::probe);
    CHECK(pool.evidence(fault("none"), batch(8), Evidence::dry_run).prediction->source == PeakSource::dry_run);
    clock.advance_in_next_wait(noted.config.prediction_timeout);
    CHECK(pool.evidence(fault("hang_in_dry_run"), batch(8), Evidence::dry_run).prediction->source == PeakSource::probe);
    const MemoryEvidence last = pool.evidence(fault("segv_in_dry_run"), batch(8), Evidence::dry_run);
    CHECK(last.prediction->source == PeakSource::probe);
    for (int i = 0; i < 3; ++i) {
        const MemoryEvidence found = pool.evidence(fault("none"), batch(16), Evidence::dry_run);
        CHECK(found.prediction->source == PeakSource::probe);
        CHECK(found.prediction->remark == last.prediction->remark);
    }
    REQUIRE(noted.notes.size() == 3);
    CHECK_THAT(noted.notes[0], Catch::StartsWith("trainer fault: this configuration is " + probed_instead +
                                                 " "
                                                 "(no answer: " +
                                                 ended_by_signal("SIGSEGV")));
    CHECK(noted.notes[1] == "trainer fault: this configuration is " + probed_instead + " (no answer within 1.5 s)");
    CHECK_THAT(noted.notes[2], Catch::EndsWith("; it is not asked any more"));
    CHECK(clock.run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("a question is given up when a stop is requested, and says nothing about the plugin") {
    Noted noted;
    SetClock clock;
    noted.config.loop = clock.loop();
    std::optional<int> looks_until_stop;
    noted.config.stop_requested = [&] { return looks_until_stop && (*looks_until_stop)-- <= 0; };
    worker::Pool pool{noted.config};
    for (int i = 0; i < 3; ++i) {
        looks_until_stop = 2;
        const MemoryEvidence none = pool.evidence(fault("hang_in_dry_run"), batch(8), Evidence::dry_run);
        CHECK_FALSE(none.prediction);
        CHECK_FALSE(none.profile);
    }
    looks_until_stop = 0;
    CHECK_FALSE(pool.evidence(fault("none"), batch(8), Evidence::dry_run).prediction);
    looks_until_stop.reset();
    CHECK(pool.evidence(fault("none"), batch(8), Evidence::dry_run).prediction->source == PeakSource::dry_run);
    CHECK(noted.notes.empty());
}

TEST_CASE("a dry run that takes a terabyte is refused it, and the worker trains on") {
    if (sanitized) {
        WARN("skipped: " << no_bad_alloc);
        return;
    }
    Noted noted;
    noted.config.question_memory_bytes = std::int64_t{1} << 30U;
    SetClock clock;
    noted.config.loop = clock.loop();
    worker::Pool pool{noted.config};
    CHECK(pool.evidence(fault("terabyte_in_dry_run"), batch(8), Evidence::dry_run).prediction->source == PeakSource::probe);
    CHECK(noted.notes == std::vector<std::string>{"trainer fault: this configuration is " + probed_instead +
                                                  "; no action is needed (more host "
                                                  "memory was asked for than the 1.00 GiB that a prediction may take)"});
    CHECK(clock.run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("a limit on host memory holds while its object lives") {
    if (sanitized) {
        WARN("skipped: " << no_bad_alloc);
        return;
    }
    constexpr std::size_t bytes = std::size_t{256} << 20U;
    const auto take = [] { return std::unique_ptr<char[]>{new (std::nothrow) char[bytes]}; };
    {
        const worker::HostMemoryLimit limit{64 << 20};
        CHECK_FALSE(take());
    }
    CHECK(take());
    const worker::HostMemoryLimit none{0};
    CHECK(take());
}

TEST_CASE("a trainer recalls what it kept, in this run and in a later one") {
    std::map<std::string, std::string> kept;
    for (const std::int64_t before : {0, 2}) {
        Noted noted;
        noted.keep_in(kept);
        worker::Pool pool{noted.config};
        for (const std::int64_t more : {0, 1})
            CHECK(pool.evidence(fault("count_in_predict"), batch(10 + before + more), Evidence::dry_run).prediction->need ==
                  100 + 10 * (10 + before + more) + before + more);
        CHECK(noted.notes.empty());
    }
    CHECK(kept.at("kept by fault: count") == "4");
    Noted forgetful;
    worker::Pool pool{forgetful.config};
    for (const std::int64_t before : {0, 1})
        CHECK(pool.evidence(fault("count_in_predict"), batch(10 + before), Evidence::dry_run).prediction->need ==
              200 + 10 * before + before);
}

TEST_CASE("what is known is not asked again, in memory or from where it is kept") {
    std::map<std::string, std::string> kept;
    Noted noted;
    noted.keep_in(kept);
    {
        worker::Pool pool{noted.config};
        for (int i = 0; i < 3; ++i) CHECK(pool.evidence(fault("none"), batch(64), Evidence::dry_run).prediction->need == 740);
        CHECK(pool.predictions_made() == 1);
        CHECK(pool.evidence(fault("none"), batch(64, 8), Evidence::dry_run).prediction->need == 180);
        CHECK(pool.evidence(with(fault_job(0), "seconds", 0.75).params, batch(64), Evidence::dry_run).prediction->need == 740);
        CHECK(pool.predictions_made() == 2);  // how long it takes says nothing about memory
    }
    REQUIRE(kept.size() == 2);
    {
        worker::Pool pool{noted.config};
        CHECK(pool.evidence(fault("none"), batch(64), Evidence::dry_run).prediction->need == 740);
        CHECK(pool.predictions_made() == 0);
    }
    for (const char* damage : {"", "{", "[1]", R"({"need": "a"})", R"({"need": -1})", R"({"need": 5, "comfort": 2})"}) {
        for (auto& [key, text] : kept) text = damage;
        worker::Pool pool{noted.config};
        CHECK(pool.evidence(fault("none"), batch(64), Evidence::dry_run).prediction->need == 740);
        CHECK(pool.predictions_made() == 1);
    }
}

TEST_CASE("a processor is told by its name and its instructions, and by what its libraries are to leave aside") {
    const auto told = [](const std::string& text) {
        std::istringstream cpuinfo{text};
        return worker::processor_text(cpuinfo);
    };
    const std::string one = "processor\t: 0\nmodel name\t: X 1\ncpu MHz\t\t: 2000.1\nflags\t\t: fma avx2\n\n";
    CHECK_THAT(told(one), Catch::StartsWith("X 1 "));
    CHECK(told("processor\t: 0\nmodel name\t: X 1\ncpu MHz\t\t: 900.0\nflags\t\t: fma avx2\n\nprocessor\t: 1\nmodel name\t: Y\n") ==
          told(one));
    CHECK(told("model name\t: X 1\nflags\t\t: fma avx2 avx512f\n") != told(one));
    CHECK(told("") == "");
    const worker::Environment plain{"PATH=/bin"};
    const worker::Environment narrow{"PATH=/bin", "ONEDNN_MAX_CPU_ISA=AVX2"};
    CHECK(worker::processor_text(narrow) == worker::processor_text(plain) + " ONEDNN_MAX_CPU_ISA=AVX2");
}

TEST_CASE("nothing is to do about limits of dry runs alone, not about what a model's own code throws") {
    for (const char* const limit :
         {"LibTorch has no meta kernel for aten::frob",
          "a convolution from 1 to 8 channels, which oneDNN fills up to blocks of 16: only a probe tells its memory",
          "parameter 'w' was not made by a factory of LibTorch: a dry run cannot have it", "Cannot copy out of meta tensor; no data!"}) {
        CAPTURE(limit);
        CHECK(worker::is_prediction_limit(limit));
    }
    for (const char* const mistake :
         {"Expected more than 1 value per channel when training, got input size [1, 28]",
          "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)", "outputs[2]: the model has 2 outputs, counted from 0"}) {
        CAPTURE(mistake);
        CHECK_FALSE(worker::is_prediction_limit(mistake));
    }
}
