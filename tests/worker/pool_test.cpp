// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/pool.hpp"

#include <sys/ptrace.h>
#include <sys/resource.h>

#include <fstream>

#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/pool.hpp"
#include "support/processes.hpp"
#include "support/sanitizer.hpp"
#include "support/set_clock.hpp"
#include "support/temporary_directory.hpp"
#include "support/wording.hpp"

using namespace hpo;
using namespace hpo::test;

TEST_CASE("a job's value comes back from a worker, which stays for the next job") {
    worker::Pool pool{fault_config()};
    CHECK(pool.info().name == "fault");
    CHECK(pool.free_slots() == 1);
    const auto first = run(pool, fault_job(0));
    CHECK(first.kind == OutcomeKind::complete);
    CHECK(first.values == std::vector{(0.5 - 0.3) * (0.5 - 0.3)});
    CHECK(first.attributes.at("seed") == "\"7\"");
    CHECK(first.worker_pid > 0);
    const auto second = run(pool, fault_job(1, "none", 0.3));
    CHECK(second.values == std::vector{0.0});
    CHECK(second.worker_pid == first.worker_pid);
    CHECK(run(pool, fault_job(2, "nan")).values.size() == 1);
    CHECK(std::isnan(run(pool, fault_job(3, "nan")).values.at(0)));
}

TEST_CASE("an attempt that takes too long fails as a timeout, whatever the process does") {
    SetClock clock;
    worker::PoolConfig config = fault_config(2);
    config.loop = clock.loop();
    config.attempt_time = 400ms;
    worker::Pool pool{config};
    for (const std::string fault : {"hang", "spin_ignoring_stop", "sigstop"}) {
        CAPTURE(fault);
        Record record;
        pool.submit(fault_job(0, fault), record);
        REQUIRE(clock.wait_until_started(pool, record, 0));
        clock.pass(pool, record, 400ms);
        CHECK(record.ended == 0);
        clock.pass(pool, record, 1ms);
        if (fault != "hang") {  // it does not obey
            clock.pass(pool, record, config.stop_grace);
            clock.pass(pool, record, config.kill_grace);
        }
        REQUIRE(clock.wait_until(pool, record, [&] { return record.ended > 0; }));
        const AttemptOutcome& outcome = record.ends.at(0).at(0);
        CHECK(outcome.kind == OutcomeKind::failed);
        REQUIRE(outcome.failure);
        CHECK(to_text(outcome.failure->kind) == to_text(FailureKind::timeout));
        CHECK(outcome.failure->message == "it took longer than the 0.4 s that an attempt may take");
    }
}

TEST_CASE("an attempt whose worker says nothing for too long fails as a timeout") {
    SetClock clock;
    worker::PoolConfig config = fault_config(2);
    config.loop = clock.loop();
    config.silence_time = 400ms;
    worker::Pool pool{config};
    for (const std::string fault : {"hang", "sigstop"}) {
        CAPTURE(fault);
        const bool is_stopped = fault == "sigstop";
        Record record;
        pool.submit(fault_job(0, fault), record);
        REQUIRE(clock.wait_until_started(pool, record, 0));
        if (is_stopped) REQUIRE(eventually([&] { return process_state(record.pids.at(0))->state == 'T'; }));
        clock.pass(pool, record, 400ms);
        CHECK(record.ended == 0);
        clock.pass(pool, record, 1ms);
        REQUIRE(clock.wait_until(pool, record, [&] { return record.ended > 0; }));
        const AttemptOutcome& outcome = record.ends.at(0).at(0);
        REQUIRE(outcome.failure);
        CHECK(to_text(outcome.failure->kind) == to_text(FailureKind::timeout));
        CHECK(outcome.failure->message ==
              std::string{"its worker said nothing for 0.4 s"} + (is_stopped ? "; a signal had stopped it" : ""));
    }
}

TEST_CASE("time in which nobody looked at the workers counts for no attempt: the process was stopped, or waited") {
    SetClock clock;
    worker::PoolConfig config = fault_config();
    config.loop = clock.loop();
    config.attempt_time = 5s;
    config.silence_time = 5s;
    worker::Pool pool{config};
    Record record;
    pool.submit(fault_job(0, "hang"), record);
    REQUIRE(clock.wait_until_started(pool, record, 0));
    clock.advance(6s);
    pool.wait(record, 0);
    clock.pass(pool, record, 4s);
    CHECK(record.ended == 0);
    pool.interrupt();
    REQUIRE(clock.wait_until(pool, record, [&] { return record.ended > 0; }));
    CHECK(record.ends.at(0).at(0).kind == OutcomeKind::interrupted);
}

