// SPDX-License-Identifier: MIT
#pragma once

#include <zlib.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/dataset/text_table.hpp"
#include "support/temporary_directory.hpp"

namespace hpo::tests {

/// A directory of a test's own, with files of given contents.
class Files {
public:
    std::string write(const std::string& name, std::string_view content) const {
        std::ofstream{directory_.file(name), std::ios::binary} << content;
        return directory_.file(name);
    }
    std::string write_gzip(const std::string& name, std::string_view content) const {
        gzFile stream = gzopen(directory_.file(name).c_str(), "wb");
        gzwrite(stream, content.data(), static_cast<unsigned>(content.size()));
        gzclose(stream);
        return directory_.file(name);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

private:
    TemporaryDirectory directory_;
};

/// "text|label" for each row.
inline std::vector<std::string> rows_of(const dataset::TextTable& table) {
    std::vector<std::string> rows;
    for (std::int64_t row = 0; row < table.rows(); ++row) rows.push_back(std::string{table.text(row)} + "|" + table.label(row));
    return rows;
}

}  // namespace hpo::tests
