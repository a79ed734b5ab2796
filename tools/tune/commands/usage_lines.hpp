// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <utility>
#include <vector>

namespace hpo::tune {

/// Help whose usage has a line for each way to call a command. CLI11 knows no words behind "--".
class UsageLines : public CLI::Formatter {
public:
    explicit UsageLines(std::vector<std::string> ways) : ways_{std::move(ways)} {}
    [[nodiscard]] std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
        std::string text;
        for (const std::string& way : ways_) text += (text.empty() ? "Usage: " : "       ") + name + " " + way + "\n";
        return text;
    }

private:
    std::vector<std::string> ways_;
};

}  // namespace hpo::tune