TEST_CASE("a worker that is silent after a time in which nobody looked is still ended for its silence") {
    SetClock clock;
    worker::PoolConfig config = fault_config();
    config.loop = clock.loop();
    config.attempt_time = 1500ms;
    config.silence_time = 1s;
    worker::Pool pool{config};
    Record record;
    pool.submit(fault_job(0, "spin_ignoring_stop"), record);
    REQUIRE(clock.wait_until_started(pool, record, 0));
    clock.advance(1600ms);
    pool.wait(record, 0);
    clock.pass(pool, record, 1s);
    CHECK(record.ended == 0);
    clock.pass(pool, record, 1ms);
    REQUIRE(clock.wait_until(pool, record, [&] { return record.ended > 0; }));
    REQUIRE(record.ends.at(0).at(0).failure);
    CHECK_THAT(record.ends.at(0).at(0).failure->message, Catch::Contains("said nothing for 1 s"));
}

TEST_CASE("every fault costs its attempt and nothing else") {
    struct Case {
        const char* fault;
        FailureKind kind;
        const char* message;
        bool worker_dies;
        std::optional<int> signal;
        std::optional<int> status;
    };
    const std::vector<Case> cases{
        {"throw", FailureKind::trainer_error, "asked to throw", false, {}, {}},
        {"throw_int", FailureKind::trainer_error, "no std::exception", false, {}, {}},
        {"segv", FailureKind::crash, "SIGSEGV", true, SIGSEGV, {}},
        {"abort", FailureKind::crash, "SIGABRT", true, SIGABRT, {}},
        {"sigkill_self", FailureKind::crash, "SIGKILL", true, SIGKILL, {}},
        {"exit", FailureKind::trainer_error, "status 3", true, {}, 3},
        {"_exit", FailureKind::trainer_error, "status 4", true, {}, 4},
        {"oom_text", FailureKind::out_of_memory, "Tried to allocate 2.00 GiB", false, {}, {}},
        {"host_oom", FailureKind::host_out_of_memory, "bad_alloc", false, {}, {}},
        {"no_values", FailureKind::trainer_error, "without a value", false, {}, {}},
        {"stops_unasked", FailureKind::trainer_error, "without being asked", false, {}, {}},
        {"hang_up", FailureKind::lost_worker, "closed its socket", true, SIGKILL, {}},
        {"write_garbage", FailureKind::lost_worker, "cannot be read", true, SIGKILL, {}},
        {"sticky", FailureKind::cuda_sticky, "device-side assert", true, {}, {}},
    };
    worker::Pool pool{fault_config(2)};
    Record neighbour;  // one attempt that nothing may disturb
    pool.submit(with(fault_job(1000, "hang"), "steps", 1), neighbour);
    REQUIRE(wait_until(pool, neighbour, [&] { return !neighbour.reports.empty(); }));
    std::int64_t trial = 0;
    for (const Case& wanted : cases) {
        CAPTURE(wanted.fault);
        if (sanitized && wanted.kind == FailureKind::host_out_of_memory) {
            WARN("skipped: " << wanted.fault << ": " << no_bad_alloc);
            continue;
        }
        const auto outcome = run(pool, fault_job(++trial, wanted.fault));
        CHECK(outcome.kind == OutcomeKind::failed);
        REQUIRE(outcome.failure);
        CHECK(to_text(outcome.failure->kind) == to_text(wanted.kind));
        CHECK_THAT(outcome.failure->message, Catch::Contains(wanted.message));
        CHECK(outcome.failure->signal == wanted.signal);
        CHECK(outcome.failure->exit_status == wanted.status);
        const auto next = run(pool, fault_job(++trial));
        CHECK(next.kind == OutcomeKind::complete);
        CHECK((next.worker_pid != outcome.worker_pid) == wanted.worker_dies);
    }
    CHECK(neighbour.ended == 0);
    CHECK(lives(neighbour.pids.at(1000)));
}

