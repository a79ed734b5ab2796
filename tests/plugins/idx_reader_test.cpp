// SPDX-License-Identifier: MIT
#include "image_classifier/idx_reader.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "image_classifier/image_data.hpp"
#include "support/catch.hpp"

using namespace hpo::image_classifier;

namespace {

/// A folder of its own, gone at the end.
struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / ("hpo-idx-test-" + std::to_string(::getpid()));
    Folder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }

    std::filesystem::path gzip(const std::string& name, const std::string& content) const {
        const auto file = path / name;
        gzFile stream = gzopen(file.c_str(), "wb");
        gzwrite(stream, content.data(), static_cast<unsigned>(content.size()));
        gzclose(stream);
        return file;
    }
};

std::string word(unsigned value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8), static_cast<char>(value)};
}
std::string images(unsigned count) { return word(0x803) + word(count) + word(2) + word(3) + std::string(count * 6, '\x07'); }
std::string labels(unsigned count) { return word(0x801) + word(count) + std::string(count, '\x01'); }

}  // namespace

TEST_CASE("an IDX file is read with its shape, compressed or not") {
    const Folder folder;
    const auto array = read_idx(folder.gzip("a.gz", images(4)), 3);
    CHECK(array.shape == std::vector<std::int64_t>{4, 2, 3});
    CHECK(array.bytes == std::vector<std::uint8_t>(24, 7));
    std::ofstream{folder.path / "plain", std::ios::binary} << labels(5);
    CHECK(read_idx(folder.path / "plain", 1).bytes == std::vector<std::uint8_t>(5, 1));
}

TEST_CASE("files that are not what they should be are refused with name and reason") {
    const Folder folder;
    using Catch::Contains;
    CHECK_THROWS_WITH(read_idx(folder.path / "none.gz", 3), Contains("none.gz: no such file"));
    CHECK_THROWS_WITH(read_idx(folder.path, 3), Contains("no such file"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("magic.gz", labels(3)), 3), Contains("magic number 2049; expected 2051"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("empty.gz", ""), 3), Contains("cut short: the magic number"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("shape.gz", images(4).substr(0, 9)), 3), Contains("cut short: the shape"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("data.gz", images(4).substr(0, 30)), 3),
                      Contains("cut short: the data ends after 14 of 24 bytes"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("long.gz", images(4) + "x"), 3), Contains("longer than the 24 bytes"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("none.gz", images(0)), 3), Contains("a shape without"));
    CHECK_THROWS_WITH(read_idx(folder.gzip("huge.gz", word(0x803) + word(~0U) + word(~0U) + word(~0U)), 3), Contains("too many"));
}

TEST_CASE("a compressed file that was cut short or damaged is refused") {
    const Folder folder;
    std::string noise;
    for (unsigned i = 0; i < 6000; ++i) noise += static_cast<char>(i * i * 31 >> 3);
    const std::string content = word(0x803) + word(1000) + word(2) + word(3) + noise;
    const auto file = folder.gzip("whole.gz", content);
    REQUIRE(read_idx(file, 3).shape[0] == 1000);
    const auto size = std::filesystem::file_size(file);
    std::filesystem::resize_file(file, size / 2);
    CHECK_THROWS_WITH(read_idx(file, 3), Catch::Contains("whole.gz: "));
    const auto damaged = folder.gzip("damaged.gz", content);
    {
        std::fstream stream{damaged, std::ios::in | std::ios::out | std::ios::binary};
        stream.seekp(static_cast<std::streamoff>(size / 2));
        stream << "XXXXXXXX";
    }
    CHECK_THROWS_WITH(read_idx(damaged, 3), Catch::Contains("damaged"));
}

TEST_CASE("images and labels must be as many") {
    const Folder folder;
    folder.gzip("train-images-idx3-ubyte.gz", images(4));
    folder.gzip("train-labels-idx1-ubyte.gz", labels(3));
    CHECK_THROWS_WITH(read_images(folder.path, "train"), Catch::Contains("4 train images but 3 labels"));
    folder.gzip("train-labels-idx1-ubyte.gz", labels(4));
    CHECK(read_images(folder.path, "train").count == 4);
    CHECK_THROWS_WITH(read_images(folder.path / "nowhere", "train"), Catch::Contains("no such folder"));
}

TEST_CASE("Debian's Fashion-MNIST is read whole") {
    const auto train = read_images("/usr/share/datasets/fashion-mnist", "train");
    CHECK(train.count == 60000);
    CHECK(train.height == 28);
    CHECK(train.width == 28);
    CHECK(std::count(train.labels.begin(), train.labels.end(), 9) == 6000);
    CHECK(read_images("/usr/share/datasets/fashion-mnist", "t10k").count == 10000);
}

TEST_CASE("held-out images are never trained on, and the same whatever is trained on") {
    const auto few = split_images(1000, {.train = 100, .validation = 200});
    const auto all = split_images(1000, {.train = 0, .validation = 200});
    CHECK(few.train.size() == 100);
    CHECK(all.train.size() == 800);
    CHECK(few.validation == all.validation);
    std::set<std::int64_t> seen(all.train.begin(), all.train.end());
    seen.insert(all.validation.begin(), all.validation.end());
    CHECK(seen.size() == 1000);
    CHECK(std::equal(few.train.begin(), few.train.end(), all.train.begin()));
    CHECK_THROWS_WITH(split_images(1000, {.train = 900, .validation = 200}), Catch::Contains("at most the 1000 training images"));
    CHECK_THROWS_AS(split_images(1000, {.train = 0, .validation = 1000}), hpo::Error);
}
