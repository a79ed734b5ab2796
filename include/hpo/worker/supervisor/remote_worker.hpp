// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "hpo/worker/line_buffer.hpp"
#include "hpo/worker/protocol.hpp"
#include "hpo/worker/supervisor/event_loop.hpp"
#include "hpo/worker/supervisor/log_file.hpp"
#include "hpo/worker/supervisor/process.hpp"

namespace hpo::worker {

/// The supervisor's side of one worker: its process, socket and output. Everything happens inside the event loop.
class RemoteWorker : public std::enable_shared_from_this<RemoteWorker> {
public:
    /// Receives what the worker does. `on_gone` comes once and last, when the process is reaped.
    class Listener {
    public:
        virtual ~Listener() = default;
        virtual void on_event(RemoteWorker& worker, Event event) = 0;
        virtual void on_gone(RemoteWorker& worker, const ProcessExit& exit) = 0;
    };
    /// The time from a request to end until SIGTERM, and from SIGTERM until SIGKILL.
    struct Patience {
        std::chrono::milliseconds until_term;
        std::chrono::milliseconds until_kill;
    };

    /// Throws Error{plugin} if the process cannot be started.
    static std::shared_ptr<RemoteWorker> start(EventLoop& loop, Listener& listener, ProcessSpec spec,
                                               const std::filesystem::path& log_path);

    [[nodiscard]] std::int64_t pid() const noexcept { return process_.pid(); }
    [[nodiscard]] LogFile& log() noexcept { return log_; }
    /// Why it was ended, or what it said before it ended. Empty if it ended by itself.
    [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
    /// True once the supervisor has sent it a signal.
    [[nodiscard]] bool was_signalled() const noexcept { return signalled_; }

    void send(const Request& request) {
        out_ += message_line(request);
        flush();
    }

    /// Ends the process if it neither ends nor obeys in time. A second call does nothing.
    void hurry(Patience patience);
    /// Withdraws `hurry`: the worker has obeyed.
    void calm();
    /// Ends the process for this reason, unless `heard` is called in time.
    void expect(std::chrono::milliseconds by_then, std::string complaint);
    /// Withdraws `expect`.
    void heard() {
        if (!hurried_) calm();
    }
    /// Ends the process now for this reason. on_gone follows.
    void end(std::string complaint) {
        if (complaint_.empty()) complaint_ = std::move(complaint);
        signal(SIGKILL);
    }
    /// Ends the process and waits until it is gone. The listener is no longer called.
    void dismiss();

private:
    RemoteWorker(EventLoop& loop, Listener& listener, Process process, LogFile log, Descriptor socket);

    void watch();
    void listen();

    /// Reads what has arrived. Returns false once the worker's end is closed, or if a message cannot be read.
    bool receive();

    void flush();

    /// Tells the listener how the process ended.
    void leave();
    /// Calls `leave` a little later. A process that another one traces, such as a debugger, can be reaped only once the tracer lets go of
    /// it or ends. death_ tells of the end before, and only once.
    void look_again();
    void close();
    void signal(int number) {
        signalled_ = true;
        process_.signal(number);
    }

    Listener& listener_;
    Process process_;
    LogFile log_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::posix::stream_descriptor death_;
    EventLoop::Timer timer_;
    boost::asio::steady_timer traced_;  ///< of look_again
    LineBuffer in_;
    std::string out_;
    std::string complaint_;
    bool flushing_ = false;
    bool hurried_ = false;
    bool signalled_ = false;
    bool gone_ = false;
};

}  // namespace hpo::worker
