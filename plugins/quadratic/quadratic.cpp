// SPDX-License-Identifier: MIT
#include "quadratic.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(quadratic::Quadratic);