TEST_CASE("what a worker prints disturbs nothing, and its last words go with the failure of its own attempt alone") {
    worker::Pool pool{fault_config()};
    CHECK(run(pool, fault_job(0, "chatter")).kind == OutcomeKind::complete);
    const auto failed = run(pool, fault_job(1, "throw_after_chatter"));
    REQUIRE(failed.failure);
    CHECK(failed.failure->traceback == "last words of trial 1\n");
    CHECK(failed.log == "last words of trial 1\n");
    const auto later = run(pool, fault_job(2, "abort"));
    REQUIRE(later.failure);
    CHECK_THAT(later.failure->traceback, !Catch::Contains("last words"));
    CHECK_THAT(later.log, !Catch::Contains("last words"));
}

TEST_CASE("a named log folder keeps the output of every worker") {
    const auto folder = std::filesystem::temp_directory_path() / ("hpo_pool_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    auto config = fault_config();
    config.log_folder = folder;
    {
        worker::Pool pool{config};
        CHECK(run(pool, fault_job(0, "throw_after_chatter")).failure);
        CHECK(run(pool, fault_job(1, "throw_after_chatter")).failure);
    }
    std::ifstream file{folder / "worker-0.log"};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    CHECK_THAT(text, Catch::Contains("last words of trial 0") && Catch::Contains("last words of trial 1"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("a report waits for its answer, so a trial stops at the step that was judged") {
    worker::Pool pool{fault_config()};
    Record record;
    record.stop_at_step = 4;
    pool.submit(with(fault_job(0), "steps", 1000), record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 1; }));
    CHECK(record.ends[0][0].kind == OutcomeKind::stopped);
    REQUIRE(record.reports[0].size() == 5);
    CHECK(record.reports[0].back().step == 4);
    CHECK(run(pool, with(fault_job(1), "steps", 3)).worker_pid == record.pids[0]);
}

TEST_CASE("the last report says so, across a plugin's border, and only of the attempt that told it") {
    worker::Pool pool{fault_config()};
    Record record;
    pool.submit(with(fault_job(0), "steps", 3), record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 1; }));
    pool.submit(with(fault_job(1), "steps", 5), record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 2; }));
    for (const std::int64_t trial : {0, 1}) {
        const auto& reports = record.reports[trial];
        REQUIRE(reports.size() == (trial == 0 ? 3 : 5));
        for (const Report& report : reports) CHECK(report.is_last == (report.step == reports.back().step));
    }
}

TEST_CASE("a trainer that does not stop when asked is killed, and the attempt counts as stopped") {
    SetClock clock;
    auto config = fault_config();
    config.loop = clock.loop();
    for (const std::string fault : {"spin_ignoring_stop", "ignore_sigterm"}) {
        CAPTURE(fault);
        worker::Pool pool{config};
        Record record;
        record.stop_at_step = 0;
        pool.submit(with(fault_job(0, fault), "steps", 1), record);
        // The report is answered by a stop, which the trainer obeys; so ask one that no longer reports.
        REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 1; }));
        CHECK(record.ends[0][0].kind == OutcomeKind::stopped);

        Record spinning;
        pool.submit(fault_job(1, fault), spinning);
        REQUIRE(clock.wait_until_started(pool, spinning, 1));
        const std::int64_t pid = spinning.pids.at(1);
        const bool ignores_sigterm = fault == "ignore_sigterm";
        if (ignores_sigterm) REQUIRE(eventually([&] { return hpo::tests::ignores(static_cast<pid_t>(pid), SIGTERM); }));
        pool.interrupt();
        clock.pass(pool, spinning, config.stop_grace);
        if (ignores_sigterm) {
            clock.pass(pool, spinning, config.kill_grace - 1ms);
            CHECK(lives(pid));
            clock.pass(pool, spinning, 1ms);
        }
        REQUIRE(clock.wait_until(pool, spinning, [&] { return spinning.ended == 1; }));
        CHECK(spinning.ends[1][0].kind == OutcomeKind::interrupted);
        CHECK_FALSE(lives(pid));
        CHECK(clock.run(pool, fault_job(2)).kind == OutcomeKind::complete);
    }
}

TEST_CASE("a worker whose end crossed the signal to it gets no further attempt") {
    SetClock clock;
    auto config = fault_config();
    config.loop = clock.loop();
    worker::Pool pool{config};
    Record record;
    pool.submit(fault_job(0, "end_at_sigterm"), record);
    // Until then the trainer would obey the stop itself, and no signal would be sent.
    REQUIRE(clock.wait_until(pool, record, [&] { return record.marks.contains(0); }));
    pool.interrupt();
    clock.pass(pool, record, config.stop_grace - 1ms);
    CHECK(record.ended == 0);
    clock.pass(pool, record, 1ms);
    REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 1; }));
    CHECK(record.ends[0][0].kind == OutcomeKind::interrupted);
    const auto next = clock.run(pool, fault_job(1));
    CHECK(next.kind == OutcomeKind::complete);
    CHECK(next.worker_pid != record.pids[0]);
}

