// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/failure/codes/xid_codes.hpp"

namespace hpo {

/// An Xid that the driver reported.
struct XidReport {
    int code = 0;
    std::string device;               ///< place on the PCI bus, "0000:01:00"
    std::optional<std::int64_t> pid;  ///< of the program whose work met it, if the driver says so
    std::string program;              ///< its name; empty: the driver does not say
    friend bool operator==(const XidReport&, const XidReport&) = default;
};

/// Reads the kernel's line "NVRM: Xid (PCI:0000:01:00): 79, pid=712, name=python, ..." in all its forms. Returns nullopt for other lines.
[[nodiscard]] std::optional<XidReport> xid_report_in(std::string_view line);

/// "Xid 79: the device has fallen off the bus (restart the machine)". A number that xid_codes does not have stands alone.
[[nodiscard]] std::string describe_xid(int code);

/// The Xid that a text of ours or a line of the kernel tells and that reports a failure, or null. Of several in a text, one that means a
/// broken device counts, else the first.
[[nodiscard]] const XidCode* failing_xid_in(std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/codes/impl/xid_message_inl.hpp"
#endif
