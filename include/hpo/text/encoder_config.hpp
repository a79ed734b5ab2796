// SPDX-License-Identifier: MIT
#pragma once

// Its place before headers got rooms, for programs that name it.
#include "hpo/text/stored/encoder_config.hpp"
