// SPDX-License-Identifier: MIT
#pragma once

/// Stands before each function whose body is in an `*_inl.hpp`. Where `HPO_COMPILED` is defined, the headers only declare these functions,
/// and the libraries hpo::runtime and hpo::torch_runtime contain their bodies. Elsewhere each header includes the bodies, and no library
/// has to be linked.
#ifdef HPO_COMPILED
#define HPO_INLINE
#else
#define HPO_INLINE inline
#endif
