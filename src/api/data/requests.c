/* A storage under requests that arrive at their own times (feed --requests). */
#include "feed/requests/requests.h"
#include "api/data/replay.h"
#include "api/data/work.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct serving {
    const struct rh_feed_request *asked;
    const struct replay_call *call;
    struct api_report *report;
    const char *folder;
    struct requests_workload workload;
    struct requests_plan plan;
    struct requests_result result;
    int64_t capacity;
};

/* ---- what came out ---- */

#define OF(key, member, type) FIELD_OUT(struct requests_result, key, member, FIELD_##type)
static const struct field result_fields[] = {
    OF("seconds", seconds, DOUBLE),           OF("requests_arrived", arrived, INT64),
    OF("requests_done", done_count, INT64),   OF("requests_not_done", not_done, INT64),
    OF("bytes_prepared", prepared, INT64),    OF("bytes_read", read, INT64),
    OF("bytes_written", written, INT64),      OF("entries_removed", removed, INT64),
    OF("turns_found", found, INT64),          OF("turns_missed", missed, INT64),
    OF("tokens_prefilled", prefilled, INT64), OF("tokens_answered", answered, INT64),
};

static const double shares[] = {0.5, 0.95, 0.99, 0.999, 1.0};
#define SHARES (sizeof shares / sizeof *shares)

/* In seconds; NAN: there is none. */
static double quantile(const struct histogram *times, double share)
{
    return times->count == 0 ? (double)NAN
           : share == 1.0    ? (double)times->max / 1e9
                             : histogram_quantile(times, share) / 1e9;
}

static void write_times(struct json *json, const char *key, const struct histogram *times)
{
    static const char *const keys[SHARES] = {"p50", "p95", "p99", "p999", "max"};
    json_open_flat(json, key, '{');
    json_integer(json, "count", times->count);
    json_number(json, "mean", times->count > 0 ? times->total / (double)times->count / 1e9 : (double)NAN);
    for (size_t i = 0; i < SHARES; i++)
        json_number(json, keys[i], quantile(times, shares[i]));
    json_close(json);
}

static void write_document(const struct serving *job, const char *method, const char *digest,
                           struct json *json)
{
    const struct requests_result *result = &job->result;
    json_open_document(json, "rehearse-requests-result/1");
    json_string(json, "workload", job->workload.name);
    json_string(json, "folder", job->folder);
    json_string(json, "method", method);
    json_bool(json, "direct", job->asked->direct);
    json_bool(json, "warm", job->asked->warm);
    json_integer(json, "seed", job->workload.seed);
    json_string(json, "digest", digest);
    json_number(json, "capacity", job->capacity < INT64_MAX ? (double)job->capacity : (double)NAN);
    FIELDS_WRITE(result, result_fields, json);
    json_number(json, "offered_per_second", (double)result->arrived / result->offered);
    json_number(json, "done_per_second", (double)result->done_count / result->seconds);
    json_integer(json, "queries_per_request", job->workload.vectors > 0 ? job->workload.batch : 0);
    json_number(json, "storage_share", result->in_storage / result->in_service);
    json_number(json, "from_storage", origin_share(&result->origin));
    json_string(json, "evidence", origin_names[result->origin.evidence]);
    write_times(json, "latency", &result->latency);
    write_times(json, "read_latency", &result->reads);
    write_times(json, "write_latency", &result->writes);
    json_close(json);
}

static void print_times(struct text *out, const char *name, const struct histogram *times)
{
    if (times->count == 0)
        return;
    text_format(out, "%-10s %10" PRId64, name, times->count);
    for (size_t i = 0; i < SHARES; i++)
        text_format(out, " %11s", unit_text(&(struct unit_texts){0}, quantile(times, shares[i]), UNIT_TIME));
    text_add(out, "\n");
}

static void print_bytes(struct text *out, const char *name, int64_t bytes, double seconds)
{
    struct unit_texts texts = {0};
    text_format(out, "%-10s %s, %s\n", name, unit_text(&texts, (double)bytes, UNIT_BYTES),
                unit_text(&texts, (double)bytes / seconds, UNIT_RATE));
}

