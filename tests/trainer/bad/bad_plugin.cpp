// SPDX-License-Identifier: MIT
// One source, one macro each: a library that the plugin loader must refuse (some_libtorch is accepted first,
// older_entry, longer_entry and prints always).
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "hpo/trainer/plugin.hpp"

namespace {

#ifdef HPO_BAD_CRASHES_ON_LOAD
[[maybe_unused]] const int crash = (std::abort(), 0);
#endif
#ifdef HPO_BAD_HANGS_ON_LOAD
[[maybe_unused]] const int hang = (std::this_thread::sleep_for(std::chrono::hours{1}), 0);
#endif
#ifdef HPO_BAD_PRINTS
[[maybe_unused]] const int noise = (std::puts("{\"plugins\": \"none\"}"), std::fflush(stdout));
#endif

class Empty final : public hpo::Trainer {
public:
    Empty() {
#ifdef HPO_BAD_THROWING
        throw std::runtime_error("no licence");
#endif
#ifdef HPO_BAD_HANGS_IN_CONSTRUCTOR
        // Always, or once the file of this name is there.
        const char* const once = std::getenv("HPO_TEST_HANG");
        if (!once || std::filesystem::exists(once)) std::this_thread::sleep_for(std::chrono::hours{1});
#endif
#ifdef HPO_BAD_PRINTS
        std::printf("half a line without an end");
#endif
    }
    [[nodiscard]] hpo::TrainerInfo info() const override {
        hpo::TrainerInfo info;
        info.name = HPO_BAD_NAME;
#ifdef HPO_BAD_THROWING_INFO
        throw std::runtime_error("no list of parameters");
#endif
#ifdef HPO_BAD_WRONG_NAME
        info.name = "somebody_else";
#endif
#ifdef HPO_BAD_SOME_LIBTORCH
        info.libtorch_version = "1.13.1";
#endif
#ifdef HPO_BAD_OTHER_LIBTORCH
        info.libtorch_version = "2.11.0";
#endif
        return info;
    }
    hpo::AttemptOutcome run(const hpo::TrainerJob&, hpo::Progress&) override { return {}; }
    [[nodiscard]] std::optional<hpo::Profile> profile(const hpo::TrainerJob&) override { return std::nullopt; }
    [[nodiscard]] std::vector<hpo::TrainerProblem> check(const hpo::TrainerJob&) override { return {}; }
};

[[maybe_unused]] hpo::abi::Entry changed(void (*change)(hpo::abi::Entry&)) {
    hpo::abi::Entry entry = *hpo::abi::Exported<Empty>::entry();
    change(entry);
    return entry;
}

}  // namespace

#if defined(HPO_BAD_NO_SYMBOL)
extern "C" __attribute__((visibility("default"))) int somebody_elses_symbol() { return 1; }
#elif defined(HPO_BAD_WRONG_MAGIC) || defined(HPO_BAD_OTHER_ABI) || defined(HPO_BAD_SHORT_ENTRY) || defined(HPO_BAD_OLDER_ENTRY)
extern "C" __attribute__((visibility("default"))) const hpo::abi::Entry* hpo_trainer_plugin() noexcept {
    static const hpo::abi::Entry entry = changed([](hpo::abi::Entry& made) {
#ifdef HPO_BAD_WRONG_MAGIC
        made.magic = 42;
#elif defined(HPO_BAD_OTHER_ABI)
        made.abi_version = 999;
#elif defined(HPO_BAD_OLDER_ENTRY)
        made.struct_size = offsetof(hpo::abi::Entry, profile);  // what stands behind must not be looked at
#else
        made.struct_size = 24;
#endif
    });
    return &entry;
}
#elif defined(HPO_BAD_LONGER_ENTRY)
struct LongerEntry {
    hpo::abi::Entry known;
    void (*added_later)() noexcept;
};
extern "C" __attribute__((visibility("default"))) const hpo::abi::Entry* hpo_trainer_plugin() noexcept {
    static const LongerEntry entry{changed([](hpo::abi::Entry& made) { made.struct_size = sizeof(LongerEntry); }), []() noexcept {}};
    return &entry.known;
}
#else
HPO_TRAINER_PLUGIN(Empty);
#endif
