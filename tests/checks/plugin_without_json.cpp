// SPDX-License-Identifier: MIT
// Who links hpo::runtime compiles no JSON library for a plugin's glue and for a worker's two sides.
#include "hpo/trainer/plugin.hpp"
#include "hpo/worker/child/worker_loop.hpp"
#include "hpo/worker/supervisor/pool.hpp"

#if defined(HPO_COMPILED) && defined(NLOHMANN_JSON_VERSION_MAJOR)
#error "the JSON library is included"
#endif
