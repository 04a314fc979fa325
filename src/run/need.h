/* The approximate memory of a run's buffers, compared with the hosts' free memory before the run begins, as the system
 * would kill it later. Private to run. */
#ifndef REHEARSE_RUN_NEED_H
#define REHEARSE_RUN_NEED_H

#include "run/player.h"

struct need {
    char host[64];
    int64_t needed, there; /* bytes; there: 0 if the system does not say */
};

/* Sums the buffers of this rank: the longest message that it sends, one or two from each device that sends to it
 * (message_ahead), and for each device the largest collective with other ranks and the largest without. */
bool need_look(struct need *need, const struct player *player, struct error *err);

/* The needs of all ranks of each host. */
struct need_sum {
    struct need *hosts;
    size_t count, capacity;
};
bool need_add(struct need_sum *sum, const struct need *need, struct error *err);

/* False, with an error that names the host and the numbers, if a host has not as much. */
bool need_check(const struct need_sum *sum, struct error *err);
void need_release(struct need_sum *sum);

#endif
