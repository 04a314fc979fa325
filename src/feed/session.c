#include "feed/session.h"

#include "core/clock.h"
#include "dataset/format.h"
#include "dataset/generate.h"
#include "dataset/verify.h"
#include "feed/place.h"
#include "feed/space.h"
#include "feed/workload/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool session_has_work(const struct workload *workload)
{
    return workload->workflow.train || workload->workflow.checkpoint;
}

/* ---- the data set ---- */

static struct dataset_place place_of(struct session *session, struct feed_place *place)
{
    *place = (struct feed_place){.storage = session->storage};
    return feed_place_of(place);
}

/* All ranks come to it, in the same order: who fails does not leave the others waiting. */
static bool together(const struct session *session, bool ok, const char *what, struct error *err)
{
    return comm_agree(session->options.comm, ok, what, err);
}

/* A rank that runs another data set would meet the others at another step, or not at all. */
static bool same_layout(struct session *session, struct error *err)
{
    struct text text = {0};
    bool written = dataset_layout_write(&session->layout, &text, err);
    bool same = together(session, written, "the data set", err) &&
                comm_same(session->options.comm, text.data, text.length, "the data set", err);
    text_release(&text);
    return same;
}

static bool generate(struct session *session, struct error *err)
{
    struct comm *comm = session->options.comm;
    struct feed_place objects;
    const struct dataset_place place = place_of(session, &objects);
    const struct dataset_work work = {
        .pool = NULL,
        .rank = comm_rank(comm),
        .ranks = comm_size(comm),
        .stop = session->options.stop,
    };
    struct dataset_generated made;
    const struct storage_options *storage = storage_options(session->storage);
    if (!session->options.force &&
        !space_for_layout(comm, &session->layout, storage->root ? storage->root : ".", &work, err))
        return false;
    bool begun = work.rank > 0 || dataset_manifest_write(&session->layout, &place, err);
    if (!together(session, begun, "the start of generating", err))
        return false;
    bool done = dataset_generate(&session->layout, &place, &work, &made, err);
    return together(session, done, "the end of generating", err);
}

/* A data set that says what it is decides how many files there are, and how large. */
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
            error_set(err, ERROR_INPUT, "%s: its files are %s, the workload reads %s", path,
                      found.format->name, session->layout.format->name);
        free(path);
        dataset_layout_release(&found);
        return false;
    }
    dataset_layout_release(&session->layout);
    session->layout = found;
    session->found = true;
    return true;
}

/* The first file, so that a data set that is not there is told from one that is damaged. */
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
        done = missing && error_set(err, ERROR_INPUT,
                                    "%s: there is no such file; 'rehearse dataset generate' makes the data "
                                    "set of a workload",
                                    missing);
        free(missing);
    }
    text_release(&path);
    return done;
}

/* What the program's user says goes before what the workload says. */
static struct workload_storage_choice choice_of(const struct session *session)
{
    struct workload_storage_choice choice = session->options.storage;
    int64_t asked = session->options.workload->reader.transfer_size;
    if (choice.request == 0 && asked > 0)
        choice.request = asked < STORAGE_MIN_REQUEST   ? STORAGE_MIN_REQUEST
                         : asked > STORAGE_MAX_REQUEST ? STORAGE_MAX_REQUEST
                                                       : asked;
    return choice;
}

static bool open_storage(struct session *session, struct error *err)
{
    const struct workload_storage_choice choice = choice_of(session);
    const struct session_options *options = &session->options;
    const struct workload *workload = options->workload;
    if (!workload_layout(workload, NULL, &session->layout, err))
        return false;
    session->has_layout = true;
    session->storage = workload_storage_open(workload, workload->dataset.data_folder, &choice, err);
    return session->storage != NULL;
}

static bool open_data(struct session *session, struct error *err)
{
    const struct workload *workload = session->options.workload;
    if (!workload->workflow.train && !workload->workflow.generate_data)
        return true;
    if (!together(session, open_storage(session, err), "the data set", err))
        return false;
    if (workload->workflow.generate_data && (!same_layout(session, err) || !generate(session, err)))
        return false;
    if (!workload->workflow.train)
        return true;
    bool found = find_layout(session, err) && check_present(session, err);
    return together(session, found, "the data set", err) && same_layout(session, err);
}

/* ---- the plan, and checkpoints ---- */

static bool open_plan(struct session *session, int ranks, struct error *err)
{
    if (!session->options.plan)
        return true;
    return checkpoint_of_plan(&session->of_plan, session->options.plan, ranks, NULL, err);
}

