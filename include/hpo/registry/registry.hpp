// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/registry/policy_config.hpp"

namespace hpo::registry {

/// Names of one kind of policy, and how to make them: `Registry<AnySampler>`. A plain value that whoever needs it
/// passes on; nothing registers itself.
template <class Any>
class Registry {
public:
    struct Entry {
        std::string name;
        std::string summary;
        std::vector<OptionInfo> options;
        /// Makes the policy from a spec of this name; the first argument says in errors where the spec was written.
        std::function<Any(std::string_view, const PolicySpec&)> make;
    };

    /// `kind` is the word for errors: "sampler".
    explicit Registry(std::string kind) : kind_{std::move(kind)} {}

    /// Adds a policy under its own name; a name that is taken is an Error.
    template <Configurable P>
    requires std::constructible_from<Any, P>
    void add() {
        add(Entry{std::string{P::name}, std::string{P::summary}, option_infos<P>(), [](std::string_view place, const PolicySpec& spec) {
                      const auto config = parse_config<P>(place, spec.options);
                      try {
                          return Any{P{config}};
                      } catch (const Error& error) {  // the constructor knows its options, not where they were written
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

    /// Throws unknown_name, with what is known, for names and options that are not.
    [[nodiscard]] Any make(std::string_view place, const PolicySpec& spec) const {
        std::vector<std::string> names;
        for (const Entry& entry : entries_) {
            if (entry.name == spec.name) return entry.make(place, spec);
            names.push_back(entry.name);
        }
        throw unknown_name(place, kind_, spec.name, names);
    }

private:
    std::string kind_;
    std::vector<Entry> entries_;
};

}  // namespace hpo::registry
