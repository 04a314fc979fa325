/* A checkpoint is loaded by the processes of a drill, each its own layers (drill.h). It is read beside the messages, as
 * a disk may take longer than a rank may be silent. */
#include "run/drill/rank.h"

#include "core/clock.h"
#include "run/drill/saved.h"
#include "run/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct drill_load {
    struct worker *worker;
    struct worker_job job;
    struct drill_rank *rank;
    int64_t most;      /* iterations that it may have */
    int64_t iteration; /* that it has */
    bool told;
    double begun;
    char note[sizeof((struct drill_outcome *)0)->note];
};

void drill_note(struct drill_rank *rank, const char *text)
{
    char *note = rank->outcome.note;
    size_t length = strlen(note);
    if (text[0] && !strstr(note, text))
        snprintf(note + length, sizeof rank->outcome.note - length, "%s%s", length > 0 ? "; " : "", text);
}

/* ---- beside the messages ---- */

static bool is_of_this_training(const struct drill_options *options, const struct train *train,
                                const struct saved *saved, struct error *err)
{
    bool same = saved->part_count == train->cell_count && saved->batch == train->batch;
    for (int c = 0; same && c < train->cell_count; c++)
        same = saved->parts[c].words == train->words[c];
    if (!same)
        return error_set(err, ERROR_USAGE, "%s: has checkpoints of another run: choose another folder",
                         options->checkpoints);
    if (saved->iteration > options->iterations)
        return error_set(err, ERROR_USAGE,
                         "%s: already has a checkpoint of %" PRId64 " iterations, but --iterations is %d",
                         options->checkpoints, saved->iteration, options->iterations);
    return (!options->fresh || options->again.attempt > 0) ||
           error_set(err, ERROR_USAGE, "%s: already has checkpoints: random drills need an empty folder",
                     options->checkpoints);
}

bool drill_check_folder(const struct drill_options *options, struct error *err)
{
    struct train train;
    struct saved saved;
    struct error ignored;
    int64_t last = saved_last(options->checkpoints, INT64_MAX);
    if (last < 0 || !saved_read(&saved, options->checkpoints, last, &ignored))
        return true; /* one that is corrupted is named by those who load */
    bool ok = train_init(&train, options->kit, 0, options->byte_share, err) &&
              is_of_this_training(options, &train, &saved, err);
    train_release(&train);
    saved_release(&saved);
    return ok;
}

static bool read_words(struct drill_rank *rank, const struct saved *saved, int c, struct error *err)
{
    struct train *train = &rank->train;
    uint64_t *words = malloc((size_t)train->words[c] * sizeof *words);
    bool ok = (words || error_memory(err)) &&
              saved_read_part(saved, rank->options->checkpoints, c, words, err) &&
              train_put(train, c, words, err);
    free(words);
    return ok;
}

/* ERROR_USAGE: the folder is not what it should be. Other errors: this checkpoint is corrupted. */
static bool read_one(struct drill_rank *rank, int64_t iteration, struct error *err)
{
    struct saved saved;
    if (!saved_read(&saved, rank->options->checkpoints, iteration, err))
        return false;
    bool ok = is_of_this_training(rank->options, &rank->train, &saved, err);
    for (int c = 0; ok && c < saved.part_count; c++)
        ok = !train_holds(&rank->train, &rank->base, rank->node, c) || read_words(rank, &saved, c, err);
    saved_release(&saved);
    return ok;
}

static bool load(void *context, struct error *err)
{
    struct drill_load *own = context;
    struct drill_rank *rank = own->rank;
    for (int64_t most = own->most;; most = own->iteration - 1) {
        own->iteration = saved_last(rank->options->checkpoints, most);
        if (own->iteration < 0) {
            own->iteration = 0;
            return train_begin(&rank->train, &rank->base, err);
        }
        if (read_one(rank, own->iteration, err))
            return true;
        if (err->kind == ERROR_USAGE)
            return false;
        size_t length = strlen(own->note);
        snprintf(own->note + length, sizeof own->note - length, "%s%s", length > 0 ? "; " : "", err->text);
    }
}

/* ---- all agree ---- */

static void begin(struct drill_load *own, int64_t most)
{
    own->job = (struct worker_job){.run = load, .context = own};
    own->most = most;
    own->told = false;
    worker_ask(own->worker, &own->job);
}

bool drill_load(struct drill_rank *rank)
{
    struct drill_load *load = calloc(1, sizeof *load);
    if (!load)
        return error_memory(rank->err);
    rank->load = load;
    load->rank = rank;
    load->begun = clock_now();
    for (int r = 0; r < rank->ranks; r++)
        rank->loaded[r] = -1;
    load->worker = worker_new(-1, rank->err);
    if (load->worker)
        begin(load, INT64_MAX);
    return load->worker != NULL;
}

void drill_load_free(struct drill_rank *rank)
{
    if (rank->load)
        worker_free(rank->load->worker);
    free(rank->load);
    rank->load = NULL;
}

void drill_hear_loaded(struct drill_rank *rank, int from, int iteration, const void *note, size_t length)
{
    char text[sizeof rank->outcome.note];
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1),
             (const char *)note);
    drill_note(rank, text);
    rank->loaded[from] = iteration;
}

void drill_loaded(struct drill_rank *rank)
{
    struct drill_outcome *outcome = &rank->outcome;
    outcome->load = clock_now() - rank->load->begun;
    outcome->begun_at = rank->train.iteration;
    outcome->samples = rank->train.iteration * rank->train.batch;
    rank->now.moves++;
    drill_load_free(rank);
}

void drill_look_at_load(struct drill_rank *rank)
{
    struct drill_load *load = rank->load;
    if (rank->phase != PHASE_LOADS || !worker_ended(load->worker, &load->job))
        return;
    if (load->job.failed) {
        drill_finish(rank, DRILL_WRONG, load->job.error.text);
        return;
    }
    if (!load->told) {
        load->told = true;
        rank->train.iteration = (int)load->iteration;
        rank->loaded[rank->self] = (int)load->iteration;
        drill_note(rank, load->note);
        drill_tell_all(rank, DRILL_LOADED, (int)load->iteration, load->note, strlen(load->note));
    }
    int least = rank->train.iteration, most = least;
    for (int r = 0; r < rank->ranks; r++) {
        if (!rank->now.in_view[r])
            continue;
        if (rank->loaded[r] < 0)
            return;
        least = rank->loaded[r] < least ? rank->loaded[r] : least;
        most = rank->loaded[r] > most ? rank->loaded[r] : most;
    }
    if (least < rank->train.iteration) {
        begin(load, least);
    } else if (most == least) {
        drill_loaded(rank);
        drill_start_iteration(rank);
    }
}
