// SPDX-License-Identifier: MIT
#include "analysis/failure_cases/memory_words.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/failure_cases/predicted_oom.hpp"
#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/failure/classify.hpp"

namespace hpo::analysis::detail {

/// True if what follows makes the words a name, a setting or a count: "is caught in train.py", "handler installed", "= 0", ": false".
[[nodiscard]] bool only_mentions_behind(std::string_view rest) {
    static constexpr auto mentions = std::to_array<std::string_view>(
        {"is",       "are",    "count",    "counts",   "counter",    "handler",   "handlers",  "handling",   "unlikely",
         "guard",    "guards", "avoid",    "avoided",  "avoiding",   "prevent",   "prevented", "prevention", "check",
         "checks",   "never",  "policy",   "recovery", "can",        "could",     "may",       "might",      "will",
         "would",    "should", "safe",     "score",    "protection", "detection", "detector",  "installed",  "enabled",
         "disabled", "hook",   "callback", "margin",   "rate",       "threshold", "killer",    "errors"});
    const auto at = rest.find_first_not_of(' ');
    if (at != std::string_view::npos && rest[at] == '=') return true;
    if (at != std::string_view::npos && rest[at] == ':') {
        const std::vector<std::string_view> words = letters_of(rest);
        if (!words.empty() && one_of(words.front(), {"false", "none", "no", "off", "null"})) return true;
        const auto figure = rest.find_first_not_of(": ");
        if (figure != std::string_view::npos && rest[figure] == '0') {  // "oom: 0", "oom: 0/10", "oom: 0, retries: 1"
            const auto end = rest.find_first_not_of(' ', figure + 1);
            if (end == std::string_view::npos || std::string_view{"/,;|)]}"}.find(rest[end]) != std::string_view::npos) return true;
        }
    }
    if (hpo::detail::mentions_any(rest, {"so far", "retries left"})) return true;
    std::vector<std::string_view> words = letters_of(rest);
    words.resize(std::min<std::size_t>(words.size(), 3));
    return std::ranges::any_of(words, [](std::string_view word) { return std::ranges::find(mentions, word) != mentions.end(); });
}

/// True if the words are counted, and there are none: "0 out of memory events", "0 CUDA OOM".
[[nodiscard]] bool are_none(std::string_view before) {
    for (;;) {
        const auto last = before.find_last_not_of(' ');
        if (last == std::string_view::npos) return false;
        const auto blank = before.find_last_of(" |,;:=([", last);
        const std::string_view word = before.substr(blank == std::string_view::npos ? 0 : blank + 1, last - blank);
        if (word == "0") return true;
        if (!one_of(word, {"cuda", "gpu", "host", "cpu", "device", "total", "caught"}) || blank == std::string_view::npos) return false;
        before = before.substr(0, blank);
    }
}

MemoryWords memory_words(std::string_view line) {
    static constexpr auto levels = std::to_array<std::string_view>({"error", "warning", "warn", "critical", "fatal"});
    static constexpr auto plain = std::to_array<std::string_view>(
        {"trial",      "number",  "id",       "worker", "rank",      "process",  "device",    "gpu",          "cuda",
         "hip",        "epoch",   "step",     "main",   "root",      "python",   "torch",     "optuna",       "objective",
         "error",      "warning", "warn",     "info",   "critical",  "fatal",    "exception", "runtimeerror", "failed",
         "caught",     "got",     "hit",      "ran",    "skipping",  "skip",     "skipped",   "config",       "configuration",
         "trainer",    "train",   "training", "batch",  "size",      "bs",       "run",       "again",        "still",
         "host",       "cpu",     "memory",   "utcnow", "returning", "penalty",  "pruning",   "pruned",       "jax",
         "tensorflow", "xla",     "backend",  "mps",    "xpu",       "builtins", "reason",    "nccl",         "failure"});
    static constexpr auto mentions = std::to_array<std::string_view>(
        {"if",     "would",    "could",    "might",      "may",      "should",     "when",     "whenever", "unless",  "case",
         "avoid",  "avoids",   "avoiding", "prevent",    "prevents", "preventing", "without",  "no",       "zero",    "never",
         "not",    "reduce",   "reducing", "lower",      "fix",      "fixed",      "fixes",    "check",    "checks",  "checking",
         "handle", "handles",  "handling", "handler",    "catch",    "catches",    "catching", "detect",   "detects", "detecting",
         "test",   "testing",  "simulate", "simulating", "expect",   "expected",   "import",   "except",   "class",   "until",
         "will",   "can",      "against",  "guard",      "previous", "earlier",    "about",    "what",     "how",     "why",
         "likely", "unlikely", "instead",  "on",         "to",       "for"});
    if (predicts_oom(line)) return MemoryWords::predicted;
    static constexpr auto foreseen = std::to_array<std::string_view>({"predicted", "estimated", "anticipated", "projected", "forecast"});
    const std::string lower = hpo::detail::lower_case(line);
    const auto place = memory_words_place(lower);
    if (!place || only_mentions_behind(std::string_view{lower}.substr(place->end)) ||
        are_none(std::string_view{lower}.substr(0, place->begin)))
        return MemoryWords::none;
    std::vector<std::string_view> before = letters_of(std::string_view{lower}.substr(0, place->begin));
    const auto is_level = [](std::string_view word) { return std::ranges::find(levels, word) != levels.end(); };
    if (const auto level = std::ranges::find_if(before.rbegin(), before.rend(), is_level); level != before.rend())
        before.erase(before.begin(), level.base());
    const auto behind = letters_of(std::string_view{lower}.substr(place->end));
    bool known = behind.empty() || std::ranges::find(foreseen, behind.front()) == foreseen.end();  // "OOM: predicted 12 GiB" may be either
    for (const std::string_view word : before) {
        if (std::ranges::find(mentions, word) != mentions.end()) return MemoryWords::none;
        known = known && std::ranges::find(plain, word) != plain.end();
    }
    if (!known) return MemoryWords::doubtful;
    return place->host ? MemoryWords::host : MemoryWords::device;
}

void take_memory_words(Failure& failure, std::string_view text) {
    if (is_memory(failure.kind) || is_device(failure.kind)) return;
    const MemoryWords words = memory_words(text);  // "OOM at batch 35"
    if (words == MemoryWords::device) failure.kind = FailureKind::out_of_memory;
    if (words == MemoryWords::host) failure.kind = FailureKind::host_out_of_memory;
}

std::optional<Failure> failure_in_pruned_text(std::string_view text) {
    if (predicts_oom(text)) return refused_by_program(std::string{text});
    Failure failure = classify_python(text);
    take_memory_words(failure, text);
    return is_memory(failure.kind) || is_device(failure.kind) ? std::optional{std::move(failure)} : std::nullopt;
}

}  // namespace hpo::analysis::detail
