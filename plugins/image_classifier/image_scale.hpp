// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/trainer/json_codec.hpp"
#include "image_data.hpp"

namespace hpo::image_classifier {

/// The file of a saved model that holds the scale of its training pixels. Other images are scaled in the same way.
inline constexpr const char* scale_file = "pixel_scale.json";

/// Throws Error if the file cannot be written.
inline void write_scale(const PixelScale& scale, const std::filesystem::path& folder) {
    const std::string file = (folder / scale_file).string();
    std::ofstream out{file};
    out << hpo::record_line(scale) << "\n";
    if (!out.flush()) throw hpo::Error{hpo::Errc::store, file + ": cannot be written"};
}

/// Throws Error with the file's name.
[[nodiscard]] inline PixelScale read_scale(const std::filesystem::path& folder) {
    const std::string file = (folder / scale_file).string();
    std::ifstream in{file};
    if (!in) throw hpo::Error{hpo::Errc::bad_value, file + ": cannot be read; expected the scale of a saved model's pixels"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const auto scale = hpo::read_record<PixelScale>(text, file);
    if (!(scale.deviation > 0)) throw hpo::bad_value(file + ": deviation", hpo::number_text(scale.deviation), "a number above 0");
    return scale;
}

}  // namespace hpo::image_classifier
