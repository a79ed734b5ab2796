// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "hpo/core/plan.hpp"
#include "hpo/store/json_text.hpp"

namespace hpo::store {

/// The whole plan as one JSON object, a key for each member.
/// Design note: structured bindings, so that a lever added to the plan does not compile here until it is stored.
[[nodiscard]] inline std::string plan_text(const ExecutionPlan& plan) {
    const auto& [effective_batch, micro_batch, activation_checkpointing, precision, expandable_segments, allocator_settings, device,
                 cap_bytes] = plan;
    const auto maybe = [](const std::optional<std::int64_t>& number) { return number ? Json(*number) : Json(nullptr); };
    Json json = Json::object();
    json["effective_batch"] = maybe(effective_batch);
    json["micro_batch"] = maybe(micro_batch);
    json["activation_checkpointing"] = activation_checkpointing;
    json["precision"] = std::string{hpo::to_text(precision)};
    json["expandable_segments"] = expandable_segments;
    json["allocator_settings"] = valid_utf8(allocator_settings);
    json["device"] = valid_utf8(device);
    json["cap_bytes"] = maybe(cap_bytes);
    return json.dump();
}

/// `plan` with what the text says of it. Keys that are unknown, missing or of another type leave their member as it is.
[[nodiscard]] inline ExecutionPlan parse_plan(std::string_view text, ExecutionPlan plan) {
    const Json json = parse_json(text);
    if (!json.is_object()) return plan;
    const auto read = [&](const char* key, auto& member) {
        using Member = std::remove_cvref_t<decltype(member)>;
        const auto found = json.find(key);
        if (found == json.end()) return;
        if constexpr (std::is_same_v<Member, bool>) {
            if (found->is_boolean()) member = found->template get<bool>();
        } else if constexpr (std::is_same_v<Member, std::string>) {
            if (found->is_string()) member = found->template get<std::string>();
        } else {
            if (found->is_null()) member.reset();
            if (found->is_number_integer()) member = found->template get<std::int64_t>();
        }
    };
    std::string precision;
    read("effective_batch", plan.effective_batch);
    read("micro_batch", plan.micro_batch);
    read("activation_checkpointing", plan.activation_checkpointing);
    read("precision", precision);
    read("expandable_segments", plan.expandable_segments);
    read("allocator_settings", plan.allocator_settings);
    read("device", plan.device);
    read("cap_bytes", plan.cap_bytes);
    for (std::size_t i = 0; i < precision_names.size(); ++i) {
        if (precision_names[i] == precision) plan.precision = static_cast<Precision>(i);
    }
    return plan;
}

}  // namespace hpo::store
