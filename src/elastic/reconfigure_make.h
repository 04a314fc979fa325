/* Parts of a reconfiguration; for the files reconfigure*.c alone. */
#ifndef REHEARSE_ELASTIC_RECONFIGURE_MAKE_H
#define REHEARSE_ELASTIC_RECONFIGURE_MAKE_H

#include "elastic/reconfigure.h"

/* The nodes of a future instance. */
struct elastic_crew {
    int *nodes, count;
    size_t capacity;
    int origin;  /* instance that it continues; -1: a new one */
    int shape;   /* fixed; -1: that of elastic_crew_shape */
    bool broken; /* lost nodes */
    bool merging;
};

struct elastic_crews {
    const struct elastic_state *from;
    struct elastic_transition *out;
    struct elastic_crew *crews; /* instance_count of them at first */
    size_t count, capacity;
    int *spares, spare_count; /* room for all nodes */
    int faults;               /* lost nodes that copies should survive */
    bool failed;              /* out of memory */
};

/* The shape of a crew: its origin's if its nodes are of the same kinds, else the best; -1: none fits. */
int elastic_crew_shape(const struct elastic_crews *crews, const struct elastic_crew *crew);

bool elastic_crews_init(struct elastic_crews *crews, const struct elastic_state *from,
                        const struct elastic_change *change, struct elastic_transition *out,
                        struct error *err);

/* Apply the rules for losses, and for spares and returned nodes. */
bool elastic_repair_crews(struct elastic_crews *crews, struct error *err);

/* Takes the crews of the fastest set of the live nodes instead. */
bool elastic_fastest_crews(struct elastic_crews *crews, int faults, struct error *err);

/* Makes out->after of the crews: shapes, and a place for each node that keeps as many bytes as a greedy
 * choice can. */
bool elastic_seat_crews(struct elastic_crews *crews, struct error *err);

/* Sets copies, bytes, seconds and bound, or the missing layers. */
bool elastic_copy_state(const struct elastic_state *from, struct elastic_transition *out, struct error *err);

#endif
