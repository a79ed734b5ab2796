// SPDX-License-Identifier: MIT
#include "dataset/read_table.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include "dataset/files.hpp"
#include "support/catch.hpp"

using Catch::Contains;
using Catch::EndsWith;
using hpo::dataset::read_table;
using hpo::tests::Files;
using hpo::tests::rows_of;
using Rows = std::vector<std::string>;

TEST_CASE("CSV: quotes, separators, line ends and doubled quotes within a field are the text's own") {
    const Files files;
    const auto file = files.write("a.csv",
                                  "label,text\r\n"
                                  "a,plain\r\n"
                                  "b,\"one, two\"\r\n"
                                  "c,\"first\r\nsecond\n\nfourth\"\r\n"
                                  "\"d\",\"say \"\"hello\"\"\"\r\n"
                                  "e,\"\"\r\n"
                                  "f,\r\n"
                                  "g,in \"the\" middle");
    const auto table = read_table(file);
    CHECK(rows_of(table) ==
          Rows{"plain|a", "one, two|b", "first\r\nsecond\n\nfourth|c", "say \"hello\"|d", "|e", "|f", "in \"the\" middle|g"});
    CHECK(table.labels()[3].first_line == 8);
    CHECK(table.name() == file);
}

TEST_CASE("CSV: line ends of either kind, none at the end, blank lines and a byte order mark") {
    const Files files;
    for (const char* content :
         {"text,label\na,1\nb,2\n", "text,label\r\na,1\r\nb,2\r\n", "text,label\na,1\nb,2", "\xEF\xBB\xBFtext,label\na,1\nb,2",
          "\n\ntext,label\n\r\na,1\n\n\nb,2\n\n", "\xEF\xBB\xBF\"text\",label\na,1\nb,2"}) {
        CHECK(rows_of(read_table(files.write("a.csv", content))) == Rows{"a|1", "b|2"});
    }
}

TEST_CASE("TSV differs in its separator, without quotes, every character is the text's own") {
    const Files files;
    const auto file = files.write("a.tsv", "label\ttext\na\t\"one\ttwo\"\nb\tone, two\n");
    CHECK(rows_of(read_table(file)) == Rows{"one\ttwo|a", "one, two|b"});
    const auto plain = files.write("b.tsv", "label\ttext\na\tfirst\nb\t\"never closed\nc\tlast\n");
    CHECK_THROWS_WITH(read_table(plain), EndsWith("b.tsv:3, field 2: its quote is never closed"));
    CHECK(rows_of(read_table(plain, {.quotes = false})) == Rows{"first|a", "\"never closed|b", "last|c"});
}

TEST_CASE("JSON lines: escapes, numbers as labels, fields that nobody asked for") {
    const Files files;
    const auto file = files.write("a.jsonl",
                                  "{\"text\": \"caf\\u00e9 \\ud83d\\ude00\\n\", \"label\": \"a\", \"more\": [1, {}]}\r\n\n"
                                  "{\"label\": 3, \"text\": \"\"}\n{\"label\": -9223372036854775808, \"text\": \"x\"}");
    CHECK(rows_of(read_table(file)) == Rows{"caf\u00e9 \U0001F600\n|a", "|3", "x|-9223372036854775808"});
}

TEST_CASE("columns are chosen by name") {
    const Files files;
    const auto csv = files.write("a.csv", "id,body,kind,text\n1,a,x,no\n2,b,y,no\n");
    CHECK(rows_of(read_table(csv, {.text = "body", .label = "kind"})) == Rows{"a|x", "b|y"});
    CHECK_THROWS_WITH(read_table(csv, {.text = "bodi", .label = "kind"}),
                      EndsWith("a.csv:1: unknown column 'bodi'; did you mean 'body'?; known: id, body, kind, text"));
    CHECK_THROWS_WITH(read_table(csv, {.text = "id", .label = "id"}), Contains("two columns"));
    const auto json = files.write("a.jsonl", "{\"body\": \"a\", \"kind\": 1}\n{\"body\": \"a\", \"kinds\": 1}\n");
    CHECK_THROWS_WITH(read_table(json, {.text = "body", .label = "kind"}),
                      EndsWith("a.jsonl:2: unknown column 'kind'; did you mean 'kinds'?; known: body, kinds"));
    CHECK_THROWS_WITH(read_table(files.write("b.csv", "text,text,label\na,b,c\n")), EndsWith("b.csv:1: column 'text' is there twice"));
}

TEST_CASE("the end of a file's name says what it holds, compressed or not") {
    const Files files;
    CHECK(rows_of(read_table(files.write_gzip("a.csv.gz", "text,label\na,1\n"))) == Rows{"a|1"});
    CHECK(rows_of(read_table(files.write_gzip("a.tsv.gz", "text\tlabel\na\t1\n"))) == Rows{"a|1"});
    CHECK(rows_of(read_table(files.write_gzip("a.ndjson.gz", "{\"text\":\"a\",\"label\":1}"))) == Rows{"a|1"});
    CHECK_THROWS_WITH(read_table(files.write("a.json", "[]")), Contains("a.json: got") && Contains(".csv, .tsv, .jsonl or .ndjson"));
    CHECK_THROWS_WITH(read_table(files.path() / "none.csv"), Contains("none.csv: no such file or folder"));
    CHECK_THROWS_WITH(read_table(files.path() / "none"), Contains("none: no such file or folder; expected"));
    CHECK_THROWS_WITH(read_table(files.path()), Contains("expected one that ends in"));
}

