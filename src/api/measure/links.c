/* rh_measure_links: links between the ranks of a run. */
#include "api/command.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/progress.h"
#include "core/statistics.h"
#include "measure/host.h"
#include "measure/links/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIN_BYTES 8.0 /* 0x1p3 */
#define MAX_BYTES 0x1p28
#define MAX_STEPS 4

_Static_assert(STUDY_MAX_SIZES > MAX_STEPS * (28 - 3), "all sizes from MIN_BYTES to MAX_BYTES have room");

struct links_job {
    const struct rh_measure_links_request *given;
    struct comm *comm;
    struct carrier carrier;
    struct study *study; /* the handle's */
    struct api_report *report;
    struct study_options options;
    struct profile profile;
    int64_t *layers;
    struct progress progress;
};

/* ---- options ---- */

static bool read_kinds(struct study_options *options, const char *list, struct error *err)
{
    char word[32];
    const char *const words[] = {"all", "none", "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    options->collectives = true;
    for (const char *at = list; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        enum collective_kind kind;
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
        if (strcmp(word, "all") == 0)
            memset(options->kinds, true, sizeof options->kinds);
        else if (strcmp(word, "none") == 0)
            options->collectives = false;
        else if (collective_kind_find(word, &kind) && kind != COLLECTIVE_SEND)
            options->kinds[kind] = true;
        else {
            struct text_hint hint;
            return error_set(
                err, ERROR_USAGE, "--kinds: unknown collective '%s'%s", word,
                text_suggest(&hint, text_nearest(word, words, sizeof words / sizeof *words),
                             "; expected all, none, all_reduce, all_gather, reduce_scatter or all_to_all"));
        }
    }
    return true;
}

/* The all-reduces of a profile: each size once, in whole floats. */
static bool read_layers(struct links_job *job, struct error *err)
{
    struct study_options *o = &job->options;
    const struct profile *profile = &job->profile;
    if (!(job->layers = calloc((size_t)profile->layer_count + 1, sizeof *job->layers)))
        return error_memory(err);
    for (int i = 0; i < profile->layer_count; i++) {
        int64_t bytes = profile->layers[i].parameter_bytes;
        if (bytes > COMM_MAX_BYTES)
            return error_set(
                err, ERROR_INPUT,
                "%s: layers[%d]: its %lld bytes of parameters are more than one all-reduce may have, %lld",
                profile->path, i, (long long)bytes, (long long)COMM_MAX_BYTES);
        job->layers[o->layer_count++] = bytes;
    }
    qsort(job->layers, (size_t)o->layer_count, sizeof *job->layers, order_int64s);
    o->layers = job->layers;
    return true;
}

static bool read_options(struct links_job *job, struct error *err)
{
    const struct rh_measure_links_request *given = job->given;
    struct study_options *o = &job->options;
    o->sample.limit = given->limit;
    if (!option_tolerance(given->tolerance, &o->sample.precision, err) || !read_kinds(o, given->kinds, err))
        return false;
    if (given->smallest > given->largest)
        return error_set(err, ERROR_USAGE, "--smallest is larger than --largest");
    for (int i = 0; o->size_count < STUDY_MAX_SIZES; i++) {
        /* Whole numbers of 8 bytes; the last may be a rounded root. */
        double bytes = 8.0 * round(given->smallest * exp2(i / (double)given->steps) / 8.0);
        if (bytes > given->largest * (1.0 + 1e-9))
            break;
        o->sizes[o->size_count++] = (int64_t)bytes;
    }
    if (o->size_count == 0)
        return error_set(err, ERROR_USAGE, "no multiple of 8 bytes lies between --smallest and --largest");
    return !given->profile ||
           (profile_load(&job->profile, given->profile, (int)given->microbatch_size, err) &&
            read_layers(job, err));
}

/* What is measured must be the same on all ranks, to the byte, or they would wait for one another, or get longer
 * messages than they have room for. */
static bool check_same(const struct links_job *job, struct error *err)
{
    struct text text = {0};
    const struct rh_measure_links_request *given = job->given;
    const struct study_options *o = &job->options;
    text_format(&text, "%s %s %s %.17g %d %d %d", REHEARSE_VERSION, given->tolerance,
                given->nccl ? given->nccl : "", given->limit, o->size_count, o->layer_count,
                (int)sizeof(struct study_row));
    text_add_bytes(&text, (const char *)o->sizes, (size_t)o->size_count * sizeof *o->sizes);
    text_add_bytes(&text, (const char *)o->layers, (size_t)o->layer_count * sizeof *o->layers);
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        text_add(&text, o->collectives && o->kinds[kind] ? "+" : "-");
    bool same =
        (!text.failed || error_memory(err)) &&
        comm_same(job->comm, text.data, text.length, "its version, one of its options or its --profile", err);
    text_release(&text);
    return same;
}

/* ---- files ---- */

/* Before hours of measuring, not after them. */
static bool check_folder(const struct links_job *job, struct error *err)
{
    const char *folder = job->given->output;
    if (!folder || comm_rank(job->comm) > 0)
        return true;
    return file_make_directory(folder, err) &&
           (access(folder, W_OK | X_OK) == 0 ||
            error_set(err, ERROR_FAILED, "cannot write into '%s': it is read-only", folder));
}

static bool write_file(const struct links_job *job, const char *name, struct text *text, struct error *err)
{
    struct text path = {0};
    text_format(&path, "%s/%s", job->given->output, name);
    bool done = !path.failed && !text->failed ? file_write(path.data, text->data, text->length, err)
                                              : error_memory(err);
    text_release(&path);
    text_release(text);
    return done;
}

static bool write_links(const struct links_job *job, const struct study_fits *fits, struct error *err)
{
    struct text inside = {0}, across = {0};
    if (fits->has_inside)
        cost_link_write(&fits->inside.link, &inside);
    if (fits->has_across)
        cost_link_write(&fits->across.link, &across);
    return (!fits->has_inside || write_file(job, "links-inside.yaml", &inside, err)) &&
           (!fits->has_across || write_file(job, "links-across.yaml", &across, err));
}

static bool write_files(struct links_job *job, const struct study_fits *fits, const struct study_facts *facts,
                        struct error *err)
{
    struct text cluster = {0}, table = {0}, times = {0};
    struct json json = {.out = &times};
    if (!study_write_cluster(job->study, facts, &cluster, err)) {
        text_release(&cluster);
        return false;
    }
    study_write_csv(job->study, &table);
    study_write_json(job->study, fits, facts, &json);
    bool done = write_file(job, "cluster.yaml", &cluster, err);
    struct error later; /* only the first is told */
    done = write_file(job, "collectives.csv", &table, done ? err : &later) && done;
    done = write_file(job, "times.json", &times, done ? err : &later) && done;
    if (!done || !write_links(job, fits, err))
        return false;
    return !job->given->profile || (study_fill_profile(job->study, &job->profile, err) &&
                                    profile_save_oobleck(&job->profile, job->given->output, err));
}

/* ---- the command ---- */

static void show_progress(void *context, const char *what, int64_t bytes)
{
    struct text_hint hint;
    unit_format(hint.text, sizeof hint.text, (double)bytes, UNIT_BYTES, 3);
    progress_show(context, "%s, %s", what, hint.text);
}

static const struct field study_fields[] = {
    FIELD_OUT(struct study, "ranks", ranks, FIELD_INT),
    FIELD_OUT(struct study, "hosts", host_count, FIELD_INT),
};

static const struct field time_fields[] = {{.key = "place", .type = FIELD_TEXT}};

/* What the document does not have. */
static void add_values(const struct links_job *job)
{
    rh_handle *handle = &job->report->base;
    const struct study *study = job->study;
    const char **places = ARENA_ARRAY(&handle->arena, (size_t)study->row_count + 1, const char *);
    handle->failed = handle->failed || !places;
    for (int i = 0; places && i < study->row_count; i++)
        places[i] = study->places[study->rows[i].place].name;
    API_VALUES(handle, study, study_fields);
    if (places)
        API_FIELDS(handle, "times", places, study->row_count, time_fields);
}

/* On rank 0: the files, and the table. */
static bool deliver(struct links_job *job, struct error *err)
{
    struct study *study = job->study;
    struct study_fits fits;
    struct host_facts host;
    struct text source = {0};
    if (comm_rank(job->comm) > 0)
        return true;
    host_read_facts(&host);
    text_format(&source, "rehearse %s, measure links, %s: %d ranks on %d hosts, %s", REHEARSE_VERSION,
                host.date, study->ranks, study->host_count, study->carrier);
    const struct study_facts facts = {source.data, study->carrier,
                                      job->given->device ? job->given->device
                                      : study->device    ? study->device
                                                         : "cpu"};
    bool done = !source.failed || error_memory(err);
    if (done && (done = study_fit(&fits, study, source.data, err))) {
        done = !job->given->output || write_files(job, &fits, &facts, err);
        if (done) {
            study_write_json(study, &fits, &facts, &job->report->json);
            study_print(study, &fits, &facts, &job->report->text);
            add_values(job);
        }
        study_fits_release(&fits);
    }
    text_release(&source);
    return done;
}

static bool measure(struct links_job *job, struct error *err)
{
    const struct rh_measure_links_request *given = job->given;
    int64_t bytes = job->options.sizes[job->options.size_count - 1];
    if (job->options.layer_count > 0 && job->layers[job->options.layer_count - 1] > bytes)
        bytes = job->layers[job->options.layer_count - 1];
    bytes += (int64_t)sizeof(float) * comm_size(job->comm); /* sizes are rounded up to whole pieces */
    bool opened = given->nccl
                      ? carrier_open_nccl(&job->carrier, job->comm, given->nccl, given->cuda, bytes, err)
                      : carrier_open_mpi(&job->carrier, job->comm, bytes, err);
    if (!opened || !study_begin(job->study, job->comm, &job->carrier, err))
        return false;
    if (comm_rank(job->comm) == 0) {
        progress_start(&job->progress, "measuring");
        job->study->progress = show_progress;
        job->study->progress_context = &job->progress;
    }
    bool done = study_measure(job->study, job->comm, &job->carrier, &job->options, err);
    progress_end(&job->progress);
    return done;
}

static bool run_ranks(struct links_job *job, struct error *err)
{
    if (comm_size(job->comm) == 1)
        return error_set(
            err, ERROR_USAGE,
            "one rank has no link to measure: start several, such as 'mpirun -n 2 rehearse measure links'");
    return comm_agree(job->comm, read_options(job, err), "the options", err) && check_same(job, err) &&
           comm_agree(job->comm, check_folder(job, err), "the folder", err) && measure(job, err) &&
           comm_agree(job->comm, deliver(job, err), "the end", err);
}

static void drop(void *study)
{
    study_release(study);
}

static bool measure_links(const void *request, const struct api_call *call, struct api_report *report,
                          struct error *err)
{
    const struct rh_measure_links_request *given = request;
    (void)call;
    struct links_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_memory(err);
    *job = (struct links_job){
        .given = given, .report = report, .study = api_report_keep(report, sizeof *job->study, drop, err)};
    job->comm = job->study ? comm_open(given->time_out, err) : NULL;
    bool done = job->comm && run_ranks(job, err);
    carrier_release(&job->carrier);
    profile_release(&job->profile);
    comm_close(job->comm);
    free(job->layers);
    free(job);
    return done;
}

API_WHOLE_COMMAND(measure_links, "measure links", rh_measure_links_request, .answer = measure_links);
