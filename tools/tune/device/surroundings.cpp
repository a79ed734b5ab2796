// SPDX-License-Identifier: MIT
#include "tune/device/surroundings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/cublas_workspace.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/device/host_memory.hpp"
#include "hpo/device/processor_name.hpp"
#include "hpo/device/visible_cards.hpp"
#include "hpo/trainer/objectives.hpp"
#include "tune/card/virtual_card.hpp"
#include "tune/display/cards.hpp"

namespace hpo::tune {

std::string usable_device(const std::string& place, const std::string& text, const TrainerInfo& info) {
    // Trainers that were built before uses_cuda was known say it by their LibTorch's version alone.
    // What a program uses is not known, so it may use a card.
    const bool uses_cuda = info.uses_cuda || info.open_ended || info.libtorch_version.find("+cu") != std::string::npos;
    if (is_cpu(text)) return text;
    const auto number = device::card_number(text);
    if (text != "auto" && !number) throw bad_value(place, "'" + text + "'", "auto, cpu, cuda or cuda:N");
    const auto cards = visible_cards();
    if (number && cards.empty()) throw Error{Errc::no_device, place + ": " + missing_cards() + "; known: cpu"};
    if (number && !uses_cuda) {
        throw Error{Errc::no_device,
                    place + ": trainer " + info.name +
                        (info.libtorch_version.empty() ? " does not use a GPU; known: cpu"
                                                       : " was not built for CUDA (LibTorch " + info.libtorch_version + "); known: cpu")};
    }
    if (!number && (cards.empty() || !uses_cuda)) return "cpu";
    if (text.starts_with("cuda:") && *number >= cards.size()) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < cards.size(); ++i) names.push_back("cuda:" + std::to_string(i));
        throw Error{Errc::no_device, place + ": no device '" + text + "'; known: cpu, " + join_names(names)};
    }
    const auto best =
        std::max_element(cards.begin(), cards.end(), [](const auto& a, const auto& b) { return a.free_bytes < b.free_bytes; });
    const auto chosen = text.starts_with("cuda:") ? *number : static_cast<std::size_t>(best - cards.begin());
    if (cards[chosen].uuid.empty() && !cards[chosen].is_known()) {
        throw Error{Errc::no_device, place + ": there are several cards, and with this CUDA_DEVICE_ORDER it is not known which one '" +
                                         text + "' is; expected PCI_BUS_ID, or uuids in CUDA_VISIBLE_DEVICES"};
    }
    return "cuda:" + std::to_string(chosen);
}

std::string chosen_device(const Settings& settings, const TrainerInfo& info) {
    const std::string& name = settings.devices().front().name;
    if (is_cpu(name)) return "cpu";
    return usable_device(settings.place("device"), name == "cuda:*" ? "cuda" : name, info);
}

std::string estimated_device(const Settings& settings, const TrainerInfo& info) {
    const std::string& name = settings.devices().front().name;
    return device::card_number(name) ? name : chosen_device(settings, info);
}

namespace {

/// cuBLAS's workspace of each thread, as CUBLAS_WORKSPACE_CONFIG or the architecture say it. Nothing where neither does, and for a LibTorch
/// that leaves it to cuBLAS.
std::optional<std::int64_t> cublas_workspace_bytes(const TrainerInfo& info, std::optional<allocator::ComputeCapability> capability) {
    const auto version = allocator::parse_libtorch_version(info.libtorch_version);
    if (!version || version->major < 2) return std::nullopt;
    if (const char* asked = std::getenv("CUBLAS_WORKSPACE_CONFIG")) {
        if (const auto bytes = allocator::configured_cublas_workspace_bytes(asked)) return bytes;
    }
    if (!capability) return std::nullopt;
    return allocator::usual_cublas_workspace_bytes(*version, capability);
}

}  // namespace

void describe_device(worker::PoolConfig& config, const Settings& settings, const TrainerInfo& info) {
    if (is_cpu(config.device)) return;
    const auto card = card_of(config.device);
    PredictedCard like{.name = {}, .capability = settings.compute_capability()};
    if (!like.capability && card) like = {card->name, allocator::parse_compute_capability(card->compute_capability)};
    config.cublas_workspace_bytes = cublas_workspace_bytes(info, like.capability);
    config.cuda_context_bytes = virtual_context_bytes();
    if (!info.uses_cuda && !info.open_ended) return;
    if (info.open_ended) {
        if (!config.cuda_context_bytes) config.cuda_context_bytes = told_context_bytes(like);
        config.prediction_timeout = std::chrono::seconds{50};  // a program runs, and heartbeats wait for it
        config.question_memory_bytes = 0;                      // a limit would be the program's, too
    }
    try {
        config.virtual_card = info.open_ended ? card_for_programs(like) : card_for_predictions(like);
    } catch (const Error& error) {
        if (error.code() != Errc::no_device) throw;
        config.why_no_virtual_card = error.what();
    }
}

std::string device_name(const std::string& device) {
    if (is_cpu(device)) return device::processor_name();
    const auto card = card_of(device);
    return card ? card->name : std::string{};
}

std::optional<std::int64_t> device_budget(const Settings& settings, std::string_view device) {
    const auto own = std::ranges::find_if(settings.devices(), [&](const DeviceWord& word) {
        return device.empty() || word.name == device || (device == "cpu" && is_cpu(word.name));
    });
    if (own != settings.devices().end() && own->bytes) return own->bytes;
    if (settings.fallback() && settings.fallback()->bytes && settings.fallback()->name == device) return settings.fallback()->bytes;
    const auto bytes = settings.bytes("device-memory");
    if (bytes && *bytes < ExecutionPlan::least_memory_bytes) {
        throw bad_value(settings.place("device-memory"), "'" + settings.text("device-memory") + "'",
                        "at least 1MiB: no model trains in less");
    }
    return bytes;
}

