// SPDX-License-Identifier: MIT
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>

namespace hpo::worker {

/// An event loop for the workers of one pool, or of several pools whose owner waits for all of them. While one pool waits, the workers of
/// the others are heard, too.
struct EventLoop {
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{context.get_executor()};
    std::size_t undelivered = 0;  ///< events of all its pools that Pool::wait has not delivered yet
};

}  // namespace hpo::worker
