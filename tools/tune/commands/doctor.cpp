// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <iostream>

#include "hpo/base/bytes.hpp"
#include "hpo/device/host_memory.hpp"
#include "hpo/device/nvml.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/json.hpp"
#include "support/terminal.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/device_findings.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {
namespace {

using Finding = DeviceFinding;

Finding libtorch(const worker::WorkerDescription& described) {
    for (const worker::PluginDescription& plugin : described.plugins) {
        if (plugin.info && !plugin.info->libtorch_version.empty()) {
            return {Finding::Level::ok, "LibTorch", plugin.info->libtorch_version + " (by trainer " + plugin.name + ")"};
        }
    }
    return {Finding::Level::note, "LibTorch", "no trainer here uses it"};
}

/// Which BLAS the dynamic linker would give LibTorch: Debian's reference BLAS is 7 to 12 times slower than OpenBLAS.
Finding blas() {
    for (const char* candidate : {"/usr/lib/x86_64-linux-gnu/libblas.so.3", "/usr/lib/aarch64-linux-gnu/libblas.so.3"}) {
        std::error_code failed;
        const auto real = std::filesystem::canonical(candidate, failed);
        if (failed) continue;
        const bool fast = real.string().find("openblas") != std::string::npos || real.string().find("mkl") != std::string::npos;
        if (fast) return {Finding::Level::ok, "BLAS", real.string()};
        return {Finding::Level::note, "BLAS",
                real.string() + " looks like reference BLAS, several times slower; install libopenblas0-pthread"};
    }
    return {Finding::Level::note, "BLAS", "no system BLAS found; LibTorch may bring its own"};
}

void devices(std::vector<Finding>& findings) {
    if (const auto nvml = device::Nvml::load()) {
        findings.push_back({Finding::Level::ok, "driver", "NVIDIA " + nvml->driver_version()});
        const auto cards = visible_cards();
        for (std::size_t i = 0; i < cards.size(); ++i) {
            const std::string device = "cuda:" + std::to_string(i);
            if (cards[i].is_known()) {
                findings.push_back(
                    {Finding::Level::ok, device,
                     cards[i].name + ", " + format_bytes(cards[i].free_bytes) + " free of " + format_bytes(cards[i].total_bytes)});
            } else if (!cards[i].uuid.empty()) {
                findings.push_back(
                    {Finding::Level::note, device, cards[i].uuid + ", an instance whose memory is not known: give --device-memory"});
            } else {
                findings.push_back({Finding::Level::note, device, "with this CUDA_DEVICE_ORDER it is not known which card this is"});
            }
        }
        if (const std::size_t all = nvml->devices().size(); cards.size() < all)
            findings.push_back({Finding::Level::note, "cards", missing_cards()});
    } else {
        findings.push_back({Finding::Level::note, "driver", "no NVIDIA driver: trials run on the CPU"});
    }
    if (const auto host = device::host_memory()) {
        findings.push_back({Finding::Level::ok, "cpu",
                            format_bytes(host->available) + " free of " + format_bytes(host->total) +
                                (host->limited_by_cgroup ? " (the cgroup's limit)" : "")});
    } else {
        findings.push_back({Finding::Level::bad, "cpu", "/proc/meminfo cannot be read"});
    }
}

void trainers(std::vector<Finding>& findings, const worker::WorkerDescription& described) {
    for (const worker::PluginDescription& plugin : described.plugins) {
        findings.push_back({plugin.info ? Finding::Level::ok : Finding::Level::bad, "trainer " + plugin.name,
                            plugin.info ? plugin.path : plugin.error.value_or("it says nothing")});
    }
    if (described.plugins.empty()) findings.push_back({Finding::Level::bad, "trainers", "none found in " + join_names(described.folders)});
}

std::string folder_of(const std::string& file) {
    const auto parent = std::filesystem::path{file}.parent_path();
    return parent.empty() ? "." : parent.string();
}

/// The folder of the store, or none if the address names none; `store` then says what is wrong.
std::string store_folder(const std::string& address) {
    try {
        return folder_of(store::file_of(address));
    } catch (const Error&) {
        return {};
    }
}

/// Only looks: nothing is created, changed or removed, whoever made the file.
Finding store(const std::string& address) {
    try {
        const std::string file = store::file_of(address);
        const std::string folder = folder_of(file);
        const bool exists = std::filesystem::exists(file);
        std::string holds;
        if (exists) {
            store::Snapshot snapshot{file};
            const std::size_t count = snapshot.studies().size();
            holds = file + " holds " + (count == 1 ? "1 study" : std::to_string(count) + " studies");
            if (::access(file.c_str(), W_OK) != 0) return {Finding::Level::bad, "store", holds + " and cannot be written"};
        }
        // SQLite keeps its journal beside the file.
        if (::access(folder.c_str(), W_OK | X_OK) != 0) {
            return {Finding::Level::bad, "store",
                    (exists ? holds : file + " does not exist") + "; folder '" + folder + "' cannot be written"};
        }
        return {Finding::Level::ok, "store", exists ? holds : file + " can be created"};
    } catch (const std::exception& error) {
        return {Finding::Level::bad, "store", error.what()};
    }
}

}  // namespace

