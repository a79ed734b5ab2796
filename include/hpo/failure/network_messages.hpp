// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

/// Messages about a network, or a file system on it, that was away. Each may be gone a minute later. Lines of libraries in which processes
/// of one training talk to each other (NCCL, Gloo, c10d, MPI) do not belong here: there, the other process is what failed.
inline constexpr auto network_messages = std::to_array<MessageFamily>({
    {.name = "a network file system that was away",
     .kind = FailureKind::environment,
     .any = {"stale file handle", "stale nfs file handle", "transport endpoint is not connected", ": host is down",
             "[errno 112] host is down", "remote i/o error", "communication error on send"},
     .recurrence = Recurrence::transient},
    {.name = "no network",
     .kind = FailureKind::environment,
     .any = {"connect to 'https://huggingface.co'", "max retries exceeded with url", "temporary failure in name resolution",
             "name or service not known", "unable to resolve host", "could not resolve host", "network is unreachable", "no route to host",
             "could not connect to the endpoint url", "failed to connect to all addresses", "cannot connect to host "},
     .none = {"wandb: ", "nccl", "gloo", "c10d", "tcpstore", "mpi"},
     .recurrence = Recurrence::transient},
    {.name = "a server that refused",
     .kind = FailureKind::environment,
     .any = {": connection refused", "] connection refused", "=connection refused", ". connection refused", "~connectionrefusederror",
             "couldn't connect to server", "could not connect to server"},
     .none = {"wandb: ", "nccl", "gloo", "c10d", "tcpstore", "mpi"},
     .recurrence = Recurrence::transient},
    {.name = "a connection that broke",
     .kind = FailureKind::environment,
     .any = {"~connectionreseterror",
             "recv failure: ",
             "send failure: ",
             "curl: (18) ",
             "curl: (35) ",
             "curl: (52) ",
             "curl: (55) ",
             "curl: (56) ",
             "empty reply from server",
             "remote end closed connection without response",
             "~serverdisconnectederror",
             "~incompleteread: ",
             "ssl.ssleoferror: ",
             "eof occurred in violation of protocol",
             "^read: connection reset by peer",
             ": read: connection reset by peer",
             "connection closed by remote host",
             "kex_exchange_identification: ",
             "the remote end hung up unexpectedly",
             "rsync: connection unexpectedly closed"},
     .none = {"wandb: ", "nccl", "gloo", "c10d", "tcpstore", "mpi"},
     .recurrence = Recurrence::transient},
    {.name = "a server that was too busy",
     .kind = FailureKind::environment,
     .any = {"too many requests for url", "bad gateway for url", "service unavailable for url", "service temporarily unavailable for url",
             "gateway time-out for url", "gateway timeout for url", "internal server error for url", "http error 429", "http error 500",
             "http error 502", "http error 503", "http error 504", "returned error: 429", "returned error: 500", "returned error: 502",
             "returned error: 503", "returned error: 504", "error 503: service unavailable", "error 502: bad gateway"},
     .none = {"wandb: "},
     .recurrence = Recurrence::transient},
});

/// Messages about an answer that a network did not give in time. They are tried before those about a program's own time limit, which use
/// the same words.
inline constexpr auto network_time_messages = std::to_array<MessageFamily>({
    {.name = "an answer that did not come",
     .kind = FailureKind::environment,
     .any = {"read timed out. (read timeout=", "~readtimeout: ", "~readtimeouterror", "~connecttimeout: ", "~connecttimeouterror",
             "read timeout on endpoint url", "connect timeout on endpoint url", "curl: (28) ", "[errno 110]", "urlopen error timed out",
             ": connection timed out", "(connection timed out)", "=connection timed out", "the read operation timed out",
             "the handshake operation timed out"},
     .none = {"wandb: ", "nccl", "gloo", "c10d", "tcpstore", "mpi"},
     .recurrence = Recurrence::transient},
});

}  // namespace hpo
