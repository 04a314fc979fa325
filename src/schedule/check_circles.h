/* A part of the checker of orders (check.h): actions that wait for each other. */
#ifndef REHEARSE_SCHEDULE_CHECK_CIRCLES_H
#define REHEARSE_SCHEDULE_CHECK_CIRCLES_H

#include "schedule/check_parts.h"

/* Returns whether no actions wait for each other; all of them must be there. Else *err names the circle. */
bool check_circles(const struct checked *checked, struct error *err);

#endif
