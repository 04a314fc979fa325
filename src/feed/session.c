#include "feed/session.h"

#include "core/clock.h"
#include "feed/place.h"
#include "feed/workload/layout.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the data set ---- */

static struct dataset_place place_of(struct session *session, struct feed_place *place)
{
    *place = (struct feed_place){.storage = session->storage};
    return feed_place_of(place);
}

/* All ranks call it in the same order, so that no rank waits for one that failed. */
static bool together(const struct session *session, bool ok, const char *what, struct error *err)
{
    return comm_agree(session->options.run.comm, ok, what, err);
}

static bool generate(struct session *session, struct error *err)
{
    const struct run_options *run = &session->options.run;
    struct feed_place objects;
    const struct dataset_place place = place_of(session, &objects);
    const struct dataset_work work = {
        .rank = comm_rank(run->comm), .ranks = comm_size(run->comm), .stop = run->step.stop};
    struct dataset_generated made;
    return feed_same_layout(run->comm, &session->layout, true, err) &&
           feed_generate(&session->layout, &place, &work, run->comm, run->force, &made, err);
}

/* Takes number and sizes of the files from the data set's dataset.json, if it has one. */
static bool find_layout(struct session *session, struct error *err)
{
    struct feed_place objects;
    const struct dataset_place place = place_of(session, &objects);
    int64_t bytes;
    struct dataset_layout found;
    if (!place.size(place.context, DATASET_MANIFEST, &bytes, err))
        return false;
    if (bytes < 0)
        return true;
    if (!dataset_manifest_read(&found, &place, err))
        return false;
    if (found.format != session->layout.format) {
        char *path = storage_path(session->storage, DATASET_MANIFEST, err);
        if (path)
            error_set(err, ERROR_INPUT, "%s: the data set has %s files, the workload reads %s", path,
                      found.format->name, session->layout.format->name);
        free(path);
        dataset_layout_release(&found);
        return false;
    }
    if (!dataset_layout_choose(&found, &session->layout, err)) {
        dataset_layout_release(&found);
        return false;
    }
    dataset_layout_release(&session->layout);
    session->layout = found;
    session->found = true;
    return true;
}

/* Looks for the first file: a missing data set has an error of its own. */
static bool check_present(struct session *session, struct error *err)
{
    struct feed_place objects;
    const struct dataset_place place = place_of(session, &objects);
    struct dataset_file file;
    struct text path = {0};
    int64_t bytes = -1;
    if (dataset_files(&session->layout) == 0)
        return true;
    dataset_file_init(&file, &session->layout, 0);
    bool done = (dataset_file_path(&file, 0, &path) ? true : error_memory(err)) &&
                place.size(place.context, path.data, &bytes, err);
    if (done && bytes < 0) {
        char *missing = storage_path(session->storage, path.data, err);
        done = missing &&
               error_set(err, ERROR_INPUT,
                         "%s: no such file: make the data set with 'rehearse dataset generate'", missing);
        free(missing);
    }
    text_release(&path);
    return done;
}

/* The command line overrides the workload. */
static struct workload_storage_choice choice_of(const struct session *session)
{
    struct workload_storage_choice choice = session->options.storage;
    int64_t asked = session->options.run.workload->reader.transfer_size;
    if (choice.options.request == 0 && asked > 0)
        choice.options.request = asked < STORAGE_MIN_REQUEST   ? STORAGE_MIN_REQUEST
                                 : asked > STORAGE_MAX_REQUEST ? STORAGE_MAX_REQUEST
                                                               : asked;
    return choice;
}

static bool open_storage(struct session *session, struct error *err)
{
    const struct workload_storage_choice choice = choice_of(session);
    const struct workload *workload = session->options.run.workload;
    if (!workload_layout(workload, NULL, &session->layout, err))
        return false;
    session->options.run.loader.layout = &session->layout;
    session->storage = workload_storage_open(workload, workload->dataset.data_folder, &choice, err);
    return session->storage != NULL;
}

static bool open_data(struct session *session, struct error *err)
{
    const struct workload *workload = session->options.run.workload;
    if (!workload->workflow.train && !workload->workflow.generate_data)
        return true;
    if (!together(session, open_storage(session, err), "the data set", err))
        return false;
    if (workload->workflow.generate_data && !generate(session, err))
        return false;
    return !workload->workflow.train ||
           feed_same_layout(session->options.run.comm, &session->layout,
                            find_layout(session, err) && check_present(session, err), err);
}

/* ---- the plan, and checkpoints ---- */

/* Splits a path before its last part. */
static void split_path(char *path, const char **folder, const char **name)
{
    char *slash = strrchr(path, '/');
    *folder = slash && slash > path ? path : slash ? "/" : ".";
    *name = slash ? slash + 1 : path;
    if (slash)
        *slash = '\0';
}

