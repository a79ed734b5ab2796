// SPDX-License-Identifier: MIT
#include "hpo/base/heap_optional.hpp"

#include <string>

#include "hpo/core/trial.hpp"
#include "support/catch.hpp"

using namespace hpo;

TEST_CASE("an empty value on the heap takes the room of a pointer") {
    static_assert(sizeof(HeapOptional<Failure>) == sizeof(void*));
    CHECK_FALSE(HeapOptional<std::string>{}.has_value());
    CHECK_FALSE(HeapOptional<std::string>{std::nullopt});
    CHECK_FALSE(HeapOptional<std::string>{std::optional<std::string>{}});
}

TEST_CASE("a value on the heap is copied, not shared") {
    HeapOptional<std::string> first{std::string{"a"}};
    HeapOptional<std::string> second = first;
    *second += "b";
    CHECK(*first == "a");
    CHECK(*second == "ab");
    second = first;
    CHECK(*second == "a");
    first = std::nullopt;
    CHECK_FALSE(first);
    CHECK(second->size() == 1);
    second = static_cast<const HeapOptional<std::string>&>(second);
    CHECK(*second == "a");
    first = std::move(second);
    CHECK(*first == "a");
    CHECK_FALSE(second);  // NOLINT(bugprone-use-after-move): it is empty then
    std::optional<std::string> plain = first;
    CHECK(plain == "a");
    first.reset();
    CHECK_FALSE(first);
    plain = first;
    CHECK_FALSE(plain);
    CHECK(first.emplace().empty());
}

TEST_CASE("an attempt takes the failure of an outcome") {
    std::optional<Failure> told = Failure{.kind = FailureKind::timeout, .message = "silent"};
    Attempt attempt;
    attempt.failure = std::move(told);
    REQUIRE(attempt.failure);
    CHECK(attempt.failure->message == "silent");
    const Attempt copy = attempt;
    attempt.failure->message = "other";
    CHECK(copy.failure->message == "silent");
}
