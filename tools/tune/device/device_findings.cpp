// SPDX-License-Identifier: MIT
#include "tune/device/device_findings.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "hpo/base/bytes.hpp"
#include "hpo/base/time.hpp"
#include "hpo/base/wait_until.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/host_memory.hpp"
#include "hpo/device/host_occupancy.hpp"
#include "hpo/device/left_by_others.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/worker/descriptor.hpp"
#include "hpo/worker/supervisor/device_now.hpp"
#include "hpo/worker/supervisor/pool.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/own_trainer.hpp"

namespace hpo::tune {
namespace {

using Level = DeviceFinding::Level;

DeviceFinding room_in(const std::string& what, const std::filesystem::path& folder, std::int64_t least_bytes, std::int64_t scarce_bytes,
                      const std::string& use) {
    std::error_code failed;
    const auto space = std::filesystem::space(folder, failed);
    if (failed) return {Level::bad, what, folder.string() + " cannot be read: " + failed.message()};
    const auto available = static_cast<std::int64_t>(space.available);
    const std::string text =
        format_bytes(available) + " free of " + format_bytes(static_cast<std::int64_t>(space.capacity)) + " in " + folder.string();
    if (available < least_bytes) return {Level::bad, what, text + "; " + use + " needs at least " + format_bytes(least_bytes)};
    if (available < scarce_bytes) return {Level::note, what, text + "; " + use + " may need " + format_bytes(scarce_bytes)};
    return {Level::ok, what, text};
}

DeviceFinding open_files() {
    constexpr rlim_t few = 1024;
    constexpr rlim_t least = 64;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {Level::note, "open files", "the limit cannot be read"};
    const auto shown = [](rlim_t count) { return count == RLIM_INFINITY ? std::string{"no limit"} : std::to_string(count); };
    const std::string text = shown(limit.rlim_cur) + " for a process, at most " + shown(limit.rlim_max);
    if (limit.rlim_cur < least) return {Level::bad, "open files", text + "; expected 64 or more: ulimit -n 1024"};
    if (limit.rlim_cur < few) return {Level::note, "open files", text + "; many workers may need 1024: ulimit -n 1024"};
    return {Level::ok, "open files", text};
}

std::string holder_text(const MemoryNeighbour& process) {
    return (process.program.empty() ? "a process that cannot be seen here" : process.program) + " (pid " + std::to_string(process.pid) +
           ") " + format_bytes(process.bytes);
}

DeviceFinding other_processes(const worker::PoolConfig& config) {
    const std::string what = "others on " + config.device;
    const auto occupancy = is_cpu(config.device) ? device::host_occupancy() : worker::card_occupancy(config);
    if (!occupancy) return {Level::note, what, "not known who holds memory of it"};
    const std::int64_t self = ::getpid();
    const auto is_ours = [&](std::int64_t pid) { return pid == self || device::parent_process(pid) == self; };
    const MemoryReading reading = device::left_by_others(*occupancy, is_ours);
    std::string text = format_bytes(occupancy->used_bytes) + " of " + format_bytes(occupancy->capacity_bytes) + " in use";
    if (reading.neighbours.empty())
        return {occupancy->used_bytes > 0 && !is_cpu(config.device) ? Level::note : Level::ok, what,
                text + "; no other process is seen on it"};
    std::int64_t seen = 0;
    std::size_t count = 0;
    for (const MemoryNeighbour& each : occupancy->processes) {
        if (is_ours(each.pid) || each.bytes <= 0) continue;
        seen += each.bytes;
        ++count;
    }
    constexpr std::size_t most = 5;
    text += "; " + (count == 1 ? std::string{"1 other process holds "} : std::to_string(count) + " other processes hold ") +
            format_bytes(seen) + ": ";
    for (std::size_t i = 0; i < std::min(most, reading.neighbours.size()); ++i)
        text += (i == 0 ? "" : ", ") + holder_text(reading.neighbours[i]);
    if (count > most) text += ", ...";
    return {is_cpu(config.device) ? Level::ok : Level::note, what, text};
}

/// Why this user cannot make a file there. The file is gone when it returns.
std::optional<std::string> why_no_file_in(const std::string& folder) {
    std::string file = folder + "/hpo-doctor-XXXXXX";
    const worker::Descriptor made{::mkstemp(file.data())};
    if (made.get() < 0) return std::string{std::strerror(errno)};
    ::unlink(file.c_str());
    return std::nullopt;
}

/// A plugin that can perhaps measure the device. Throws Error.
const worker::PluginDescription& measuring_plugin(const MeasurementRequest& request, const worker::WorkerDescription& described) {
    std::vector<std::string> names;
    const worker::PluginDescription* without_cuda = nullptr;
    for (const worker::PluginDescription& plugin : described.plugins) {
        names.push_back(plugin.name);
        if (!request.trainer.empty()) {
            if (plugin.name != request.trainer) continue;
            if (!plugin.info) throw Error{Errc::plugin, plugin.error.value_or("trainer " + plugin.name + " says nothing")};
            return plugin;
        }
        if (!plugin.info || plugin.info->libtorch_version.empty()) continue;
        if (is_cpu(request.device) || plugin.info->uses_cuda) return plugin;
        without_cuda = &plugin;
    }
    if (!request.trainer.empty()) throw unknown_name("--trainer", "trainer", request.trainer, names);
    if (without_cuda) return *without_cuda;  // whose words on the device say what is missing
    throw Error{Errc::plugin, "no trainer here uses LibTorch, so none can measure " + request.device};
}

/// Whether the driver counts as free again what it counted before the worker began.
DeviceFinding given_back(const worker::PoolConfig& config, std::int64_t used_before) {
    constexpr double most_seconds = 10;
    constexpr std::int64_t noise = std::int64_t{64} << 20U;
    const std::string what = "end of the worker";
    const Stopwatch watch;
    std::optional<std::int64_t> more;
    const auto is_back = [&] {
        const auto now = worker::card_occupancy(config);
        more = now ? std::optional{now->used_bytes - used_before} : std::nullopt;
        return !more || *more <= noise;
    };
    if (!wait_until(is_back, {.most_seconds = most_seconds, .pause_seconds = 0.1})) {
        return {Level::note, what,
                format_bytes(*more) + " more are in use than before it began, after " + number_text(most_seconds) +
                    " s: another process took them, or the driver keeps them"};
    }
    if (!more) return {Level::note, what, "the driver does not say what is in use"};
    return {Level::ok, what, "the device has its memory back after " + number_text(std::round(watch.seconds() * 10) / 10) + " s"};
}

/// What the metered CPU device of a measurement has.
std::int64_t cpu_budget_bytes() {
    constexpr std::int64_t most = std::int64_t{256} << 20U;
    const auto host = device::host_memory();
    return host ? std::clamp<std::int64_t>(host->available / 4, std::int64_t{16} << 20U, most) : most;
}

}  // namespace

std::vector<DeviceFinding> machine_findings(const std::filesystem::path& store_folder) {
    constexpr std::int64_t mib = std::int64_t{1} << 20U;
    std::vector<DeviceFinding> findings;
    findings.push_back(room_in("shared memory", "/dev/shm", mib, 64 * mib, "the accounts of devices that trials share"));
    if (findings.back().level != Level::bad) {
        if (const auto why_not = why_no_file_in("/dev/shm"))
            findings.back() = {Level::bad, "shared memory", "no file can be made in /dev/shm: " + *why_not + "; mount it with mode 1777"};
    }
    findings.push_back(open_files());
    if (std::filesystem::is_directory(store_folder))
        findings.push_back(room_in("disk", store_folder, 16 * mib, 1024 * mib, "a long study"));
    return findings;
}

std::vector<DeviceFinding> measured_findings(const MeasurementRequest& request, const worker::WorkerDescription& described) {
    if (request.device != "cpu" && !device::card_number(request.device))
        throw bad_value("--device", "'" + request.device + "'", "cpu, cuda or cuda:N");
    std::vector<DeviceFinding> findings;
    try {
        const worker::PluginDescription& plugin = measuring_plugin(request, described);
        worker::PoolConfig config{.worker_program = worker_program(),
                                  .trainer = plugin.name,
                                  .plugin_folders = plugin_folders(request.plugin_dirs),
                                  .device_budget_bytes = {},
                                  .start_timeout = request.plugin_timeout,
                                  .check_timeout = request.plugin_timeout};
        config.device = usable_device("--device", request.device, *plugin.info);
        if (is_cpu(config.device)) config.device_budget_bytes = cpu_budget_bytes();
        findings.push_back(other_processes(config));
        const auto before = is_cpu(config.device) ? std::nullopt : worker::card_occupancy(config);
        for (DeviceFinding& finding : worker::Pool{config}.measure()) {
            if (finding.what == "runtime") finding.detail += " (measured by trainer " + plugin.name + ")";
            finding.what = config.device + " " + finding.what;
            findings.push_back(std::move(finding));
        }
        if (before) findings.push_back(given_back(config, before->used_bytes));
    } catch (const Error& error) {
        if (error.code() == Errc::unknown_name) throw;
        findings.push_back({Level::bad, "measurement of " + request.device, error.what()});
    }
    return findings;
}

}  // namespace hpo::tune
