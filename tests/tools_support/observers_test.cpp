// SPDX-License-Identifier: MIT
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "support/catch.hpp"

namespace {

std::string text_of(const std::string& file) {
    std::ifstream in{std::string{HPO_SOURCE_DIR} + "/" + file};
    return {std::istreambuf_iterator<char>{in}, std::istreambuf_iterator<char>{}};
}

}  // namespace

TEST_CASE("whatever an observer of a study can be told, several observers are told") {
    const std::string options = text_of("include/hpo/tuner/options.hpp");
    const std::string observers = text_of("tools/tune/display/observers.hpp");
    const std::regex call{"virtual void (\\w+)\\("};
    int calls = 0;
    for (std::sregex_iterator each{options.begin(), options.end(), call}; each != std::sregex_iterator{}; ++each, ++calls) {
        CAPTURE((*each)[1].str());
        CHECK(observers.find("tell(&TuneObserver::" + (*each)[1].str()) != std::string::npos);
    }
    CHECK(calls >= 19);
}
