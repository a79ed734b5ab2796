// SPDX-License-Identifier: MIT
#include "hpo/store/stored_predictions.hpp"

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

TEST_CASE("a file of an earlier version gets the table, and one that lost it while it is open knows nothing") {
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
    store::StoredPredictions anew{path};
    CHECK_FALSE(anew.find("k"));
    anew.keep("k", "two");
    CHECK(anew.find("k") == "two");
}
