// SPDX-License-Identifier: MIT
#include "hpo/worker/supervisor/remote_worker.hpp"

#include <sys/socket.h>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace hpo::worker {

std::shared_ptr<RemoteWorker> RemoteWorker::start(EventLoop& loop, Listener& listener, ProcessSpec spec,
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

void RemoteWorker::hurry(Patience patience) {
    if (hurried_) return;
    hurried_ = true;
    timer_.set(patience.until_term, [this, patience] {
        signal(SIGTERM);
        timer_.set(patience.until_kill, [this] { signal(SIGKILL); });
    });
}

void RemoteWorker::calm() {
    hurried_ = false;
    timer_.cancel();
}

void RemoteWorker::expect(std::chrono::milliseconds by_then, std::string complaint) {
    timer_.set(by_then, [this, complaint = std::move(complaint)] { end(complaint); });
}

void RemoteWorker::dismiss() {
    close();
    process_.signal(SIGKILL);
    process_.wait();
}

RemoteWorker::RemoteWorker(EventLoop& loop, Listener& listener, Process process, LogFile log, Descriptor socket)
    : listener_{listener},
      process_{std::move(process)},
      log_{std::move(log)},
      socket_{loop.context(), socket.release()},
      death_{loop.context(), ::fcntl(process_.handle(), F_DUPFD_CLOEXEC, 0)},
      timer_{loop},
      traced_{loop.context()} {}

void RemoteWorker::watch() {
    death_.async_wait(death_.wait_read, [self = shared_from_this()](boost::system::error_code error) {
        if (!error && !self->gone_) self->leave();
    });
    listen();
}

void RemoteWorker::listen() {
    socket_.async_wait(socket_.wait_read, [self = shared_from_this()](boost::system::error_code error) {
        if (error || self->gone_) return;
        if (self->receive()) self->listen();
    });
}

bool RemoteWorker::receive() {
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t got = ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return true;
        if (got <= 0) {
            // Usually the process is ending, and death_ will tell how. If it goes on without its socket, it is of no use.
            timer_.set(std::chrono::seconds{1}, [this] { end("the worker closed its socket and went on"); });
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
            end(std::string{"the worker sent a message that cannot be read: "} + error.what());
            return false;
        }
    }
}

void RemoteWorker::flush() {
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
        if (sent < 0) out_.clear();  // the other end is closed; death_ tells of the worker's end
        else out_.erase(0, static_cast<std::size_t>(sent));
    }
}

void RemoteWorker::leave() {
    const auto exit = process_.exit();
    if (!exit) return look_again();
    receive();  // what it said before it ended
    close();
    listener_.on_gone(*this, *exit);
}

void RemoteWorker::look_again() {
    traced_.expires_after(std::chrono::milliseconds{10});
    traced_.async_wait([self = shared_from_this()](boost::system::error_code error) {
        if (!error && !self->gone_) self->leave();
    });
}

void RemoteWorker::close() {
    gone_ = true;
    boost::system::error_code ignored;
    timer_.cancel();
    traced_.cancel();
    socket_.close(ignored);
    death_.close(ignored);
}

}  // namespace hpo::worker