static void print_report(const struct serving *job, const char *digest, struct text *out)
{
    const struct requests_result *result = &job->result;
    double seconds = result->seconds;
    text_format(out, "requests   %s on %s, seed %" PRId64 ", digest %s\n", job->workload.name, job->folder,
                job->workload.seed, digest);
    text_format(out, "offered    %.1f/s, done %.1f/s in %s\n", (double)result->arrived / result->offered,
                (double)result->done_count / seconds, unit_text(&(struct unit_texts){0}, seconds, UNIT_TIME));
    if (result->not_done > 0)
        text_format(out,
                    "too slow   %" PRId64 " of %" PRId64
                    " requests did not end: their latencies are longer than told\n",
                    result->not_done, result->arrived);
    print_bytes(out, "read", result->read, seconds);
    if (result->read > 0 && result->origin.from_storage >= 0)
        text_format(out, "origin     %.3g %% of what was read came from the storage (%s)\n",
                    100 * origin_share(&result->origin), origin_words(result->origin.evidence));
    else if (result->read > 0)
        text_format(out, "origin     unknown: %s\n", origin_words(ORIGIN_UNKNOWN));
    if (job->workload.vectors > 0) {
        text_format(out, "queries    %.1f/s\n",
                    (double)(job->workload.batch * (int64_t)result->done_count) / seconds);
    } else {
        print_bytes(out, "written", result->written, seconds);
        text_format(
            out, "cache      %" PRId64 " of %" PRId64 " earlier turns found; %" PRId64 " entries removed\n",
            result->found, result->found + result->missed, result->removed);
        text_format(out, "tokens     %.0f/s prefilled, %.0f/s answered\n",
                    (double)result->prefilled / seconds, (double)result->answered / seconds);
    }
    if (result->done_count > 0)
        text_format(out, "storage    %.1f %% of the time of requests in service\n",
                    100.0 * result->in_storage / result->in_service);
    text_add(out, "\n");
    text_format(out, "%-10s %10s %11s %11s %11s %11s %11s\n", "latency", "number", "median", "95 %", "99 %",
                "99.9 %", "at most");
    print_times(out, "requests", &result->latency);
    print_times(out, "reads", &result->reads);
    print_times(out, "writes", &result->writes);
}

/* ---- the run ---- */

static bool save_result(const struct serving *job, struct error *err)
{
    struct text path = {0};
    text_format(&path, "%s/result.json", job->asked->results);
    bool done = !path.failed ? file_write_exact(path.data, &job->report->json_text, err) : error_memory(err);
    text_release(&path);
    return done;
}

static bool serve(struct serving *job, struct error *err)
{
    const struct rh_feed_request *asked = job->asked;
    enum storage_kind method = (enum storage_kind)option_index(storage_kind_words, asked->method);
    const struct storage_options options = {.method = storage_is_s3(job->folder) ? STORAGE_S3 : method,
                                            .direct = asked->direct,
                                            .request = (int64_t)asked->request,
                                            .queue_depth = (int)asked->depth,
                                            .root = job->folder,
                                            .stop = job->call->stop};
    char digest[20];
    struct storage *storage =
        !asked->results || file_make_folders(asked->results, err) ? storage_new(&options, err) : NULL;
    job->capacity = storage ? requests_limit(&job->workload, storage, err) : -1;
    bool done =
        job->capacity >= 0 && requests_plan(&job->plan, &job->workload, job->capacity, err) &&
        requests_play(&job->workload, &job->plan, storage, asked->warm, job->call->stop, &job->result, err);
    storage_free(storage);
    if (!done)
        return false;
    snprintf(digest, sizeof digest, "%016" PRIx64, job->plan.digest);
    write_document(job, storage_kind_words[options.method], digest, &job->report->json);
    print_report(job, digest, &job->report->text);
    return !asked->results || save_result(job, err);
}

static bool show(const struct serving *job)
{
    struct api_report *report = job->report;
    json_open_document(&report->json, "rehearse-requests/1");
    requests_write(&job->workload, &report->json);
    json_close(&report->json);
    text_add_bytes(&report->text, report->json_text.data, report->json_text.length);
    return true;
}

bool feed_requests(const struct rh_feed_request *asked, const struct replay_call *call,
                   struct api_report *report, struct error *err)
{
    static const char *const taken[] = {"requests", "set",     "method",   "direct",   "request", "depth",
                                        "warm",     "results", "workload", "WORKLOAD", "show",    NULL};
    struct serving *job = calloc(1, sizeof *job);
    if (!job)
        return error_memory(err);
    *job = (struct serving){.asked = asked,
                            .call = call,
                            .report = report,
                            .folder = asked->workload.count > 0 ? asked->workload.items[0] : NULL};
    bool done = replay_refuse_others(call, taken, "--requests", err);
    if (done && asked->workload.count != 1 && !asked->show)
        done = error_set(err, ERROR_USAGE, "--requests takes one folder, or s3://BUCKET/PREFIX: a new one");
    done = done && requests_open(&job->workload, asked->requests, asked->set.items, asked->set.count, err) &&
           (asked->show ? show(job) : serve(job, err));
    free(job->result.done);
    requests_plan_release(&job->plan);
    requests_release(&job->workload);
    free(job);
    return done;
}
