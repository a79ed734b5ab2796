// SPDX-License-Identifier: MIT
//
// Whatever a program sends to `hpo-tune serve`, each line has one answer: a JSON object on one line with "ok", and an error if that is
// false. No line ends the session or a trial that it does not name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hpo/store/in_memory.hpp"
#include "tune/serve/server.hpp"

namespace {

[[noreturn]] void wrong(const std::string& what) {
    std::cerr << "serve_fuzz: " << what << '\n';
    std::abort();
}

nlohmann::json answered(hpo::tune::Server& server, std::string_view line) {
    const std::string answer = server.answer(line);
    if (answer.find('\n') != std::string::npos) wrong("an answer of several lines");
    const auto json = nlohmann::json::parse(answer, nullptr, false);
    if (!json.is_object() || !json.contains("ok") || !json["ok"].is_boolean()) wrong("an answer without ok: " + answer);
    if (!json["ok"].get<bool>() && (!json.contains("error") || json["error"].get<std::string>().empty())) wrong("an error without words");
    return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text{reinterpret_cast<const char*>(data), size};
    hpo::tune::Server server{[](const std::string& /*address*/) { return std::make_unique<hpo::store::InMemory>(); }};
    (void)answered(server, R"({"op": "create_study", "study": "kept"})");
    (void)answered(server, R"({"op": "ask", "study": "kept"})");
    while (!text.empty() && !server.has_quit()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (line.find("kept") == std::string_view::npos) (void)answered(server, line);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    if (!server.has_quit()) {
        const auto told = answered(server, R"({"op": "tell", "study": "kept", "trial": 0, "state": "fail"})");
        const auto state = answered(server, R"({"op": "trials", "study": "kept"})")["trials"][0]["state"];
        if (state != "fail" && state != "complete" && state != "pruned") wrong("a trial was lost: " + told.dump());
    }
    server.close(hpo::tuner::LeftOpen::caller_gone);
    return 0;
}
