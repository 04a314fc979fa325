#include "feed/result/json.h"

#include "feed/result/dlio.h"

#include <inttypes.h>
#include <stdio.h>

/* A negative number is null. */
static void write_known(struct json *json, const char *key, int64_t value)
{
    if (value < 0)
        json_null(json, key);
    else
        json_integer(json, key, value);
}

/* A number of JSON is a double to many readers: 64 bits go as text. */
static void write_bits(struct json *json, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    json_string(json, key, text);
}

static void write_time(struct json *json, const char *key, int64_t at)
{
    char text[40];
    result_time(text, at, "Z");
    json_string(json, key, text);
}

static void write_range(struct json *json, const char *key, const struct metrics_range *range)
{
    json_open_flat(json, key, '{');
    json_number(json, "least", range->least);
    json_integer(json, "least_at", range->least_at);
    json_number(json, "most", range->most);
    json_integer(json, "most_at", range->most_at);
    json_close(json);
}

static void write_percentiles(struct json *json, const char *key, const struct histogram *histogram)
{
    struct metrics_percentiles p = metrics_percentiles(histogram);
    json_open_flat(json, key, '{');
    json_number(json, "least", p.least);
    json_number(json, "p50", p.p50);
    json_number(json, "p90", p.p90);
    json_number(json, "p99", p.p99);
    json_number(json, "p99.9", p.p999);
    json_number(json, "most", p.most);
    json_close(json);
}

static void write_shares(struct json *json, const struct metrics_figures *figures)
{
    json_open_flat(json, "shares", '{');
    json_number(json, "load", figures->load);
    json_number(json, "copy", figures->copy);
    json_number(json, "compute", figures->compute);
    json_number(json, "late", figures->late);
    json_number(json, "barrier", figures->barrier);
    json_number(json, "other", figures->other);
    json_close(json);
}

static void write_figures(struct json *json, const struct metrics_figures *figures)
{
    json_number(json, "au", figures->au);
    json_number(json, "au_without_barrier", figures->au_without_barrier);
    json_number(json, "au_measured", figures->au_measured);
    json_number(json, "samples_per_second", figures->samples_per_second);
    json_number(json, "bytes_per_second", figures->bytes_per_second);
    json_number(json, "seconds", figures->seconds);
    json_integer(json, "steps", figures->steps);
    json_integer(json, "samples", figures->samples);
    json_integer(json, "bytes", figures->bytes);
    json_integer(json, "all_steps", figures->all_steps);
    json_integer(json, "all_samples", figures->all_samples);
    json_integer(json, "all_bytes", figures->all_bytes);
    json_number(json, "all_seconds", figures->all_seconds);
    json_number(json, "all_samples_per_second", (double)figures->all_samples / figures->all_seconds);
    write_shares(json, figures);
    write_range(json, "accelerator_au", &figures->au_range);
    write_range(json, "accelerator_wait", &figures->load_range);
    write_range(json, "accelerator_last", &figures->last_range);
    json_number(json, "lost_to_host", figures->lost);
}

static void write_epochs(struct json *json, const struct metrics *metrics, enum metrics_phase phase)
{
    json_open(json, "epochs", '[');
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++) {
        struct metrics_figures figures;
        struct error why;
        if (!metrics_ran(metrics, phase, epoch))
            continue;
        json_open(json, NULL, '{');
        json_integer(json, "epoch", epoch + 1);
        if (metrics_figures(metrics, phase, epoch, &figures, &why))
            write_figures(json, &figures);
        else
            json_string(json, "error", why.text);
        json_close(json);
    }
    json_close(json);
}

static void write_accelerators(struct json *json, const struct metrics *metrics, enum metrics_phase phase)
{
    json_open(json, "accelerators", '[');
    for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
        struct metrics_row row = metrics_total(metrics, a, phase, METRICS_RUN);
        json_open_flat(json, NULL, '{');
        json_integer(json, "accelerator", a);
        json_number(json, "au", metrics_au(&row.counted));
        json_number(json, "wait", (double)row.counted.load / 1e9);
        json_number(json, "barrier", (double)row.counted.barrier / 1e9);
        json_integer(json, "last", row.last);
        json_integer(json, "all_samples", row.all.samples);
        json_integer(json, "all_bytes", row.all.bytes);
        json_close(json);
    }
    json_close(json);
}

