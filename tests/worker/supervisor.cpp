// SPDX-License-Identifier: MIT
// Runs N workers that spin for ever, prints their process ids, and waits to be killed.
#include <cstdio>
#include <cstdlib>

#include "support/pool.hpp"

int main(int argc, char** argv) {
    const auto workers = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 2);
    const char* const fault = argc > 2 ? argv[2] : "spin_ignoring_stop";
    hpo::worker::Pool pool{hpo::test::fault_config(workers)};
    hpo::test::Record record;
    for (std::size_t i = 0; i < workers; ++i) pool.submit(hpo::test::fault_job(static_cast<std::int64_t>(i), fault), record);
    hpo::test::wait_until(pool, record, [&] { return record.pids.size() == workers; });
    for (const auto& [trial, pid] : record.pids) std::printf("%lld\n", static_cast<long long>(pid));
    std::fflush(stdout);
    for (;;) pool.wait(record, 0.1);
}
