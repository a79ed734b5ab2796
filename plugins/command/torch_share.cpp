// SPDX-License-Identifier: MIT
#include "torch_share.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "hpo/allocator/settings.hpp"
#include "hpo/base/error.hpp"
#include "hpo/worker/descriptor.hpp"
#include "hpo/worker/supervisor/device_now.hpp"
#include "hpo/worker/supervisor/process.hpp"
#include "tree_memory.hpp"

namespace hpo::command {
namespace {

using hpo::allocator::LibTorchVersion;
using hpo::worker::Environment;

constexpr LibTorchVersion first_version{2, 10};
constexpr std::string_view key = "per_process_memory_fraction";

/// The version of PyTorch that an interpreter would import. Importing it would take a second.
std::optional<LibTorchVersion> ask_for_torch(const std::string& interpreter, const Environment& environment) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
    const hpo::worker::Descriptor read{ends[0]};
    const hpo::worker::Descriptor write{ends[1]};
    const hpo::worker::Descriptor null{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
    try {
        using hpo::worker::Process;
        Process process = Process::start({.program = interpreter,
                                          .arguments = {"-c", "import importlib.metadata as m; print(m.version('torch'), flush=True)"},
                                          .environment = environment,
                                          .output = write.get(),
                                          .errors = null.get()});
        constexpr std::chrono::seconds most{10};
        if (!process.wait(most)) return std::nullopt;
    } catch (const hpo::Error&) {
        return std::nullopt;  // that it cannot be started is told when the trial starts it
    }
    std::array<char, 64> said{};
    const ssize_t size = ::read(read.get(), said.data(), said.size());
    return size > 0 ? hpo::allocator::parse_libtorch_version({said.data(), static_cast<std::size_t>(size)}) : std::nullopt;
}

std::optional<LibTorchVersion> torch_of(const std::string& interpreter, const Environment& environment) {
    static std::map<std::string, std::optional<LibTorchVersion>> known;
    const auto found = known.find(interpreter);
    return found != known.end() ? found->second : known.emplace(interpreter, ask_for_torch(interpreter, environment)).first->second;
}

/// What a variable names, in the order in which PyTorch looks.
std::optional<std::string> settings_of(const Environment& environment) {
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
        if (auto text = hpo::worker::variable(environment, name)) return text;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> card_bytes(const Environment& environment) {
    const auto card = first_card(environment);
    return card ? std::optional{hpo::worker::driver()->occupancy(*card).capacity_bytes} : std::nullopt;
}

bool is_python(const std::string& program) {
    std::string_view name{program};
    name = name.substr(name.rfind('/') + 1);
    if (!name.starts_with("python")) return false;
    name.remove_prefix(6);
    return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string settings_with(const Environment& environment, const std::string& setting) {
    const std::string before = settings_of(environment).value_or("");
    return before + (before.empty() ? "" : ",") + setting;
}

void limit_torch(Environment& environment, const std::vector<std::string>& words, const CardShare& allowed) {
    constexpr double wider = 1.03;
    if (words.empty() || !is_python(words.front())) return;
    if (const auto settings = settings_of(environment); settings && settings->find(key) != std::string::npos) return;
    const auto version = torch_of(words.front(), environment);
    if (!version || *version < first_version) return;
    const double share = wider * static_cast<double>(allowed.bytes) / static_cast<double>(allowed.of);
    if (!(share < 1)) return;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), share, std::chars_format::fixed, 6).ptr;
    hpo::worker::set_variable(environment, "PYTORCH_ALLOC_CONF",
                              settings_with(environment, std::string{key} + ":" + std::string{digits.data(), end}));
}

}  // namespace hpo::command
