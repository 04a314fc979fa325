/* result.json: the corrected figures and DLIO's, with all facts needed to judge and to repeat the run. Its
 * layout is "rehearse-feed-result/1"; AU and shares are 0..1, times seconds, rates bytes/s. */
#include "feed/result/result.h"

#include "core/fields.h"
#include "storage/facts.h"

#include <inttypes.h>
#include <stdio.h>

#define FORMAT "rehearse-feed-result/1"

/* Writes a number; a negative one is null. */
static void write_known(struct json *json, const char *key, int64_t value)
{
    if (value < 0)
        json_null(json, key);
    else
        json_integer(json, key, value);
}

/* Writes 64 bits as text: many readers take a number for a double. */
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

#define FIGURE(member, type) FIELD(struct metrics_figures, member, type, 0, 0)
/* clang-format off */
#define RANGE(key, low, low_at, high, high_at)                                                               \
    FIELD_OPEN(key, FIELD_FLAT_MAP),                                                                         \
    FIELD_OUT(struct metrics_figures, "least", low, FIELD_DOUBLE),                                           \
    FIELD_OUT(struct metrics_figures, "least_at", low_at, FIELD_INT),                                        \
    FIELD_OUT(struct metrics_figures, "most", high, FIELD_DOUBLE),                                           \
    FIELD_OUT(struct metrics_figures, "most_at", high_at, FIELD_INT),                                        \
    FIELD_CLOSE
/* clang-format on */

static const struct field figures_fields[] = {
    FIGURE(au, FIELD_DOUBLE),
    FIGURE(au_without_barrier, FIELD_DOUBLE),
    FIGURE(au_measured, FIELD_DOUBLE),
    FIGURE(samples_per_second, FIELD_DOUBLE),
    FIGURE(bytes_per_second, FIELD_DOUBLE),
    FIGURE(seconds, FIELD_DOUBLE),
    FIGURE(steps, FIELD_INT64),
    FIGURE(samples, FIELD_INT64),
    FIGURE(bytes, FIELD_INT64),
    FIGURE(all_steps, FIELD_INT64),
    FIGURE(all_samples, FIELD_INT64),
    FIGURE(all_bytes, FIELD_INT64),
    FIGURE(all_seconds, FIELD_DOUBLE),
    FIGURE(all_samples_per_second, FIELD_DOUBLE),
    FIELD_OPEN("shares", FIELD_FLAT_MAP),
    FIGURE(load, FIELD_DOUBLE),
    FIGURE(copy, FIELD_DOUBLE),
    FIGURE(compute, FIELD_DOUBLE),
    FIGURE(late, FIELD_DOUBLE),
    FIGURE(barrier, FIELD_DOUBLE),
    FIGURE(other, FIELD_DOUBLE),
    FIELD_CLOSE,
    RANGE("accelerator_au", au_range.min, au_range.min_at, au_range.max, au_range.max_at),
    RANGE("accelerator_wait", load_range.min, load_range.min_at, load_range.max, load_range.max_at),
    RANGE("accelerator_last", last_range.min, last_range.min_at, last_range.max, last_range.max_at),
    FIELD_OUT(struct metrics_figures, "lost_to_host", lost, FIELD_DOUBLE),
};

#define PERCENTILE(key, member) FIELD_OUT(struct metrics_percentiles, key, member, FIELD_DOUBLE)

static const struct field percentiles_fields[] = {
    PERCENTILE("least", min), PERCENTILE("p50", p50),    PERCENTILE("p90", p90),
    PERCENTILE("p99", p99),   PERCENTILE("p99.9", p999), PERCENTILE("most", max),
};

