/* Checkpoints are written beside the iterations (drill.h): the holders of a part in one instance write it, in turn; the
 * lowest rank collects what they say, and completes the checkpoint once it has heard of all parts. */
#include "run/drill/rank.h"

#include "run/drill/saved.h"
#include "run/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WAITING 3 /* checkpoints whose parts wait for a slow disk: the next one is left out */

/* What the collector is told of a part; none of them: the checkpoint will not be whole. */
struct part_written {
    int part;
    int64_t words;
    uint64_t checksum;
};

/* What is written: parts of this rank, or (parts NULL) the end of a checkpoint. */
struct save {
    struct worker_job job;
    const char *folder;
    int64_t iteration;
    int count;
    struct part_written *parts;
    uint64_t **words;   /* of each part: a copy */
    struct saved whole; /* else */
    struct save *next;
};

/* A checkpoint whose parts are being written. */
struct collected {
    struct saved saved; /* parts NULL: it is given up; iteration 0: there is none */
    int missing;        /* parts */
};

struct drill_keeper {
    struct worker *worker;
    struct save *first, *last; /* in the order in which they are written */
    int waiting;
    struct collected open[MAX_WAITING + 1];
    int64_t since;       /* what was begun until this iteration is not completed any more */
    int written, failed; /* what this rank has written, and could not */
    char why[256];       /* of the first failure */
};

static void free_save(struct save *save)
{
    for (int i = 0; save->words && i < save->count; i++)
        free(save->words[i]);
    free((void *)save->words);
    free(save->parts);
    saved_release(&save->whole);
    free(save);
}

/* ---- beside the messages ---- */

static bool write_save(void *context, struct error *err)
{
    struct save *save = context;
    if (!save->parts)
        return saved_write(&save->whole, save->folder, err);
    for (int i = 0; i < save->count; i++) {
        struct part_written *part = &save->parts[i];
        part->checksum = saved_checksum(part->part, save->words[i], part->words);
        if (!saved_write_part(save->folder, save->iteration, part->part, save->words[i], part->words, err))
            return false;
    }
    return true;
}

static void ask(struct drill_keeper *keeper, struct save *save)
{
    save->job.run = write_save;
    save->job.context = save;
    if (keeper->first)
        keeper->last->next = save;
    else
        keeper->first = save;
    keeper->last = save;
    keeper->waiting++;
    worker_ask(keeper->worker, &save->job);
}

/* ---- who writes what ---- */

static int collector(const struct drill_rank *rank)
{
    for (int r = 0; r < rank->ranks; r++)
        if (rank->now.in_view[r])
            return r;
    return rank->self;
}

/* The instances take turns. */
static bool writes(const struct drill_rank *rank, int c)
{
    const struct elastic_state *state = &rank->base;
    return train_holder(&rank->train, state, c % state->instance_count, c) == rank->node;
}

/* Copies what this rank writes; NULL: out of memory. */
static struct save *copy_words(const struct drill_rank *rank)
{
    const struct train *train = &rank->train;
    struct save *save = calloc(1, sizeof *save);
    if (!save)
        return NULL;
    save->folder = rank->options->checkpoints;
    save->iteration = train->iteration;
    save->parts = calloc((size_t)train->cell_count + 1, sizeof *save->parts);
    save->words = (uint64_t **)calloc((size_t)train->cell_count + 1, sizeof *save->words);
    bool ok = save->parts && save->words;
    for (int c = 0; ok && c < train->cell_count; c++) {
        if (!writes(rank, c))
            continue;
        size_t bytes = (size_t)train->words[c] * sizeof(uint64_t);
        save->parts[save->count] = (struct part_written){.part = c, .words = train->words[c]};
        ok = (save->words[save->count] = malloc(bytes)) != NULL;
        if (ok)
            memcpy(save->words[save->count++], train->cells[c].now, bytes);
    }
    if (ok)
        return save;
    free_save(save);
    return NULL;
}

/* ---- the collector ---- */

/* Returns the place of a checkpoint, where that of the oldest one is taken for a new one; NULL: it comes too late. */
static struct collected *place_of(struct drill_rank *rank, int64_t iteration)
{
    struct drill_keeper *keeper = rank->keeper;
    struct collected *oldest = &keeper->open[0];
    for (int i = 0; i <= MAX_WAITING; i++) {
        if (keeper->open[i].saved.iteration == iteration)
            return &keeper->open[i];
        if (keeper->open[i].saved.iteration < oldest->saved.iteration)
            oldest = &keeper->open[i];
    }
    if (iteration <= keeper->since || iteration < oldest->saved.iteration)
        return NULL;
    size_t count = (size_t)rank->train.cell_count;
    saved_release(&oldest->saved);
    oldest->saved = (struct saved){.iteration = iteration,
                                   .batch = rank->train.batch,
                                   .part_count = rank->train.cell_count,
                                   .parts = calloc(count + 1, sizeof *oldest->saved.parts)};
    oldest->missing = rank->train.cell_count;
    return oldest;
}

