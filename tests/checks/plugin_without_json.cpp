// SPDX-License-Identifier: MIT
// A plugin's glue and a worker's two sides compile no JSON library.
#include "hpo/trainer/plugin.hpp"
#include "hpo/worker/child/worker_loop.hpp"
#include "hpo/worker/supervisor/pool.hpp"

#ifdef NLOHMANN_JSON_VERSION_MAJOR
#error "the JSON library is included"
#endif
