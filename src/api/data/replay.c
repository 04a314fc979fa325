/* A recorded job's calls on files: its files are made (dataset generate --replay), and its calls played (feed --replay). */
#include "api/data/replay.h"
#include "api/data/work.h"
#include "comm/comm.h"
#include "core/caller.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"
#include "core/unit.h"
#include "feed/replay/replay.h"
#include "feed/space.h"
#include "trace/import/reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_WORKLOAD "a replay, which has no workload"

bool replay_refuse_others(const struct replay_call *call, const char *const *taken, const char *what,
                          struct error *err)
{
    for (const struct option_spec *spec = call->options; spec->name; spec++) {
        size_t i = 0;
        while (taken[i] && strcmp(taken[i], spec->name) != 0)
            i++;
        if (!taken[i] && call->given[spec - call->options])
            return error_set(err, ERROR_USAGE, "--%s is not for %s", spec->name, what);
    }
    return true;
}

/* Opens the trace and reads what is to be replayed. The caller releases both. */
static bool read_plan(const char *trace, const char *path, struct trace_reader **reader, struct io_plan *plan,
                      struct error *err)
{
    struct trace_selection selection = TRACE_SELECT_FILES;
    struct text warnings = {0};
    selection.path = path;
    *reader = trace_open(trace, &selection, err);
    if (!*reader || !io_plan_read(plan, *reader, trace, err))
        return false;
    trace_add_warnings(*reader, &warnings);
    if (warnings.length > 0)
        caller_warn("%s: %.*s", trace, (int)strcspn(warnings.data, "\n"), warnings.data);
    text_release(&warnings);
    return true;
}

static const char *folder_of(const struct rh_list *words, const char *otherwise, struct error *err)
{
    const char *folder = words->count == 1 ? words->items[0] : otherwise;
    if (words->count > 1 || !folder)
        return error_null(err, ERROR_USAGE,
                          words->count > 1 ? "a replay takes one folder, that of its files"
                                           : "a replay needs the folder of its files");
    if (storage_is_s3(folder))
        return error_null(err, ERROR_USAGE, "%s: a replay needs a folder, not S3", folder);
    return folder;
}

/* ---- dataset generate --replay ---- */

static bool space_for(const char *folder, int64_t bytes, const atomic_bool *stop, struct error *err)
{
    const struct space_need need = {folder, bytes, 0, true};
    struct comm *comm = comm_open(0.0, err);
    bool fits = comm && space_fits(comm, &need, stop, err);
    comm_close(comm);
    return fits;
}

static bool make_files(const struct rh_dataset_generate_request *asked, const char *folder,
                       const struct io_plan *plan, const struct replay_call *call, struct api_report *report,
                       struct error *err)
{
    const struct storage_options options = {.method = STORAGE_POSIX, .root = folder, .stop = call->stop};
    struct unit_texts texts = {0};
    struct io_made made = {0};
    int64_t bytes = io_files_bytes(plan);
    if (!asked->dry_run) {
        struct storage *storage = file_make_folders(folder, err) ? storage_new(&options, err) : NULL;
        bool done = storage && (asked->force || space_for(folder, bytes, call->stop, err)) &&
                    io_files_make(plan, storage, asked->replay, call->stop, &made, err);
        storage_free(storage);
        if (!done)
            return false;
    }
    struct json *json = &report->json;
    json_open_document(json, "rehearse-replay-files/1");
    json_string(json, "folder", folder);
    json_string(json, "trace", asked->replay);
    json_integer(json, "bytes", bytes);
    json_integer(json, "files_written", made.files);
    json_integer(json, "files_kept", made.kept);
    json_integer(json, "bytes_written", made.bytes);
    json_close(json);
    text_format(&report->text, "%s: files of %s, %s; %" PRId64 " written, %" PRId64 " kept\n", folder,
                asked->replay, unit_text(&texts, (double)bytes, UNIT_BYTES), made.files, made.kept);
    return true;
}

bool generate_replay(const struct rh_dataset_generate_request *asked, const struct replay_call *call,
                     struct api_report *report, struct error *err)
{
    static const char *const taken[] = {"replay", "path",     "output",   "dry-run",
                                        "force",  "WORKLOAD", "workload", NULL};
    struct trace_reader *reader = NULL;
    struct io_plan plan = {.reader = NULL};
    static const struct rh_list none = {0};
    const char *folder = NULL;
    if (asked->workload.count > 0)
        return error_set(
            err, ERROR_USAGE,
            "--replay: '%s' is one operand too many: a replay has no workload, and --output names its "
            "folder",
            asked->workload.items[0]);
    if (replay_refuse_others(call, taken, NO_WORKLOAD, err))
        folder = folder_of(&none, asked->output, err);
    bool done = folder && read_plan(asked->replay, asked->path, &reader, &plan, err) &&
                make_files(asked, folder, &plan, call, report, err);
    io_plan_release(&plan);
    trace_reader_free(reader);
    return done;
}

