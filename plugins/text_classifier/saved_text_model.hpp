// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/dataset/label_table.hpp"
#include "hpo/text/json_file.hpp"
#include "hpo/text/stored/write_model_folder.hpp"
#include "hpo/trainer/json_codec.hpp"
#include "text_data.hpp"

namespace hpo::text_classifier {

/// The file of a saved model that holds the names of its classes, in the order of its logits.
inline constexpr const char* labels_file = "labels.json";

/// Writes everything of a model folder except the weights into `to`: config.json, the tokenizer's files, labels. `from` is the folder of
/// the model that was fine-tuned. It is empty if the training began with random weights.
inline void write_text_model(const PreparedTexts& texts, const hpo::text::EncoderConfig& config, const hpo::text::ModelFolders& folders) {
    if (folders.from.empty()) {
        hpo::text::write_bert_config(config, folders.to);
        hpo::text::write_word_pieces(texts.tokenizer, folders.to);
    } else {
        hpo::text::copy_model_files(folders);
    }
    hpo::text::write_text_file(folders.to / labels_file, hpo::json_line({{"labels", texts.labels.names()}}) + "\n");
}

/// Throws Error with the file's name.
[[nodiscard]] inline hpo::dataset::LabelTable read_labels(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / labels_file;
    const hpo::Json document = hpo::text::read_json_file(file);
    if (!document.contains("labels")) throw hpo::bad_value(file.string() + ": labels", "nothing", "the names of the model's classes");
    return {hpo::decoded<std::vector<std::string>>(document["labels"], file.string() + ": labels"), file.string()};
}

}  // namespace hpo::text_classifier
