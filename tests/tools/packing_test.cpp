// SPDX-License-Identifier: MIT
#ifdef HPO_HAS_IMAGE_CLASSIFIER
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "hpo/device/ledger_reservations.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;

namespace {

constexpr std::int64_t mistaken_width = 1024;
constexpr double mistake = 0.4;

/// Believes what a dry run predicts, but for the widest networks, of whose need it knows two fifths.
struct Mistaken {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        Estimate estimate = guard::bare_estimate(*query.prediction);
        if (query.params.number("model.width") == mistaken_width) {
            estimate.need = static_cast<std::int64_t>(mistake * static_cast<double>(*estimate.need));
            estimate.comfort = estimate.need;
        }
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
};
static_assert(MemoryGuard<Mistaken>);

/// Wide networks that train for long, and narrower ones that come and go beside them.
const Space space = [](SpaceTrial& trial) {
    const Value width = trial.suggest_categorical("model.width", {std::int64_t{700}, std::int64_t{710}, std::int64_t{720}, mistaken_width});
    const std::int64_t epochs = width == Value{mistaken_width} ? 150 : 2;
    trial.suggest_int("epochs", 1, 150, {.min = epochs, .max = epochs});
};

/// Promises with caps or without. The first trial trains, or has failed, before another starts beside it.
struct FirstAlone final : Reservations {
    FirstAlone(device::LedgerReservations& kept, bool with_caps) : room{kept}, caps{with_caps} {}
    std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
        if (request.trial != 0 && !begun) return std::nullopt;
        const auto reserved = room.reserve(request);
        return reserved && !caps ? std::optional{room.budget_bytes()} : reserved;
    }
    void release(std::int64_t trial) override {
        begun = begun || trial == 0;
        room.release(trial);
    }
    void reported(std::int64_t trial, std::int64_t step) override {
        begun = begun || trial == 0;
        room.reported(trial, step);
    }
    device::LedgerReservations& room;
    bool caps;
    bool begun = false;
};

/// Stops the process of the first trial after its first report, and lets it go on once all others have ended. So it holds memory while
/// they run, and allocates none.
struct HoldsFirst final : TuneObserver {
    explicit HoldsFirst(std::int64_t others) : left{others} {}
    HoldsFirst(const HoldsFirst&) = delete;
    HoldsFirst& operator=(const HoldsFirst&) = delete;
    ~HoldsFirst() override { go_on(); }
    void on(const StudyEvent& event) override {
        if (const auto* const reported = std::get_if<event::Reported>(&event)) hold(reported->trial);
        if (const auto* const finished = std::get_if<event::TrialFinished>(&event); finished && finished->trial.number != 0 && --left == 0)
            go_on();
    }
    void hold(const Trial& trial) {
        if (trial.number != 0 || left <= 0 || held > 0) return;
        held = static_cast<pid_t>(trial.attempts.back().worker_pid);
        ::kill(held, SIGSTOP);  // it waits for the answer to its report, so it holds no lock
    }
    void go_on() const {
        if (held > 0) ::kill(held, SIGCONT);
    }
    std::int64_t left;
    pid_t held = 0;
};

struct Failed {
    int authors = 0;     ///< attempts out of memory of trials whose prediction is wrong
    int neighbours = 0;  ///< of the others
    int complete = 0;
};

worker::PoolConfig pool_config() {
    const std::filesystem::path binaries = HPO_BINARY_DIR;
    return {.worker_program = binaries / "bin/hpo-worker",
            .trainer = "image_classifier",
            .options = {{"model.kind", std::string{"mlp"}},
                        {"model.depth", std::int64_t{1}},
                        {"optim.kind", std::string{"sgd"}},
                        {"train.batch_size", std::int64_t{64}},
                        {"train_examples", std::int64_t{256}},
                        {"validation_examples", std::int64_t{64}}},
            .metric = "accuracy"};
}

/// What a dry run predicts.
std::int64_t predicted_need(const worker::PoolConfig& config, const Space& asked, std::int64_t width) {
    worker::Pool pool{config};
    sampler::Random random;
    const History nothing{};
    const ParamSet params = suggest_params(random, asked, {0, nothing}, Seed{0}, {{"model.width", width}});
    return pool.evidence(params, {.effective_batch = 64}, Evidence::dry_run).prediction.value().need;
}