static bool make_checkpoint(struct session *session, int ranks, struct error *err)
{
    const struct session_options *options = &session->options;
    const struct workload *workload = options->run.workload;
    const struct workload_checkpoint *given = &workload->checkpoint;
    struct checkpoint_options checkpoint = {
        .first = comm_rank(options->run.comm) * options->savers,
        .count = options->savers,
        .seed = workload->train.seed,
        .compressibility = given->randomize_tensor ? workload->dataset.compressibility : 1.0,
        .sync = given->fsync,
        /* the ranks of a node, as DLIO means it */
        .shift =
            given->recovery_rank_shift ? (int64_t)options->savers * comm_local_size(options->run.comm) : 0,
        .verify = options->run.loader.verify,
        .cold = options->run.drop != RUN_DROP_NOTHING,
        .stop = options->run.step.stop,
        .peers = checkpoint_peers_of(options->run.comm),
    };
    if (options->plan && session->of_plan.sized)
        checkpoint.shards = session->of_plan.shards;
    else if (options->plan)
        return error_set(err, ERROR_INPUT, "%s: %s", options->plan->path, session->of_plan.why);
    else if (!checkpoint_shards_init(&checkpoint.shards, workload, ranks, err))
        return false;
    checkpoint.format = given->format;
    if (given->format == WORKLOAD_CHECKPOINT_SAFETENSORS)
        checkpoint.shards.ending = "safetensors";
    char *path = strdup(given->checkpoint_folder);
    const char *folder;
    if (!path)
        return error_memory(err);
    split_path(path, &folder, &checkpoint.folder);
    session->saves = workload_storage_open(workload, folder, &session->options.storage, err);
    checkpoint.storage = session->saves;
    session->checkpoint_bytes = checkpoint_shards_bytes(&checkpoint.shards);
    session->options.run.checkpoint = session->saves ? checkpoint_new(&checkpoint, err) : NULL;
    free(path);
    return options->run.checkpoint &&
           (comm_rank(options->run.comm) > 0 || checkpoint_clean(options->run.checkpoint, err));
}

static bool open_checkpoint(struct session *session, int ranks, struct error *err)
{
    return !session->options.run.workload->workflow.checkpoint ||
           together(session, make_checkpoint(session, ranks, err), "the checkpoints' folder", err);
}

/* ---- one configuration for all ---- */

/* Checks that all ranks have the same configuration, except for the places of folders. */
static bool same_configuration(const struct session *session, struct error *err)
{
    const struct run_options *run = &session->options.run;
    struct workload workload = *run->workload;
    struct text text = {0};
    workload.dataset.data_folder = workload.checkpoint.checkpoint_folder = "";
    workload.output.folder = NULL;
    workload_write_yaml(&workload, &text);
    text_format(&text, "%d %d %d %d %d %" PRId64 " %a %a", run->accelerators, session->options.savers,
                run->step.no_barrier, run->drop, session->options.record != NULL, run->epochs,
                session->of_plan.model_bytes, run->step.copy_rate);
    bool same = together(session, !text.failed || error_memory(err), "the configuration", err) &&
                comm_same(run->comm, text.data, text.length, "the configuration", err);
    text_release(&text);
    return same;
}

/* Begins to keep every step's times, if they are wanted. */
static bool keep_steps(struct session *session, struct error *err)
{
    struct run_options *run = &session->options.run;
    if (!session->options.record)
        return true;
    if (!result_steps_init(&session->each, session->options.record, comm_rank(run->comm) * run->accelerators,
                           run->accelerators, err))
        return false;
    run->step.each = &session->each;
    return true;
}

static bool has_depth(const struct storage *storage)
{
    enum storage_kind method = storage ? storage_options(storage)->method : STORAGE_POSIX;
    return method == STORAGE_URING || method == STORAGE_S3;
}

bool session_open(struct session *session, const struct session_options *options, struct error *err)
{
    struct run_options *run = &session->options.run;
    *session = (struct session){.options = *options, .data_set = -1, .device_read = -1, .device_written = -1};
    session->opened = clock_nanoseconds();
    session->options.storage.options.stop = run->step.stop;
    if (options->savers == 0)
        session->options.savers = run->accelerators;
    int64_t processes = comm_size(run->comm), ranks = session->options.savers * processes;
    bool done = (ranks <= INT32_MAX && run->accelerators * processes <= INT32_MAX) ||
                error_set(err, ERROR_USAGE, "--accelerators: expected at most %d in all", INT32_MAX);
    done = done && keep_steps(session, err) &&
           (!options->plan || checkpoint_of_plan(&session->of_plan, options->plan, ranks, NULL, err));
    done = together(session, done, "the start", err) && same_configuration(session, err) &&
           open_data(session, err) && open_checkpoint(session, (int)ranks, err);
    run->loader.storage = session->storage ? session->storage : session->saves;
    if (done && options->storage.options.queue_depth > 0 && !has_depth(session->storage) &&
        !has_depth(session->saves))
        done =
            error_set(err, ERROR_USAGE, "--depth: this method has one request in flight: add --method uring");
    run->loader.exact = session->found;
    if (!done)
        session_close(session);
    return done;
}

void session_close(struct session *session)
{
    const struct run_options *run = &session->options.run;
    run_release(&session->run);
    checkpoint_free(run->checkpoint);
    if (run->step.each)
        result_steps_release(&session->each);
    storage_free(session->saves);
    storage_free(session->storage);
    if (run->loader.layout)
        dataset_layout_release(&session->layout);
    free(session->hosts);
    free(session->cpuinfo);
    free(session->meminfo);
    *session = (struct session){0};
}

/* ---- the run ---- */

bool session_run_with(struct session *session, const struct run_options *options, struct error *err)
{
    run_release(&session->run);
    return run_workload(options, &session->run, err);
}

bool session_run(struct session *session, struct error *err)
{
    return session_run_with(session, &session->options.run, err);
}
