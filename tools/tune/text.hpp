// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::tune {

/// "0.8312", "1.2e-05": six significant digits.
[[nodiscard]] std::string number(double value);
/// "4.2 s", "3 min 05 s", "2 h 10 min".
[[nodiscard]] std::string duration(double seconds);
/// Rows under a header, columns padded; the last column is not.
[[nodiscard]] std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
/// `text` cut to `width` terminal columns, with "…" when something was lost. Counts code points, not grapheme clusters.
[[nodiscard]] std::string clipped(std::string_view text, std::size_t width);
/// Code points of UTF-8 text.
[[nodiscard]] std::size_t columns(std::string_view text);
/// "[######......]": `share` in 0..1 of `width` cells.
[[nodiscard]] std::string bar(double share, std::size_t width);

}  // namespace hpo::tune
