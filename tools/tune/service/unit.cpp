// SPDX-License-Identifier: MIT
#include "tune/service/unit.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "hpo/base/error.hpp"
#include "support/terminal.hpp"

namespace hpo::tune {
namespace {

/// `%` begins a specifier of systemd.
std::string without_specifiers(const std::string& text) {
    std::string plain;
    for (const char c : text) plain += c == '%' ? "%%" : std::string(1, c);
    return plain;
}

bool has_control_characters(const std::string& text) {
    return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

}  // namespace

std::string unit_word(const std::string& word, bool in_command) {
    if (has_control_characters(word)) throw bad_value("install-service", "'" + tools::on_one_line(word) + "'", "a word on one line");
    std::string quoted = "\"";
    for (const char c : word) {
        if (c == '"' || c == '\\') quoted += '\\';
        if (c == '%' || (in_command && c == '$')) quoted += c;
        quoted += c;
    }
    return quoted + "\"";
}

std::string ServiceUnit::file_name() const {
    static constexpr std::string_view kept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.-";
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string name = "hpo-";
    for (const char c : study) {
        const auto byte = static_cast<unsigned char>(c);
        if (kept.find(c) != std::string_view::npos) name += c;
        else (name += "\\x") += {hex[byte >> 4U], hex[byte & 15U]};
    }
    name += ".service";
    constexpr std::size_t longest = 255;
    if (name.size() > longest)
        throw bad_value("install-service", "a study's name of " + std::to_string(study.size()) + " bytes", "a shorter --study");
    return name;
}

std::string ServiceUnit::text() const {
    if (has_control_characters(folder.string())) throw bad_value("install-service", "a working folder of several lines", "one line");
    std::string text = "# Written by hpo-tune install-service.\n[Unit]\nDescription=hpo study " +
                       without_specifiers(tools::on_one_line(study)) +
                       "\nStartLimitIntervalSec=1h\nStartLimitBurst=10\n\n[Service]\nType=exec\n";
    if (!user.empty()) text += "User=" + user + "\n";
    text += "WorkingDirectory=" + without_specifiers(folder.string()) + "\n";
    for (const auto& [name, value] : environment) text += "Environment=" + unit_word(name + "=" + value, false) + "\n";
    text += "ExecStart=";
    for (std::size_t i = 0; i < command.size(); ++i) text += (i == 0 ? "" : " ") + unit_word(command[i], true);
    text +=
        "\n"
        "# hpo-tune starts a run that died again. systemd starts hpo-tune again, and only if a signal ended it: a run that is done,\n"
        "# or that was refused, stays ended.\n"
        "Restart=on-abnormal\n"
        "RestartSec=10\n"
        "# A stop asks hpo-tune alone to end its trials. What is left after the time-out is killed.\n"
        "KillMode=mixed\n"
        "TimeoutStopSec=120\n"
        "# 130: it was asked to stop.\n"
        "SuccessExitStatus=130\n"
        "# If the kernel ends a worker because host memory ran out, that is the failure of one attempt. The default would end the study.\n"
        "# There is no MemoryMax: a limit for all processes together would end trials that the machine has room for.\n"
        "OOMPolicy=continue\n\n[Install]\nWantedBy=";
    return text + (user.empty() ? "default.target\n" : "multi-user.target\n");
}

}  // namespace hpo::tune