void add_doctor(tools::CommandLine& line) {
    struct Options {
        std::vector<std::string> plugin_dirs;
        std::string plugin_timeout = "60s";
        std::string store = "hpo.db";
        std::string device;
        std::string trainer;
        bool as_json = false;
    };
    auto options = std::make_shared<Options>();
    auto* command = line.add("doctor", "Check this machine: LibTorch, BLAS, driver, devices, trainers, store");
    show_card_option(command);
    command->add_option("--plugin-dir", options->plugin_dirs, "a folder with trainer plugins (repeatable)")->allow_extra_args(false);
    command->add_option("--plugin-timeout", options->plugin_timeout, "how long each trainer plugin may take to load")
        ->type_name("DURATION")
        ->capture_default_str();
    command->add_option("--store", options->store, "the store that should be writable")->capture_default_str();
    command
        ->add_option("--device", options->device,
                     "also measure this device: allocate, copy, multiply, add, be refused, give back, and say who else holds memory of it")
        ->type_name("cpu|cuda|cuda:N");
    command->add_option("--trainer", options->trainer, "the trainer whose LibTorch measures (default: the first that can)")
        ->type_name("NAME")
        ->needs("--device");
    command->add_flag("--json", options->as_json, "as JSON");
    line.on(command, [options] {
        const auto plugin_timeout = require_timeout("--plugin-timeout", options->plugin_timeout);
        std::vector<Finding> findings;
        worker::WorkerDescription described;
        try {
            described = describe_trainers(options->plugin_dirs, plugin_timeout);
            findings.push_back(
                {Finding::Level::ok, "worker", worker_program().string() + ", plugin ABI " + std::to_string(described.plugin_abi)});
        } catch (const Error& error) {
            findings.push_back({Finding::Level::bad, "worker", error.what()});
        }
        findings.push_back(libtorch(described));
        findings.push_back(blas());
        devices(findings);
        trainers(findings, described);
        findings.push_back(store(options->store));
        for (Finding& finding : machine_findings(store_folder(options->store))) findings.push_back(std::move(finding));
        if (!options->device.empty()) {
            const MeasurementRequest request{options->device, options->trainer, options->plugin_dirs, plugin_timeout};
            for (Finding& finding : measured_findings(request, described)) findings.push_back(std::move(finding));
        }

        static constexpr const char* words[] = {"ok  ", "note", "BAD "};
        bool good = true;
        tools::Json list = tools::Json::array();
        for (const Finding& finding : findings) {
            good = good && finding.level != Finding::Level::bad;
            const std::string word = words[static_cast<std::size_t>(finding.level)];
            if (!options->as_json) {
                std::cout << word << "  " << finding.what << ": " << tools::on_one_line(finding.detail) << "\n";
                continue;
            }
            tools::Json entry{{"detail", finding.detail}, {"level", word.substr(0, word.find(' '))}, {"what", finding.what}};
            if (finding.seconds) entry["seconds"] = *finding.seconds;
            if (finding.bytes) entry["bytes"] = *finding.bytes;
            list.push_back(std::move(entry));
        }
        if (options->as_json) tools::print(list);
        return good ? 0 : 1;
    });
}

}  // namespace hpo::tune