/* ---- feed --replay ---- */

#define HOUR_NS (INT64_C(3600) * 1000000000)

struct replaying {
    const struct rh_feed_request *asked;
    const struct replay_call *call;
    struct api_report *report;
    const char *folder, *trace, *document; /* trace, document: of the results; NULL: none */
    struct trace_reader *reader;
    struct io_plan plan;
    struct io_options options;
    struct io_result *result;
};

static void write_times(struct json *json, const char *key, const struct histogram *times)
{
    json_open(json, key, '{');
    json_number(json, "median", times->count ? histogram_quantile(times, 0.5) / 1e9 : NAN);
    json_number(json, "p99", times->count ? histogram_quantile(times, 0.99) / 1e9 : NAN);
    json_number(json, "max", times->count ? (double)times->max / 1e9 : NAN);
    json_close(json);
}

static void write_classes(struct json *json, const struct io_result *result)
{
    json_open(json, "classes", '[');
    for (int i = 0; i < TRACE_CLASSES; i++) {
        const struct io_class *class = &result->classes[i];
        if (class->calls == 0)
            continue;
        json_open(json, NULL, '{');
        json_string(json, "class", trace_class_name((enum trace_class)i));
        json_integer(json, "calls", class->calls);
        json_integer(json, "other_results", class->other);
        write_times(json, "recorded", &class->recorded);
        write_times(json, "replayed", &class->replayed);
        json_close(json);
    }
    json_close(json);
}

