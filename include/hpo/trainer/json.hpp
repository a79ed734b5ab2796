// SPDX-License-Identifier: MIT
#pragma once

#include "hpo/trainer/json_codec.hpp"
#include "hpo/trainer/records.hpp"

/// The records of trainer/records.hpp as values of the JSON library: `encode(x)` and `decoded<X>(json, place)`.