void inherit_allocator_settings(ExecutionPlan& plan) {
    if (is_cpu(plan.device) || !plan.allocator_settings.empty()) return;
    for (const char* name : {"PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}) {
        if (const char* inherited = std::getenv(name); inherited && plan.allocator_settings.empty()) plan.allocator_settings = inherited;
    }
}

std::optional<std::string> refused_allocator(const ExecutionPlan& from, const ExecutionPlan& to, const TrainerInfo& info) {
    const auto version = allocator::parse_libtorch_version(info.libtorch_version);
    if (!version || is_cpu(to.device)) return std::nullopt;
    try {
        if (to.expandable_segments && !from.expandable_segments)
            static_cast<void>(allocator::read_allocator_conf("expandable_segments:True", *version, "plan"));
        if (to.allocator_settings != from.allocator_settings)
            static_cast<void>(allocator::read_allocator_conf(to.allocator_settings, *version, "plan.allocator_settings"));
    } catch (const Error& error) {
        return error.what();
    }
    return std::nullopt;
}

std::optional<std::int64_t> device_capacity(const Settings& settings, const std::string& device) {
    constexpr double usable = 0.98;  // the driver keeps 1 to 1.5 % of a card for itself
    if (auto given = device_budget(settings, device)) return given;
    const auto card = is_cpu(device) ? std::nullopt : card_of(device);
    if (!card || card->total_bytes <= 0) return std::nullopt;
    return static_cast<std::int64_t>(usable * static_cast<double>(card->total_bytes));
}

std::vector<std::string> several_objectives(const Settings& settings) {
    auto objectives = settings.objectives();
    return objectives.size() > 1 ? objectives : std::vector<std::string>{};
}

worker::PoolConfig pool_config(const Settings& settings, const TrainerInfo& info) {
    return {.worker_program = worker_program(),
            .trainer = info.name,
            .plugin_folders = plugin_folders(settings.arguments().plugin_dirs),
            .options = {settings.description().trainer_options.begin(), settings.description().trainer_options.end()},
            .metric = reported_metric(settings.objectives()),
            .objectives = several_objectives(settings),
            .start_timeout = settings.plugin_timeout(),
            .check_timeout = settings.plugin_timeout()};
}

worker::PoolConfig question_config(const Settings& settings, const TrainerInfo& info, const std::string& device) {
    worker::PoolConfig config = pool_config(settings, info);
    config.device = device;
    describe_device(config, settings, info);
    config.profile_timeout = config.prediction_timeout = settings.plugin_timeout();
    return config;
}

namespace {

std::size_t automatic_workers(const Settings& settings, const std::string& device, std::size_t cores) {
    if (is_cpu(device)) return std::min<std::size_t>(cores, 4);
    if (settings.text("guard") == "unlimited" || !device_capacity(settings, device)) return 1;
    constexpr std::int64_t host_bytes = std::int64_t{4} << 30U;  // of a process with a GPU's libraries, a data set and a model's weights
    const auto host = device::host_memory();
    const auto bearable = host ? std::max<std::int64_t>(1, host->available / host_bytes) : 1;
    return std::min({cores, static_cast<std::size_t>(bearable), std::size_t{8}});
}

}  // namespace

Parallelism parallelism(const Settings& settings, const std::string& device, const AmongDevices& among) {
    const auto cores = static_cast<std::size_t>(std::max(1U, std::thread::hardware_concurrency()));
    Parallelism result;
    std::size_t in_all = 0;  // workers of all devices
    if (settings.text("workers") == "auto") {
        result.workers = std::max<std::size_t>(1, automatic_workers(settings, device, cores) / among.devices);
        in_all = result.workers * among.devices;
    } else {
        in_all = static_cast<std::size_t>(settings.whole("workers", 1, 120));
        if (in_all < among.devices)
            throw bad_value(settings.place("workers"), std::to_string(in_all) + " for " + std::to_string(among.devices) + " devices",
                            "at least one worker for each device");
        result.workers = in_all / among.devices + (among.place < in_all % among.devices ? 1 : 0);
    }
    if (settings.text("threads") == "auto") result.threads = static_cast<int>(std::max<std::size_t>(1, cores / in_all));
    else result.threads = static_cast<int>(settings.whole("threads", 1, 1024));
    return result;
}

std::vector<std::string> beyond_machine(const Settings& settings, const std::string& device) {
    std::vector<std::string> texts;
    const auto bytes = device_budget(settings);
    const auto host = device::host_memory();
    if (is_cpu(device) && bytes && host && *bytes > host->total)
        texts.push_back(settings.place("device-memory") + ": " + format_bytes(*bytes) + " are more than the " + format_bytes(host->total) +
                        " of this machine: trials may run out of its memory before they meet the limit");
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    const Parallelism parallel = parallelism(settings, device);
    if (settings.text("threads") != "auto" && static_cast<unsigned>(parallel.threads) > cores)
        texts.push_back(settings.place("threads") + ": " + std::to_string(parallel.threads) +
                        " threads for each worker, but this machine has " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                        ": they slow each other down");
    return texts;
}

}  // namespace hpo::tune
