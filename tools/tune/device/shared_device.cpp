// SPDX-License-Identifier: MIT
#include "tune/device/shared_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/orphaned_files.hpp"
#include "hpo/store/location.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {
namespace {

/// A device as a part of a file's name. A card by its uuid, since what "cuda:1" is differs between environments.
std::string card_word(const std::string& device) {
    const auto card = card_of(device);
    std::string word = card && !card->uuid.empty() ? card->uuid : device;
    std::ranges::replace_if(
        word, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
    return word;
}

}  // namespace

void require_usable_ledger(const Settings& settings) {
    const std::filesystem::path file = settings.text("ledger");
    if (file == "auto") return;
    std::error_code error;
    if (std::filesystem::exists(file, error)) {
        static_cast<void>(device::Ledger{std::filesystem::absolute(file)});
        return;
    }
    const auto folder = std::filesystem::absolute(file).parent_path();
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        throw Error{Errc::no_device, file.string() + ": cannot be made: " + std::generic_category().message(errno)};
}

SharedDevice::SharedDevice(const Settings& settings, const std::string& device, std::int64_t budget_bytes,
                           std::function<void(const std::string&)> note) {
    const std::string& chosen = settings.text("ledger");
    if (chosen.empty()) throw bad_value(settings.place("ledger"), "nothing", "auto, or a file");
    std::filesystem::path file = chosen;
    if (chosen != "auto" && settings.devices().size() > 1) file += "." + card_word(device);
    if (chosen == "auto") {
        static std::atomic<int> made{0};
        const std::filesystem::path folder = "/dev/shm";
        const bool shared = !is_cpu(device);
        const std::string own = "hpo-ledger-of-";
        file = folder / (shared ? "hpo-ledger-" + std::to_string(::geteuid()) + "-" + card_word(device)
                                : own + std::to_string(::getpid()) + "-" + std::to_string(made++));
        device::remove_orphaned_files(folder, own);  // of runs that were killed
        if (!shared) own_file_ = file;
    }
    if (std::filesystem::absolute(file) == std::filesystem::absolute(store::file_of(settings.text("store"))))
        throw bad_value(settings.place("ledger"), "'" + chosen + "', which is the store", "another file");
    if (!own_file_.empty()) std::filesystem::remove(own_file_);  // of a process that had this id and was killed
    reservations_.emplace(device::Ledger{std::filesystem::absolute(file)},
                          device::LedgerReservations::Settings{.budget_bytes = budget_bytes, .note = std::move(note)});
}

SharedDevice::~SharedDevice() {
    std::error_code ignored;
    if (!own_file_.empty()) std::filesystem::remove(own_file_, ignored);
}

}  // namespace hpo::tune
