/* A rank of a drill. Private to run/drill. */
#ifndef REHEARSE_RUN_DRILL_RANK_H
#define REHEARSE_RUN_DRILL_RANK_H

#include "run/drill/train.h"
#include "run/wire.h"

enum drill_message {
    DRILL_MISSING = 1, /* the ranks that the sender misses, and its iteration */
    DRILL_VIEW,
    DRILL_PART, /* contributions to a cell */
    DRILL_DONE, /* an iteration is computed */
    DRILL_COPY,
    DRILL_READY, /* all copies are there */
    DRILL_JOIN,
    DRILL_EXCLUDED,
    DRILL_RESULT,
    DRILL_BYE,
    DRILL_LOADED, /* which checkpoint the sender has loaded */
    DRILL_SAVED   /* parts of a checkpoint are written */
};

enum drill_phase {
    PHASE_WAITS,    /* not in the view */
    PHASE_COMPUTES, /* until a deadline */
    PHASE_ADDS,     /* waits for contributions of other ranks */
    PHASE_DONE,     /* waits until all ranks have computed the iteration */
    PHASE_AGREES,
    PHASE_COPIES,
    PHASE_COPIED, /* others wait for copies */
    PHASE_LOADS,  /* a checkpoint */
    PHASE_ENDS,
    PHASE_OUT
};

enum drill_missing { THERE, ENDED, SILENT };

/* The last DRILL_MISSING message of a rank. */
struct drill_report {
    int epoch;
    int iteration, moves;
    bool has_next;
    uint8_t missing[DRILL_MAX_NODES];
    int16_t joins[DRILL_MAX_NODES]; /* of each rank: the node as which it asks to join, plus 1 */
};

/* Who takes part. */
struct drill_view {
    int epoch, moves; /* moves: states that were completed */
    bool in_view[DRILL_MAX_NODES];
    bool lost[DRILL_MAX_NODES], back[DRILL_MAX_NODES]; /* nodes since the last complete state */
    int rank_of[DRILL_MAX_NODES];                      /* of each node; -1: nobody */
    int node_of[DRILL_MAX_NODES];                      /* of each rank; -1: none */
};

struct drill_later {
    struct wire_head head;
    void *bytes;
};

struct drill_rank {
    const struct drill_options *options;
    struct wire *wire;
    struct error *err;                   /* of the program */
    int self, ranks;                     /* ranks: with those that wait to join */
    double t0, cut_at, join_at, kill_at; /* INFINITY: never */
    int join_node;
    int node; /* -1: not yet one */
    struct train train;
    enum drill_phase phase;
    struct drill_view now;
    void *view; /* the message of this view, for those that have not got it */
    size_t view_length;
    /* agreement on the next one */
    struct drill_report reports[DRILL_MAX_NODES]; /* the own one is at `self` */
    uint8_t gone[DRILL_MAX_NODES];                /* enum drill_missing: as the wire says */
    double noticed[DRILL_MAX_NODES];              /* when this rank first heard that one is missing */
    bool bye;
    /* states */
    struct elastic_state base, next; /* complete; being made */
    bool has_base, has_next;
    /* training */
    struct train_share *shares;
    double seconds, deadline;
    int done_until[DRILL_MAX_NODES]; /* of each rank: iterations */
    int ready_epoch[DRILL_MAX_NODES], result_epoch[DRILL_MAX_NODES];
    int expected; /* copies that have not come */
    double joined_asked, saw_others;
    struct drill_later *later;
    size_t later_count, later_capacity;
    /* checkpoints */
    struct drill_keeper *keeper; /* NULL: none are saved */
    struct drill_load *load;     /* NULL: this rank does not load, or has loaded */
    int loaded[DRILL_MAX_NODES]; /* of each rank: iterations of what it has loaded; -1: nothing yet */
    /* the answer */
    struct drill_outcome outcome;
    double found_at;   /* < 0: no view is being changed */
    int tries;         /* views since then, and losses that came after the first */
    double copies_due; /* copies take as long as the plan says, at least */
    bool first_step;
};

/* rank.c: plays the part of the wire's rank from t0 on; the launcher is told the outcome if there is one. Returns
 * whether this rank has to report the outcome: it is the lowest that reached the end, or has found an error. */
bool drill_play_rank(const struct drill_options *options, struct wire *wire, double t0,
                     struct drill_outcome *outcome);

/* Returns the rank of the event's node at the time of the event. */
int drill_rank_at(const struct drill_options *options, int fate);

/* Merges the outcome of a rank that reached the end: a wrong one overrides all others. */
void drill_take_outcome(struct drill_outcome *outcome, const struct drill_outcome *one);

/* again.c: makes the initial state of the available nodes. ERROR_INFEASIBLE: they are too few. */
bool drill_first_state(struct elastic_state *state, const struct drill_options *options, struct error *err);

/* ---- parts ---- */

bool drill_tell(struct drill_rank *rank, int to, enum drill_message what, int iteration, int cell,
                const void *bytes, size_t length);
void drill_tell_all(struct drill_rank *rank, enum drill_message what, int iteration, const void *bytes,
                    size_t length);
void drill_finish(struct drill_rank *rank, enum drill_verdict verdict, const char *text);

/* agree.c */
void drill_miss(struct drill_rank *rank); /* somebody is missing, or wants to join: training stops */
void drill_hear_missing(struct drill_rank *rank, int from, const struct drill_report *report);
void drill_hear_view(struct drill_rank *rank, const void *bytes, size_t length);
void drill_hear_join(struct drill_rank *rank, int from, int node);

/* move.c */
void drill_move(struct drill_rank *rank); /* the new view's state is made */
void drill_hear_copy(struct drill_rank *rank, int cell, const void *bytes, size_t length);
void drill_check_ready(struct drill_rank *rank);
void drill_complete(struct drill_rank *rank); /* the state that was being made is the base from now on */

/* load.c */
bool drill_check_folder(const struct drill_options *options, struct error *err); /* before any rank begins */
bool drill_load(struct drill_rank *rank);                                        /* begins to */
void drill_hear_loaded(struct drill_rank *rank, int from, int iteration, const void *note, size_t length);
void drill_look_at_load(struct drill_rank *rank);
void drill_loaded(struct drill_rank *rank); /* all have loaded the same */
void drill_load_free(struct drill_rank *rank);
void drill_note(struct drill_rank *rank, const char *text);

/* save.c */
bool drill_keep(struct drill_rank *rank); /* from now on it saves */
void drill_save(struct drill_rank *rank); /* the words of now, if it is time */
void drill_hear_saved(struct drill_rank *rank, int iteration, const void *bytes, size_t length);
void drill_look_at_saves(struct drill_rank *rank);
void drill_abandon_saves(struct drill_rank *rank);    /* after a loss: a writer may be lost */
bool drill_saves_rest(const struct drill_rank *rank); /* none is being written */
/* Returns why nothing that this rank has saved is on disk; NULL: something is, or nothing was to be saved. */
const char *drill_saves_failed(const struct drill_rank *rank);
void drill_keep_free(struct drill_rank *rank);

/* rank.c */
void drill_start_iteration(struct drill_rank *rank);
void drill_replay(struct drill_rank *rank); /* messages that came too early */

#endif