TEST_CASE("a worker that obeyed in time is not signalled by a supervisor that looks late") {
    SetClock clock;
    auto config = fault_config();
    config.loop = clock.loop();
    worker::Pool pool{config};
    Record record;
    pool.submit(fault_job(0, "hang"), record);
    REQUIRE(clock.wait_until_started(pool, record, 0));
    const std::string threads = "/proc/" + std::to_string(record.pids[0]) + "/task";
    const auto busy = entries(threads.c_str());
    pool.interrupt();
    // The pool looks when the attempt's thread is gone, so that its end lies there, and when the time until SIGTERM is over.
    REQUIRE(eventually([&] { return entries(threads.c_str()) < busy; }));
    clock.advance(2 * config.stop_grace);
    REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 1; }));
    const auto next = clock.run(pool, fault_job(1));
    CHECK(next.kind == OutcomeKind::complete);
    CHECK(next.worker_pid == record.pids[0]);
}

TEST_CASE("an answer is waited for less than a heartbeat's grace") { CHECK(worker::PoolConfig{}.profile_timeout <= 20s); }

TEST_CASE("interrupt ends every running attempt as interrupted") {
    worker::Pool pool{fault_config(3)};
    Record record;
    for (int i = 0; i < 3; ++i) pool.submit(fault_job(i, "hang"), record);
    CHECK(pool.free_slots() == 0);
    CHECK_THROWS_WITH(pool.submit(fault_job(9), record), Catch::Contains("no free slot"));
    pool.interrupt();
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 3; }));
    for (int i = 0; i < 3; ++i) CHECK(record.ends[i][0].kind == OutcomeKind::interrupted);
    CHECK(pool.free_slots() == 3);
}

TEST_CASE("a worker killed from outside costs its trial an attempt and nothing else") {
    worker::Pool pool{fault_config(2)};
    Record record;
    pool.submit(fault_job(0, "spin_ignoring_stop"), record);
    pool.submit(with(fault_job(1, "slow"), "seconds", 0.5), record);
    REQUIRE(wait_until(pool, record, [&] { return record.pids.size() == 2; }));
    for (const int signal : {SIGKILL, SIGSEGV}) {
        ::kill(static_cast<pid_t>(record.pids[0]), signal);
        REQUIRE(wait_until(pool, record, [&] { return record.ends.contains(0); }));
        REQUIRE(record.ends[0][0].failure);
        CHECK(record.ends[0][0].failure->kind == FailureKind::crash);
        CHECK(record.ends[0][0].failure->signal == signal);
        CHECK(record.ends[0][0].seconds > 0);
        record.ends.erase(0);
        record.pids.erase(0);
        if (signal == SIGSEGV) break;
        pool.submit(fault_job(0, "spin_ignoring_stop"), record);
        REQUIRE(wait_until(pool, record, [&] { return record.pids.contains(0); }));
    }
    REQUIRE(wait_until(pool, record, [&] { return record.ends.contains(1); }));
    CHECK(record.ends[1][0].kind == OutcomeKind::complete);
}

TEST_CASE("large messages pass in both directions") {
    worker::Pool pool{fault_config()};
    Record record;
    Job job = fault_job(0, "big_report");
    job.study = std::string(2 << 20U, 's');
    pool.submit(job, record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 1; }));
    CHECK(record.ends[0][0].kind == OutcomeKind::complete);
    CHECK(record.ends[0][0].attributes.at("big").size() > 1 << 20);
    REQUIRE(record.marks[0].size() == 1);
    CHECK(record.marks[0][0].name.size() == 1 << 20);
}

TEST_CASE("a retry with a smaller micro-batch fits where the first attempt did not") {
    worker::Pool pool{fault_config()};
    Job job = fault_job(0, "oom_once_above");
    job.plan.effective_batch = 32;
    const auto first = run(pool, job);
    REQUIRE(first.failure);
    CHECK(first.failure->kind == FailureKind::out_of_memory);
    CHECK(first.failure->requested_bytes == 2LL << 30U);
    job.plan.micro_batch = 8;
    job.attempt = 1;
    const auto second = run(pool, job);
    CHECK(second.kind == OutcomeKind::complete);
    CHECK(second.worker_pid == first.worker_pid);
    job.fresh_worker = true;
    CHECK(run(pool, job).worker_pid != first.worker_pid);
}