static void give_up(struct collected *open)
{
    free(open->saved.parts);
    open->saved.parts = NULL;
}

/* Those before it give way: what is left of them is removed with it. */
static void complete(struct drill_keeper *keeper, struct collected *open, const char *folder)
{
    struct save *save = calloc(1, sizeof *save);
    for (int i = 0; i <= MAX_WAITING; i++)
        if (keeper->open[i].saved.iteration < open->saved.iteration)
            give_up(&keeper->open[i]);
    keeper->since = open->saved.iteration;
    if (save) {
        save->folder = folder;
        save->whole = open->saved;
        open->saved.parts = NULL;
        ask(keeper, save);
    }
    give_up(open);
}

static void take(struct drill_rank *rank, int64_t iteration, const struct part_written *parts, size_t count)
{
    struct collected *open = place_of(rank, iteration);
    if (!open || !open->saved.parts)
        return;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].part < 0 || parts[i].part >= open->saved.part_count || parts[i].words < 1)
            continue;
        struct saved_part *part = &open->saved.parts[parts[i].part];
        open->missing -= part->words == 0;
        *part = (struct saved_part){parts[i].words, parts[i].checksum};
    }
    if (count == 0)
        give_up(open);
    else if (open->missing == 0)
        complete(rank->keeper, open, rank->options->checkpoints);
}

void drill_hear_saved(struct drill_rank *rank, int iteration, const void *bytes, size_t length)
{
    size_t count = length / sizeof(struct part_written);
    struct part_written *parts = malloc(length + 1);
    if (!parts || !rank->keeper) {
        free(parts);
        return;
    }
    if (length > 0)
        memcpy(parts, bytes, length);
    take(rank, iteration, parts, count);
    free(parts);
}

/* Tells the collector, which may be this rank. No parts: they could not be written. */
static void tell(struct drill_rank *rank, int64_t iteration, const struct part_written *parts, int count)
{
    int to = collector(rank);
    if (to == rank->self)
        take(rank, iteration, parts, (size_t)count);
    else
        (void)drill_tell(rank, to, DRILL_SAVED, (int)iteration, 0, parts, (size_t)count * sizeof *parts);
}

/* ---- all of it ---- */

bool drill_keep(struct drill_rank *rank)
{
    rank->keeper = calloc(1, sizeof *rank->keeper);
    if (!rank->keeper)
        return error_memory(rank->err);
    rank->keeper->worker = worker_new(-1, rank->err);
    return rank->keeper->worker != NULL;
}

void drill_save(struct drill_rank *rank)
{
    struct drill_keeper *keeper = rank->keeper;
    if (!keeper || rank->train.iteration % rank->options->save_every != 0)
        return;
    if (collector(rank) == rank->self)
        (void)place_of(rank, rank->train.iteration);
    struct save *save = keeper->waiting < MAX_WAITING ? copy_words(rank) : NULL;
    if (!save) {
        drill_note(rank, "a checkpoint was skipped: earlier ones were still being written");
        tell(rank, rank->train.iteration, NULL, 0);
    } else if (save->count > 0) {
        ask(keeper, save);
    } else {
        free_save(save);
    }
}

void drill_look_at_saves(struct drill_rank *rank)
{
    struct drill_keeper *keeper = rank->keeper;
    while (keeper && keeper->first && worker_ended(keeper->worker, &keeper->first->job)) {
        struct save *save = keeper->first;
        keeper->first = save->next;
        keeper->waiting--;
        if (save->job.failed) {
            drill_note(rank, save->job.error.text);
            if (keeper->failed++ == 0)
                snprintf(keeper->why, sizeof keeper->why, "%.255s", save->job.error.text);
        } else {
            keeper->written++;
        }
        if (save->parts)
            tell(rank, save->iteration, save->parts, save->job.failed ? 0 : save->count);
        free_save(save);
    }
}

void drill_abandon_saves(struct drill_rank *rank)
{
    if (!rank->keeper)
        return;
    rank->keeper->since = rank->train.iteration;
    for (int i = 0; i <= MAX_WAITING; i++)
        give_up(&rank->keeper->open[i]);
}

bool drill_saves_rest(const struct drill_rank *rank)
{
    if (rank->keeper && rank->keeper->first)
        return false;
    for (int i = 0; rank->keeper && i <= MAX_WAITING; i++)
        if (rank->keeper->open[i].saved.parts)
            return false;
    return true;
}

const char *drill_saves_failed(const struct drill_rank *rank)
{
    const struct drill_keeper *keeper = rank->keeper;
    return keeper && keeper->failed > 0 && keeper->written == 0 ? keeper->why : NULL;
}

void drill_keep_free(struct drill_rank *rank)
{
    struct drill_keeper *keeper = rank->keeper;
    if (!keeper)
        return;
    worker_free(keeper->worker);
    for (struct save *save = keeper->first, *next; save; save = next) {
        next = save->next;
        free_save(save);
    }
    for (int i = 0; i <= MAX_WAITING; i++)
        give_up(&keeper->open[i]);
    free(keeper);
    rank->keeper = NULL;
}
