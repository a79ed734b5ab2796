// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

/// How much the counting device has; before its first use.
extern "C" void counting_device_set_total(std::size_t bytes);
