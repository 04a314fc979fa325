/* Where the time of a recorded job went: all ranks, its steps, the path through them, and what costs most.
 *
 * A lane is a device of a rank (nearly always the rank itself). A step of a lane begins when the device has done all
 * that was launched before the host began the step, or when the host begins it, if that is later; it ends where the
 * next one begins. So steps lie side by side, and the shares of a step (timeline.h) add up to its time. Steps are those
 * that marks name; of a rank without marks, those of the period of its activities (ranks_period). Where a rank has no
 * step that all others have, the whole recording is one step. */
#ifndef REHEARSE_EXPLAIN_EXPLAIN_H
#define REHEARSE_EXPLAIN_EXPLAIN_H

#include "explain/path.h"
#include "sim/replay/classes.h"
#include "sim/replay/play.h"
#include "sim/replay/ranks.h"

/* What a step lost, beside computing. */
enum explain_loss_kind {
    LOSS_STRAGGLER, /* a rank, or several alike, compute longer than the others, which wait for them */
    LOSS_JITTER,    /* now one rank is last, now another */
    LOSS_EXCHANGE,  /* exposed communication that all ranks have */
    LOSS_LINK,      /* exposed communication of some ranks, for which others wait */
    LOSS_DATA,
    LOSS_HOST,
    LOSS_COPIES,
    LOSS_GAPS, /* between activities on a device */
    LOSS_PEER,
    LOSS_UNKNOWN,
    LOSS_KINDS
};

struct explain_loss {
    enum explain_loss_kind kind;
    int64_t time;     /* on the path, of all steps, ns */
    int32_t lane;     /* that has at least two thirds of it alone; -1: none */
    int32_t exchange; /* kind of exchange; -1: none */
    bool several;     /* of a straggler: other lanes are as slow (explain_is_as_slow) */
};

/* Collectives of one name in one group. */
struct explain_kind {
    const char *name;
    uint32_t group; /* of the run */
    int64_t hidden, transfer,
        waited;    /* of all lanes and steps, ns: covered by compute, exposed, for the last or a message */
    int64_t bytes; /* of all with a known size */
    int64_t moved; /* ns of all, since their last ranks came */
    size_t count, partial; /* partial: not all ranks are there, and it may have waited for the others */
};

struct explain_name {
    const char *name;
    unsigned class, kind; /* enum replay_class, enum kernel_class */
    size_t count;
    int64_t total; /* of all lanes, in steps and outside, ns */
    size_t row;    /* private */
};

/* HolisticTraceAnalysis' breakdown, ns; and over all that was recorded. */
struct explain_window {
    int64_t span, compute, communication, overlap, idle;
};

/* Launch-bound: at least EXPLAIN_BOUND_MIN activities in a row for each of which the device waited. */
#define EXPLAIN_BOUND_MIN 10
struct explain_bound {
    int64_t idle, longest; /* in all such stretches; of the longest, from begin to end */
    size_t activities, stretches;
};

struct explain_rank {
    int64_t pid; /* of its host's process; 0: not told */
    struct explain_window whole, hta;
    struct explain_bound bound;
};

/* Kernels that no rule knows, ns; part of `total` are those of CUDA graphs, and those without a recorded launch. */
struct explain_unnamed {
    int64_t whole; /* of all activities */
    int64_t total, graphs, unlaunched;
};

/* A step as its critical path alone takes, and as recorded: from the end of the last activity before it, ns. */
struct explain_played {
    int64_t played, recorded;
};

/* Matrix products of one size, type and kernel, of all ranks (sim/replay/products.h). */
struct explain_product {
    struct product_size size;
    const char *type, *kernel;
    size_t count;
    int64_t total; /* ns */
};

struct explain {
    struct arena arena;
    struct ranks run;
    struct explain_lane *lanes;
    struct explain_rank *ranks; /* of each lane */
    size_t lane_count, lane_capacity, rank_capacity;
    int64_t *numbers; /* of steps; NULL: the whole recording is the step */
    struct ranks_period
        period; /* that of a rank whose steps no mark tells, the least sure one; length 0: none */
    size_t step_count, first_step,
        stride; /* of the first rank's: first_step is that which is the first here */
    struct explain_kind *kinds;
    size_t kind_count, kind_capacity;
    uint32_t *kind_of; /* of the run's collectives */
    uint32_t *lane_of;
    struct explain_name *names; /* longest total first */
    size_t name_count, name_capacity;
    int64_t *name_times;              /* private: [row][step of the first rank] */
    struct explain_product *products; /* longest total first */
    size_t product_count, product_capacity;
    struct hash_names product_ids; /* private */
    const char *device;            /* as the trace calls it; NULL: it does not */
    struct explain_path path;
    struct explain_played *played; /* of each step */
    struct explain_loss *losses;   /* largest first */
    size_t loss_count;
    size_t activities, events, outside; /* outside: activities in no step */
    struct explain_unnamed unnamed;
};

