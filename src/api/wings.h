/* What belongs to a wing that is not built is nothing: a row of a table in IN_PLAN(...) is there where the wing `plan`
 * is. */
#ifndef REHEARSE_API_WINGS_H
#define REHEARSE_API_WINGS_H

#include "core/features.h"

#if REHEARSE_WING_PLAN
#define IN_PLAN(...) __VA_ARGS__
#else
#define IN_PLAN(...)
#endif

#if REHEARSE_WING_RUN
#define IN_RUN(...) __VA_ARGS__
#else
#define IN_RUN(...)
#endif

#if REHEARSE_WING_STORAGE
#define IN_STORAGE(...) __VA_ARGS__
#else
#define IN_STORAGE(...)
#endif

#if REHEARSE_WING_TRACE
#define IN_TRACE(...) __VA_ARGS__
#else
#define IN_TRACE(...)
#endif

/* Is every wing built? */
#define HAS_ALL_WINGS                                                                                        \
    (REHEARSE_WING_PLAN && REHEARSE_WING_RUN && REHEARSE_WING_STORAGE && REHEARSE_WING_TRACE)

#endif
