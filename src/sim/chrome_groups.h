/* Process groups in a Chrome trace, and what kernels of NCCL tell there: as PyTorch's profiler writes both. Private to
 * chrome.c. */
#ifndef REHEARSE_SIM_CHROME_GROUPS_H
#define REHEARSE_SIM_CHROME_GROUPS_H

#include "core/arena.h"
#include "core/json.h"
#include "sim/timeline.h"

#include <stddef.h>

struct process_group;

/* Set to zero: none. */
struct chrome_groups {
    struct arena arena;
    struct process_group *groups;
    size_t count, capacity;
};

bool chrome_groups_add(struct chrome_groups *groups, const struct timeline_group *group, struct error *err);
void chrome_groups_release(struct chrome_groups *groups);

/* Writes them as "pg_config": those that hold a device; -1: all. */
void chrome_groups_write(const struct chrome_groups *groups, int device, struct json *json);

/* Writes what is known of a collective or a message, whose bytes are those that a rank sends. */
void chrome_exchange_write(const struct chrome_groups *groups, const struct timeline_task *task,
                           struct json *json);

#endif
