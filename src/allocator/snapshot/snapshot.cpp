// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "allocator/snapshot/pickle.hpp"
#include "allocator/snapshot/snapshot_builder.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

bool Snapshot::has_history() const {
    return std::ranges::any_of(history, [](const std::vector<Event>& events) { return !events.empty(); });
}

std::span<const Event> Snapshot::events_of(int device) const {
    const auto number = static_cast<std::size_t>(device);
    return number < history.size() ? std::span<const Event>{history[number]} : std::span<const Event>{};
}

std::vector<int> Snapshot::devices() const {
    std::set<int> found;
    for (const Segment& each : segments) found.insert(each.device);
    for (std::size_t i = 0; i < history.size(); ++i) {
        if (!history[i].empty()) found.insert(static_cast<int>(i));
    }
    return {found.begin(), found.end()};
}

Snapshot decode_snapshot(EncodedSnapshot encoded) {
    const PickledData data = PickleReader{{std::move(encoded.bytes), encoded.place}}.read();
    return SnapshotBuilder{data, std::move(encoded.place)}.build();
}

bool begins_as_pickle(const std::filesystem::path& file) {
    std::array<char, 2> begin{};
    std::ifstream input{file, std::ios::binary};
    return input.read(begin.data(), begin.size()) && begin[0] == '\x80' && begin[1] >= 2 && begin[1] < 32;
}

Snapshot read_snapshot(const std::filesystem::path& file) {
    std::error_code failed;
    if (std::filesystem::is_directory(file, failed)) throw Error{Errc::bad_value, file.string() + ": a folder; expected a memory snapshot"};
    std::ifstream input{file, std::ios::binary};
    if (!input) throw Error{Errc::bad_value, file.string() + ": cannot be read: there is no such file, or no permission"};
    std::string bytes;
    if (const auto size = std::filesystem::file_size(file, failed); !failed) bytes.reserve(size);
    std::array<char, std::size_t{1} << 16U> part{};
    while (input.read(part.data(), part.size()) || input.gcount() > 0) {
        bytes.append(part.data(), static_cast<std::size_t>(input.gcount()));
        // What is no pickle is not read to its end, however long it is.
        if (bytes.size() == static_cast<std::size_t>(input.gcount()) && bytes.front() != '\x80') break;
    }
    if (input.bad()) throw Error{Errc::bad_value, file.string() + ": cannot be read"};
    return decode_snapshot({std::move(bytes), file.string()});
}

}  // namespace hpo::allocator
