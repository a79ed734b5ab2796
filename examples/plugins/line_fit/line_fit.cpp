// SPDX-License-Identifier: MIT
#include "line_fit.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(line_fit::LineFit);
