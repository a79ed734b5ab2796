// SPDX-License-Identifier: MIT
#pragma once

// The only file that names Catch2's headers: version 2 (Debian 12) or 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