Failed pack(bool caps) {
    const tests::TemporaryDirectory folder;
    worker::PoolConfig config = pool_config();
    const History nothing{};
    sampler::Random random;
    const auto need = [&](std::int64_t width) { return predicted_need(config, space, width); };
    // Room for one of each by what is predicted, and not by what they take.
    const std::int64_t wide = need(mistaken_width);
    const std::int64_t budget = static_cast<std::int64_t>(1.03 * (static_cast<double>(need(720)) + mistake * static_cast<double>(wide)));
    REQUIRE(budget > wide);
    REQUIRE(budget < need(700) + wide);
    config.device_budget_bytes = budget;
    config.workers = 2;
    worker::Pool pool{config};
    device::LedgerReservations room{device::Ledger{folder.path("ledger")}, {.budget_bytes = budget}};
    FirstAlone reservations{room, caps};
    Tuner tuner{sampler::Random{}, pruner::None{}, Mistaken{}, recovery::Fail{}};
    store::InMemory store;
    TuneOptions options{.trials = 8, .effective_batch_parameter = "train.batch_size"};
    options.plan.effective_batch = 64;
    options.reservations = &reservations;
    const auto is_author = [&](const ParamSet& params) { return params.number("model.width") == mistaken_width; };
    while (!is_author(suggest_params(random, space, {0, nothing}, Seed{options.seed}, {}))) ++options.seed;
    HoldsFirst observer{caps ? 0 : options.trials - 1};
    const TuneResult result = tuner.optimize(store, "packed", space, pool, options, observer);

    Failed failed;
    for (const Trial& trial : result.trials) {
        const bool author = is_author(trial.params);
        if (trial.state == TrialState::complete) ++failed.complete;
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.failure) continue;
            INFO(attempt.failure->message);
            CHECK(attempt.failure->kind == FailureKind::out_of_memory);
            ++(author ? failed.authors : failed.neighbours);
            if (caps) CHECK(attempt.failure->cause == OomCause::limit);
        }
    }
    return failed;
}

/// Believes that attempts need nearly twice what a dry run predicts.
struct Cautious {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        Estimate estimate = guard::bare_estimate(*query.prediction);
        estimate.need = estimate.comfort = static_cast<std::int64_t>(1.9 * static_cast<double>(*estimate.need));
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
};
static_assert(MemoryGuard<Cautious>);

/// Counts attempts that have room, and passes on what they turn out not to need, or does not.
struct Counting final : Reservations {
    Counting(device::LedgerReservations& kept, bool passes_on) : room{kept}, passes{passes_on} {}
    std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
        const auto reserved = room.reserve(request);
        if (reserved) inside.insert(request.trial);
        most = std::max(most, inside.size());
        return reserved;
    }
    void shrink(std::int64_t trial, std::int64_t bytes) override {
        ++settled;
        if (passes) room.shrink(trial, bytes);
    }
    void release(std::int64_t trial) override {
        inside.erase(trial);
        room.release(trial);
    }
    device::LedgerReservations& room;
    bool passes;
    std::set<std::int64_t> inside;
    std::size_t most = 0;  ///< at once
    int settled = 0;
};

}  // namespace

TEST_CASE("what attempts turn out not to need lets others in while they train") {
    const Space wide = [](SpaceTrial& trial) {
        trial.suggest_categorical("model.width", {std::int64_t{700}});
        trial.suggest_int("epochs", 1, 150, {.min = 20, .max = 20});
    };
    worker::PoolConfig config = pool_config();
    const std::int64_t budget =
        predicted_need(config, wide, 700) * 33 / 10;  // for a reservation and what an attempt takes, not for two reservations
    config.device_budget_bytes = budget;
    config.workers = 2;
    worker::Pool pool{config};
    for (const bool passes : {false, true}) {
        CAPTURE(passes);
        const tests::TemporaryDirectory folder;
        device::LedgerReservations room{device::Ledger{folder.path("ledger")}, {.budget_bytes = budget}};
        Counting reservations{room, passes};
        Tuner tuner{sampler::Random{}, pruner::None{}, Cautious{}, recovery::Fail{}};
        store::InMemory store;
        TuneOptions options{.trials = 4, .effective_batch_parameter = "train.batch_size"};
        options.plan.effective_batch = 64;
        options.reservations = &reservations;
        for (const Trial& trial : tuner.optimize(store, "settled", wide, pool, options).trials) {
            CHECK(trial.state == TrialState::complete);
            CHECK(trial.attempts.size() == 1);
        }
        CHECK(reservations.settled == 4);
        CHECK(reservations.most == (passes ? 2 : 1));
    }
}

TEST_CASE("on one device only the author of a wrong prediction fails, and without caps its neighbours do") {
    const Failed with_caps = pack(true);
    CHECK(with_caps.authors > 0);
    CHECK(with_caps.neighbours == 0);
    CHECK(with_caps.complete == 8);  // authors, too: with more of the device
    // Without caps whoever allocates last fails, and the first trial has its memory already. So no other one has enough.
    const Failed without = pack(false);
    CHECK(without.complete == 1);
    CHECK(without.neighbours > 0);
    CHECK(without.neighbours + without.authors == 7);
}
#endif
