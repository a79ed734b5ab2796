// SPDX-License-Identifier: MIT
// How many ids a second of one core's time a model folder's tokenizer makes of a file with one text a line: the best of five passes.
// bench/tokenizer_bench.py does the same with PyPI's tokenizers.
//   tokenizer_bench MODEL_FOLDER TEXTS [MAX_LENGTH]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string>

#include "hpo/text/json_file.hpp"
#include "hpo/text/model_folder.hpp"
#include "hpo/text/stored/model_files.hpp"

int main(int argc, char** argv) {
    using namespace hpo::text;
    if (argc < 3) return 2;
    const Tokenizer tokenizer = read_tokenizer(argv[1]);
    const std::string file = read_text_file(argv[2]);
    const std::size_t most = argc > 3 ? std::stoul(argv[3]) : Tokenizer::unlimited;
    const auto texts = lines_of(file);
    std::size_t ids = 0;
    double best = std::numeric_limits<double>::infinity();
    for (int pass = 0; pass < 5; ++pass) {
        ids = 0;
        const std::clock_t begin = std::clock();
        for (const std::string_view text : texts) ids += tokenizer.encode(text, most).size();
        best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    std::printf("%zu texts, %zu ids, %.3f s, %.2f million ids/s\n", texts.size(), ids, best, static_cast<double>(ids) / best / 1e6);
}
