// SPDX-License-Identifier: MIT
#include "tune/card/virtual_card.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "hpo/base/error.hpp"
#include "hpo/device/card_figures.hpp"
#include "support/installation.hpp"
#include "tune/card/known_cards.hpp"

namespace hpo::tune {

namespace {

constexpr const char* card_variable = "HPO_VIRTUAL_CARD";

/// Makes a process load the card before LibTorch.
void load_card(worker::Environment& environment, const std::filesystem::path& folder) {
    const std::string major = worker::variable(environment, "HPO_CUDA_MAJOR").value_or("13");
    if (major != "12" && major != "13") throw bad_value("HPO_CUDA_MAJOR", "'" + major + "'", "12 or 13");
    const std::string card =
        (folder / ("libhpo_virtual_card_cuda" + major + ".so")).string() + ":" + (folder / "libhpo_virtual_card_nvml.so").string();
    const auto others = worker::variable(environment, "LD_PRELOAD");
    worker::set_variable(environment, "LD_PRELOAD", others && !others->empty() ? card + ":" + *others : card);
}

/// "NVIDIA GeForce RTX 4090" is an RTX-4090.
bool names(const std::string& told, std::string_view known) {
    std::string words{known};
    std::ranges::replace(words, '-', ' ');
    return (told + " ").find(words + " ") != std::string::npos;
}

/// The card of that name, or the end.
auto find_named(const PredictedCard& like) {
    return std::ranges::find_if(known_cards, [&](const KnownCard& each) { return !like.name.empty() && names(like.name, each.name); });
}

/// The card of that name, or else the largest of that architecture, because kernels ask for no less on more multiprocessors, or else the
/// usual one.
const KnownCard& most_alike(const PredictedCard& like) {
    const auto wanted = [&](auto&& is_it) { return std::ranges::find_if(known_cards, is_it); };
    auto found = find_named(like);
    if (found == known_cards.end() && like.capability) {
        const int capability = like.capability->major * 10 + like.capability->minor;
        for (auto each = known_cards.begin(); each != known_cards.end(); ++each) {
            const bool is_larger = found == known_cards.end() || each->multiprocessors > found->multiprocessors;
            if (each->capability == capability && is_larger) found = each;
        }
    }
    return found == known_cards.end() ? *wanted([](const KnownCard& each) { return each.name == usual_card; }) : *found;
}

}  // namespace

std::filesystem::path virtual_card_folder() {
    const auto is_whole = [](const std::filesystem::path& folder) {
        return std::ranges::all_of(std::array{"cuda12", "cuda13", "nvml"}, [&](const std::string part) {
            return std::filesystem::exists(folder / ("libhpo_virtual_card_" + part + ".so"));
        });
    };
    const auto libraries = tools::library_folders();
    for (const std::filesystem::path& folder : libraries) {
        if (is_whole(folder / "virtual_card")) return folder / "virtual_card";
    }
    const std::string where = "no virtual card in " + (libraries.front() / "virtual_card").string();
    if (tools::is_build_tree())
        throw Error{Errc::no_device, where + "; build it: cmake --build " + tools::installation().string() + " --target hpo_virtual_card"};
    throw Error{Errc::no_device, where + ": this installation of hpo is not whole; install it again"};
}

bool is_on_virtual_card() { return ::dlsym(RTLD_DEFAULT, "hpo_virtual_card_use") != nullptr; }

void quieten_card_of_children() {
    const char* const figures = std::getenv(card_variable);
    if (!is_on_virtual_card() || figures == nullptr || device::card_figure(figures, "quiet") == "1") return;
    ::setenv(card_variable, (std::string{figures} + ";quiet=1").c_str(), 1);
}

std::optional<std::int64_t> virtual_context_bytes() {
    const char* const figures = std::getenv(card_variable);
    if (!is_on_virtual_card() || figures == nullptr) return std::nullopt;
    return device::card_figure_number(figures, "context");
}

std::optional<std::int64_t> told_context_bytes(const PredictedCard& like) {
    const auto found = find_named(like);
    if (found == known_cards.end() || found->context_mebibytes == 0) return std::nullopt;
    return std::int64_t{found->context_mebibytes} << 20;
}

void begin_on_card(const AskedCard& card, const std::vector<std::string>& words) {
    worker::Environment environment = worker::inherited_environment();
    load_card(environment, virtual_card_folder());
    // What the processes on the card share. It is gone with this process, which keeps its number.
    const int state = ::memfd_create("hpo virtual card", 0);
    if (state < 0) throw Error{Errc::store, std::string{"memory to share between processes: "} + std::strerror(errno)};
    const std::string path = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(state);
    worker::set_variable(environment, card_variable, card.text({"state=" + path}));
    worker::remove_variable(environment, "CUDA_VISIBLE_DEVICES");  // it names real cards
    std::vector<char*> arguments{::program_invocation_name};
    for (const std::string& each : words) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (std::string& each : environment) variables.push_back(each.data());
    variables.push_back(nullptr);
    ::execve("/proc/self/exe", arguments.data(), variables.data());
    throw Error{Errc::no_device, std::string{"this program cannot be started on a virtual card: "} + std::strerror(errno)};
}

AskedCard card_of_figures(const std::string& figures) {
    AskedCard card{.name = "virtual card"};
    if (const auto name = device::card_figure(figures, "name"); !name.empty()) card.name = name;
    const auto number = [&](const char* key, int usual) { return static_cast<int>(device::card_figure_number(figures, key, usual)); };
    card.capability = number("capability", card.capability);
    card.multiprocessors = number("multiprocessors", card.multiprocessors);
    card.bytes = device::card_figure_number(figures, "memory");
    card.context_bytes = device::card_figure_number(figures, "context");
    return card;
}

namespace {

/// The figures of the card that this program runs on, or of one that is like another. Without a limit.
std::string unlimited_figures(const PredictedCard& like) {
    constexpr std::int64_t without_limit = std::int64_t{1} << 40;  // PyTorch reserves addresses for more than that, many times over
    AskedCard card;
    if (const char* const here = std::getenv(card_variable); here != nullptr && is_on_virtual_card()) {
        card = card_of_figures(here);
        card.context_bytes = 0;
    } else {
        const KnownCard& known = most_alike(like);
        card = {.name = std::string{known.name}, .capability = known.capability, .multiprocessors = known.multiprocessors};
    }
    card.bytes = without_limit;
    return card.text({});
}

}  // namespace

worker::PoolConfig::VirtualCard card_for_predictions(const PredictedCard& like) {
    worker::Environment environment = worker::inherited_environment();
    if (!is_on_virtual_card()) load_card(environment, virtual_card_folder());
    const std::string figures = unlimited_figures(like);
    worker::set_variable(environment, card_variable, figures + ";quiet=1");
    worker::set_variable(environment, "CUDA_VISIBLE_DEVICES", "0");
    return {figures, std::move(environment)};
}

worker::PoolConfig::VirtualCard card_for_programs(const PredictedCard& like) {
    static_cast<void>(virtual_card_folder());
    worker::Environment environment = worker::inherited_environment();
    const std::string figures = unlimited_figures(like);
    worker::set_variable(environment, "HPO_RECORDER", std::filesystem::read_symlink("/proc/self/exe").string());
    worker::set_variable(environment, "HPO_RECORDER_CARD", figures);
    return {figures, std::move(environment)};
}

}  // namespace hpo::tune
