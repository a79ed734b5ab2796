// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/source_lines.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::allocator {

namespace detail {

[[nodiscard]] bool is_own_python(std::string_view file) {
    std::string path{file};
    std::ranges::replace(path, '\\', '/');
    const bool python = path.ends_with(".py") || path.starts_with("<ipython") || path == "<stdin>" || path == "<string>";
    // PyTorch may also run from its source tree, and Python's library on Windows stands in Lib.
    constexpr std::array<std::string_view, 13> others{"/site-packages/",    "/dist-packages/",  "/lib/python3",      "/torch/nn/",
                                                      "/torch/optim/",      "/torch/autograd/", "/torch/utils/",     "/torch/cuda/",
                                                      "/torch/_",           "/torch/amp/",      "/torch/library.py", "/torch/functional.py",
                                                      "/torch/distributed/"};
    const bool of_windows = path.size() > 2 && path[1] == ':' && path.find("/Lib/") != std::string::npos;
    return python && !of_windows &&
           std::ranges::none_of(others, [&](std::string_view each) { return path.find(each) != std::string::npos; });
}

/// The phase in a frame of write_snapshot(), which has the phase as its file and the scope as its function.
[[nodiscard]] std::optional<SourceLines::Part> written_phase(const Snapshot& snapshot, std::uint32_t frame) {
    const std::string& file = snapshot.texts[snapshot.frames[frame].file];
    if (file == "build") return SourceLines::Part::build;
    if (file.empty() || file == "batch" || file == "forward" || file == "evaluation") return SourceLines::Part::forward;
    if (file == "backward") return SourceLines::Part::backward;
    if (file == "step") return SourceLines::Part::step;
    return std::nullopt;
}

}  // namespace detail

SourceLines::SourceLines(const Snapshot& snapshot)
    : snapshot_{snapshot}, own_(snapshot.stacks.size()), parts_(snapshot.stacks.size(), Part::forward) {
    std::vector<bool> own_file;
    std::vector<bool> optimizer_file;
    std::vector<bool> backward_name;
    std::vector<bool> module_file;
    std::vector<bool> making_name;
    for (const std::string& text : snapshot.texts) {
        own_file.push_back(detail::is_own_python(text));
        optimizer_file.push_back(text.find("torch/optim/") != std::string::npos || text.find("torch\\optim\\") != std::string::npos);
        module_file.push_back(text.find("torch/nn/modules/") != std::string::npos ||
                              text.find("torch\\nn\\modules\\") != std::string::npos);
        making_name.push_back(text == "__init__" || text == "_apply");
        backward_name.push_back(text == "backward" || text == "_engine_run_backward" || text.find("autograd::Engine") != std::string::npos);
    }
    for (std::size_t i = 0; i < snapshot.stacks.size(); ++i) {
        bool step = false;
        bool backward = false;
        bool build = false;
        for (const std::uint32_t number : snapshot.stacks[i]) {
            const Frame& frame = snapshot.frames[number];
            if (!own_[i] && own_file[frame.file]) own_[i] = number;
            step = step || optimizer_file[frame.file];
            backward = backward || backward_name[frame.function];
            build = build || (module_file[frame.file] && making_name[frame.function]);
        }
        const bool single = snapshot.stacks[i].size() == 1;
        if (const auto written = single ? detail::written_phase(snapshot, snapshot.stacks[i][0]) : std::nullopt) parts_[i] = *written;
        else if (backward) parts_[i] = Part::backward;
        else if (step) parts_[i] = Part::step;
        else if (build) parts_[i] = Part::build;
    }
    const auto read = [&](std::string_view name, Times& times) {
        std::map<int, std::int64_t> begun;
        for (const Annotation& each : snapshot.annotations) {
            if (!snapshot.texts[each.name].starts_with(name)) continue;
            if (each.begins) begun[each.device] = each.time_us;
            else if (const std::int64_t from = std::exchange(begun[each.device], 0); from > 0)
                times[each.device].emplace_back(from, each.time_us);
        }
        for (auto& [device, each] : times) std::ranges::sort(each);
    };
    read("Optimizer.step", steps_);
    read("ProfilerStep", profiled_);
}

