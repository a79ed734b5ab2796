// SPDX-License-Identifier: MIT
#include "hpo/base/flat_map.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using hpo::FlatMap;

namespace {

template <class Map>
std::vector<typename Map::value_type> entries_of(const Map& map) {
    return {map.begin(), map.end()};
}

}  // namespace

TEST_CASE("a flat map orders its entries by their keys, however they come") {
    FlatMap<std::int64_t, double> map;
    for (const std::int64_t key : {5, 1, 9, 3, 7}) map[key] = static_cast<double>(key) / 2;
    map[3] = 30;  // replaces
    CHECK(entries_of(map) == std::vector<std::pair<std::int64_t, double>>{{1, 0.5}, {3, 30}, {5, 2.5}, {7, 3.5}, {9, 4.5}});
    CHECK(map == FlatMap<std::int64_t, double>{{9, 4.5}, {7, 3.5}, {5, 2.5}, {3, 30}, {1, 0.5}});
    CHECK(map.rbegin()->first == 9);
    CHECK_FALSE(map == FlatMap<std::int64_t, double>{{1, 0.5}});
    CHECK(map[4] == 0);
    CHECK(map.size() == 6);
}

TEST_CASE("of equal keys, the first entry of a flat map stays") {
    FlatMap<std::int64_t, double> map{{1, 10}, {2, 20}, {1, 11}};
    CHECK(map.size() == 2);
    const auto [present, is_new] = map.emplace(1, 12);
    CHECK_FALSE(is_new);
    CHECK(present->second == 10);
    CHECK(map.emplace(0, 5).second);
    CHECK(map.begin()->second == 5);
}

TEST_CASE("a flat map finds keys, and the places between them") {
    const FlatMap<std::int64_t, double> map{{2, 0}, {4, 0}, {6, 0}};
    CHECK(map.find(4)->first == 4);
    CHECK(map.find(5) == map.end());
    CHECK(map.contains(6));
    CHECK_FALSE(map.contains(7));
    CHECK(map.lower_bound(4)->first == 4);
    CHECK(map.upper_bound(4)->first == 6);
    CHECK(map.lower_bound(5)->first == 6);
    CHECK(map.upper_bound(6) == map.end());
    CHECK_THROWS_AS(map.at(3), std::out_of_range);
}

TEST_CASE("a stretch of a flat map becomes a map of its own, and is erased") {
    FlatMap<std::int64_t, double> map{{0, 1}, {1, 2}, {2, 3}, {3, 4}};
    const FlatMap<std::int64_t, double> tail(map.upper_bound(1), map.end());
    map.erase(map.upper_bound(1), map.end());
    CHECK(tail == FlatMap<std::int64_t, double>{{2, 3}, {3, 4}});
    CHECK(map == FlatMap<std::int64_t, double>{{0, 1}, {1, 2}});
    map.clear();
    CHECK(map.empty());
}

TEST_CASE("a flat map of texts is asked by any kind of text") {
    FlatMap<std::string, double> map;
    map["memory"] = 0.5;
    map[std::string{"latency"}] = -1;
    constexpr std::string_view name = "memory";
    CHECK(map.at(name) == 0.5);
    CHECK(map.contains("latency"));
    CHECK_FALSE(map.contains("lat"));
    CHECK(map.begin()->first == "latency");
}