TEST_CASE("a plan's device and allocator settings are in the environment before the worker starts") {
    auto config = fault_config();
    config.threads = 3;
    worker::set_variable(config.environment, "CUDA_VISIBLE_DEVICES", "4,5,6");
    worker::Pool pool{config};
    Job job = fault_job(0);
    const auto on_cpu = run(pool, job);
    CHECK(on_cpu.attributes.at("cuda_visible_devices") == "\"\"");
    CHECK(on_cpu.attributes.at("threads") == "\"3\"");
    CHECK(on_cpu.attributes.count("alloc_conf") == 0);
    job.plan.device = "cuda:1";
    job.plan.expandable_segments = true;
    job.plan.allocator_settings = "max_split_size_mb:64";
    const auto on_gpu = run(pool, job);
    CHECK(on_gpu.attributes.at("cuda_visible_devices") == "\"5\"");
    CHECK(on_gpu.attributes.at("device") == "\"cuda:0\"");
    CHECK(on_gpu.attributes.at("alloc_conf") == "\"expandable_segments:True,max_split_size_mb:64\"");
    CHECK(on_gpu.worker_pid != on_cpu.worker_pid);
    CHECK(run(pool, job).worker_pid == on_gpu.worker_pid);
}

TEST_CASE("a worker that is killed while another process traces it ends its attempt once the tracer is gone") {
    worker::Pool pool{fault_config()};
    Record record;
    pool.submit(fault_job(0, "hang"), record);
    REQUIRE(wait_until(pool, record, [&] { return record.pids.contains(0); }));
    const auto pid = static_cast<pid_t>(record.pids[0]);
    hpo::tests::ChildProcess tracer{[pid](const auto& write) {
        write(::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? "traces" : "may not");
        ::pause();
    }};
    if (tracer.line() != "traces") {
        WARN("skipped: this user may not trace a process that is no child");
        return;
    }
    ::kill(pid, SIGKILL);
    REQUIRE(wait_until(pool, record, [&] { return !lives(pid); }));
    for (int i = 0; i < 5; ++i) pool.wait(record, 0.05);  // the pool hears of the end, and cannot reap
    CHECK(record.ended == 0);
    ::kill(tracer.pid(), SIGKILL);
    REQUIRE(wait_until(pool, record, [&] { return record.ended > 0; }));
    REQUIRE(record.ends[0][0].failure);
    CHECK(record.ends[0][0].failure->signal == SIGKILL);
    CHECK(run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("checkpoints are told across processes, and the next attempt goes on from one") {
    const tests::TemporaryDirectory directory;
    worker::Pool pool{fault_config()};
    CHECK(pool.info().checkpoints);
    Job job = with(fault_job(0, "segv"), "steps", 4);
    job.checkpoint_folder = directory.path().string();
    Record died;
    pool.submit(job, died);
    REQUIRE(wait_until(pool, died, [&] { return died.ended > 0; }));
    CHECK(died.ends.at(0).at(0).failure->kind == FailureKind::crash);
    CHECK(died.checkpoints.at(0) == std::vector<std::int64_t>{0, 2});

    job = with(fault_job(0), "steps", 6);
    job.checkpoint_folder = directory.path().string();
    job.resume_step = 2;
    Record resumed;
    pool.submit(job, resumed);
    REQUIRE(wait_until(pool, resumed, [&] { return resumed.ended > 0; }));
    CHECK(resumed.ends.at(0).at(0).kind == OutcomeKind::complete);
    REQUIRE(resumed.reports.at(0).size() == 3);
    CHECK(resumed.reports.at(0).front().step == 3);
    CHECK(resumed.checkpoints.at(0) == std::vector<std::int64_t>{4});
}

TEST_CASE("a profile is measured outside the device's budget, however small that is") {
    auto config = fault_config();
    config.device_budget_bytes = 1;
    worker::Pool pool{config};
    ExecutionPlan capped;
    capped.cap_bytes = 1;
    REQUIRE(pool.profile(fault_job(0).params, capped));
    CHECK(pool.profile(fault_job(0).params, capped)->weight_bytes == 8);
    CHECK_FALSE(run(pool, fault_job(0)).attributes.at("metered_device") == "\"\"");  // training is inside
}

TEST_CASE("profile and check are answered by an idle worker, by a question worker while all are busy, and not for ever") {
    SetClock clock;
    auto config = fault_config();
    config.loop = clock.loop();
    worker::Pool pool{config};
    ParamSet params = fault_job(0).params;
    REQUIRE(pool.profile(params, {}));
    CHECK(pool.profile(params, {})->activation_bytes_per_example == 4);
    CHECK(pool.check(params, {}).problems.empty());
    CHECK(pool.check(params, {}).remarks == std::vector<std::string>{"a trainer without data"});
    CHECK_FALSE(pool.profile(fault_job(0, "none", -1).params, {}));

    Record record;
    pool.submit(fault_job(0, "hang"), record);
    REQUIRE(clock.wait_until_started(pool, record, 0));
    CHECK(pool.profile(params, {})->weight_bytes == 8);
    pool.interrupt();
    REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 1; }));

    params.set("unheard_of", FloatDistribution{0, 1}, 0);
    CHECK_FALSE(pool.profile(params, {}));
    REQUIRE(pool.check(params, {}).problems.size() == 1);
    CHECK_THAT(pool.check(params, {}).problems[0].what, Catch::Contains("unheard_of"));

    clock.advance_in_next_wait(config.profile_timeout);
    CHECK_FALSE(pool.profile(with(fault_job(0), "profile_seconds", 600).params, {}));
    CHECK(clock.run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("a check that hangs or crashes is an error that names the trainer, and the pool goes on") {
    {
        SetClock clock;
        auto config = fault_config();
        config.loop = clock.loop();
        config.check_timeout = 500ms;
        worker::Pool pool{config};
        clock.advance_in_next_wait(config.check_timeout);
        CHECK_THROWS_WITH(pool.check(fault_job(0, "hang_in_check").params, {}), "trainer fault: check: no answer within 0.5 s");
        CHECK(children().empty());
        CHECK(clock.run(pool, fault_job(1)).kind == OutcomeKind::complete);
    }
    worker::Pool pool{fault_config()};
    CHECK_THROWS_WITH(pool.check(fault_job(0, "segv_in_check").params, {}),
                      Catch::Contains("trainer fault: check: no answer: " + ended_by_signal("SIGSEGV")));
    CHECK(run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("a profile that hangs is noted, and given up after the second time in a row") {
    SetClock clock;
    auto config = fault_config();
    config.loop = clock.loop();
    config.profile_timeout = 2000ms;
    std::vector<std::string> notes;
    config.note = [&](const std::string& text) { notes.push_back(text); };
    worker::Pool pool{config};
    const ParamSet good = fault_job(0).params;
    const ParamSet bad = fault_job(0, "hang_in_profile").params;
    const auto hang = [&] {
        clock.advance_in_next_wait(config.profile_timeout);
        CHECK_FALSE(pool.profile(bad, {}));
    };
    hang();
    CHECK(notes == std::vector<std::string>{"trainer fault: profile: no answer within 2 s"});
    CHECK(pool.profile(good, {}));
    hang();
    hang();
    CHECK_FALSE(pool.profile(bad, {}));
    CHECK_FALSE(pool.profile(good, {}));
    REQUIRE(notes.size() == 3);
    CHECK(notes[2] == "trainer fault: profile: no answer within 2 s; it is not asked any more, and memory is estimated without it");
    CHECK(clock.run(pool, fault_job(1)).kind == OutcomeKind::complete);
}

TEST_CASE("a worker that does not come up costs its attempt, or the pool when it is the first") {
    const auto file = std::filesystem::temp_directory_path() / ("hpo_hang_test_" + std::to_string(::getpid()));
    SetClock clock;
    auto config = fault_config(2);
    config.loop = clock.loop();
    config.trainer = "hangs_in_constructor";
    config.plugin_folders = {HPO_BINARY_DIR "/tests/hanging_trainers"};
    worker::set_variable(config.environment, "HPO_TEST_HANG", file.string());
    config.start_timeout = 5000ms;
    {
        worker::Pool pool{config};
        std::ofstream{file} << "hang";
        Record record;
        pool.submit(Job{.trial = 0}, record);
        pool.submit(Job{.trial = 1}, record);
        REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 1; }));
        clock.pass(pool, record, config.start_timeout);
        REQUIRE(clock.wait_until(pool, record, [&] { return record.ended == 2; }));
        REQUIRE(record.ends[0][0].failure);
        CHECK(record.ends[0][0].failure->kind == FailureKind::trainer_error);  // it came up, and has no values to give
        REQUIRE(record.ends[1][0].failure);
        CHECK(record.ends[1][0].failure->kind == FailureKind::lost_worker);
        CHECK_THAT(record.ends[1][0].failure->message, Catch::Contains("trainer hangs_in_constructor: no word from its worker within 5 s"));
    }
    clock.advance_in_next_wait(config.start_timeout);
    CHECK_THROWS_WITH(worker::Pool{config},
                      Catch::Contains("trainer hangs_in_constructor: no word from its worker within 5 s of its start"));
    CHECK(children().empty());
    std::filesystem::remove(file);
}

