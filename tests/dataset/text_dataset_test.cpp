// SPDX-License-Identifier: MIT
#include "hpo/dataset/text_dataset.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "dataset/files.hpp"
#include "hpo/dataset/label_balance.hpp"
#include "support/catch.hpp"

using namespace hpo::dataset;
using Catch::Contains;
using Catch::EndsWith;
using hpo::tests::Files;

namespace {

/// Texts "0", "1", ... with labels "a", "b", "c" in turn.
TextTable numbered(int count, int first = 0) {
    TextTable table{"numbered"};
    for (int i = first; i < first + count; ++i) table.append({std::to_string(i), std::string(1, static_cast<char>('a' + i % 3)), i + 2});
    return table;
}

std::vector<std::int64_t> all_rows(const TextTable& table) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(table.rows()));
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    return rows;
}

/// On which side each text falls.
std::map<std::string, char> sides(const TextTable& table, const SplitRule& rule) {
    const Split split = split_by_text(table, rule);
    std::map<std::string, char> side;
    const auto note = [&](const std::vector<std::int64_t>& rows, char name) {
        for (const std::int64_t row : rows) {
            const auto [known, added] = side.try_emplace(std::string{table.text(row)}, name);
            CHECK(known->second == name);
        }
    };
    note(split.train, 'n');
    note(split.validation, 'v');
    note(split.test, 't');
    CHECK(split.train.size() + split.validation.size() + split.test.size() == static_cast<std::size_t>(table.rows()));
    return side;
}

