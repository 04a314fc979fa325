/* The answers of a sweep. Private to this folder. */
#ifndef REHEARSE_API_SWEEP_INNER_H
#define REHEARSE_API_SWEEP_INNER_H

#include "api/sweep/sweep.h"
#include "core/arena.h"
#include "core/progress.h"
#include "core/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum sweep_state { SWEEP_OPEN, SWEEP_FOUND, SWEEP_NONE };

struct sweep_answers {
    const struct sweep *sweep;
    struct arena arena;
    int64_t count;
    struct sweep_cell *cells; /* [point][column] */
    unsigned char *states;    /* enum sweep_state, of each point */
    const char **reasons;     /* of points without an answer */
    int64_t failed;           /* the first point that ends the sweep; -1: none */
    struct error error;       /* of that point */
    pthread_mutex_t lock;     /* of the above and of the log */
    FILE *log;                /* answers so far; NULL: they are not kept */
    char *log_path;
    int64_t kept;               /* points answered by an earlier run */
    struct sweep_answers *sums; /* of repeats; its title says which is the best. NULL: there are none */
    bool beyond;                /* of sums: the best is told apart from all others */
    struct progress progress;
    atomic_llong done;
};

/* Returns a cell's text; "" if it has none. */
const char *sweep_text(const struct sweep_cell *cell);

struct sweep_cell *sweep_cells(const struct sweep_answers *answers, int64_t point);
void sweep_locate(const struct sweep *sweep, int64_t point, int *at);

/* A value of an axis as text, in `buffer` or constant. */
const char *sweep_value(const struct sweep_axis *axis, int at, char buffer[static 24]);

/* Makes room for all answers. */
bool sweep_allocate(struct sweep_answers *answers, struct arena *arena, struct error *err);

/* Sums up the repeats and names the best combination: answers->sums. */
bool sweep_best(struct sweep_answers *answers, struct error *err);

void sweep_print(const struct sweep_answers *answers, struct text *out);
void sweep_write_csv(const struct sweep_answers *answers, struct text *out);
void sweep_write_json(const struct sweep_answers *answers, struct json *json);

#endif