TEST_CASE("a pool whose trainer cannot be had says why and leaves nothing") {
    const auto before = open_descriptors();
    auto config = fault_config();
    config.trainer = "fualt";
    CHECK_THROWS_WITH(worker::Pool{config}, Catch::Contains("trainer fualt: no libhpo_trainer_fualt.so; " + did_you_mean("fault")));
    config = fault_config();
    config.worker_program = "/nonexistent/hpo-worker";
    CHECK_THROWS_WITH(worker::Pool{config}, Catch::Contains("/nonexistent/hpo-worker: cannot be started: No such file"));
    config.worker_program = "/bin/true";
    CHECK_THROWS_WITH(worker::Pool{config}, Catch::Contains("trainer fault: " + ended_with_status(0)));
    config.worker_program = "/bin/echo";
    CHECK_THROWS_AS(worker::Pool{config}, Error);
    CHECK(children().empty());
    CHECK(open_descriptors() == before);
}

TEST_CASE("a metered device has an account while the pool lives, of the size asked for, 0 and 1 byte included") {
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{600} << 20U}) {
        auto config = fault_config();
        config.device_budget_bytes = bytes;
        worker::Pool pool{config};
        CHECK(pool.capacity_bytes() == bytes);
        const auto outcome = run(pool, fault_job(0));
        CHECK(outcome.kind == OutcomeKind::complete);
        const std::string quoted = outcome.attributes.at("metered_device");
        const auto file = std::filesystem::path{quoted.substr(1, quoted.size() - 2)};
        CHECK(device::MeteredDevice::open(file).occupancy().capacity_bytes == bytes);
    }
    for (const auto& item : std::filesystem::directory_iterator{"/dev/shm"}) {
        CHECK_THAT(item.path().filename().string(), !Catch::StartsWith("hpo-device-" + std::to_string(::getpid())));
    }
}

