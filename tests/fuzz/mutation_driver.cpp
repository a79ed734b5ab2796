// SPDX-License-Identifier: MIT
//
// Runs a fuzz target without libFuzzer: every file of a corpus, then random mutations of them for some seconds.
//   TARGET CORPUS [SECONDS] [SEED]
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "hpo/core/seed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::string current;  ///< the input of a run that aborts

void show_input(int signal) {
    const auto written = write(STDERR_FILENO, current.data(), current.size());
    std::_Exit(written < 0 ? 1 : 128 + signal);
}

void run(const std::string& text) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()); }

/// A place between two words, so that mutations keep most tokens whole.
std::size_t place(hpo::Rng& rng, const std::string& text) {
    const std::size_t start = rng.below(text.size() + 1);
    const std::size_t found = text.find_first_of(" \n(){},.", start);
    return found == std::string::npos || rng.below(4) == 0 ? start : found;
}

std::string mutated(hpo::Rng& rng, const std::vector<std::string>& corpus) {
    std::string text = corpus[rng.below(corpus.size())];
    for (std::uint64_t times = 1 + rng.below(4); times > 0; --times) {
        const std::size_t at = place(rng, text);
        const std::string& other = corpus[rng.below(corpus.size())];
        const std::size_t from = place(rng, other);
        switch (rng.below(5)) {
            case 0: text.erase(at, rng.below(20)); break;
            case 1: text.insert(at, other, from, rng.below(60)); break;
            case 2: text.replace(at, rng.below(30), other, from, rng.below(60)); break;
            case 3: text.insert(at, 1, static_cast<char>(rng.below(256))); break;
            default: text.insert(at, text, place(rng, text), rng.below(80)); break;
        }
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    std::vector<std::string> corpus;
    for (const auto& entry : std::filesystem::directory_iterator{argv[1]}) {
        std::ifstream file{entry.path(), std::ios::binary};
        corpus.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
        run(corpus.back());
    }
    if (corpus.empty()) {
        std::cerr << "no files in " << argv[1] << '\n';
        return 2;
    }
    const std::chrono::duration<double> budget{argc > 2 ? std::atof(argv[2]) : 3.0};
    hpo::Rng rng = hpo::Seed{argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1}.rng();
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, &show_input);
    for (; std::chrono::steady_clock::now() - begin < budget; ++runs) {
        current = mutated(rng, corpus);
        run(current);
    }
    std::cout << corpus.size() << " files, " << runs << " mutations\n";
    return 0;
}
