// SPDX-License-Identifier: MIT
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/sanitizer.hpp"

int main(int argc, char** argv) {
    hpo::test::leave_signals_to_programs();
    return Catch::Session().run(argc, argv);
}