/* Is what was asked of this phase reached? */
static bool write_phase(struct json *json, const char *key, const struct metrics *metrics,
                        enum metrics_phase phase)
{
    struct metrics_figures figures;
    struct error why;
    json_open(json, key, '{');
    bool ran = metrics_figures(metrics, phase, METRICS_RUN, &figures, &why);
    json_number(json, "au_target", metrics->options.au_target);
    json_bool(json, "au_met", ran && figures.met);
    if (ran)
        write_figures(json, &figures);
    else
        json_string(json, "error", why.text);
    write_percentiles(json, "wait_seconds", &metrics->wait[phase]);
    write_percentiles(json, "step_seconds", &metrics->step[phase]);
    write_percentiles(json, "barrier_seconds", &metrics->barrier[phase]);
    write_epochs(json, metrics, phase);
    write_accelerators(json, metrics, phase);
    json_close(json);
    return ran && figures.met;
}

static bool write_checkpoints(struct json *json, const char *key, const struct metrics *metrics,
                              enum metrics_kind kind, struct error *err)
{
    struct metrics_checkpoints figures;
    if (!metrics_checkpoints(metrics, kind, &figures, err))
        return false;
    if (figures.count == 0) {
        json_null(json, key);
        return true;
    }
    json_open(json, key, '{');
    json_integer(json, "count", figures.count);
    json_integer(json, "bytes", figures.bytes);
    json_integer(json, "all_bytes", figures.all_bytes);
    if (kind == METRICS_LOAD)
        write_known(json, "from_storage", figures.from_storage);
    json_number(json, "duration_mean", figures.duration_mean);
    json_number(json, "duration_stdev", figures.duration_stdev);
    json_number(json, "duration_most", figures.duration_most);
    json_number(json, "bytes_per_second_mean", figures.throughput_mean);
    json_number(json, "bytes_per_second_stdev", figures.throughput_stdev);
    json_number(json, "bytes_per_second_least", figures.throughput_least);
    json_open_flat(json, "slowest_rank", '{');
    json_integer(json, "rank", figures.rank_least_at);
    json_number(json, "bytes_per_second", figures.rank_least);
    json_close(json);
    json_number(json, "sync_share", figures.sync);
    json_close(json);
    return true;
}

static bool write_dlio(struct json *json, const char *key, const struct metrics *metrics,
                       enum metrics_phase phase, struct error *err)
{
    struct metrics_dlio dlio;
    if (!metrics_dlio(metrics, phase, &dlio, err))
        return false;
    json_open(json, key, '{');
    json_number(json, "au_mean_percentage", dlio.au_mean);
    json_bool(json, "au_meet_expectation", dlio.met);
    json_number(json, "throughput_mean_samples_per_second", dlio.throughput_mean);
    json_number(json, "io_mean_MB_per_second", dlio.io_mean);
    json_close(json);
    metrics_dlio_release(&dlio);
    return true;
}

static void write_hosts(struct json *json, const struct result_json *facts)
{
    json_open(json, "hosts", '[');
    for (int i = 0; i < facts->host_count; i++) {
        const struct result_host *host = &facts->hosts[i];
        json_open(json, NULL, '{');
        json_string(json, "name", host->name);
        json_string(json, "system", host->system);
        json_integer(json, "cpus", host->cpus);
        json_integer(json, "memory", host->memory);
        json_integer(json, "accelerators", host->accelerators);
        json_integer(json, "processes", host->processes);
        if (host->cpu_seconds < 0)
            json_null(json, "cpu_seconds");
        else
            json_number(json, "cpu_seconds", host->cpu_seconds);
        json_number(json, "read_seconds", host->read_busy);
        json_number(json, "read_seconds_without_processor", host->read_delayed);
        json_number(json, "throttled_seconds", host->throttled);
        json_close(json);
    }
    json_close(json);
}

/* Where the bytes came from that were trained on. */
static void write_origin(struct json *json, const struct origin *origin)
{
    if (!origin) {
        json_null(json, "origin");
        return;
    }
    json_open_flat(json, "origin", '{');
    json_string(json, "evidence", origin_name(origin->evidence));
    json_integer(json, "delivered", origin->delivered);
    json_integer(json, "different", origin->needed);
    write_known(json, "from_storage", origin->from_storage);
    json_number(json, "share", origin_share(origin));
    json_close(json);
}

