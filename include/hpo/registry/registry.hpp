// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/registry/policy_config.hpp"

namespace hpo::registry {

/// The names of one kind of policy, and how to create each: `Registry<AnySampler>`. A plain value that the program passes to the code that
/// needs it. Policies do not register themselves.
template <class Any>
class Registry {
public:
    struct Entry {
        std::string name;
        std::string summary;
        std::vector<OptionInfo> options;
        /// Creates the policy from a spec of this name. The first argument says where the spec was written, for errors.
        std::function<Any(std::string_view, const PolicySpec&)> make;
    };

    /// `kind` is the word for error messages: "sampler".
    explicit Registry(std::string kind) : kind_{std::move(kind)} {}

    /// Adds a policy under its own name. Throws Error if the name is taken.
    template <Configurable P>
    requires std::constructible_from<Any, P>
    void add() {
        add(Entry{std::string{P::name}, std::string{P::summary}, option_infos<P>(), [](std::string_view place, const PolicySpec& spec) {
                      const auto config = parse_config<P>(place, spec.options);
                      try {
                          return Any{P{config}};
                      } catch (const Error& error) {  // the constructor knows the options, but not where they were written
                          throw Error{error.code(), std::string{place} + ": " + std::string{P::name} + ": " + error.what()};
                      }
                  }});
    }
    void add(Entry entry) {
        for (const Entry& known : entries_) {
            if (known.name == entry.name) throw Error{Errc::usage, kind_ + " '" + entry.name + "' is registered twice"};
        }
        entries_.push_back(std::move(entry));
    }

    [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

    /// Creates a policy. Throws unknown_name for an unknown name or option, and lists the known ones, with names that only the caller
    /// `knows`.
    [[nodiscard]] Any make(std::string_view place, const PolicySpec& spec, std::span<const std::string> knows = {}) const {
        std::vector<std::string> names;
        for (const Entry& entry : entries_) {
            if (entry.name == spec.name) return entry.make(place, spec);
            names.push_back(entry.name);
        }
        names.insert(names.end(), knows.begin(), knows.end());
        throw unknown_name(place, kind_, spec.name, names);
    }

private:
    std::string kind_;
    std::vector<Entry> entries_;
};

}  // namespace hpo::registry
