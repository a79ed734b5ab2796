// SPDX-License-Identifier: MIT
#pragma once

/// What stands before a function whose body is in an `*_inl.hpp`. Where `HPO_COMPILED` is defined, the library hpo::runtime has these
/// bodies and the headers only declare them. Elsewhere each header includes its bodies, and nothing has to be linked.
#ifdef HPO_COMPILED
#define HPO_INLINE
#else
#define HPO_INLINE inline
#endif