/* The last part of the path, and what is before it. */
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
    const struct workload *workload = options->workload;
    const struct workload_checkpoint *given = &workload->checkpoint;
    struct checkpoint_options checkpoint = {
        .first = comm_rank(options->comm) * options->savers,
        .count = options->savers,
        .seed = workload->train.seed,
        .compressibility = given->randomize_tensor ? workload->dataset.compressibility : 1.0,
        .sync = given->fsync,
        /* the ranks of a node, as DLIO means it */
        .shift = given->recovery_rank_shift ? (int64_t)options->savers * comm_local_size(options->comm) : 0,
        .verify = options->verify,
        .cold = options->drop != RUN_DROP_NOTHING,
        .stop = options->stop,
        .peers = checkpoint_peers_of(options->comm),
    };
    if (options->plan && session->of_plan.sized)
        checkpoint.shards = session->of_plan.shards;
    else if (options->plan)
        return error_set(err, ERROR_INPUT, "%s: %s", options->plan->path, session->of_plan.why);
    else if (!checkpoint_shards_init(&checkpoint.shards, workload, ranks, err))
        return false;
    char *path = strdup(given->checkpoint_folder);
    const char *folder;
    if (!path)
        return error_memory(err);
    split_path(path, &folder, &checkpoint.folder);
    session->saves = workload_storage_open(workload, folder, &session->options.storage, err);
    checkpoint.storage = session->saves;
    session->checkpoint_bytes = checkpoint_shards_bytes(&checkpoint.shards);
    session->checkpoint = session->saves ? checkpoint_new(&checkpoint, err) : NULL;
    free(path);
    return session->checkpoint &&
           (comm_rank(options->comm) > 0 || checkpoint_clean(session->checkpoint, err));
}

static bool open_checkpoint(struct session *session, int ranks, struct error *err)
{
    return !session->options.workload->workflow.checkpoint ||
           together(session, make_checkpoint(session, ranks, err), "the checkpoints' folder", err);
}

/* ---- one configuration for all ---- */

/* What every rank must be run with; folders may lie elsewhere on each host. */
static bool same_configuration(const struct session *session, struct error *err)
{
    const struct session_options *options = &session->options;
    struct workload workload = *options->workload;
    struct text text = {0};
    workload.dataset.data_folder = workload.checkpoint.checkpoint_folder = "";
    workload.output.folder = NULL;
    workload_write_yaml(&workload, &text);
    text_format(&text, "%d %d %d %d %d %" PRId64 " %" PRId64 " %a %a", options->accelerators, options->savers,
                options->no_barrier, options->drop, options->record != NULL, options->steps, options->epochs,
                session->of_plan.model_bytes, options->copy_rate);
    bool same = together(session, text.failed ? error_memory(err) : true, "the configuration", err) &&
                comm_same(options->comm, text.data, text.length, "the configuration", err);
    text_release(&text);
    return same;
}

bool session_open(struct session *session, const struct session_options *options, struct error *err)
{
    int savers = options->savers > 0 ? options->savers : options->accelerators;
    int64_t ranks =
        (int64_t)(savers > options->accelerators ? savers : options->accelerators) * comm_size(options->comm);
    *session = (struct session){.options = *options, .data_set = -1, .device_read = -1, .device_written = -1};
    session->options.savers = savers;
    session->options.storage.stop = options->stop;
    session->opened = clock_nanoseconds();
    bool done = ranks <= INT32_MAX ||
                error_set(err, ERROR_USAGE, "--accelerators: expected at most %d in all", INT32_MAX);
    if (done && options->record) {
        done =
            result_steps_init(&session->each, options->record,
                              comm_rank(options->comm) * options->accelerators, options->accelerators, err);
        session->keeps_steps = done;
    }
    ranks = (int64_t)savers * comm_size(options->comm);
    done = done && open_plan(session, (int)ranks, err);
    done = together(session, done, "the start", err) && same_configuration(session, err) &&
           open_data(session, err) && open_checkpoint(session, (int)ranks, err);
    if (!done)
        session_close(session);
    return done;
}

void session_close(struct session *session)
{
    if (session->ran)
        run_release(&session->run);
    checkpoint_free(session->checkpoint);
    if (session->keeps_steps)
        result_steps_release(&session->each);
    storage_free(session->saves);
    storage_free(session->storage);
    if (session->has_layout)
        dataset_layout_release(&session->layout);
    free(session->hosts);
    free(session->host_texts);
    *session = (struct session){0};
}

/* ---- the run ---- */

struct run_options session_run_options(struct session *session)
{
    const struct session_options *options = &session->options;
    return (struct run_options){
        .workload = options->workload,
        .layout = &session->layout,
        .storage = session->storage ? session->storage : session->saves, /* facts of a device are asked for */
        .comm = options->comm,
        .accelerators = options->accelerators,
        .threads_most = options->threads_most,
        .decode = options->decode,
        .verify = options->verify,
        .exact = session->found,
        .copy_rate = options->copy_rate,
        .no_barrier = options->no_barrier,
        .drop = options->drop,
        .entropy = options->entropy,
        .steps = options->steps,
        .epochs = options->epochs,
        .checkpoint = session->checkpoint,
        .force = options->force,
        .each = session->keeps_steps ? &session->each : NULL,
        .watch = options->watch,
        .stop = options->stop,
    };
}

bool session_run_with(struct session *session, const struct run_options *options, struct error *err)
{
    if (session->ran)
        run_release(&session->run);
    session->ran = run_workload(options, &session->run, err); /* what it says of `abandoned` holds */
    return session->ran;
}

bool session_run(struct session *session, struct error *err)
{
    const struct run_options options = session_run_options(session);
    return session_run_with(session, &options, err);
}