TEST_CASE("neither descriptors nor processes are left after 200 crashes") {
    worker::Pool pool{fault_config(2)};
    const auto fill_both_slots = [&] {
        Record record;
        for (int i = 0; i < 2; ++i) pool.submit(with(fault_job(-1 - i, "slow"), "seconds", 0.1), record);
        CHECK(wait_until(pool, record, [&] { return record.ended == 2; }));
    };
    fill_both_slots();
    const auto descriptors_before = open_descriptors();
    const auto children_before = children().size();
    Record record;
    std::int64_t next = 2;
    while (record.ended < 200) {
        while (pool.free_slots() > 0 && next < 202) {
            pool.submit(fault_job(next, next % 2 ? "sigkill_self" : "_exit"), record);
            ++next;
        }
        pool.wait(record, 1);
    }
    for (const auto& [trial, ends] : record.ends) {
        CHECK(ends.size() == 1);
        CHECK(ends[0].failure);
    }
    fill_both_slots();
    CHECK(open_descriptors() == descriptors_before);
    CHECK(children().size() == children_before);
}

TEST_CASE("a thousand trials without work go through one warm worker, each once") {
    worker::Pool pool{fault_config(1)};
    Record record;
    pool.submit(fault_job(-1), record);
    REQUIRE(wait_until(pool, record, [&] { return record.ended == 1; }));
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t next = 0; record.ended < 1001;) {
        while (pool.free_slots() > 0 && next < 1000) pool.submit(fault_job(next++), record);
        pool.wait(record, 1);
    }
    const double each_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / 1000;
    for (const auto& [trial, ends] : record.ends) CHECK((ends.size() == 1 && ends[0].kind == OutcomeKind::complete));
    WARN("1,000 trials without work through a warm worker: " << each_ms << " ms each");
}