TEST_CASE("errors of a file name its line and field") {
    const Files files;
    const auto told = [&](const char* name, const std::string& content) {
        try {
            (void)read_table(files.write(name, content));
        } catch (const hpo::Error& error) {
            const std::string text = error.what();
            CHECK(text.find('\n') == std::string::npos);
            REQUIRE(text.starts_with(files.path().string() + "/"));
            return text.substr(files.path().string().size() + 1);
        }
        return std::string{"no error"};
    };
    CHECK(told("a.csv", "") == "a.csv: empty; expected a first line with the names of the columns");
    CHECK(told("a.csv", "\n\n") == "a.csv: empty; expected a first line with the names of the columns");
    CHECK(told("a.csv", "text,label\n\n") == "a.csv: no rows");
    CHECK(told("a.jsonl", "") == "a.jsonl: no rows");
    CHECK(told("a.csv", "text,label\na,1\nb\n") == "a.csv:3: got 1 fields; expected 2: text, label");
    CHECK(told("a.csv", "text,label\n\"a\nb\",1\na,b,1\n") == "a.csv:4: got 3 fields; expected 2: text, label");
    CHECK(told("a.csv", "text,label\na,1\nb,\"2\nc,3\n") == "a.csv:3, field 2: its quote is never closed");
    CHECK(told("a.csv", "text,label\n\"a\nb\"c,1\n") ==
          "a.csv:3, field 1: text after the closing quote; a quote inside a quoted field is written twice");
    CHECK(told("a.csv", "text,label\na,\n") == "a.csv:2, field 2 (label): no label");
    CHECK(told("a.csv", "text,label\na,1\nb\xFF,2\n") == "a.csv:3: invalid UTF-8 at byte 16 of the file; expected a file in UTF-8");
    CHECK(told("a.csv", "\xEF\xBB\xBFtext,label\n\xC0,1\n") == "a.csv:2: invalid UTF-8 at byte 14 of the file; expected a file in UTF-8");
    CHECK(told("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"a\",\n") == "a.jsonl:2: not JSON at byte 14 of the line");
    CHECK(told("a.jsonl", "{\"text\": \"\\ud800\", \"label\": 1}") == "a.jsonl:1: not JSON at byte 17 of the line");
    CHECK(told("a.jsonl", "[1]") == "a.jsonl:1: got a JSON array; expected an object in each line");
    const std::string expected = "expected a text or a whole number of at most 64 bits, without point or exponent";
    CHECK(told("a.jsonl", "{\"text\": \"a\", \"label\": true}") == "a.jsonl:1: field 'label': got a JSON boolean; " + expected);
    CHECK(told("a.jsonl", "{\"text\": \"a\", \"label\": null}") == "a.jsonl:1: field 'label': got a JSON null; " + expected);
    for (const char* number : {"1e2", "1.50", "10000000000000000000001", "-9223372036854775809"}) {
        CHECK_THAT(told("a.jsonl", "{\"text\": \"x\", \"label\": " + std::string{number} + "}"),
                   Catch::StartsWith("a.jsonl:1: field 'label': got the number ") && EndsWith("; " + expected));
    }
    CHECK(told("a.jsonl", "{\"text\": 1, \"label\": 1}") == "a.jsonl:1: field 'text': got a JSON number; expected a text");
    CHECK(told("a.jsonl", "{\"text\": \"a\", \"label\": \"\"}") == "a.jsonl:1: field 'label': no label");
    CHECK(told("a.csv", "\"text\nof a row\",label\na,1\n") == "a.csv:1: unknown column 'text'; known: text\\nof a row, label");
}

TEST_CASE("a label of blanks is none, and a pointer of Git LFS is no table") {
    const Files files;
    CHECK_THROWS_WITH(read_table(files.write("a.csv", "text,label\nx,  \n")), Contains("a.csv:2, field 2 (label): no label"));
    CHECK_THROWS_WITH(read_table(files.write("a.jsonl", R"({"text": "x", "label": " "})")), Contains("field 'label': no label"));
    for (const char* name : {"b.csv", "b.tsv", "b.jsonl"}) {
        CHECK_THROWS_WITH(read_table(files.write(name, "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
                          Contains(std::string{name} + ": a pointer of Git LFS in place of the file"));
    }
}

TEST_CASE("a compressed file that is cut short or damaged is refused") {
    const Files files;
    std::string content = "text,label\n";
    for (unsigned i = 0; i < 3000; ++i) content += std::to_string(i * i * 2654435761U) + "," + std::to_string(i % 7) + "\n";
    const auto file = files.write_gzip("a.csv.gz", content);
    REQUIRE(read_table(file).rows() == 3000);
    const auto size = std::filesystem::file_size(file);
    std::fstream{file, std::ios::in | std::ios::out | std::ios::binary}.seekp(static_cast<std::streamoff>(size / 2)) << "XXXXXXXX";
    CHECK_THROWS_WITH(read_table(file), Contains("a.csv.gz"));
    std::filesystem::resize_file(files.write_gzip("b.csv.gz", content), size / 2);
    CHECK_THROWS_WITH(read_table(files.path() / "b.csv.gz"), EndsWith("b.csv.gz: cut short: its compressed data has no end"));
}

TEST_CASE("lines and texts longer than a buffer are read whole") {
    const Files files;
    const std::string text(1'000'000, 'x');
    std::string broken = text;
    for (std::size_t i = 0; i < broken.size(); i += 1000) broken[i] = '\n';
    const auto table = read_table(files.write("a.csv", "text,label\n" + text + ",1\n\"" + broken + "\",2\n"));
    CHECK(table.text(0) == text);
    CHECK(table.text(1) == broken);
}
