/* What links of a system carry: for people, and for the result. Private to sim/play. */
#ifndef REHEARSE_SIM_PLAY_LINKS_H
#define REHEARSE_SIM_PLAY_LINKS_H

#include "sim/play/system.h"

#define LINKS_KEPT 16 /* of a result */

#endif
