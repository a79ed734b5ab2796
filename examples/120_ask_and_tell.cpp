// SPDX-License-Identifier: MIT
// Asks `hpo-tune serve` for trials. It links nothing of hpo. Its argument is the program hpo-tune.
#include <err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) err(1, "socketpair");
    if (fork() == 0) dup2(ends[1], 0), dup2(ends[1], 1), execlp(argc > 1 ? argv[1] : "hpo-tune", "", "serve", nullptr), err(127, "exec");
    close(ends[1]);
    const auto call = [server = ends[0]](const nlohmann::json& request) {
        dprintf(server, "%s\n", request.dump().c_str());
        std::string line;
        for (char c = 0; read(server, &c, 1) == 1 && c != '\n';) line += c;
        const auto answer = nlohmann::json::parse(line.empty() ? R"({"ok": false, "error": "hpo-tune has ended"})" : line);
        return answer["ok"] ? answer : (errx(1, "%s", answer["error"].dump().c_str()), answer);
    };
    call({{"op", "create_study"}, {"study", "parabola"}, {"sampler", {{"name", "tpe"}, {"seed", 1}}}});
    const nlohmann::json axis{{"name", "FloatDistribution"}, {"attributes", {{"low", -5}, {"high", 5}}}};
    for (int i = 0; i < 100; ++i) {
        const auto asked = call({{"op", "ask"}, {"space", {{"x", axis}, {"y", axis}}}});
        const double x = asked["params"]["x"], y = asked["params"]["y"];
        call({{"op", "tell"}, {"trial", asked["trial"]}, {"state", "complete"}, {"values", {(x - 1) * (x - 1) + (y + 2) * (y + 2)}}});
    }
    std::printf("best %.2f\n", call({{"op", "best"}})["best"][0]["values"][0].get<double>());
}
