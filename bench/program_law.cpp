// SPDX-License-Identifier: MIT
/// How exactly recordings of a program on a virtual card tell what it takes with other sizes.
///
///     program_law FOLDER [RECORDINGS [ORDERS]]
///
/// FOLDER has a snapshot BATCH_LENGTH_WIDTH.pickle for each combination, as bench/program_law.py makes them. The first RECORDINGS (6) of
/// each of ORDERS (10) random orders tell all others. With `trainer` instead of a number, each combination of an order is recorded or
/// foretold as the trainer `command` would do it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "command/law_confidence.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/trace_law.hpp"
#include "hpo/base/error.hpp"

namespace {

using namespace hpo::allocator;

struct Recorded {
    std::vector<double> numbers;
    AllocationTrace trace;
    AllocatorSettings settings;
    double need = 0;
};

std::vector<Recorded> read(const std::filesystem::path& folder) {
    std::vector<Recorded> all;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".pickle") continue;
        std::vector<double> numbers;
        const std::string name = entry.path().stem();
        for (const char* at = name.data(); at < name.data() + name.size(); ++at) {
            int number = 0;
            const auto read = std::from_chars(at, name.data() + name.size(), number);
            if (read.ec != std::errc{}) continue;
            numbers.push_back(number);
            at = read.ptr;
        }
        Recording recording = open_recording(entry.path());
        const auto need = static_cast<double>(capacity_need(recording.trace, recording.settings).need);
        all.push_back({std::move(numbers), std::move(recording.trace), recording.settings, need});
    }
    std::ranges::sort(all, {}, &Recorded::numbers);
    return all;
}

/// The share by which a prediction's need differs, and by how much it may, as far as the recordings tell.
struct Error {
    double share = 0;
    double doubt = 0;
};

Error error_of(const TraceLaw& law, const Recorded& each) {
    const auto predicted = law.at(each.numbers);
    const auto need = [&](const AllocationTrace& trace) { return static_cast<double>(capacity_need(trace, each.settings).need); };
    const double told = need(predicted->trace);
    return {told / each.need - 1, std::max(std::abs(need(predicted->least) / told - 1), std::abs(need(predicted->most) / told - 1))};
}

/// A random order of all combinations.
std::vector<const Recorded*> shuffled(const std::vector<Recorded>& all, int order) {
    std::vector<const Recorded*> pointers;
    for (const Recorded& each : all) pointers.push_back(&each);
    std::shuffle(pointers.begin(), pointers.end(), std::mt19937_64{static_cast<std::uint64_t>(order)});
    return pointers;
}

void as_the_trainer_does(const std::vector<Recorded>& all, int orders) {
    std::printf("%zu combinations\n%-8s%-12s%-12s%-12s%-12s\n", all.size(), "order", "recorded", "foretold", "off by 1 %", "largest");
    for (int order = 0; order < orders; ++order) {
        TraceLaw law{all.front().numbers.size(), CardThreads::of({8, 9}, 128)};
        std::size_t foretold = 0;
        std::size_t off = 0;
        double largest = 0;
        for (const Recorded* const each : shuffled(all, order)) {
            if (hpo::command::may_predict(law, each->numbers)) {
                const auto [error, doubt] = error_of(law, *each);
                if (hpo::command::is_predicted(law, doubt)) {
                    ++foretold;
                    off += std::abs(error) > 0.01 ? 1 : 0;
                    if (std::abs(error) > std::abs(largest)) largest = error;
                    continue;
                }
            }
            law.add(each->numbers, each->trace);
        }
        std::printf("%-8d%-12zu%-12zu%-12zu%+.4f\n", order, law.recordings(), foretold, off, largest);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 2) {
        std::fputs("program_law FOLDER [RECORDINGS [ORDERS]]\n", stderr);
        return 2;
    }
    const std::vector<Recorded> all = read(argv[1]);
    const int orders = argc > 3 ? std::stoi(argv[3]) : 10;
    if (argc > 2 && std::string_view{argv[2]} == "trainer") {
        as_the_trainer_does(all, orders);
        return 0;
    }
    const std::size_t recordings = argc > 2 ? std::stoul(argv[2]) : 6;
    if (all.size() <= recordings || recordings < 2)
        throw hpo::Error{hpo::Errc::usage, "expected more snapshots than recordings, and 2 or more of these"};
    std::printf("%zu combinations, %zu recordings\n%-8s%-12s%-12s%-12s%-12s%-12s%s\n", all.size(), recordings, "order", "exact",
                "within 1 %", "largest", "in doubt", "silent", "of");
    for (int order = 0; order < orders; ++order) {
        const std::vector<const Recorded*> in_order = shuffled(all, order);
        TraceLaw law{all.front().numbers.size(), CardThreads::of({8, 9}, 128)};
        std::size_t exact = 0;
        std::size_t near = 0;
        std::size_t in_doubt = 0;  // by more than 1 %
        std::size_t silent = 0;    // off by more than 1 %, and not in doubt
        double largest = 0;
        for (std::size_t i = 0; i < in_order.size(); ++i) {
            if (i < recordings) {
                law.add(in_order[i]->numbers, in_order[i]->trace);
                continue;
            }
            const auto [error, doubt] = error_of(law, *in_order[i]);
            exact += std::abs(error) < 1e-9 ? 1 : 0;
            near += std::abs(error) <= 0.01 ? 1 : 0;
            in_doubt += doubt > 0.01 ? 1 : 0;
            silent += std::abs(error) > 0.01 && doubt <= 0.01 ? 1 : 0;
            if (std::abs(error) > std::abs(largest)) largest = error;
        }
        std::printf("%-8d%-12zu%-12zu%-+12.4f%-12zu%-12zu%zu\n", order, exact, near, largest, in_doubt, silent,
                    in_order.size() - recordings);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "program_law: %s\n", error.what());
    return 1;
}
