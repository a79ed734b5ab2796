// SPDX-License-Identifier: MIT
#pragma once

// The records of trainer/records.hpp as values of the JSON library: `encode(x)` and `decoded<X>(json, place)`.
#include "hpo/trainer/json_codec.hpp"
#include "hpo/trainer/records.hpp"
