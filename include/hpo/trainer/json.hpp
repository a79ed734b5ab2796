// SPDX-License-Identifier: MIT
#pragma once

// Records (core/fields.hpp) as values of the JSON library: `encode(x)` and `decoded<X>(json, place)`.
#include "hpo/core/plan.hpp"
#include "hpo/trainer/json_codec.hpp"
#include "hpo/trainer/trainer.hpp"
