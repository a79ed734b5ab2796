// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>

#include "hpo/dataset/label_balance.hpp"
#include "hpo/dataset/text_dataset.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::dataset;
using Catch::Contains;
using hpo::test::run_command;
using hpo::test::Workshop;

namespace {

const std::string script = HPO_SOURCE_DIR "/scripts/prepare-debian-sections";
const std::filesystem::path folder = HPO_SOURCE_DIR "/build/data/debian_sections";

}  // namespace

TEST_CASE("Debian's package descriptions are read, with every section that is not rare in every part and no text in two") {
    const auto data = read_dataset({.data = folder});
    const std::int64_t all = data.train.size() + data.validation.size() + data.test.size();
    CHECK(all > 50000);
    CHECK(static_cast<double>(data.test.size()) / static_cast<double>(all) == Approx(0.1).margin(0.01));
    CHECK(static_cast<double>(data.validation.size()) / static_cast<double>(all) == Approx(0.1).margin(0.01));
    CHECK(data.labels.size() > 40);
    for (const char* section : {"libs", "python", "games", "doc"}) CHECK(data.labels.index(section).has_value());
    CHECK(texts_in_common(data.train, data.validation) == 0);
    CHECK(texts_in_common(data.train, data.test) == 0);
    CHECK(texts_in_common(data.validation, data.test) == 0);

    const auto balance = label_balance(data.train.labels(), data.labels.size());
    CHECK(balance.examples() == data.train.size());
    CHECK(balance.classes_without_examples() == 0);
    CHECK(balance.largest_share() < 0.2);
    CHECK(balance.entropy_bits() > 4);
    for (const Examples* part : {&data.validation, &data.test}) {
        const auto held_out = label_balance(part->labels(), data.labels.size());
        for (std::size_t section = 0; section < balance.counts.size(); ++section) {
            CAPTURE(data.labels.names()[section]);
            CHECK((held_out.counts[section] > 0 || balance.counts[section] < 100));
        }
    }
    CHECK(data.train.chosen({.examples = 5000}, data.labels).size() == 5000);
}

TEST_CASE("a second run of the script finds what the first made") {
    const auto before = std::filesystem::last_write_time(folder / "train.tsv");
    const Workshop workshop;
    const auto again = run_command(workshop, {"/usr/bin/env", "PATH=/usr/bin/nowhere", "/usr/bin/python3", script});
    CHECK(again.status == 0);
    CHECK_THAT(again.out, Contains("descriptions of") && Contains("train.tsv") && Contains("sha256"));
    CHECK(std::filesystem::last_write_time(folder / "train.tsv") == before);
}

TEST_CASE("files that were changed are not taken for the script's, and a mirror that does not answer is named") {
    const Workshop workshop;
    std::filesystem::copy(folder / "about.json", workshop.path("about.json"));
    for (const char* name : {"train.tsv", "validation.tsv", "test.tsv"}) workshop.write(name, "text\tlabel\n");
    const auto offline = run_command(workshop, {script, workshop.path().string(), "--mirror", "http://127.0.0.1:9/debian"});
    CHECK(offline.status == 1);
    CHECK_THAT(offline.error,
               Catch::StartsWith("prepare-debian-sections: error: apt got no package lists from http://127.0.0.1:9/debian: "));
    CHECK(std::count(offline.error.begin(), offline.error.end(), '\n') == 1);
    CHECK(hpo::test::read_file(workshop.path("train.tsv")) == "text\tlabel\n");
    const auto nowhere =
        run_command(workshop, {"/usr/bin/env", "PATH=/usr/bin/nowhere", "/usr/bin/python3", script, workshop.path().string()});
    CHECK(nowhere.status == 1);
    CHECK_THAT(nowhere.error, Contains("apt-config is missing"));
}