static void write_percentiles(struct json *json, const char *key, const struct histogram *histogram)
{
    struct metrics_percentiles p = metrics_percentiles(histogram);
    json_open_flat(json, key, '{');
    FIELDS_WRITE(&p, percentiles_fields, json);
    json_close(json);
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
            FIELDS_WRITE(&figures, figures_fields, json);
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

/* Returns true if the phase met its target. */
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
        FIELDS_WRITE(&figures, figures_fields, json);
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

#define FIGURE_OF_SAVES(key, member, type) FIELD_OUT(struct metrics_checkpoints, key, member, type)

static const struct field sizes_fields[] = {
    FIGURE_OF_SAVES("count", count, FIELD_INT),
    FIGURE_OF_SAVES("bytes", bytes, FIELD_INT64),
    FIGURE_OF_SAVES("all_bytes", all_bytes, FIELD_INT64),
};

static const struct field times_fields[] = {
    FIGURE_OF_SAVES("duration_mean", duration_mean, FIELD_DOUBLE),
    FIGURE_OF_SAVES("duration_stdev", duration_stdev, FIELD_DOUBLE),
    FIGURE_OF_SAVES("duration_most", duration_max, FIELD_DOUBLE),
    FIGURE_OF_SAVES("bytes_per_second_mean", throughput_mean, FIELD_DOUBLE),
    FIGURE_OF_SAVES("bytes_per_second_stdev", throughput_stdev, FIELD_DOUBLE),
    FIGURE_OF_SAVES("bytes_per_second_least", throughput_min, FIELD_DOUBLE),
    FIELD_OPEN("slowest_rank", FIELD_FLAT_MAP),
    FIGURE_OF_SAVES("rank", rank_min_at, FIELD_INT),
    FIGURE_OF_SAVES("bytes_per_second", rank_min, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIGURE_OF_SAVES("sync_share", sync, FIELD_DOUBLE),
};

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
    FIELDS_WRITE(&figures, sizes_fields, json);
    if (kind == METRICS_LOAD)
        write_known(json, "from_storage", figures.from_storage);
    FIELDS_WRITE(&figures, times_fields, json);
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

#define OF_HOST(key, member, type) FIELD_OUT(struct session_host, key, member, type)

static const struct field host_fields[] = {
    OF_HOST("cpus", cpus, FIELD_INT),
    OF_HOST("memory", memory, FIELD_INT64),
    OF_HOST("accelerators", accelerators, FIELD_INT),
    OF_HOST("processes", processes, FIELD_INT),
    OF_HOST("cpu_seconds", cpu_seconds, FIELD_DOUBLE),
    OF_HOST("read_seconds", read_busy, FIELD_DOUBLE),
    OF_HOST("read_seconds_without_processor", read_delayed, FIELD_DOUBLE),
    OF_HOST("throttled_seconds", throttled, FIELD_DOUBLE),
};

static void write_hosts(struct json *json, const struct session *session)
{
    json_open(json, "hosts", '[');
    for (int i = 0; i < session->host_count; i++) {
        const struct session_host *host = &session->hosts[i];
        json_open(json, NULL, '{');
        json_string(json, "name", host->name);
        json_string(json, "system", *host->system ? host->system : NULL);
        FIELDS_WRITE(host, host_fields, json);
        json_close(json);
    }
    json_close(json);
}

static bool write_storage(struct json *json, const struct session *session, struct error *err)
{
    static const char *const drops[] = {
        [RUN_DROP_NOTHING] = NULL, [RUN_DROP_FILES] = "file", [RUN_DROP_SYSTEM] = "system"};
    const struct storage_options *used = storage_options(session->options.run.storage);
    const struct run_look *before = &session->run.resident.before, *after = &session->run.resident.after;
    const struct origin *origin = &session->run.origin;
    struct storage_facts facts = {0};
    bool local = used->method != STORAGE_S3 && storage_facts(used->root ? used->root : ".", &facts, err);
    if (used->method != STORAGE_S3 && !local && error_is_memory(err))
        return false;
    json_open(json, "storage", '{');
    json_string(json, "path", used->root);
    json_string(json, "file_system", local ? facts.file_system : NULL);
    json_string(json, "device", local ? facts.device : NULL);
    json_string(json, "method", storage_kind_name(used->method));
    json_bool(json, "direct", used->direct);
    json_string(json, "drop_caches", drops[session->options.run.drop]);
    json_bool(json, "warm", session->options.warm);
    write_known(json, "data_set", session->data_set);
    write_known(json, "looked_at", before->known ? before->bytes : -1);
    write_known(json, "resident_before", before->known ? before->resident : -1);
    write_known(json, "resident_after", after->known ? after->resident : -1);
    write_known(json, "device_read", session->device_read);
    write_known(json, "device_written", session->device_written);
    json_open_flat(json, "origin", '{');
    json_string(json, "evidence", origin_name(origin->evidence));
    json_integer(json, "delivered", origin->delivered);
    json_integer(json, "different", origin->needed);
    write_known(json, "from_storage", origin->from_storage);
    json_number(json, "share", origin_share(origin));
    json_close(json);
    json_close(json);
    return true;
}

static bool write_checks(struct json *json, const struct session *session)
{
    bool passed = true;
    json_open(json, "checks", '[');
    for (int i = 0; i < session->check_count; i++) {
        const struct session_check *check = &session->checks[i];
        json_open_flat(json, NULL, '{');
        json_string(json, "name", check->name);
        if (check->state == SESSION_OPEN)
            json_null(json, "passed");
        else
            json_bool(json, "passed", check->state == SESSION_PASSED);
        json_integer(json, "expected", check->expected);
        json_integer(json, "found", check->found);
        json_string(json, "text", *check->text ? check->text : NULL);
        if (check->left_out > 0)
            json_integer(json, "left_out_of_each_epoch", check->left_out);
        json_close(json);
        passed = passed && check->state == SESSION_PASSED;
    }
    json_close(json);
    return passed;
}

static void write_rules(struct json *json, const struct rules_report *report)
{
    json_open(json, "rules", '{');
    json_string(json, "rules", "MLPerf Storage v2.0");
    json_string(json, "category", rules_category_name(report->category));
    json_integer(json, "failed", report->failed);
    json_integer(json, "unknown", report->unknown);
    json_open(json, "findings", '[');
    for (int i = 0; i < report->count; i++) {
        const struct rules_finding *finding = &report->findings[i];
        json_open(json, NULL, '{');
        json_string(json, "rule", finding->rule);
        json_string(json, "section", finding->section);
        json_string(json, "verdict", rules_verdict_name(finding->verdict));
        json_string(json, "text", finding->text);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void write_run(struct json *json, const struct session *session)
{
    const struct metrics_options *options = &session->run.whole.options;
    const struct workload *workload = session->options.run.workload;
    json_string(json, "schema", FORMAT);
    json_string(json, "version", session->options.version);
    json_string(json, "workload", workload->name);
    write_time(json, "start", session->run.start + session->run.realtime);
    write_time(json, "end", session->run.end + session->run.realtime);
    write_bits(json, "seed", (uint64_t)workload->train.seed);
    write_bits(json, "entropy", session->options.run.entropy);
    if (session->options.digest)
        json_string(json, "digest", session->options.digest);
    json_integer(json, "accelerators", options->accelerators);
    json_integer(json, "exclude_start_steps", options->exclude_start);
    json_integer(json, "exclude_end_steps", options->exclude_end);
}

/* Writes the phases; *passed: the training met its target, or there was none. */
static bool write_results(struct json *json, const struct session *session, bool *passed, struct error *err)
{
    const struct metrics *metrics = &session->run.whole;
    bool eval = session->run.eval.steps > 0;
    bool trains = metrics->options.steps[METRICS_TRAIN] > 0 || metrics_ran(metrics, METRICS_TRAIN, 0);
    *passed = true;
    if (trains)
        *passed = write_phase(json, "training", metrics, METRICS_TRAIN);
    else
        json_null(json, "training");
    if (eval)
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
        (eval && !write_dlio(json, "eval", metrics, METRICS_EVAL, err)))
        return false;
    json_close(json);
    return true;
}

bool result_json(const struct session *session, struct json *json, struct error *err)
{
    const struct session_options *options = &session->options;
    bool passed;
    json_open_document(json, FORMAT);
    write_run(json, session);
    if (!write_results(json, session, &passed, err))
        return false;
    passed = write_checks(json, session) && passed;
    json_bool(json, "passed", passed);
    json_string(json, "verdict", session_verdict_name(session->verdict));
    json_string(json, "verdict_text", session->verdict_text);
    if (session->has_rules)
        write_rules(json, &session->rules);
    write_hosts(json, session);
    if (!write_storage(json, session, err))
        return false;
    json_open(json, "overrides", '[');
    for (int i = 0; i < options->override_count; i++)
        json_string(json, NULL, options->overrides[i]);
    json_close(json);
    workload_write_json(options->run.workload, json, "configuration");
    json_close(json);
    return !json->out->failed || error_memory(err);
}
