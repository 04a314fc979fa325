/* Internals of the reader of rehearse-plan/2. */
#ifndef REHEARSE_PLAN_PLAN_READ_H
#define REHEARSE_PLAN_PLAN_READ_H

#include "core/doc.h"
#include "plan/plan_fields.h"

struct plan_reader {
    struct doc doc;
    struct plan *plan; /* initialised, with room for PLAN_MAX_TYPES device types */
    struct error *err;
};

/* Reads the plain members of a map, which may have the keys `others` beside them (a NULL ends them). */
bool plan_read_fields(struct plan_reader *r, const struct doc_node *map, const struct plan_map *which,
                      void *of, const char *const *others);

/* Finds a list that may be missing, of `min` to `max` entries. *list is NULL if it is. */
bool plan_find_list(struct plan_reader *r, const struct doc_node *parent, const char *key, uint32_t min,
                    uint32_t max, const struct doc_node **list);

/* Reads what plans over several types say of other fleets and of idle devices. */
bool plan_read_fleets(struct plan_reader *r);

#endif