std::string csv(const TextTable& table, bool backwards = false) {
    std::string text = "text,label\n";
    for (std::int64_t i = 0; i < table.rows(); ++i) {
        const std::int64_t row = backwards ? table.rows() - 1 - i : i;
        text += std::string{table.text(row)} + "," + table.label(row) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("a text's number is what the documented formula gives") {
    // python3: int.from_bytes(sha256(b"split 7\n" + sha256(b"hello").digest()).digest()[:8], "big") / 2**64
    CHECK(TextLottery{"split", 7}.draw(sha256("hello")) == Approx(0.08640423723957802).epsilon(1e-15));
}

TEST_CASE("the split gives each part its share") {
    const auto table = numbered(10000);
    const Split split = split_by_text(table, {.test = 0.2, .validation = 0.1});
    CHECK(std::abs(static_cast<double>(split.test.size()) - 2000) < 4 * std::sqrt(10000 * 0.2 * 0.8));
    CHECK(std::abs(static_cast<double>(split.validation.size()) - 1000) < 4 * std::sqrt(10000 * 0.1 * 0.9));
}

TEST_CASE("equal texts fall on one side, and neither order nor later rows move a text") {
    const SplitRule rule{.test = 0.25, .validation = 0.25, .seed = 3};
    const auto before = sides(numbered(600), rule);
    TextTable more{"more"};
    for (int i = 1199; i >= 0; --i) more.append({std::to_string(i % 900), i % 2 == 0 ? "x" : "y", i});
    const auto after = sides(more, rule);
    for (const auto& [text, side] : before) CHECK(after.at(text) == side);
    CHECK(sides(numbered(600), {.test = 0.25, .validation = 0.25, .seed = 4}) != before);
}

TEST_CASE("a greater test share only adds to the test texts") {
    const auto small = sides(numbered(500), {.test = 0.1});
    const auto large = sides(numbered(500), {.test = 0.3});
    for (const auto& [text, side] : small) {
        if (side == 't') CHECK(large.at(text) == 't');
    }
}

TEST_CASE("shares that make no sense are refused") {
    const double nan = std::nan("");
    for (const auto& rule :
         {SplitRule{.test = 0.5, .validation = 0.5}, SplitRule{.test = -0.1}, SplitRule{.test = 0.1, .validation = nan}}) {
        CHECK_THROWS_WITH(split_by_text(numbered(10), rule), Contains("together less than 1"));
    }
}

TEST_CASE("a subset has the asked size, is the same each time, and begins every larger one") {
    const auto table = numbered(2000);
    const auto rows = all_rows(table);
    const auto thousand = subset(table, rows, {.examples = 1000, .seed = 5});
    const auto few = subset(table, rows, {.examples = 500, .seed = 5});
    CHECK(thousand.size() == 1000);
    CHECK(std::set<std::int64_t>(thousand.begin(), thousand.end()).size() == 1000);
    CHECK(std::equal(few.begin(), few.end(), thousand.begin()));
    CHECK(subset(table, rows, {.examples = 500, .seed = 6}) != few);
    CHECK(subset(table, rows, {}) == rows);
    CHECK_THROWS_WITH(subset(table, rows, {.examples = 2001}),
                      "numbered: examples: got 2001; expected 0 for all, or at most the 2000 that are there");
    CHECK_THROWS_WITH(subset(table, rows, {.examples = 2001, .name = "train_examples"}), Contains("numbered: train_examples: got 2001"));
    CHECK_THROWS_AS(subset(table, rows, {.examples = -1}), hpo::Error);
}

TEST_CASE("a subset holds the same texts however the rows are ordered") {
    TextTable backwards{"backwards"};
    for (int i = 299; i >= 0; --i) backwards.append({std::to_string(i), "a", 0});
    const auto table = numbered(300);
    const auto here = subset(table, all_rows(table), {.examples = 40});
    const auto there = subset(backwards, all_rows(backwards), {.examples = 40});
    for (std::size_t i = 0; i < 40; ++i) CHECK(table.text(here[i]) == backwards.text(there[i]));
}

TEST_CASE("labels become classes in the order of their bytes, one that training lacks is named with its line") {
    const LabelTable labels{{"b", "c", "a", "b"}, "train.csv"};
    CHECK(labels.names() == std::vector<std::string>{"a", "b", "c"});
    CHECK(labels.index("c") == 2);
    CHECK_FALSE(labels.index("d").has_value());
    TextTable table{"test.csv"};
    table.append({"x", "c", 2});
    table.append({"x", "d", 3});
    table.append({"x", "e\n", 9});
    table.append({"x", "d", 11});
    const std::vector<std::int64_t> first{0};
    CHECK(labels.encode(table, first) == std::vector<std::int64_t>{2});
    CHECK_THROWS_WITH(labels.encode(table, all_rows(table)),
                      "test.csv: labels that no training text has: 'd' (line 3), 'e\\n' (line 9); known: a, b, c");
    CHECK_THROWS_WITH((LabelTable{{"a", "a"}, "train.csv"}), "train.csv: got the one label 'a'; expected two or more different labels");
}

TEST_CASE("the balance of labels") {
    const std::vector<std::int64_t> labels{0, 0, 0, 0, 1, 1, 2, 2};
    const auto balance = label_balance(labels, 4);
    CHECK(balance.counts == std::vector<std::int64_t>{4, 2, 2, 0});
    CHECK(balance.examples() == 8);
    CHECK(balance.entropy_bits() == Approx(1.5));
    CHECK(balance.largest() == 0);
    CHECK(balance.smallest() == 3);
    CHECK(balance.largest_share() == 0.5);
    CHECK(balance.classes_without_examples() == 1);
    CHECK(balance_text(balance, {{"a", "b", "c", "d"}, "train.csv"}) ==
          "8 texts of 4 classes; most 'a' 4 (50.0 %), fewest 'd' 0; entropy 1.50 of 2.00 bits; none of 'd'");
    CHECK(balance_text({{2, 2}}, {{"a", "b"}, "train.csv"}) == "4 texts of 2 classes; 2 (50.0 %) of each; entropy 1.00 of 1.00 bits");
    CHECK(label_balance({}, 2).entropy_bits() == 0);
    CHECK(label_balance({}, 2).largest_share() == 0);
}

TEST_CASE("one file is divided by the rule") {
    const Files files;
    const auto data = read_dataset({.data = files.write("all.csv", csv(numbered(1000))), .split = {.test = 0.2, .validation = 0.1}});
    CHECK(data.labels.names() == std::vector<std::string>{"a", "b", "c"});
    CHECK(data.train.size() + data.validation.size() + data.test.size() == 1000);
    CHECK(data.test.size() > data.validation.size());
    CHECK(texts_in_common(data.train, data.validation) == 0);
    CHECK(texts_in_common(data.train, data.test) == 0);
    for (std::int64_t i = 0; i < data.train.size(); ++i) CHECK(data.train.label(i) == std::stoi(std::string{data.train.text(i)}) % 3);
    const auto few = data.train.chosen({.examples = 10}, data.labels);
    CHECK(few.size() == 10);
    CHECK(few.label(3) == std::stoi(std::string{few.text(3)}) % 3);
}

TEST_CASE("a folder's files divide the texts") {
    const Files files;
    files.write("train.csv", csv(numbered(100)));
    files.write_gzip("test.csv.gz", csv(numbered(20, 90)));
    files.write("train.txt", "not a table");
    const auto two = read_dataset({.data = files.path(), .split = {.validation = 0.2}});
    CHECK(two.train.size() + two.validation.size() == 100);
    CHECK(two.validation.size() > 5);
    CHECK(two.test.size() == 20);
    CHECK(texts_in_common(two.train, two.test) + texts_in_common(two.validation, two.test) == 10);
    files.write("validation.jsonl", "{\"text\": \"x\", \"label\": \"c\"}\n");
    const auto three = read_dataset({.data = files.path()});
    CHECK(three.train.size() == 100);
    CHECK(three.validation.label(0) == 2);
    const Files other;
    const auto without = read_dataset({.data = files.path() / "train.csv", .validation = files.path() / "validation.jsonl"});
    CHECK(without.test.empty());
    CHECK(without.test.chosen({}, without.labels).empty());
    CHECK_THROWS_WITH(read_dataset({.data = other.path()}), Contains("no training texts; expected train.*"));
    for (const char* name : {"valid.csv", "val.csv", "dev.csv"}) {
        CAPTURE(name);
        const Files folder;
        folder.write("train.csv", csv(numbered(100)));
        folder.write(name, csv(numbered(3)));
        CHECK(read_dataset({.data = folder.path()}).validation.size() == 3);
        folder.write("validation.csv", csv(numbered(4)));
        CHECK_THROWS_WITH(read_dataset({.data = folder.path()}), Contains("expected one file of validation texts"));
    }
    CHECK(read_dataset({.data = files.path()}).passed_over.empty());
    files.write("validate.csv", "");
    files.write("development.jsonl.gz", "");
    CHECK(read_dataset({.data = files.path()}).passed_over == std::vector<std::string>{"development.jsonl.gz", "validate.csv"});
    files.write("train.tsv", "");
    CHECK_THROWS_WITH(read_dataset({.data = files.path()}), Contains("got train.csv and train.tsv; expected one file of train texts"));
}

TEST_CASE("texts that only measure a model have its classes, and need not have what training needs") {
    const Files files;
    const LabelTable labels{{"a", "b", "c"}, "a model"};
    const auto measured = [&](const std::string& file, double share = 0.1) {
        return read_dataset({.data = file, .split = {.validation = share}, .model_labels = labels});
    };
    const auto same_parts = read_dataset({.data = files.write("own.csv", csv(numbered(300)))});
    const auto own = measured(files.path() / "own.csv");
    CHECK(content_hash(own) == content_hash(same_parts));
    CHECK(std::equal(own.validation.labels().begin(), own.validation.labels().end(), same_parts.validation.labels().begin()));

    std::string one_class = "text,label\n";
    for (int i = 0; i < 40; ++i) one_class += std::to_string(i) + ",b\n";
    const auto one = measured(files.write("one.csv", one_class), 0.5);
    REQUIRE_FALSE(one.validation.empty());
    for (const std::int64_t label : one.validation.labels()) CHECK(label == 1);

    const std::string three = files.write("three.csv", "text,label\nx,c\ny,a\nz,c\n");
    CHECK_THROWS_WITH(measured(three),
                      EndsWith("three.csv: too few texts: none falls to the validation part; a share of 1 measures all of them"));
    const auto all = measured(three, 1);
    CHECK(all.validation.size() == 3);
    CHECK(all.validation.label(0) == 2);
    CHECK(all.train.empty());
    CHECK(all.test.empty());
    CHECK_THROWS_WITH(read_dataset({.data = three, .split = {.validation = 1}}), Contains("together less than 1"));

    const Files folder;
    folder.write("validation.csv", "text,label\nx,c\n");
    CHECK(measured(folder.path()).validation.label(0) == 2);
    folder.write("train.csv", "text,label\nx,a\ny,unheard\n");
    folder.write("test.csv", "text,label\nz,unheard\n");
    const auto divided = measured(folder.path());
    CHECK(divided.validation.label(0) == 2);
    CHECK(divided.train.size() == 2);
    CHECK(texts_in_common(divided.train, divided.validation) == 1);
    CHECK(divided.test.size() == 1);
    CHECK_THROWS_WITH(divided.test.chosen({}, labels), Contains("labels that no training text has: 'unheard'"));
    folder.write("validation.csv", "text,label\nx,unheard\n");
    CHECK_THROWS_WITH(measured(folder.path()), EndsWith("labels that no training text has: 'unheard' (line 2); known: a, b, c"));
    const Files empty;
    CHECK_THROWS_WITH(measured(empty.path()), Contains("no texts to measure; expected validation.* or train.*"));
}

TEST_CASE("a label that only held-out texts have is named") {
    const Files files;
    files.write("train.csv", "text,label\nx,a\ny,b\n");
    files.write("validation.csv", "text,label\nx,a\n\ny,d\n");
    CHECK_THROWS_WITH(read_dataset({.data = files.path()}),
                      EndsWith("validation.csv: labels that no training text has: 'd' (line 4); known: a, b"));
}

TEST_CASE("too few texts for a part are an error, not an empty part") {
    const Files files;
    CHECK_THROWS_WITH(read_dataset({.data = files.write("a.csv", "text,label\nx,a\n")}), Contains("too few texts: none falls to the"));
}

TEST_CASE("the hash of a data set depends on what it says, not on how it is written") {
    const Files files;
    const auto rows = numbered(50);
    const auto hash = content_hash(read_dataset({.data = files.write("a.csv", csv(rows))}));
    CHECK(hash.size() == 64);
    CHECK(content_hash(read_dataset({.data = files.write_gzip("b.csv.gz", csv(rows, true))})) == hash);
    auto changed = csv(rows);
    changed.replace(changed.find("17,c"), 4, "17,a");
    CHECK(content_hash(read_dataset({.data = files.write("c.csv", changed)})) != hash);
    CHECK(content_hash(read_dataset({.data = files.path() / "a.csv", .split = {.test = 0.2}})) != hash);
    CHECK(content_hash(read_dataset({.data = files.path() / "a.csv", .split = {.seed = 1}})) != hash);
}
