// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/message_family.hpp"

namespace hpo {

namespace detail {

/// Lines that tell of no outage, whatever else they say. In NCCL, Gloo, c10d and MPI the processes of one training talk to each other, so
/// another process is what failed. Weights & Biases tries again by itself, and the training goes on meanwhile. A server that refuses a
/// certificate, a key or a proxy's user refuses them again.
inline constexpr Phrases no_outage{"nccl warn",
                                   "nccl info",
                                   "nccl error",
                                   "ncclsystemerror",
                                   "ncclremoteerror",
                                   "gloo/",
                                   "c10d",
                                   "tcpstore",
                                   "torch.distributed",
                                   "btl_tcp",
                                   "orte_",
                                   "distnetworkerror",
                                   "distbackenderror",
                                   "wandb: ",
                                   "certificate",
                                   "wrong version number",
                                   "too many 4# error",
                                   "proxy authentication",
                                   "tunnel connection failed: 4#",
                                   "publickey"};

}  // namespace detail

/// Messages about a network, or a file system on it, that was away. Each may be gone a minute later.
inline constexpr auto network_messages = std::to_array<MessageFamily>({
    {.name = "a network file system that was away",
     .kind = FailureKind::environment,
     .any = {"stale file handle", "stale nfs file handle", "transport endpoint is not connected", ": host is down",
             "[errno 112] host is down", "remote i/o error", "communication error on send"},
     .recurrence = Recurrence::transient},
    {.name = "no network",
     .kind = FailureKind::environment,
     .any = {"connect to 'https://huggingface.co'", "max retries exceeded with url", "temporary failure in name resolution",
             "name or service not known", "unable to resolve host", "could not resolve host", ": network is unreachable",
             "] network is unreachable", ": no route to host", "] no route to host", "could not connect to the endpoint url",
             "failed to connect to all addresses", "cannot connect to host ", "an error happened while trying to locate the file",
             "all connection attempts failed", "~apiconnectionerror: ", "java.net.unknownhostexception", "getaddrinfo enotfound",
             "getaddrinfo eai_again"},
     .none = detail::no_outage,
     .recurrence = Recurrence::transient},
    {.name = "a server that refused",
     .kind = FailureKind::environment,
     .any = {": connection refused", "] connection refused", "=connection refused", ". connection refused", "(connection refused)",
             "~connectionrefusederror", "couldn't connect to server", "could not connect to server", "connect econnrefused",
             "kind: connectionrefused", "java.net.connectexception"},
     .none = detail::no_outage,
     .recurrence = Recurrence::transient},
    {.name = "a connection that broke",
     .kind = FailureKind::environment,
     .any = {"~connectionreseterror", "~connectionabortederror", "recv failure: connection", "send failure: connection", "curl: (18) ",
             "curl: (52) ", "empty reply from server", "remote end closed connection without response", "~serverdisconnectederror",
             "~incompleteread: ", "ssl.ssleoferror: ", "eof occurred in violation of protocol", "ssl_error_syscall in connection",
             "^read: connection reset by peer", ": read: connection reset by peer", "kex_exchange_identification: connection closed",
             "~read econnreset", "socket hang up"},
     .none = detail::no_outage,
     .recurrence = Recurrence::transient},
    {.name = "a server's error, with its address",
     .kind = FailureKind::environment,
     .any = {"too many requests for url", "bad gateway for url", "service unavailable for url", "service temporarily unavailable for url",
             "gateway time-out for url", "gateway timeout for url", "internal server error for url", "server error '500 ",
             "server error '502 ", "server error '503 ", "server error '504 ", "client error '429 "},
     .none = detail::no_outage,
     .recurrence = Recurrence::transient},
    {.name = "a server's error, by its number",
     .kind = FailureKind::environment,
     .any = {"http error 429~",
             "http error 500~",
             "http error 502~",
             "http error 503~",
             "http error 504~",
             "returned error: 429$",
             "returned error: 500$",
             "returned error: 502$",
             "returned error: 503$",
             "returned error: 504$",
             "error 429: too many requests",
             "error 500: internal server error",
             "error 502: bad gateway",
             "error 503: service unavailable",
             "error 504: gateway time",
             "~clientresponseerror: 503",
             "~serviceunavailable: 503",
             "~toomanyrequests: ",
             "awaiting response... 504 ",
             "(503) when calling"},
     .none = detail::no_outage,
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
             "the handshake operation timed out", "java.net.sockettimeoutexception", "connect etimedout"},
     .none = detail::no_outage,
     .recurrence = Recurrence::transient},
});

}  // namespace hpo