std::vector<std::pair<std::int64_t, std::int64_t>> SourceLines::annotated_steps(int device) const {
    if (const auto found = steps_.find(device); found != steps_.end()) return found->second;
    if (const auto found = profiled_.find(device); found != profiled_.end()) return found->second;
    return {};
}

SourceLines::Part SourceLines::part(const DeviceHistory& history, const RecordedBlock& block) const {
    const Part told = part(block.stack);
    const auto found = steps_.find(history.device);
    if (told != Part::forward || found == steps_.end()) return told;
    const auto& steps = found->second;
    const std::int64_t time = time_of(history, block);
    const auto at = std::ranges::upper_bound(steps, time, {}, [](const auto& each) { return each.first; });
    return at != steps.begin() && time <= std::prev(at)->second ? Part::step : Part::forward;
}

std::int64_t SourceLines::time_of(const DeviceHistory& history, const RecordedBlock& block) const {
    return snapshot_.events_of(history.device)[block.taken].time_us;
}

std::string SourceLines::text(std::uint32_t number) const {
    const Frame& frame = snapshot_.frames[number];
    const std::string_view file = snapshot_.texts[frame.file];
    std::size_t cut = file.find_last_of("/\\");
    if (cut != std::string_view::npos && cut > 0) cut = file.find_last_of("/\\", cut - 1);
    const std::string_view shown = cut == std::string_view::npos ? file : file.substr(cut + 1);
    return std::string{shown} + ":" + std::to_string(frame.line) + " " + snapshot_.texts[frame.function];
}

std::string SourceLines::holder(const RecordedBlock& block) const {
    if (const auto line = own(block.stack)) return text(*line);
    if (block.stack == 0) return block.from_before() ? "(from before the recording)" : "(no stack recorded)";
    const std::vector<std::uint32_t>& stack = snapshot_.stacks[block.stack];
    if (stack.size() == 1 && detail::written_phase(snapshot_, stack[0])) return snapshot_.texts[snapshot_.frames[stack[0]].function];
    return part(block.stack) == Part::backward ? "(autograd, no line of Python)" : "(no line of your own code)";
}

void describe_trace(AllocationTrace& trace, const DeviceHistory& history, const SourceLines& lines) {
    std::map<std::string, std::uint32_t, std::less<>> scopes;
    const bool stacks =
        std::ranges::any_of(history.blocks, [](const RecordedBlock& each) { return !each.from_before() && each.stack != 0; });
    for (std::size_t i = 0; i < history.blocks.size(); ++i) {
        const auto [at, added] = scopes.try_emplace(lines.holder(history.blocks[i]), static_cast<std::uint32_t>(trace.scopes.size()));
        if (added) trace.scopes.push_back(at->first);
        trace.blocks[i].scope = at->second;
    }
    if (!stacks) return;
    constexpr std::array<std::string_view, 4> names{"build", "forward", "backward", "step"};
    // An optimizer need not take memory in a step. Then its annotation alone tells where the step ends.
    const auto annotated = lines.annotated_steps(history.device);
    auto next = annotated.begin();
    bool stepped = false;  // a phase "step" began since the last annotated step ended
    std::string_view now;
    const auto enter = [&](std::size_t event, std::string_view name) {
        if (name == now) return;
        trace.phases.push_back({event, std::string{name}});
        now = name;
        stepped = stepped || name == "step";
    };
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        if (trace.events[i] < 0) continue;
        const RecordedBlock& block = history.blocks[static_cast<std::size_t>(trace.events[i])];
        const std::int64_t time = block.from_before() ? 0 : lines.time_of(history, block);
        for (; next != annotated.end() && next->second < time; ++next) {
            if (!stepped) enter(i, "step");
            stepped = false;
        }
        enter(i, block.from_before() ? "build" : names[static_cast<std::size_t>(lines.part(history, block))]);
    }
    if (next != annotated.end() && !stepped) enter(trace.events.size(), "step");
}

}  // namespace hpo::allocator
