// SPDX-License-Identifier: MIT
#include "hpo/weights/weights.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::weights {

Weights Weights::open(const std::filesystem::path& path) {
    if (!std::filesystem::is_directory(path)) return path.extension() == ".json" ? Weights::sharded(path) : Weights::single(path);
    if (const auto file = path / "model.safetensors"; std::filesystem::exists(file)) return Weights::single(file);
    if (const auto index = path / "model.safetensors.index.json"; std::filesystem::exists(index)) return Weights::sharded(index);
    const bool pickled = std::filesystem::exists(path / "pytorch_model.bin");
    throw Error{Errc::bad_value, path.string() + ": no weights; expected model.safetensors or model.safetensors.index.json" +
                                     (pickled ? " (pytorch_model.bin is not read: convert it)" : "")};
}

const Tensor& Weights::at(std::string_view name) const {
    if (const Tensor* tensor = find(name)) return *tensor;
    throw Error{Errc::unknown_name, place_ + ": no " + tensor_text(name) + " among its " + std::to_string(tensors_.size())};
}

Weights Weights::single(const std::filesystem::path& file) {
    Weights weights{file};
    SafetensorsContent content = weights.add(file);
    weights.tensors_ = std::move(content.tensors);
    return weights;
}

Weights Weights::sharded(const std::filesystem::path& index) {
    Weights weights{index};
    for (const auto& [shard, names] : read_index(index)) {
        const std::filesystem::path file = index.parent_path() / shard;
        if (!std::filesystem::is_regular_file(file)) {
            throw Error{Errc::bad_value,
                        index.string() + ": weight_map: " + tensor_text(names.front()) + " is in '" + shown(shard) + "', which is missing"};
        }
        SafetensorsContent content = weights.add(file);
        for (const std::string& name : names) {
            auto node = content.tensors.extract(name);
            if (node.empty())
                throw Error{Errc::bad_value, file.string() + ": lacks " + tensor_text(name) + " that " + index.string() + " promises"};
            weights.tensors_.insert(std::move(node));
        }
        if (!content.tensors.empty()) {
            throw Error{Errc::bad_value, file.string() + ": has " + tensor_text(content.tensors.begin()->first) + ", which " +
                                             index.string() + " does not place there"};
        }
    }
    return weights;
}

std::map<std::string, std::vector<std::string>> Weights::read_index(const std::filesystem::path& index) {
    using nlohmann::json;
    const auto refuse = [&](const std::string& what) { return Error{Errc::bad_value, index.string() + ": " + what}; };
    const MappedFile file{index};
    const auto bytes = file.bytes();
    const json document = detail::parse_strictly({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, index.string());
    const auto map = document.is_object() ? document.find("weight_map") : document.end();
    if (map == document.end() || !map->is_object() || map->empty())
        throw refuse("weight_map: expected an object of tensors and their files");
    std::map<std::string, std::vector<std::string>> shards;
    for (const auto& [name, target] : map->items()) {
        if (!target.is_string()) throw refuse("weight_map: " + tensor_text(name) + ": expected a file's name");
        const std::filesystem::path shard = target.get<std::string>();
        if (shard.empty() || shard != shard.filename() || shard == "..") {
            throw refuse("weight_map: " + tensor_text(name) + ": '" + shown(shard.string()) +
                         "'; expected the name of a file beside the index");
        }
        shards[shard.string()].push_back(name);
    }
    return shards;
}

SafetensorsContent Weights::add(const std::filesystem::path& file) {
    SafetensorsContent content = read_safetensors(files_.emplace_back(file).bytes(), file.string());
    metadata_.merge(content.metadata);
    return content;
}

}  // namespace hpo::weights
