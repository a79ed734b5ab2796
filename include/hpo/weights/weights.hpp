// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/weights/mapped_file.hpp"
#include "hpo/weights/safetensors.hpp"

namespace hpo::weights {

/// The tensors of a published model: one safetensors file, or shards with an index. The bytes of the tensors live as long as this object.
/// Thread safety: reading from several threads is safe.
class Weights {
public:
    /// Opens `model.safetensors`, `model.safetensors.index.json`, or a folder that has one of them. If it has both, it takes the single
    /// file. Throws Error that names the file and the tensor or field.
    [[nodiscard]] static Weights open(const std::filesystem::path& path);

    [[nodiscard]] const TensorMap& tensors() const noexcept { return tensors_; }
    /// The metadata of all files together. If two files disagree, the first one by file name counts.
    [[nodiscard]] const Metadata& metadata() const noexcept { return metadata_; }
    /// The file or index, for errors.
    [[nodiscard]] const std::string& place() const noexcept { return place_; }
    [[nodiscard]] const Tensor* find(std::string_view name) const {
        const auto found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : &found->second;
    }
    /// The tensor of this name. Throws Error that names the file if there is none.
    [[nodiscard]] const Tensor& at(std::string_view name) const;

private:
    explicit Weights(const std::filesystem::path& place) : place_{place.string()} {}

    [[nodiscard]] static Weights single(const std::filesystem::path& file);

    [[nodiscard]] static Weights sharded(const std::filesystem::path& index);

    /// For each shard, the names of its tensors.
    [[nodiscard]] static std::map<std::string, std::vector<std::string>> read_index(const std::filesystem::path& index);

    [[nodiscard]] SafetensorsContent add(const std::filesystem::path& file);

    std::string place_;
    std::vector<MappedFile> files_;
    TensorMap tensors_;
    Metadata metadata_;
};

}  // namespace hpo::weights
