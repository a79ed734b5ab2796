// SPDX-License-Identifier: MIT
// A record describes each of its members.
// message: do not describe each of its members
#include "hpo/core/fields.hpp"

struct Point {
    int x = 0;
    int y = 0;

    static constexpr void fields(auto field) {
        field("x", &Point::x);
#ifndef HPO_MISUSE
        field("y", &Point::y);
#endif
    }
};

int sum_of(const Point& point) {
    int sum = 0;
    hpo::each_field<Point>([&](const auto& field) { sum += point.*field.member; });
    return sum;
}
