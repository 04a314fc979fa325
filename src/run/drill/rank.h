/* A rank of a drill. Private to run/drill. */
#ifndef REHEARSE_RUN_DRILL_RANK_H
#define REHEARSE_RUN_DRILL_RANK_H

#include "run/drill/train.h"
#include "run/wire.h"

enum drill_message {
    DRILL_MISSING = 1, /* whom the sender misses, and how far it has come */
    DRILL_VIEW,
    DRILL_PART, /* contributions to a cell */
    DRILL_DONE, /* an iteration is computed */
    DRILL_COPY,
    DRILL_READY, /* all copies are there */
    DRILL_JOIN,
    DRILL_EXCLUDED,
    DRILL_RESULT,
    DRILL_BYE
};

enum drill_phase {
    PHASE_WAITS,    /* not in the view */
    PHASE_COMPUTES, /* until a deadline */
    PHASE_ADDS,     /* contributions of others are missing */
    PHASE_DONE,     /* others are not */
    PHASE_AGREES,
    PHASE_COPIES,
    PHASE_COPIED, /* others wait for copies */
    PHASE_ENDS,
    PHASE_OUT
};

enum drill_missing { THERE, ENDED, SILENT };

/* What a rank said last of whom it misses. */
struct drill_report {
    int epoch;
    int iteration, moves;
    bool has_next;
    uint8_t missing[DRILL_MAX_NODES];
    int16_t joins[DRILL_MAX_NODES]; /* of each rank: the node that it wants to be, plus 1 */
};

struct drill_later {
    struct wire_head head;
    void *bytes;
};

struct drill_rank {
    const struct drill_options *options;
    struct wire *wire;
    struct error *err; /* of the program */
    int outcome_pipe;
    int self, ranks;            /* ranks: with those that wait to join */
    double t0, cut_at, join_at; /* INFINITY: never */
    int join_node;
    int node; /* -1: not yet one */
    struct train train;
    enum drill_phase phase;
    /* the view */
    int epoch;
    bool in_view[DRILL_MAX_NODES];
    int rank_of[DRILL_MAX_NODES]; /* of each node; -1: nobody */
    int node_of[DRILL_MAX_NODES]; /* of each rank; -1: none */
    void *view;                   /* the message of this view, for those that have not got it */
    size_t view_length;
    /* agreement on the next one */
    struct drill_report reports[DRILL_MAX_NODES]; /* the own one is at `self` */
    uint8_t gone[DRILL_MAX_NODES];                /* enum drill_missing: as the wire says */
    bool bye;
    /* states */
    struct elastic_state base, next; /* complete; being made */
    bool has_base, has_next;
    bool lost[DRILL_MAX_NODES], back[DRILL_MAX_NODES]; /* nodes since `base` */
    int moves;                                         /* states that were completed */
    /* training */
    struct train_share *shares;
    double seconds, deadline;
    int done_until[DRILL_MAX_NODES]; /* of each rank: iterations */
    int ready_epoch[DRILL_MAX_NODES], result_epoch[DRILL_MAX_NODES];
    int expected; /* copies that have not come */
    double joined_asked;
    struct drill_later *later;
    size_t later_count, later_capacity;
    /* the answer */
    struct drill_outcome outcome;
    double found_at; /* < 0: no view is being changed */
    bool first_step;
};

/* Plays the rank's part and returns; the outcome has been written into the pipe if there is one. */
void drill_be_rank(struct drill_rank *rank);
void drill_rank_release(struct drill_rank *rank);

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

/* rank.c */
void drill_start_iteration(struct drill_rank *rank);
void drill_replay(struct drill_rank *rank); /* messages that came too early */

#endif
