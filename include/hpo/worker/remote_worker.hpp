// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
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
                                               const std::filesystem::path& log_path) {
        LogFile log{log_path};
        SocketPair sockets = SocketPair::make();
        spec.channel = sockets.theirs.get();
        spec.output = spec.errors = log.descriptor();
        Process process = Process::start(spec);
        std::shared_ptr<RemoteWorker> worker{new RemoteWorker{loop, listener, std::move(process), std::move(log), std::move(sockets.ours)}};
        worker->watch();
        return worker;
    }

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
    void hurry(Patience patience) {
        if (hurried_) return;
        hurried_ = true;
        after(patience.until_term, [this, patience] {
            signal(SIGTERM);
            after(patience.until_kill, [this] { signal(SIGKILL); });
        });
    }
    /// Withdraws `hurry`: the worker has obeyed.
    void calm() {
        hurried_ = false;
        ++timing_;
        timer_.cancel();
    }
    /// Ends the process for this reason unless `heard` comes by then.
    void expect(std::chrono::milliseconds by_then, std::string complaint) {
        after(by_then, [this, complaint = std::move(complaint)] { end(complaint); });
    }
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
    void dismiss() {
        close();
        process_.signal(SIGKILL);
        process_.wait();
    }

private:
    RemoteWorker(boost::asio::io_context& loop, Listener& listener, Process process, LogFile log, Descriptor socket)
        : listener_{listener},
          process_{std::move(process)},
          log_{std::move(log)},
          socket_{loop, socket.release()},
          death_{loop, ::fcntl(process_.handle(), F_DUPFD_CLOEXEC, 0)},
          timer_{loop} {}

    void watch() {
        death_.async_wait(death_.wait_read, [self = shared_from_this()](boost::system::error_code error) {
            if (!error && !self->gone_) self->leave();
        });
        listen();
    }
    void listen() {
        socket_.async_wait(socket_.wait_read, [self = shared_from_this()](boost::system::error_code error) {
            if (error || self->gone_) return;
            if (self->receive()) self->listen();
        });
    }

    /// Takes in what has arrived; false once the worker's end is closed or what it says is not understood.
    bool receive() {
        std::array<char, 65536> bytes;
        for (;;) {
            const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && errno == EAGAIN) return true;
            if (got <= 0) {
                // As a rule the process is ending, and death_ tells how. One that goes on without its socket is of no use.
                after(std::chrono::seconds{1}, [this] { end("the worker closed its socket and went on"); });
                return false;
            }
            try {
                in_.append({bytes.data(), static_cast<std::size_t>(got)});
                while (const auto line = in_.next()) {
                    Event event = parse_message<Event>(*line);
                    if (const auto* refused = std::get_if<Refused>(&event)) {
                        end(refused->what);
                        return false;
                    }
                    listener_.on_event(*this, std::move(event));
                    if (gone_) return false;
                }
            } catch (const Error& error) {
                end(std::string{"the worker said what nobody understands: "} + error.what());
                return false;
            }
        }
    }

    void flush() {
        while (!out_.empty() && !gone_) {
            const ssize_t sent = ::send(socket_.native_handle(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent < 0 && errno == EAGAIN) {
                if (std::exchange(flushing_, true)) return;
                socket_.async_wait(socket_.wait_write, [self = shared_from_this()](boost::system::error_code error) {
                    self->flushing_ = false;
                    if (!error) self->flush();
                });
                return;
            }
            if (sent < 0) out_.clear();  // nobody listens; the worker's end is told by death_
            else out_.erase(0, static_cast<std::size_t>(sent));
        }
    }

    void leave() {
        const auto exit = process_.exit();
        if (!exit) return;
        receive();  // what it said before it ended
        close();
        listener_.on_gone(*this, *exit);
    }
    void close() {
        gone_ = true;
        boost::system::error_code ignored;
        timer_.cancel();
        socket_.close(ignored);
        death_.close(ignored);
    }
    void signal(int number) {
        signalled_ = true;
        process_.signal(number);
    }
    /// Replaces what was to happen later. Whatever is over by now may stand in the loop's queue already, where no cancel
    /// reaches it: it is known by its number.
    template <class F>
    void after(std::chrono::milliseconds delay, F&& action) {
        timer_.expires_after(delay);
        timer_.async_wait(
            [self = shared_from_this(), timing = ++timing_, action = std::forward<F>(action)](boost::system::error_code error) {
                if (!error && !self->gone_ && timing == self->timing_) action();
            });
    }

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