extern const struct explain_loss_words {
    const char *key, *verdict, *what, *mend;
} explain_loss_words[LOSS_KINDS];

/* `kernels`: the user's rules for names, or NULL. On failure *explain holds nothing; on success the caller calls
 * explain_release. */
bool explain_make(struct explain *explain, const char *const *paths, size_t count,
                  const struct kernel_classes *kernels, struct error *err);

void explain_release(struct explain *explain);

/* When a collective of the run began on its rank, in the job's clock. */
static inline int64_t explain_began(const struct explain *explain, size_t collective)
{
    const struct ranks_collective *at = &explain->run.collectives[collective];
    return at->begin + explain->run.members[at->member].offset;
}

/* Are two the same one on two ranks, or a send and its receive? */
static inline bool explain_is_same(const struct ranks_collective *a, const struct ranks_collective *b)
{
    return a->sends || b->sends ? a->sends && b->sends && a->again > 0 && a->again == b->again
                                : a->group == b->group && a->order == b->order;
}

/* Did a send end before the other side came? */
static inline bool explain_is_over(const struct explain *explain, size_t collective, int64_t last)
{
    const struct ranks_collective *at = &explain->run.collectives[collective];
    return at->message && at->end + explain->run.members[at->member].offset <= last;
}

/* The shares of a step of a lane. */
void explain_step_shares(const struct explain *explain, size_t lane, size_t step,
                         int64_t sums[EXPLAIN_SHARES]);

/* The same of all its steps. */
void explain_lane_shares(const struct explain *explain, size_t lane, int64_t sums[EXPLAIN_SHARES]);

/* The time of a name in a step, of all lanes together. */
int64_t explain_name_time(const struct explain *explain, size_t name, size_t step);

/* What the critical path alone takes, of the recorded time (chain.c). */
double explain_played_share(const struct explain *explain);

/* Is that nearly all? Else the causes that the trace tells are not those that decided. */
static inline bool explain_is_explained(const struct explain *explain)
{
    return explain_played_share(explain) >= 0.8;
}

/* "compute", "communication", "host", "input" or "skew": of the largest loss, where it is a 20th of the time at
 * least. */
const char *explain_verdict(const struct explain *explain);

/* Returns whether no loss is as large as that. */
bool explain_is_busy(const struct explain *explain);

/* Is a lane a straggler's, or does it compute as long, within 1 % and half of the loss? */
bool explain_is_as_slow(const struct explain *explain, const struct explain_loss *loss, size_t lane);

/* Finds the losses of a path that was played; private to explain.c. */
bool explain_losses_find(struct explain *explain, struct error *err);

/* The critical path played alone; private to chain.c. `note` is called for the lanes of each rank, those from `first`
 * on, while it is read, `play` sets explain->played, after clocks, steps and arrivals are known. */
bool explain_chains_note(struct explain *explain, size_t first, const struct replay_graph *graph,
                         struct error *err);
bool explain_chains_play(struct explain *explain, struct error *err);

/* Adds the products of a rank, while it is read; then sorts them. Private to achieved.c. */
bool explain_products_add(struct explain *explain, const struct replay *replay, struct error *err);
bool explain_products_sort(struct explain *explain, struct error *err);

/* What is known of all ranks while they are read; private to load.c and explain.c. */
struct explain_loading {
    struct explain *explain;
    const struct kernel_classes *kernels;
    struct hash_names names;
    int64_t *numbers;      /* of the steps of the first rank */
    int64_t begin, length; /* of its first step in the run's clock, and their mean; ns */
    size_t *seen;          /* on how many ranks */
    size_t step_count, lanes_seen, cell_capacity;
    bool stepless; /* a rank has none */
};

bool explain_load_member(struct explain_loading *loading, size_t member, struct error *err);

#endif
