// SPDX-License-Identifier: MIT
//
// Runs a fuzz target without libFuzzer: every entry of a corpus, then random mutations of them.
//   TARGET CORPUS [HOW_MANY] [SEED]
// CORPUS is a folder, whose files are the entries, or a file, whose lines are. HOW_MANY is a number of mutations, or seconds ("4s").
#include <unistd.h>

#include <algorithm>
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

namespace {

std::vector<std::string> entries_of(const std::filesystem::path& corpus) {
    std::vector<std::string> entries;
    if (std::filesystem::is_regular_file(corpus)) {
        std::ifstream file{corpus, std::ios::binary};
        for (std::string line; std::getline(file, line);) entries.push_back(line);
        return entries;
    }
    for (const auto& entry : std::filesystem::directory_iterator{corpus}) {
        std::ifstream file{entry.path(), std::ios::binary};
        entries.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
    }
    std::sort(entries.begin(), entries.end());  // folders list their files in any order
    return entries;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const std::vector<std::string> corpus = entries_of(argv[1]);
    if (corpus.empty()) {
        std::cerr << "nothing in " << argv[1] << '\n';
        return 2;
    }
    const std::string how_many = argc > 2 ? argv[2] : "3s";
    const bool by_time = how_many.ends_with('s');
    const double amount = std::atof(how_many.c_str());
    hpo::Rng rng = hpo::Seed{argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1}.rng();
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, &show_input);
    for (const std::string& entry : corpus) run(current = entry);
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t runs = 0;
    const auto goes_on = [&] {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        return by_time ? passed.count() < amount : static_cast<double>(runs) < amount;
    };
    for (; goes_on(); ++runs) {
        current = mutated(rng, corpus);
        run(current);
    }
    std::cout << corpus.size() << " entries, " << runs << " mutations\n";
    return 0;
}
