// SPDX-License-Identifier: MIT
#include "analyze/shown/failed_devices.hpp"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>

#include "hpo/base/bytes.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

/// Drivers and versions of PyTorch give the capacity of one card a little differently.
bool is_about(std::int64_t a, std::int64_t b) { return std::max(a, b) - std::min(a, b) <= std::max(a, b) / 50; }

/// "GPU 1" of "... GPU 1 has a total capacity of ..." and of "(GPU 1; 23.69 GiB total capacity; ...". Empty if it is not told.
std::string gpu_in(std::string_view message) {
    constexpr std::string_view word = "GPU ";
    for (auto at = message.find(word); at != std::string_view::npos; at = message.find(word, at + 1)) {
        auto end = at + word.size();
        while (end < message.size() && std::isdigit(static_cast<unsigned char>(message[end])) != 0) ++end;
        if (end > at + word.size()) return std::string{message.substr(at, end - at)};
    }
    return {};
}

FailedDevice device_of(const hpo::analysis::FailureCase& failed) {
    FailedDevice device{.place = {}, .name = {}, .least_bytes = failed.failure.memory.capacity, .most_bytes = {}, .attempts = 1};
    device.place = device_place(failed);
    if (failed.attempt) {
        device.name = failed.attempt->device_name;
        if (!device.least_bytes) device.least_bytes = failed.attempt->capacity_bytes;
    }
    device.most_bytes = device.least_bytes;
    return device;
}

bool is_known(const FailedDevice& device) { return !device.place.empty() || !device.name.empty(); }

/// Whether both may be one device. The capacity of a named device is what runs may take of it, so it may differ.
bool is_same(const FailedDevice& a, const FailedDevice& b) {
    if (a.place != b.place || a.name != b.name) return false;
    const bool by_name = !a.name.empty() || a.place == "cpu";
    return by_name || !a.most_bytes || !b.most_bytes || is_about(*a.most_bytes, *b.most_bytes);
}

std::string capacity_text(std::int64_t least, std::int64_t most) {
    return (is_about(least, most) ? "" : hpo::format_bytes(least) + " to ") + hpo::format_bytes(most);
}

}  // namespace

std::string device_place(const hpo::analysis::FailureCase& failed) {
    if (!failed.attempt) return gpu_in(failed.failure.message);
    return failed.attempt->plan.device == "cuda" ? "cuda:0" : failed.attempt->plan.device;
}

std::string FailedDevice::text() const {
    const std::string capacity = most_bytes ? capacity_text(*least_bytes, *most_bytes) : "";
    if (place.empty() && name.empty()) return "a device of " + capacity;
    if (place.empty()) return name + (capacity.empty() ? "" : " (" + capacity + ")");
    const std::string details = name + (name.empty() || capacity.empty() ? "" : ", ") + capacity;
    return place + (details.empty() ? "" : " (" + details + ")");
}

FailedDevices::FailedDevices(const hpo::analysis::OomReport& report) {
    std::vector<FailedDevice> all;
    for (const hpo::analysis::OomCase& entry : report.cases) {
        if (entry.failed.failure.kind == hpo::FailureKind::out_of_memory) all.push_back(device_of(entry.failed));
        else if (entry.failed.failure.kind == hpo::FailureKind::host_out_of_memory) ++on_host;
    }
    std::ranges::stable_partition(all, [](const FailedDevice& device) { return device.most_bytes.has_value(); });
    const bool some_are_known = std::ranges::any_of(all, is_known);
    for (const FailedDevice& device : all) {
        if (some_are_known ? !is_known(device) : !device.most_bytes) {
            ++unknown;
            continue;
        }
        const auto same = [&](const FailedDevice& other) { return is_same(device, other); };
        const auto found = std::ranges::find_if(devices, same);
        if (found == devices.end()) {
            devices.push_back(device);
            continue;
        }
        if (!device.most_bytes && std::any_of(found + 1, devices.end(), same)) {
            ++unknown;
            continue;
        }
        ++found->attempts;
        if (!device.most_bytes) continue;
        found->least_bytes = std::min(*found->least_bytes, *device.least_bytes);
        found->most_bytes = std::max(*found->most_bytes, *device.most_bytes);
    }
    std::ranges::stable_sort(devices, std::greater{}, &FailedDevice::attempts);
}

std::string FailedDevices::text(std::optional<std::int64_t> usual) const {
    if (devices.size() < 2) {
        const bool differs = !devices.empty() && devices[0].most_bytes && !is_about(*devices[0].least_bytes, *devices[0].most_bytes);
        if (differs) return "device of " + capacity_text(*devices[0].least_bytes, *devices[0].most_bytes);
        return usual ? "device of " + hpo::format_bytes(*usual) : "";
    }
    std::string text = "on " + std::to_string(devices.size()) + " devices: ";
    for (std::size_t i = 0; i < devices.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(devices[i].attempts) + " on " + devices[i].text();
    if (unknown > 0) text += ", " + std::to_string(unknown) + " on a device that is not known";
    return text + (on_host == 0 ? "" : ", " + std::to_string(on_host) + " in host memory");
}

Json FailedDevices::json() const {
    Json list = Json::array();
    for (const FailedDevice& device : devices) {
        list.push_back({{"device", text_or_null(device.place)},
                        {"name", text_or_null(device.name)},
                        {"capacity_bytes", or_null(device.most_bytes)},
                        {"oom_attempts", device.attempts}});
    }
    return list;
}

}  // namespace hpo::analyze
