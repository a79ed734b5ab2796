// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/tuner/open_trials.hpp"

namespace hpo::tune {

/// One request of a program: a JSON object on one line. Python's NaN and Infinity are numbers. Each getter throws bad_value that names the
/// operation, the key and what would be right.
class Request {
public:
    /// Throws bad_value for a line that is no JSON object, and for one that is nested too deep.
    explicit Request(std::string_view line);

    /// What came as "id", as JSON text. Empty if there was none. A number, a text or null.
    [[nodiscard]] const std::string& id() const noexcept { return id_; }
    /// Throws bad_value if there is none.
    [[nodiscard]] const std::string& op() const;
    /// Throws unknown_name for a key that is not among `keys`, nor one that each request may have.
    void require_only(std::initializer_list<const char*> keys) const;
    /// True if the key is there and not null.
    [[nodiscard]] bool has(const char* key) const;

    [[nodiscard]] std::string text(const char* key, std::string_view expected) const;
    [[nodiscard]] std::int64_t whole(const char* key, std::string_view expected) const;
    [[nodiscard]] double number(const char* key, std::string_view expected) const;
    [[nodiscard]] bool truth(const char* key) const;  ///< false if it is not there
    [[nodiscard]] const store::Json& object(const char* key, std::string_view expected) const;

    [[nodiscard]] std::vector<Direction> directions() const;
    [[nodiscard]] tuner::NamedDistributions space(store::DistributionCache& known) const;
    [[nodiscard]] Distribution distribution(store::DistributionCache& known) const;
    /// `params` of an enqueued trial.
    [[nodiscard]] FixedValues values_by_name() const;
    [[nodiscard]] tuner::Told told() const;

    /// "sampler" and "pruner" of a study: a text as `hpo-tune run` takes it, or {"name", "seed", "options": {}}.
    struct Policy {
        std::string spec;  ///< "tpe:startup_trials=20"
        std::optional<std::int64_t> seed{};
    };
    [[nodiscard]] Policy policy(const char* key, std::string_view standard) const;

private:
    [[nodiscard]] std::string place(std::string_view key) const { return op_ + ": " + std::string{key}; }

    store::Json json_;
    std::string id_;
    std::string op_;
};

}  // namespace hpo::tune
