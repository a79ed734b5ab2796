// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/text/published_encoders.hpp"
#include "hpo/text/stored/encoder_config.hpp"
#include "hpo/trainer/settings.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::text_classifier {

/// The source of an attempt's encoder.
struct ModelSource {
    std::string folder;  ///< the model's folder; empty if there is none
    bool saved = false;  ///< an earlier attempt wrote the folder, so the model has classes of its own
    /// The sizes of a published model whose folder is missing. Used only for shapes.
    std::optional<hpo::text::EncoderConfig> published;
};

namespace detail {

/// The files that a folder of this model must have, in words.
[[nodiscard]] inline std::string wanted_files(std::string_view model) {
    using Family = hpo::text::EncoderConfig::Family;
    const auto config = hpo::text::published_encoder(model);
    std::string tokenizer = "vocab.txt, or vocab.json and merges.txt, or spm.model, or sentencepiece.bpe.model";
    if (config) {
        tokenizer = config->family == Family::bert                                         ? "vocab.txt"
                    : config->family == Family::roberta && model.find("xlm") != model.npos ? "sentencepiece.bpe.model"
                    : config->family == Family::roberta                                    ? "vocab.json and merges.txt"
                                                                                           : "spm.model";
    }
    return "config.json, model.safetensors (or its shards with their index), " + tokenizer;
}

/// The published model that `model.name` names.
[[nodiscard]] inline ModelSource named_model(const hpo::Settings& settings, bool shapes_only) {
    const std::string& name = settings.text("model.name");
    const std::string& models = settings.text("models");
    const std::filesystem::path folder = std::filesystem::path{models} / name;
    if (!models.empty()) {
        for (const auto& each : {folder, std::filesystem::path{models} / hpo::text::without_organisation(name)}) {
            if (std::filesystem::is_directory(each)) return {.folder = each.string()};
        }
    }
    if (shapes_only) {
        const auto config = hpo::text::published_encoder(name);
        if (!config) throw hpo::unknown_name("model.name", "published model", name, hpo::text::published_encoder_names());
        return {.published = config};
    }
    const std::string wanted = name + "/, a folder with " + wanted_files(name);
    if (models.empty()) throw hpo::bad_value("models", "nothing", "the folder that has " + wanted);
    throw hpo::Error{hpo::Errc::bad_value, folder.string() + ": no such folder; expected in " + models + " " + wanted};
}

}  // namespace detail

/// The model that a job asks for: the saved model, the folder `model`, or the folder of that name in `models`. Throws Error with the files
/// that a missing folder should have.
[[nodiscard]] inline ModelSource model_source(const hpo::Settings& settings, const hpo::TrainerJob& job) {
    if (!job.saved_model.empty()) return {.folder = job.saved_model, .saved = true};
    const std::string& folder = settings.text("model");
    const std::string& name = settings.text("model.name");
    if (!folder.empty() && !name.empty()) throw hpo::bad_value("model.name", name + " beside model = " + folder, "one of the two");
    if (name.empty()) return {.folder = folder};
    return detail::named_model(settings, job.shapes_only);
}

}  // namespace hpo::text_classifier
