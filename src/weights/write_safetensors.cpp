// SPDX-License-Identifier: MIT
#include "weights/write_safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/new_file.hpp"
#include "hpo/weights/safetensors.hpp"

namespace hpo::weights {

void write_safetensors(const std::filesystem::path& file, const TensorMap& tensors, const Metadata& metadata) {
    using nlohmann::json;
    const auto refuse = [&](const std::string& what) { return Error{Errc::bad_value, file.string() + ": " + what}; };
    std::vector<const TensorMap::value_type*> order;
    for (const auto& each : tensors) {
        const auto& [name, tensor] = each;
        if (name == "__metadata__") throw refuse("tensor '__metadata__': the name is reserved");
        if (stored_bytes(tensor.dtype, tensor.shape) != tensor.bytes.size()) {
            throw refuse(tensor_text(name) + ": " + std::to_string(tensor.bytes.size()) + " bytes for " +
                         std::string{entry(tensor.dtype).name} + " of shape " + shape_text(tensor.shape));
        }
        order.push_back(&each);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return entry(a->second.dtype).bits > entry(b->second.dtype).bits; });
    json header = json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::uint64_t end = 0;
    for (const auto* each : order) {
        const Tensor& tensor = each->second;
        const std::uint64_t begin = std::exchange(end, end + tensor.bytes.size());
        header[each->first] = {{"dtype", entry(tensor.dtype).name}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    }
    std::string text;
    try {
        text = header.dump();
    } catch (const json::exception&) {
        throw refuse("a tensor's name or a remark of the metadata is not UTF-8");
    }
    text.append((8 - text.size() % 8) % 8, ' ');
    if (text.size() > largest_header_bytes) throw refuse("a header of " + std::to_string(text.size()) + " bytes is too long");
    std::array<std::byte, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i) & 0xff);

    NewFile output{file};
    output.write(length);
    output.write(std::as_bytes(std::span{text}));
    for (const auto* each : order) output.write(each->second.bytes);
    output.commit();
}

}  // namespace hpo::weights
