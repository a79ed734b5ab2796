// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/stored_predictions.hpp"

#include <filesystem>
#include <fstream>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;

TEST_CASE("predictions are kept in the file of a store, replaced by their key, and survive the process") {
    const tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    store::Sqlite store{path};
    {
        store::StoredPredictions predictions{path};
        CHECK_FALSE(predictions.find("k"));
        predictions.keep("k", "one");
        predictions.keep("k", "two");
        predictions.keep("l", "three");
    }
    store::StoredPredictions again{"sqlite:///" + path};
    CHECK(again.find("k") == "two");
    CHECK(again.find("l") == "three");
    CHECK(store.studies().empty());
}

TEST_CASE("a file that lost the table while it is open knows nothing") {
    const tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    { const store::Sqlite made{path}; }
    store::StoredPredictions open{path};
    open.keep("k", "one");
    {
        SQLite::Database database{path, SQLite::OPEN_READWRITE};
        database.exec("DROP TABLE hpo_predictions");
    }
    CHECK_FALSE(open.find("k"));
}

TEST_CASE("predictions of a file that is there are used, read where it cannot be written, and no file is made or changed for them") {
    const tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    CHECK_FALSE(store::StoredPredictions::of_existing(path));
    CHECK_FALSE(std::filesystem::exists(path));
    const std::string foreign = folder.file("foreign.db");
    {
        SQLite::Database database{foreign, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
        database.exec("CREATE TABLE mine (x)");
    }
    CHECK_FALSE(store::StoredPredictions::of_existing(foreign));
    const std::string text = folder.file("notes.txt");
    std::ofstream{text} << "not a database, and longer than its header would be: " << std::string(200, 'x');
    CHECK_FALSE(store::StoredPredictions::of_existing(text));
    { store::StoredPredictions{path}.keep("k", "one"); }
    {
        const auto found = store::StoredPredictions::of_existing(path);
        REQUIRE(found);
        CHECK(found->find("k") == "one");
        found->keep("l", "two");
    }
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    const auto read_only = store::StoredPredictions::of_existing(path);
    REQUIRE(read_only);
    CHECK(read_only->find("l") == "two");
    CHECK_NOTHROW(read_only->keep("m", "three"));
}
