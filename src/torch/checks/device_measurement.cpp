// SPDX-License-Identifier: MIT
#include "torch/checks/device_measurement.hpp"

#include <torch/cuda.h>
#include <torch/torch.h>
#include <torch/version.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "hpo/core/value.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "torch/prediction/virtual_card.hpp"

#ifdef HPO_TORCH_CUDA
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDAAllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#endif

namespace hpo::libtorch::detail {

/// "8.7e-08"
std::string two_digits(double value) {
    std::ostringstream text;
    text << std::setprecision(2) << value;
    return text.str();
}

/// "2.31 ms"
std::string milliseconds_text(double seconds) { return number_text(std::round(seconds * 1e5) / 100) + " ms"; }

/// "13000" as CUDA writes 13.0.
std::string cuda_version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

/// Numbers in [-1, 1) that a constant seed gives, on the CPU. They lie outside the meter.
torch::Tensor some_numbers(std::int64_t rows, std::int64_t columns, std::int64_t seed) {
    const Unmetered outside;
    const torch::Tensor index = torch::arange(rows * columns, torch::kLong) + seed;
    return (((index * 2654435761) % 4093).to(torch::kFloat) / 2046.5F - 1).reshape({rows, columns});
}

}  // namespace hpo::libtorch::detail

namespace hpo::libtorch {

DeviceMeasurement::DeviceMeasurement(RunningAttempt& attempt, std::vector<DeviceFinding>& findings)
    : attempt_{attempt}, findings_{findings}, device_{attempt.device()}, computes_{device_.is_cpu() || !is_on_virtual_card()} {}

void DeviceMeasurement::make() {
    const torch::NoGradGuard no_gradients;
    static_cast<void>(guarded("runtime", [&] { runtime(); }) && guarded("allocation", [&] { allocation(); }) &&
                      guarded("copy", [&] { copy(); }) && guarded("product", [&] { product(); }) &&
                      guarded("reduction", [&] { reduction(); }) && guarded("refusal", [&] { refusal(); }) &&
                      guarded("release", [&] { release(); }) && guarded("expandable segments", [&] { expandable_segments(); }));
    block_.reset();
}

template <class Work>
double DeviceMeasurement::timed(const Work& work) const {
    const auto wait = [&] {
        if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
    };
    wait();
    const auto start = std::chrono::steady_clock::now();
    work();
    wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class Measure>
bool DeviceMeasurement::guarded(std::string_view what, const Measure& measure) {
    try {
        measure();
        return true;
    } catch (...) {
        const Failure failure = translate_failure(std::current_exception(), attempt_.phase(), {});
        add(DeviceFinding::Level::bad, what, failure.message);
        return false;
    }
}

void DeviceMeasurement::add(DeviceFinding::Level level, std::string_view what, std::string detail) {
    findings_.push_back({.level = level, .what = std::string{what}, .detail = std::move(detail)});
}

void DeviceMeasurement::runtime() {
    std::string text = "LibTorch " TORCH_VERSION;
#ifdef HPO_TORCH_CUDA
    if (device_.is_cuda()) {
        int driver = 0;
        int runtime = 0;
        if (cudaDriverGetVersion(&driver) == cudaSuccess) text += ", driver for CUDA " + detail::cuda_version_text(driver);
        if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) text += ", CUDA runtime " + detail::cuda_version_text(runtime);
        const auto* const card = at::cuda::getDeviceProperties(device_.index());
        text += std::string{", "} + card->name + ", compute capability " + std::to_string(card->major) + "." + std::to_string(card->minor);
        if (driver > 0 && driver / 1000 < runtime / 1000) {
            add(DeviceFinding::Level::bad, "runtime", text + "; expected a driver for at least the runtime's CUDA");
            return;
        }
    }
#endif
    if (device_.is_cpu()) text += ", " + std::to_string(at::get_num_threads()) + (at::get_num_threads() == 1 ? " thread" : " threads");
    add(DeviceFinding::Level::ok, "runtime", text);
}

void DeviceMeasurement::allocation() {
    constexpr std::int64_t most = std::int64_t{64} << 20U;
    constexpr std::int64_t unit = std::int64_t{2} << 20U;  // what CUDA's allocator rounds large blocks to
    release_cached_memory(device_);
    before_ = read_memory(device_);
    const std::int64_t share = before_.capacity.value_or(8 * most) / 8;
    bytes_ = std::max(unit, std::min(most, share) / unit * unit);
    const double seconds = timed([&] {
        block_ = torch::empty({bytes_}, torch::TensorOptions{}.dtype(torch::kByte).device(device_));
        block_.fill_(1);
    });
    held_ = read_memory(device_);
    const std::int64_t counted = held_.allocated.value_or(0) - before_.allocated.value_or(0);
    const std::int64_t reserved = held_.reserved.value_or(0) - before_.reserved.value_or(0);
    std::string text = format_bytes(bytes_) + " taken and filled in " + detail::milliseconds_text(seconds) + "; the allocator counts " +
                       format_bytes(counted);
    DeviceFinding::Level level = counted == bytes_ && reserved >= bytes_ ? DeviceFinding::Level::ok : DeviceFinding::Level::bad;
    if (before_.free && held_.free) {
        const std::int64_t less = *before_.free - *held_.free;
        text += ", the device has " + format_bytes(std::abs(less)) + (less < 0 ? " more" : " less") + " free";
        if (less < bytes_ && level == DeviceFinding::Level::ok) {
            level = DeviceFinding::Level::note;
            text += ": another process may have given back memory meanwhile";
        }
    } else {
        text += ", the device has no limit";
    }
    if (level == DeviceFinding::Level::bad) text += "; expected " + format_bytes(bytes_);
    add(level, "allocation", std::move(text));
    took(seconds, bytes_);
}

void DeviceMeasurement::copy() {
    const Unmetered outside;
    const std::int64_t bytes = bytes_ / 2;
    const torch::Tensor numbers = ((torch::arange(bytes / 8, torch::kLong) + 1) * 6364136223846793005) ^ 1442695040888963407;
    torch::Tensor there;
    torch::Tensor back;
    const double to = timed([&] { there = numbers.to(device_, torch::kLong, /*non_blocking=*/false, /*copy=*/true); });
    const double from = timed([&] { back = there.to(torch::kCPU, torch::kLong, /*non_blocking=*/false, /*copy=*/true); });
    const auto speed = [&](double seconds) { return format_bytes(static_cast<std::int64_t>(static_cast<double>(bytes) / seconds)) + "/s"; };
    if (!computes_) return add(DeviceFinding::Level::note, "copy", format_bytes(bytes) + " there and back" + not_compared);
    std::string text = format_bytes(bytes) + " to the device in " + detail::milliseconds_text(to) + " (" + speed(to) + "), back in " +
                       detail::milliseconds_text(from) + " (" + speed(from) + ")";
    if (const auto wrong = back.ne(numbers).sum().item<std::int64_t>(); wrong > 0) {
        add(DeviceFinding::Level::bad, "copy",
            text + "; " + std::to_string(wrong) + " of " + std::to_string(numbers.numel()) +
                " numbers came back changed; expected the same bits");
    } else {
        add(DeviceFinding::Level::ok, "copy", text + "; every bit came back");
    }
    took(to + from, bytes);
}

void DeviceMeasurement::product() {
    constexpr std::int64_t n = 512;
    const torch::Tensor a = detail::some_numbers(n, n, 1);
    const torch::Tensor b = detail::some_numbers(n, n, 77777);
    const torch::Tensor left = a.to(device_);
    const torch::Tensor right = b.to(device_);
    torch::Tensor result = torch::mm(left, right);  // the first product also starts the libraries
    const double seconds = timed([&] { torch::mm_out(result, left, right); });
    if (!computes_) return add(DeviceFinding::Level::note, "product", std::string{"512 x 512 in fp32"} + not_compared);
    const double operations = 2.0 * n * n * n;
    std::string text = "512 x 512 in fp32 in " + detail::milliseconds_text(seconds) + " (" +
                       number_text(std::round(operations / seconds / 1e8) / 10) + " GFLOP/s)";
    const Unmetered outside;
    // Whatever the order of the sum, its error is at most n u / (1 - n u) times the sum of the absolute products (Higham 2002, section
    // 3.1), with u = 2^-24 in fp32. TF32 rounds each factor to 11 bits first.
    const double u = std::ldexp(1.0, -24);
    const double bound = n * u / (1 - n * u);
    const double tf32_bound = bound + 1.001 * std::ldexp(1.0, -10);
    const torch::Tensor exact = torch::mm(a.to(torch::kDouble), b.to(torch::kDouble));
    const torch::Tensor scale = torch::mm(a.to(torch::kDouble).abs(), b.to(torch::kDouble).abs()).clamp_min(1e-300);
    const auto error = ((result.to(torch::kCPU).to(torch::kDouble) - exact).abs() / scale).max().item<double>();
    const bool exact_enough = error <= bound;
    const bool like_tf32 = error <= tf32_bound;
    const DeviceFinding::Level level = exact_enough ? DeviceFinding::Level::ok
                                       : like_tf32  ? DeviceFinding::Level::note
                                                    : DeviceFinding::Level::bad;
    text += "; the largest error against fp64 on the CPU is " + detail::two_digits(error) +
            " of the sum of absolute products; rounding allows " + detail::two_digits(bound);
    if (!exact_enough) text += like_tf32 ? ": as large as TF32 makes it" : ": it computes wrongly";
    add(level, "product", std::move(text));
    took(seconds);
}

void DeviceMeasurement::reduction() {
    constexpr std::int64_t count = std::int64_t{1} << 20U;
    constexpr std::int64_t period = 7;
    // Every partial sum is a whole number below 2^24, so fp32 holds it exactly in any order.
    const torch::Tensor numbers = [&] {
        const Unmetered outside;
        return torch::arange(count, torch::kLong).remainder(period).to(torch::kFloat);
    }();
    const torch::Tensor there = numbers.to(device_);
    torch::Tensor sum = there.sum();
    const double seconds = timed([&] { sum = there.sum(); });
    constexpr std::int64_t rest = count % period;
    constexpr std::int64_t expected = count / period * (period * (period - 1) / 2) + rest * (rest - 1) / 2;
    if (!computes_) return add(DeviceFinding::Level::note, "reduction", std::to_string(count) + " numbers added" + not_compared);
    std::string text = std::to_string(count) + " numbers added in " + detail::milliseconds_text(seconds);
    if (const auto got = sum.item<double>(); got != static_cast<double>(expected)) {
        add(DeviceFinding::Level::bad, "reduction", text + "; got " + number_text(got) + ", expected " + std::to_string(expected));
    } else {
        add(DeviceFinding::Level::ok, "reduction", text + "; the sum is exact");
    }
    took(seconds);
}

void DeviceMeasurement::refusal() {
    if (!before_.capacity) return add(DeviceFinding::Level::note, "refusal", "not tried, because the device has no limit");
    constexpr std::int64_t more = std::int64_t{1} << 20U;
    const std::int64_t too_much = *before_.capacity + more;
    const std::string asked = format_bytes(more) + " more than the device's " + format_bytes(*before_.capacity);
    try {
        static_cast<void>(torch::empty({too_much}, torch::TensorOptions{}.dtype(torch::kByte).device(device_)));
        return add(DeviceFinding::Level::bad, "refusal", asked + " was given; expected out of memory");
    } catch (...) {
        const Failure failure = translate_failure(std::current_exception(), attempt_.phase(), {});
        if (failure.kind != FailureKind::out_of_memory) {
            return add(
                DeviceFinding::Level::bad, "refusal",
                asked + " was refused as " + std::string{to_text(failure.kind)} + ": " + failure.message + "; expected out_of_memory");
        }
    }
    const torch::Tensor after = torch::ones({1024}, torch::TensorOptions{}.dtype(torch::kFloat).device(device_));
    if (computes_ && after.sum().item<double>() != 1024)
        return add(DeviceFinding::Level::bad, "refusal", "after a refusal the device computes wrongly");
    add(DeviceFinding::Level::ok, "refusal", asked + " was refused as out of memory, and the device works on");
}

void DeviceMeasurement::release() {
    const double seconds = timed([&] {
        block_.reset();
        release_cached_memory(device_);
    });
    const MemoryReading after = read_memory(device_);
    const std::int64_t allocated = after.allocated.value_or(0) - before_.allocated.value_or(0);
    const std::int64_t reserved = after.reserved.value_or(0) - before_.reserved.value_or(0);
    std::string text = "everything was given back in " + detail::milliseconds_text(seconds);
    DeviceFinding::Level level = DeviceFinding::Level::ok;
    if (allocated != 0 || reserved != 0) {
        level = DeviceFinding::Level::bad;
        text = "still " + format_bytes(allocated) + " allocated and " + format_bytes(reserved) + " reserved; expected none";
    } else if (before_.free && after.free) {
        const std::int64_t missing = *before_.free - *after.free;
        const std::int64_t came_back = *after.free - held_.free.value_or(*after.free);
        if (missing > 0) text += "; of what was free before, " + format_bytes(missing) + " are missing";
        if (missing > 0 && device_.is_cuda()) text += ", which CUDA's libraries keep as long as the process lives";
        if (came_back < bytes_) {
            level = DeviceFinding::Level::note;
            text += "; of " + format_bytes(bytes_) + " the device counts " + format_bytes(std::max<std::int64_t>(0, came_back)) +
                    " as free again: another process may have taken memory meanwhile";
        }
    }
    add(level, "release", std::move(text));
    took(seconds, bytes_);
}

void DeviceMeasurement::expandable_segments() {
#ifdef HPO_TORCH_CUDA
    if (!device_.is_cuda()) return;
    if (const std::string backend = c10::cuda::CUDACachingAllocator::get()->name(); backend != "native")
        return add(DeviceFinding::Level::note, "expandable segments", "not tried, because the allocator is " + backend);
    c10::cuda::CUDACachingAllocator::setAllocatorSettings("expandable_segments:True");
    const auto expandable = [&] {
        const torch::Tensor taken = torch::empty({bytes_}, torch::TensorOptions{}.dtype(torch::kByte).device(device_));
        const auto snapshot = c10::cuda::CUDACachingAllocator::snapshot();
        return std::ranges::any_of(snapshot.segments, [](const auto& segment) { return segment.is_expandable; });
    }();
    release_cached_memory(device_);
    add(expandable ? DeviceFinding::Level::ok : DeviceFinding::Level::note, "expandable segments",
        expandable ? "available: memory was taken with them and given back" : "not available with this driver and card");
#endif
}

}  // namespace hpo::libtorch
