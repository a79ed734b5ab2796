// SPDX-License-Identifier: MIT
#include <iostream>
#include <memory>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/terminal.hpp"
#include "tune/commands/commands.hpp"
#include "tune/serve/request_lines.hpp"
#include "tune/serve/server.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {
namespace {

constexpr const char* protocol =
    "One request a line on standard input, one answer a line on standard output, in the same order. Each answer has \"ok\";\n"
    "if it is false, \"error\" says what is wrong, and the session goes on. \"id\" of a request comes back with its answer.\n"
    "\"study\" may be left out while there is one.\n\n"
    "  {\"op\": \"create_study\", \"study\": \"s\", \"directions\": [\"minimize\"], \"store\": \"hpo.db\", \"sampler\": {\"name\": "
    "\"tpe\", \"seed\": 1},\n"
    "   \"pruner\": {\"name\": \"median\"}}     an existing study of the store goes on; without \"store\" it is kept in memory\n"
    "  {\"op\": \"ask\", \"space\": {\"x\": {\"name\": \"FloatDistribution\", \"attributes\": {\"low\": 0, \"high\": 1}}}}\n"
    "  {\"op\": \"suggest\", \"trial\": 0, \"name\": \"z\", \"distribution\": {...}}       after an ask without a space\n"
    "  {\"op\": \"report\", \"trial\": 0, \"step\": 3, \"value\": 0.7}                 the answer says whether to prune\n"
    "  {\"op\": \"tell\", \"trial\": 0, \"state\": \"complete\", \"values\": [0.5]}      or pruned, or fail with \"error\": \"message\"\n"
    "  {\"op\": \"enqueue\", \"params\": {\"x\": 0.5}}   {\"op\": \"best\"}   {\"op\": \"trials\"}   {\"op\": \"quit\"}\n\n"
    "The end of the input ends the session. Trials that were not told are then lost, and a later ask begins them again.\n";

constexpr const char* standard_wait = "10min";  // as long as a run waits

int serve(const std::string& store_wait) {
    constexpr int idle_ms = 1000;
    const auto most = require_timeout("--store-wait", store_wait);
    watch_interrupts();
    const store::PatienceOptions patience{
        .busy_timeout = most,
        .failure_timeout = most,
        .tell = [](const std::string& text) { std::cerr << "hpo-tune: note: " << tools::on_one_line(text) << std::endl; },
        .gives_up = was_interrupted};
    Server server{[&](const std::string& address) -> std::unique_ptr<Store> { return std::make_unique<store::Sqlite>(address, patience); }};
    RequestLines lines{0};
    RequestLines::Line line;
    while (!server.has_quit() && !was_interrupted()) {
        const auto state = lines.next(line, idle_ms);
        if (state == RequestLines::State::end) break;
        server.heartbeat();
        if (state == RequestLines::State::nothing_yet) continue;
        std::cout << (line.is_too_long ? Server::answer_to_long_line(RequestLines::longest_line) : server.answer(line.text)) << std::endl;
        if (!std::cout) break;  // nobody reads the answers any more
    }
    server.close(was_interrupted() ? tuner::LeftOpen::stopped : tuner::LeftOpen::caller_gone);
    return was_interrupted() ? exit_code(Errc::interrupted) : 0;
}

}  // namespace

void add_serve(tools::CommandLine& line) {
    auto* command = line.add("serve", "Ask and tell for other programs: JSON lines on standard input and output");
    auto store_wait = std::make_shared<std::string>(standard_wait);
    command->add_option("--store-wait", *store_wait, "how long a request waits for a store that is locked, or whose disk is full or fails")
        ->type_name("DURATION")
        ->default_str(standard_wait)
        ->check(not_empty("DURATION"));
    command->footer(std::string{protocol} + exit_codes);
    line.on(command, [store_wait] { return serve(*store_wait); });
}

}  // namespace hpo::tune
