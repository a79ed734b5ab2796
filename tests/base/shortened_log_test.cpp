// SPDX-License-Identifier: MIT
#include <string>
#include <utility>

#include "hpo/base/shortened_log.hpp"
#include "support/catch.hpp"

TEST_CASE("a short log is kept as it is") {
    hpo::ShortenedLog log{100};
    log.add("without an end");
    log.add_line(" of a line");
    log.add_line("");
    CHECK(std::move(log).text() == "without an end of a line\n\n");
    CHECK(hpo::ShortenedLog{}.text().empty());
}

TEST_CASE("of a long log the beginning and the end are kept, and between them stands how much is left out") {
    for (const std::size_t piece : {1, 7, 1000, 100000}) {
        CAPTURE(piece);
        std::string whole;
        for (int line = 0; line < 5000; ++line) whole += "line " + std::to_string(line) + "\n";
        hpo::ShortenedLog log{400};
        for (std::size_t at = 0; at < whole.size(); at += piece) log.add(std::string_view{whole}.substr(at, piece));
        const std::string text = std::move(log).text();
        CHECK(text.size() < 450);
        CHECK(text.starts_with(whole.substr(0, 100)));
        const auto note = text.find("bytes left out]\n");
        REQUIRE(note != std::string::npos);
        const std::string end = text.substr(note + std::string{"bytes left out]\n"}.size());
        CHECK(whole.ends_with(end));
        CHECK(end.starts_with("line "));
        const std::size_t left_out = std::stoul(text.substr(text.rfind('[', note) + 1));
        CHECK(100 + left_out + end.size() == whole.size());
    }
}

TEST_CASE("of very long lines as much of the end is kept as of others") {
    hpo::ShortenedLog log{400};
    log.add(std::string(5000, 'a') + "\n" + std::string(150, 'b') + "\nend\n");
    const std::string text = std::move(log).text();
    CHECK(text.starts_with(std::string(100, 'a') + "\n[4756 bytes left out]\n"));
    CHECK(text.ends_with("]\n" + std::string(144, 'a') + "\n" + std::string(150, 'b') + "\nend\n"));
}

TEST_CASE("what is not there to be added is counted as left out") {
    hpo::ShortenedLog log{400};
    log.add(std::string(400, 'a'));
    log.leave_out(1'000'000);
    log.add("\n" + std::string(299, 'z'));
    CHECK(std::move(log).text() == std::string(100, 'a') + "\n[1000300 bytes left out]\n\n" + std::string(299, 'z'));
}
