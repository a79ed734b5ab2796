// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/stored/encoder_config.hpp"

namespace hpo::text {

/// A published model's name, without the organisation before it, and the sizes in its config.json.
struct PublishedEncoder {
    std::string_view name;
    EncoderConfig config;
};

namespace detail {

/// The sizes in which the models of a family differ. Their feed-forward layers are four times as wide as `hidden`.
struct EncoderShape {
    std::int64_t vocabulary = 0;
    std::int64_t hidden = 0;
    std::int64_t layers = 0;
    std::int64_t heads = 0;
};

[[nodiscard]] constexpr EncoderConfig bert(const EncoderShape& shape) {
    return {.vocabulary = shape.vocabulary,
            .hidden = shape.hidden,
            .layers = shape.layers,
            .heads = shape.heads,
            .intermediate = 4 * shape.hidden,
            .positions = 512};
}
[[nodiscard]] constexpr EncoderConfig roberta(const EncoderShape& shape) {
    EncoderConfig config = bert(shape);
    config.family = EncoderConfig::Family::roberta;
    config.positions = 514;
    config.token_types = 1;
    config.pad = 1;
    config.layer_norm_epsilon = 1e-5;
    return config;
}
[[nodiscard]] constexpr EncoderConfig deberta_v3(const EncoderShape& shape) {
    EncoderConfig config = bert(shape);
    config.family = EncoderConfig::Family::deberta;
    config.distances = {.buckets = 256, .farthest = 512};
    config.token_types = 0;
    config.layer_norm_epsilon = 1e-7;
    return config;
}

}  // namespace detail

/// Models whose sizes are known without their folder.
inline constexpr std::array published_encoders{
    PublishedEncoder{"bert-base-uncased", detail::bert({30522, 768, 12, 12})},
    PublishedEncoder{"bert-base-cased", detail::bert({28996, 768, 12, 12})},
    PublishedEncoder{"bert-base-multilingual-cased", detail::bert({119547, 768, 12, 12})},
    PublishedEncoder{"bert-large-uncased", detail::bert({30522, 1024, 24, 16})},
    PublishedEncoder{"bert-large-cased", detail::bert({28996, 1024, 24, 16})},
    PublishedEncoder{"all-MiniLM-L6-v2", detail::bert({30522, 384, 6, 12})},
    PublishedEncoder{"roberta-base", detail::roberta({50265, 768, 12, 12})},
    PublishedEncoder{"roberta-large", detail::roberta({50265, 1024, 24, 16})},
    PublishedEncoder{"xlm-roberta-base", detail::roberta({250002, 768, 12, 12})},
    PublishedEncoder{"xlm-roberta-large", detail::roberta({250002, 1024, 24, 16})},
    PublishedEncoder{"deberta-v3-xsmall", detail::deberta_v3({128100, 384, 12, 6})},
    PublishedEncoder{"deberta-v3-small", detail::deberta_v3({128100, 768, 6, 12})},
    PublishedEncoder{"deberta-v3-base", detail::deberta_v3({128100, 768, 12, 12})},
    PublishedEncoder{"deberta-v3-large", detail::deberta_v3({128100, 1024, 24, 16})},
};

/// The name without the organisation: "deberta-v3-base" for "microsoft/deberta-v3-base".
[[nodiscard]] constexpr std::string_view without_organisation(std::string_view name) { return name.substr(name.rfind('/') + 1); }

/// The sizes of the published model of this name, with or without its organisation. Returns nullopt if the model is not known.
[[nodiscard]] constexpr std::optional<EncoderConfig> published_encoder(std::string_view name) {
    for (const PublishedEncoder& each : published_encoders) {
        if (each.name == without_organisation(name)) return each.config;
    }
    return std::nullopt;
}

[[nodiscard]] inline std::vector<std::string> published_encoder_names() {
    std::vector<std::string> names;
    for (const PublishedEncoder& each : published_encoders) names.emplace_back(each.name);
    return names;
}

}  // namespace hpo::text
