// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "hpo/registry/builtins.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/ask_tell.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/json.hpp"
#include "tune/serve/request.hpp"

namespace hpo::tune {

/// Answers the requests of one program: several studies, each with its store, its policies and its open trials (docs/serve.md).
class Server {
public:
    /// Opens the store of an address, for a study that is not kept in memory.
    using OpenStore = std::function<std::unique_ptr<Store>(const std::string& address)>;

    explicit Server(OpenStore open_store) : open_store_{std::move(open_store)} {}

    /// The answer to one request, one line of JSON without its end. What is wrong with a request is in the answer.
    [[nodiscard]] std::string answer(std::string_view line);
    /// The answer to a line that was longer than `most_bytes`.
    [[nodiscard]] static std::string answer_to_long_line(std::size_t most_bytes);
    /// True after a request to quit.
    [[nodiscard]] bool has_quit() const noexcept { return has_quit_; }
    /// Says that this process is alive. Call it every few seconds. A store that cannot be written now is asked again with the next request.
    void heartbeat();
    /// Ends all open trials as lost. If a store's file was removed or replaced, what it held is saved to a new file. Throws
    /// Error{Errc::store} that names this file, and if a store fails.
    void close(tuner::LeftOpen why);

private:
    using AskTell = tuner::AskTell<registry::AnySampler, registry::AnyPruner>;
    /// `asks` uses `store`.
    struct Served {
        std::unique_ptr<Store> store;
        std::unique_ptr<AskTell> asks;
    };

    [[nodiscard]] tools::Json do_request(const Request& request);
    [[nodiscard]] tools::Json create_study(const Request& request);
    [[nodiscard]] tools::Json ask(const Request& request);
    [[nodiscard]] tools::Json suggest(const Request& request);
    [[nodiscard]] tools::Json report(const Request& request);
    [[nodiscard]] tools::Json tell(const Request& request);
    [[nodiscard]] tools::Json enqueue(const Request& request);
    [[nodiscard]] tools::Json best(const Request& request);
    [[nodiscard]] tools::Json trials(const Request& request);
    [[nodiscard]] tools::Json quit(const Request& request);
    /// The study that a request names, or the only one.
    [[nodiscard]] AskTell& study_of(const Request& request);

    OpenStore open_store_;
    registry::Registries registries_ = registry::builtin_registries();
    store::DistributionCache distributions_;
    SilentObserver silent_;
    std::map<std::string, Served, std::less<>> studies_;
    bool has_quit_ = false;
};

}  // namespace hpo::tune
