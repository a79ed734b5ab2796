// SPDX-License-Identifier: MIT
// A program that asks `hpo-tune serve` for trials through pipes. It links nothing of hpo. Its argument is the program hpo-tune.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

using Json = nlohmann::json;

int main(int argc, char** argv) {
    const char* const program = argc > 1 ? argv[1] : "hpo-tune";
    int requests[2];
    int answers[2];
    if (pipe(requests) != 0 || pipe(answers) != 0) return 1;
    if (fork() == 0) {
        dup2(requests[0], 0);
        dup2(answers[1], 1);
        for (const int end : {requests[0], requests[1], answers[0], answers[1]}) close(end);
        execlp(program, "hpo-tune", "serve", nullptr);
        _exit(127);
    }
    close(requests[0]);
    close(answers[1]);
    std::FILE* const out = fdopen(requests[1], "w");
    std::FILE* const in = fdopen(answers[0], "r");
    const auto call = [&](const Json& request) {
        std::fprintf(out, "%s\n", request.dump().c_str());
        std::fflush(out);
        std::string line;
        for (int c = 0; (c = std::fgetc(in)) != EOF && c != '\n';) line += static_cast<char>(c);
        const Json answer = line.empty() ? Json{{"ok", false}, {"error", "no answer from hpo-tune"}} : Json::parse(line);
        if (answer["ok"]) return answer;
        std::cerr << answer["error"].get<std::string>() << '\n';
        std::exit(1);
    };

    call({{"op", "create_study"}, {"study", "parabola"}, {"sampler", {{"name", "tpe"}, {"seed", 1}}}});
    const Json axis{{"name", "FloatDistribution"}, {"attributes", {{"low", -5}, {"high", 5}}}};
    for (int i = 0; i < 100; ++i) {
        const Json asked = call({{"op", "ask"}, {"space", {{"x", axis}, {"y", axis}}}});
        const double x = asked["params"]["x"];
        const double y = asked["params"]["y"];
        call({{"op", "tell"}, {"trial", asked["trial"]}, {"state", "complete"}, {"values", {(x - 1) * (x - 1) + (y + 2) * (y + 2)}}});
    }
    const Json best = call({{"op", "best"}})["best"][0];
    std::printf("best %.2f at x = %.1f, y = %.1f\n", best["values"][0].get<double>(), best["params"]["x"].get<double>(),
                best["params"]["y"].get<double>());
    call({{"op", "quit"}});
}
