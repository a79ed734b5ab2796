// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "support/command.hpp"

namespace hpo::test {

using Json = nlohmann::json;

/// `hpo-tune serve` with pipes for its requests and answers, in the folder of `workshop`.
class ServeSession {
public:
    explicit ServeSession(const Workshop& workshop) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error{"pipe failed"};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        posix_spawn_file_actions_addopen(&actions, 2, workshop.path(".error").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        posix_spawn_file_actions_addchdir_np(&actions, workshop.path().c_str());
        std::string program = tool("hpo-tune");
        std::string command = "serve";
        std::array<char*, 3> words{program.data(), command.data(), nullptr};
        const int failed = posix_spawn(&pid_, program.c_str(), &actions, nullptr, words.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        requests_ = in[1];
        answers_ = out[0];
        if (failed != 0) throw std::runtime_error{"cannot start " + program};
        ::signal(SIGPIPE, SIG_IGN);  // a session that ended early is seen by its missing answer
    }
    ServeSession(const ServeSession&) = delete;
    ServeSession& operator=(const ServeSession&) = delete;
    ~ServeSession() {
        if (pid_ > 0) (void)kill();
        close_answers();
    }

    void send(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t written = ::write(requests_, bytes.data(), bytes.size());
            if (written < 0) throw std::runtime_error{"the session does not read any more"};
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    /// The next answer. Throws if the session has ended.
    [[nodiscard]] Json receive() {
        std::size_t end = 0;
        while ((end = pending_.find('\n')) == std::string::npos) {
            std::array<char, 65536> bytes{};
            const ssize_t size = ::read(answers_, bytes.data(), bytes.size());
            if (size <= 0) throw std::runtime_error{"no answer any more"};
            pending_.append(bytes.data(), static_cast<std::size_t>(size));
        }
        const std::string line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return Json::parse(line);
    }
    Json operator()(const std::string& request) {
        send(request + "\n");
        return receive();
    }
    Json operator()(const char* request) { return (*this)(std::string{request}); }
    Json operator()(const Json& request) { return (*this)(request.dump()); }
    /// The error of a request that must be refused.
    [[nodiscard]] std::string error(const std::string& request) {
        const Json answer = (*this)(request);
        if (answer.at("ok").get<bool>()) return "accepted: " + answer.dump();
        return answer.at("error").get<std::string>();
    }

    /// Ends the input and returns the exit status.
    int end() {
        close_requests();
        return wait();
    }
    int quit() {
        (void)(*this)(R"({"op": "quit"})");
        return wait();
    }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    int kill(int signal = SIGKILL) {
        ::kill(pid_, signal);
        return wait();
    }
    void close_answers() {
        if (answers_ >= 0) ::close(std::exchange(answers_, -1));
    }

private:
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        close_requests();
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    void close_requests() {
        if (requests_ >= 0) ::close(std::exchange(requests_, -1));
    }

    pid_t pid_ = -1;
    int requests_ = -1;
    int answers_ = -1;
    std::string pending_;
};

/// Distributions as requests write them.
[[nodiscard]] inline Json real(double low, double high) {
    return {{"name", "FloatDistribution"}, {"attributes", {{"low", low}, {"high", high}, {"log", false}, {"step", nullptr}}}};
}
[[nodiscard]] inline Json whole(int low, int high) {
    return {{"name", "IntDistribution"}, {"attributes", {{"low", low}, {"high", high}, {"log", false}, {"step", 1}}}};
}
[[nodiscard]] inline Json one_of(Json choices) {
    return {{"name", "CategoricalDistribution"}, {"attributes", {{"choices", std::move(choices)}}}};
}

}  // namespace hpo::test
