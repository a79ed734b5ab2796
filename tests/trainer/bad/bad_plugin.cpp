// SPDX-License-Identifier: MIT
// A library that the plugin loader must refuse, or take, as its own file name says: libhpo_trainer_REASON.so. It is compiled once and lies
// under one name for each reason.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "hpo/trainer/plugin.hpp"
#include "support/own_trainer_name.hpp"

namespace {

/// REASON of the name that this library was loaded by.
const std::string reason = hpo::tests::own_trainer_name();

/// What some reasons do while they are loaded.
[[maybe_unused]] const int on_load = [] {
    if (reason == "crashes_on_load") std::abort();
    if (reason == "hangs_on_load") std::this_thread::sleep_for(std::chrono::hours{1});
    if (reason == "prints") {
        std::puts("{\"plugins\": \"none\"}");
        std::fflush(stdout);
    }
    return 0;
}();

class Empty final : public hpo::Trainer {
public:
    Empty() {
        if (reason == "throwing") throw std::runtime_error("no licence");
        if (reason == "hangs_in_constructor") {
            // Always, or once the file of this name is there.
            const char* const once = std::getenv("HPO_TEST_HANG");
            if (!once || std::filesystem::exists(once)) std::this_thread::sleep_for(std::chrono::hours{1});
        }
        if (reason == "prints") std::printf("half a line without an end");
    }
    [[nodiscard]] hpo::TrainerInfo info() const override {
        if (reason == "throwing_info") throw std::runtime_error("no list of parameters");
        hpo::TrainerInfo info;
        info.name = reason == "wrong_name" ? "somebody_else" : reason;
        if (reason == "some_libtorch") info.libtorch_version = "1.13.1";
        if (reason == "other_libtorch") info.libtorch_version = "2.11.0";
        return info;
    }
    hpo::AttemptOutcome run(const hpo::TrainerJob&, hpo::Progress&) override { return {}; }
    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob&) override { return {}; }
};

/// The entry as each reason has it.
hpo::abi::Entry entry_of_reason() {
    hpo::abi::Entry made{*hpo::abi::Exported<Empty>::entry()};
    if (reason == "wrong_magic") made.magic = 42;
    if (reason == "other_abi") made.abi_version = 1;
    if (reason == "short_entry") made.struct_size = 24;
    return made;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const hpo::abi::Entry* hpo_trainer_plugin() noexcept {
    static const hpo::abi::Entry entry = entry_of_reason();
    return &entry;
}
