// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "hpo/worker/line_buffer.hpp"
#include "hpo/worker/log_file.hpp"
#include "hpo/worker/process.hpp"
#include "hpo/worker/protocol.hpp"

namespace hpo::worker {

/// One worker process as its supervisor has it: process, socket, output. Everything happens inside the event loop.
class RemoteWorker : public std::enable_shared_from_this<RemoteWorker> {
public:
    /// Told what the worker does. `on_gone` comes once, last, when the process is reaped.
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void on_event(RemoteWorker& worker, Event event) = 0;
        virtual void on_gone(RemoteWorker& worker, const ProcessExit& exit) = 0;
    };
    /// From a request to end until SIGTERM, and from there until SIGKILL.
    struct Patience {
        std::chrono::milliseconds until_term;
        std::chrono::milliseconds until_kill;
    };

    /// Throws Error{plugin} when the process cannot be started.
    static std::shared_ptr<RemoteWorker> start(boost::asio::io_context& loop, Listener& listener, ProcessSpec spec,
                                               const std::filesystem::path& log_path);

    [[nodiscard]] std::int64_t pid() const noexcept { return process_.pid(); }
    [[nodiscard]] LogFile& log() noexcept { return log_; }
    /// Why it was ended, or what it said before it left; empty when it ended by itself.
    [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
    /// True once a signal of ours was on its way.
    [[nodiscard]] bool was_signalled() const noexcept { return signalled_; }

    void send(const Request& request) {
        out_ += message_line(request);
        flush();
    }

    /// Ends the process if it has not ended by itself by then; begins once.
    void hurry(Patience patience);
    /// Withdraws `hurry`: the worker has obeyed.
    void calm();
    /// Ends the process for this reason unless `heard` comes by then.
    void expect(std::chrono::milliseconds by_then, std::string complaint);
    /// Withdraws `expect`.
    void heard() {
        if (!hurried_) calm();
    }
    /// Ends the process now for a reason; on_gone follows.
    void end(std::string complaint) {
        if (complaint_.empty()) complaint_ = std::move(complaint);
        signal(SIGKILL);
    }
    /// Ends the process and waits until it is gone; its listener hears nothing any more.
    void dismiss();

private:
    RemoteWorker(boost::asio::io_context& loop, Listener& listener, Process process, LogFile log, Descriptor socket);

    void watch();
    void listen();

    /// Takes in what has arrived; false once the worker's end is closed or what it says is not understood.
    bool receive();

    void flush();

    void leave();
    void close();
    void signal(int number) {
        signalled_ = true;
        process_.signal(number);
    }
    /// Replaces what was to happen later. Whatever is over by now may stand in the loop's queue already, where no cancel
    /// reaches it: it is known by its number.
    template <class F>
    void after(std::chrono::milliseconds delay, F&& action);

    Listener& listener_;
    Process process_;
    LogFile log_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::posix::stream_descriptor death_;
    boost::asio::steady_timer timer_;
    LineBuffer in_;
    std::string out_;
    std::string complaint_;
    std::uint64_t timing_ = 0;  ///< number of what `timer_` is set for
    bool flushing_ = false;
    bool hurried_ = false;
    bool signalled_ = false;
    bool gone_ = false;
};

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/remote_worker_inl.hpp"
#endif
