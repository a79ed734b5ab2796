// SPDX-License-Identifier: MIT
#include "ring_gan.hpp"

#include "hpo/trainer/plugin.hpp"

HPO_TRAINER_PLUGIN(ring_gan::RingGan);