static void write_document(const struct replaying *job, struct json *json)
{
    const struct io_plan *plan = &job->plan;
    const struct io_result *result = job->result;
    int copies = job->options.copies;
    json_open_document(json, "rehearse-feed-replay/1");
    json_string(json, "trace", job->asked->replay);
    json_string(json, "folder", job->folder);
    json_string(json, "pace", job->asked->pace);
    json_integer(json, "copies", copies);
    json_string(json, "method", job->asked->method);
    json_bool(json, "direct", job->asked->direct);
    json_bool(json, "warm", job->asked->warm);
    json_integer(json, "threads", (int64_t)plan->thread_count * copies);
    json_integer(json, "calls", plan->ops * copies);
    json_number(json, "recorded_seconds", result->recorded_seconds);
    json_number(json, "seconds", result->seconds);
    json_integer(json, "recorded_read", plan->read * copies);
    json_integer(json, "bytes_read", result->read);
    json_integer(json, "recorded_written", plan->written * copies);
    json_integer(json, "bytes_written", result->written);
    json_integer(json, "other_results", result->other);
    json_string(json, "first_other", result->other ? result->first_other : NULL);
    write_times(json, "late", &result->late);
    write_classes(json, result);
    json_open(json, "not_replayed", '[');
    for (size_t i = 0; i < plan->gap_count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "call", plan->gaps[i].call);
        json_integer(json, "count", plan->gaps[i].count);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void print_classes(const struct io_result *result, struct text *out)
{
    struct unit_texts texts = {0};
    text_format(out, "\n%-10s %10s %26s %26s\n", "calls", "number", "recorded median, 99 %",
                "replayed median, 99 %");
    for (int i = 0; i < TRACE_CLASSES; i++) {
        const struct histogram *all[] = {&result->classes[i].recorded, &result->classes[i].replayed};
        if (result->classes[i].calls == 0)
            continue;
        text_format(out, "%-10s %10" PRId64, trace_class_name((enum trace_class)i), result->classes[i].calls);
        for (int k = 0; k < 2; k++)
            if (all[k]->count > 0)
                text_format(out, " %13s %12s",
                            unit_text(&texts, histogram_quantile(all[k], 0.5) / 1e9, UNIT_TIME),
                            unit_text(&texts, histogram_quantile(all[k], 0.99) / 1e9, UNIT_TIME));
            else
                text_format(out, " %26s", "unknown");
        text_add(out, "\n");
    }
}

static void print_report(const struct replaying *job, struct text *out)
{
    const struct io_plan *plan = &job->plan;
    const struct io_result *result = job->result;
    struct unit_texts texts = {0};
    int copies = job->options.copies;
    text_format(out, "replay     %s in %s, %s\n", job->asked->replay, job->folder,
                job->options.fastest ? "as fast as possible" : "each call at its recorded time");
    text_format(out, "calls      %" PRId64 " of %zu thread%s", plan->ops * copies,
                plan->thread_count * (size_t)copies, plan->thread_count * (size_t)copies == 1 ? "" : "s");
    if (copies > 1)
        text_format(out, ", %d copies of the job", copies);
    text_format(out, "\nduration   %s, recorded ", unit_text(&texts, result->seconds, UNIT_TIME));
    if (isfinite(result->recorded_seconds))
        text_format(out, "%s (%+.2f %%)\n", unit_text(&texts, result->recorded_seconds, UNIT_TIME),
                    100.0 * (result->seconds / result->recorded_seconds - 1.0));
    else
        text_add(out, "not known\n");
    text_format(out,
                "bytes      %" PRId64 " read, %" PRId64 " written; recorded %" PRId64 " and %" PRId64 "\n",
                result->read, result->written, plan->read * copies, plan->written * copies);
    if (result->late.count > 0)
        text_format(out, "late       median %s, 99 %% %s, at most %s\n",
                    unit_text(&texts, histogram_quantile(&result->late, 0.5) / 1e9, UNIT_TIME),
                    unit_text(&texts, histogram_quantile(&result->late, 0.99) / 1e9, UNIT_TIME),
                    unit_text(&texts, (double)result->late.max / 1e9, UNIT_TIME));
    if (result->other > 0)
        text_format(out, "differs    %" PRId64 " call%s; the first: %s\n", result->other,
                    data_plural(result->other), result->first_other);
    for (size_t i = 0; i < plan->gap_count; i++)
        text_format(out, "%s%" PRId64 " %s", i == 0 ? "left out   " : ", ", plan->gaps[i].count,
                    plan->gaps[i].call);
    text_add(out, plan->gap_count > 0 ? "\n" : "");
    print_classes(result, out);
}

/* Makes the folder of results, in which the trace that is replayed is not to be replaced. */
static bool make_results(struct replaying *job, struct error *err)
{
    const char *folder = job->asked->results;
    if (!folder)
        return true;
    job->trace = arena_format(&job->plan.arena, "%s/replay.db", folder);
    job->document = arena_format(&job->plan.arena, "%s/result.json", folder);
    if (!job->trace || !job->document)
        return error_memory(err);
    const char *taken = file_same(job->asked->replay, job->trace)      ? job->trace
                        : file_same(job->asked->replay, job->document) ? job->document
                                                                       : NULL;
    return (!taken ||
            error_set(err, ERROR_USAGE, "--output: %s is what is replayed: choose another folder", taken)) &&
           file_make_folders(folder, err);
}

static bool save(const struct replaying *job, struct error *err)
{
    return !job->trace || (io_trace_write(&job->plan, &job->options, job->result, job->trace, err) &&
                           file_write_exact(job->document, &job->report->json_text, err));
}

static bool play(struct replaying *job, struct error *err)
{
    const struct rh_feed_request *asked = job->asked;
    const struct storage_options options = {
        .method = (enum storage_kind)option_index(storage_kind_words, asked->method),
        .direct = asked->direct,
        .root = job->folder};
    if (options.method == STORAGE_S3)
        return error_set(err, ERROR_USAGE, "--method s3 is not for a replay, which needs a folder");
    struct storage *storage = storage_new(&options, err);
    job->options = (struct io_options){.storage = storage,
                                       .fastest = strcmp(asked->pace, "fastest") == 0,
                                       .copies = (int)asked->accelerators,
                                       .stop = job->call->stop};
    if (!job->options.fastest && job->plan.end_ns > HOUR_NS)
        caller_warn("%s: the replay takes %s, as the recorded calls did: --pace fastest does not wait (or "
                    "did a clock jump?)",
                    asked->replay,
                    unit_text(&(struct unit_texts){0}, (double)job->plan.end_ns / 1e9, UNIT_TIME));
    job->result = storage ? calloc(1, sizeof *job->result) : NULL;
    bool done = storage && (job->result || error_memory(err)) &&
                io_files_ready(&job->plan, storage, job->options.copies, asked->replay, err) &&
                (asked->warm || io_files_cache(&job->plan, job->folder, job->call->stop, err)) &&
                io_run(&job->plan, &job->options, job->result, err);
    if (done) {
        struct error why = {.text = ""};
        if (job->result->other > 0)
            error_set(&why, ERROR_FAILED,
                      "%" PRId64 " of %" PRId64 " calls ended otherwise than recorded; the first: %s",
                      job->result->other, job->plan.ops * job->options.copies, job->result->first_other);
        write_document(job, &job->report->json);
        print_report(job, &job->report->text);
        api_judge(&job->report->base, job->result->other == 0, &why);
        done = save(job, err);
    }
    if (job->result)
        io_result_release(&job->plan, &job->options, job->result);
    free(job->result);
    storage_free(storage);
    return done;
}

bool feed_replay(const struct rh_feed_request *asked, const struct replay_call *call,
                 struct api_report *report, struct error *err)
{
    static const char *const taken[] = {"replay", "path",    "pace",     "accelerators", "method", "direct",
                                        "warm",   "results", "workload", "WORKLOAD",     NULL};
    struct replaying job = {.asked = asked, .call = call, .report = report};
    job.folder =
        replay_refuse_others(call, taken, NO_WORKLOAD, err) ? folder_of(&asked->workload, NULL, err) : NULL;
    bool done = job.folder && read_plan(asked->replay, asked->path, &job.reader, &job.plan, err) &&
                make_results(&job, err) && play(&job, err);
    io_plan_release(&job.plan);
    trace_reader_free(job.reader);
    return done;
}
