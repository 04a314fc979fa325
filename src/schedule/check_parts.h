/* What the files of the checker share: the tables of an order that is checked, and messages about its cells. */
#ifndef REHEARSE_SCHEDULE_CHECK_PARTS_H
#define REHEARSE_SCHEDULE_CHECK_PARTS_H

#include "schedule/action.h"

#define CHECK_NONE UINT32_MAX

/* The passes of a stage for a micro-batch: which pass of the order each is; CHECK_NONE: it is not there. */
struct check_triple {
    uint32_t forward, backward, weight; /* backward: full, or for the input */
};

#define CHECK_MESSAGES 4 /* kinds of SEND and RECV */

struct checked {
    const struct pass_order *order;
    const struct action_source *source;   /* never NULL */
    struct check_triple *triples;         /* [stage][micro-batch] */
    uint32_t (*messages)[CHECK_MESSAGES]; /* the same of SEND and RECV, by kind; NULL: the order has none */
};

static inline struct check_triple *check_triple_of(const struct checked *checked, int stage,
                                                   uint32_t microbatch)
{
    return &checked->triples[(size_t)stage * (size_t)checked->order->microbatches + microbatch];
}

static inline uint32_t *check_message_of(const struct checked *checked, int stage, uint32_t microbatch,
                                         int kind)
{
    return &checked->messages[(size_t)stage * (size_t)checked->order->microbatches + microbatch]
                             [kind - ACTION_SEND_FORWARD];
}

/* Returns the device of an action, by its index in the order. */
int check_device_at(const struct checked *checked, size_t index);

/* Returns the number of an action's cell on its device. */
unsigned check_cell_number(const struct checked *checked, size_t index);

struct action_name check_name(const struct checked *checked, size_t index);

/* Both set *err and return false: "FILE: rank 1, cell 7: 3B0" and the text, which is of an action; and "FILE: " and the
 * text. */
bool check_fault(const struct checked *checked, size_t index, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool check_fail(const struct checked *checked, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A part of the checker of orders (check.h): actions that wait for each other. */

/* Returns whether no actions wait for each other; all of them must be there. Else *err names the circle. */
bool check_circles(const struct checked *checked, struct error *err);

#endif