static void write_storage(struct json *json, const struct result_storage *storage)
{
    json_open(json, "storage", '{');
    json_string(json, "path", storage->path);
    json_string(json, "file_system", storage->file_system);
    json_string(json, "device", storage->device);
    json_string(json, "method", storage->method);
    json_bool(json, "direct", storage->direct);
    json_string(json, "drop_caches", storage->drop_caches);
    json_bool(json, "warm", storage->warm);
    write_known(json, "data_set", storage->data_set);
    write_known(json, "looked_at", storage->looked_at);
    write_known(json, "resident_before", storage->resident_before);
    write_known(json, "resident_after", storage->resident_after);
    write_known(json, "device_read", storage->device_read);
    write_known(json, "device_written", storage->device_written);
    write_origin(json, storage->origin);
    json_close(json);
}

static bool write_checks(struct json *json, const struct result_json *facts)
{
    bool passed = true;
    json_open(json, "checks", '[');
    for (int i = 0; i < facts->check_count; i++) {
        const struct result_check *check = &facts->checks[i];
        json_open_flat(json, NULL, '{');
        json_string(json, "name", check->name);
        if (check->state == RESULT_OPEN)
            json_null(json, "passed");
        else
            json_bool(json, "passed", check->state == RESULT_PASSED);
        json_integer(json, "expected", check->expected);
        json_integer(json, "found", check->found);
        json_string(json, "text", check->text);
        if (check->left_out > 0)
            json_integer(json, "left_out_of_each_epoch", check->left_out);
        json_close(json);
        passed = passed && check->state == RESULT_PASSED;
    }
    json_close(json);
    return passed;
}

static void write_configuration(struct json *json, const struct result_json *facts)
{
    json_open(json, "overrides", '[');
    for (int i = 0; i < facts->override_count; i++)
        json_string(json, NULL, facts->overrides[i]);
    json_close(json);
    if (facts->write_configuration)
        facts->write_configuration(facts->configuration, json, "configuration");
    else
        json_null(json, "configuration");
}

static void write_run(struct json *json, const struct metrics *metrics, const struct result_json *facts)
{
    json_string(json, "schema", RESULT_FORMAT);
    json_string(json, "version", facts->version);
    json_string(json, "workload", facts->workload);
    write_time(json, "start", facts->start);
    write_time(json, "end", facts->end);
    write_bits(json, "seed", facts->seed);
    write_bits(json, "entropy", facts->entropy);
    json_integer(json, "accelerators", metrics->options.accelerators);
    json_integer(json, "exclude_start_steps", metrics->options.exclude_start);
    json_integer(json, "exclude_end_steps", metrics->options.exclude_end);
}

static bool write_results(struct json *json, const struct metrics *metrics, const struct result_json *facts,
                          bool *passed, struct error *err)
{
    bool trains = metrics->options.steps[METRICS_TRAIN] > 0 || metrics_ran(metrics, METRICS_TRAIN, 0);
    *passed = true;
    if (trains)
        *passed = write_phase(json, "training", metrics, METRICS_TRAIN);
    else
        json_null(json, "training");
    if (facts->eval)
        write_phase(json, "evaluation", metrics, METRICS_EVAL);
    else
        json_null(json, "evaluation");
    json_open(json, "checkpoints", '{');
    if (!write_checkpoints(json, "save", metrics, METRICS_SAVE, err) ||
        !write_checkpoints(json, "load", metrics, METRICS_LOAD, err))
        return false;
    json_close(json);
    json_open(json, "as_dlio", '{');
    if ((trains && !write_dlio(json, "train", metrics, METRICS_TRAIN, err)) ||
        (facts->eval && !write_dlio(json, "eval", metrics, METRICS_EVAL, err)))
        return false;
    json_close(json);
    return true;
}

bool result_json(struct text *out, const struct metrics *metrics, const struct result_json *facts,
                 bool *passed, struct error *err)
{
    struct json json = {.out = out};
    json_open_document(&json, RESULT_FORMAT);
    write_run(&json, metrics, facts);
    if (!write_results(&json, metrics, facts, passed, err))
        return false;
    *passed = write_checks(&json, facts) && *passed;
    json_bool(&json, "passed", *passed);
    json_string(&json, "verdict", facts->verdict);
    json_string(&json, "verdict_text", facts->verdict_text);
    if (facts->rules)
        rules_write_json(facts->rules, &json, "rules");
    write_hosts(&json, facts);
    write_storage(&json, &facts->storage);
    write_configuration(&json, facts);
    json_close(&json);
    return !out->failed || error_memory(err);
}

bool result_json_save(const char *folder, const struct metrics *metrics, const struct result_json *facts,
                      bool *passed, struct error *err)
{
    struct text text = {0};
    if (result_json(&text, metrics, facts, passed, err))
        return result_save(folder, "result.json", &text, err);
    text_release(&text);
    return false;
}
