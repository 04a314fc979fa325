/* result.json: the corrected figures and DLIO's, with all facts needed to judge and to repeat the run. Its
 * layout is "rehearse-feed-result/1"; AU and shares are 0..1, times seconds, rates bytes/s. */
#include "feed/result/result.h"

#include "core/fields.h"
#include "storage/facts.h"

#include <inttypes.h>
#include <stdio.h>

#define FORMAT "rehearse-feed-result/1"

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
    FIELD_OUT(struct metrics_figures, "steps", counted.steps, FIELD_INT64),
    FIELD_OUT(struct metrics_figures, "samples", counted.samples, FIELD_INT64),
    FIELD_OUT(struct metrics_figures, "bytes", counted.bytes, FIELD_INT64),
    FIELD_OUT(struct metrics_figures, "all_steps", all.steps, FIELD_INT64),
    FIELD_OUT(struct metrics_figures, "all_samples", all.samples, FIELD_INT64),
    FIELD_OUT(struct metrics_figures, "all_bytes", all.bytes, FIELD_INT64),
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
    FIELDS_MAP(&p, percentiles_fields, json, key);
}

/* Writes the figures of an epoch or the whole run. Returns true if they meet the target. */
static bool write_figures(struct json *json, const struct metrics *metrics, enum metrics_phase phase,
                          int epoch)
{
    struct metrics_figures figures;
    struct error why;
    bool ran = metrics_figures(metrics, phase, epoch, &figures, &why);
    if (epoch == METRICS_RUN) {
        json_number(json, "au_target", metrics->options.au_target);
        json_bool(json, "au_met", figures.met);
    }
    if (ran)
        FIELDS_WRITE(&figures, figures_fields, json);
    else
        json_string(json, "error", why.text);
    return figures.met;
}

static void write_epochs(struct json *json, const struct metrics *metrics, enum metrics_phase phase)
{
    json_open(json, "epochs", '[');
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++) {
        if (!metrics_ran(metrics, phase, epoch))
            continue;
        json_open(json, NULL, '{');
        json_integer(json, "epoch", epoch + 1);
        write_figures(json, metrics, phase, epoch);
        json_close(json);
    }
    json_close(json);
}

static const struct field accelerator_fields[] = {
    FIELD_OUT(struct metrics_row, "wait", counted.load, FIELD_NANOSECONDS),
    FIELD_OUT(struct metrics_row, "barrier", counted.barrier, FIELD_NANOSECONDS),
    FIELD_OUT(struct metrics_row, "last", last, FIELD_INT64),
    FIELD_OUT(struct metrics_row, "all_samples", all.samples, FIELD_INT64),
    FIELD_OUT(struct metrics_row, "all_bytes", all.bytes, FIELD_INT64),
};

static void write_accelerators(struct json *json, const struct metrics *metrics, enum metrics_phase phase)
{
    json_open(json, "accelerators", '[');
    for (int a = metrics->first; a < metrics->first + metrics->count; a++) {
        struct metrics_row row = metrics_total(metrics, a, phase, METRICS_RUN);
        json_open_flat(json, NULL, '{');
        json_integer(json, "accelerator", a);
        json_number(json, "au", metrics_au(&row.counted));
        FIELDS_WRITE(&row, accelerator_fields, json);
        json_close(json);
    }
    json_close(json);
}

/* Returns true if the phase met its target, or is none. */
static bool write_phase(struct json *json, const char *key, const struct metrics *metrics,
                        enum metrics_phase phase, bool is_there)
{
    if (!is_there) {
        json_null(json, key);
        return true;
    }
    json_open(json, key, '{');
    bool met = write_figures(json, metrics, phase, METRICS_RUN);
    write_percentiles(json, "wait_seconds", &metrics->wait[phase]);
    write_percentiles(json, "step_seconds", &metrics->step[phase]);
    write_percentiles(json, "barrier_seconds", &metrics->barrier[phase]);
    write_epochs(json, metrics, phase);
    write_accelerators(json, metrics, phase);
    json_close(json);
    return met;
}

#define FIGURE_OF_SAVES(key, member, type) FIELD_OUT(struct metrics_checkpoints, key, member, type)

static const struct field sizes_fields[] = {
    FIGURE_OF_SAVES("count", count, FIELD_INT), FIGURE_OF_SAVES("bytes", bytes, FIELD_INT64),
    FIGURE_OF_SAVES("all_bytes", all_bytes, FIELD_INT64),
    FIGURE_OF_SAVES("from_storage", from_storage, FIELD_KNOWN_INT64), /* of loads */
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
    fields_write(&figures, sizes_fields, kind == METRICS_LOAD ? 4 : 3, json);
    FIELDS_WRITE(&figures, times_fields, json);
    json_close(json);
    return true;
}

static const struct field dlio_fields[] = {
    FIELD_OUT(struct metrics_dlio, "au_mean_percentage", au_mean, FIELD_DOUBLE),
    FIELD_OUT(struct metrics_dlio, "au_meet_expectation", met, FIELD_FLAG),
    FIELD_OUT(struct metrics_dlio, "throughput_mean_samples_per_second", throughput_mean, FIELD_DOUBLE),
    FIELD_OUT(struct metrics_dlio, "io_mean_MB_per_second", io_mean, FIELD_DOUBLE),
};

static bool write_dlio(struct json *json, const char *key, const struct metrics *metrics,
                       enum metrics_phase phase, struct error *err)
{
    struct metrics_dlio dlio;
    if (!metrics_dlio(metrics, phase, &dlio, err))
        return false;
    json_open(json, key, '{');
    FIELDS_WRITE(&dlio, dlio_fields, json);
    json_close(json);
    metrics_dlio_release(&dlio);
    return true;
}

#define OF_HOST(key, member, type) FIELD_OUT(struct session_host, key, member, type)

static const struct field host_fields[] = {
    FIELD_OPEN(NULL, FIELD_MAP),
    OF_HOST("name", name, FIELD_CHARS),
    OF_HOST("system", system, FIELD_KNOWN_CHARS),
    OF_HOST("cpus", cpus, FIELD_INT),
    OF_HOST("memory", memory, FIELD_INT64),
    OF_HOST("accelerators", accelerators, FIELD_INT),
    OF_HOST("processes", processes, FIELD_INT),
    OF_HOST("cpu_seconds", cpu_seconds, FIELD_DOUBLE),
    OF_HOST("read_seconds", read_busy, FIELD_DOUBLE),
    OF_HOST("read_seconds_without_processor", read_delayed, FIELD_DOUBLE),
    OF_HOST("read_seconds_decoding", decoded, FIELD_DOUBLE),
    OF_HOST("throttled_seconds", throttled, FIELD_DOUBLE),
    FIELD_CLOSE,
};

#define OF_SESSION(key, member, type) FIELD_OUT(struct session, key, member, type)

static const char *const drops[] = {
    [RUN_DROP_NOTHING] = NULL, [RUN_DROP_FILES] = "file", [RUN_DROP_SYSTEM] = "system"};

static const struct field facts_fields[] = {
    FIELD(struct storage_facts, file_system, FIELD_KNOWN_CHARS, 0, 0),
    FIELD(struct storage_facts, device, FIELD_KNOWN_CHARS, 0, 0),
};

static const struct field used_fields[] = {
    FIELD_WORDS(struct storage_options, "method", method, storage_kind_words),
    FIELD(struct storage_options, direct, FIELD_FLAG, 0, 0),
};

static const struct field stored_fields[] = {
    FIELD_WORDS(struct session, "drop_caches", options.run.drop, drops),
    OF_SESSION("warm", options.warm, FIELD_FLAG),
    OF_SESSION("data_set", data_set, FIELD_KNOWN_INT64),
    OF_SESSION("looked_at", run.resident.before.bytes, FIELD_KNOWN_INT64),
    OF_SESSION("resident_before", run.resident.before.resident, FIELD_KNOWN_INT64),
    OF_SESSION("resident_after", run.resident.after.resident, FIELD_KNOWN_INT64),
    OF_SESSION("device_read", device_read, FIELD_KNOWN_INT64),
    OF_SESSION("device_written", device_written, FIELD_KNOWN_INT64),
    FIELD_OPEN("origin", FIELD_FLAT_MAP),
    FIELD_WORDS(struct session, "evidence", run.origin.evidence, origin_names),
    OF_SESSION("delivered", run.origin.delivered, FIELD_INT64),
    OF_SESSION("different", run.origin.needed, FIELD_INT64),
    OF_SESSION("from_storage", run.origin.from_storage, FIELD_KNOWN_INT64),
};

static bool write_storage(struct json *json, const struct session *session, struct error *err)
{
    const struct storage_options *used = storage_options(session->options.run.loader.storage);
    struct storage_facts facts = {.file_system = ""};
    bool local = used->method != STORAGE_S3 && storage_facts(used->root ? used->root : ".", &facts, err);
    if (used->method != STORAGE_S3 && !local && error_is_memory(err))
        return false;
    if (!local)
        facts = (struct storage_facts){.file_system = ""};
    json_open(json, "storage", '{');
    json_string(json, "path", used->root);
    FIELDS_WRITE(&facts, facts_fields, json);
    FIELDS_WRITE(used, used_fields, json);
    FIELDS_WRITE(session, stored_fields, json);
    json_number(json, "share", origin_share(&session->run.origin));
    json_close(json);
    json_close(json);
    return true;
}

static const struct field check_fields[] = {
    FIELD(struct session_check, expected, FIELD_INT64, 0, 0),
    FIELD(struct session_check, found, FIELD_INT64, 0, 0),
    FIELD(struct session_check, text, FIELD_KNOWN_CHARS, 0, 0),
};

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
        FIELDS_WRITE(check, check_fields, json);
        if (check->left_out > 0)
            json_integer(json, "left_out_of_each_epoch", check->left_out);
        json_close(json);
        passed = passed && check->state == SESSION_PASSED;
    }
    json_close(json);
    return passed;
}

static const struct field rules_fields[] = {
    FIELD_WORDS(struct rules_report, "category", category, rules_category_words),
    FIELD(struct rules_report, failed, FIELD_INT, 0, 0),
    FIELD(struct rules_report, unknown, FIELD_INT, 0, 0),
};

static const struct field finding_fields[] = {
    FIELD_OPEN(NULL, FIELD_MAP),
    FIELD(struct rules_finding, rule, FIELD_TEXT, 0, 0),
    FIELD(struct rules_finding, section, FIELD_TEXT, 0, 0),
    FIELD_WORDS(struct rules_finding, "verdict", verdict, rules_verdict_words),
    FIELD(struct rules_finding, text, FIELD_CHARS, 0, 0),
    FIELD_CLOSE,
};

static void write_rules(struct json *json, const struct rules_report *report)
{
    json_open(json, "rules", '{');
    json_string(json, "rules", "MLPerf Storage v2.0");
    FIELDS_WRITE(report, rules_fields, json);
    json_open(json, "findings", '[');
    for (int i = 0; i < report->count; i++)
        FIELDS_WRITE(&report->findings[i], finding_fields, json);
    json_close(json);
    json_close(json);
}

static const struct field run_fields[] = {
    OF_SESSION("digest", options.digest, FIELD_SOME_TEXT),
    OF_SESSION("accelerators", run.whole.options.accelerators, FIELD_INT),
    OF_SESSION("exclude_start_steps", run.whole.options.exclude_start, FIELD_INT),
    OF_SESSION("exclude_end_steps", run.whole.options.exclude_end, FIELD_INT),
};

static const struct field verdict_fields[] = {
    FIELD_WORDS(struct session, "verdict", verdict, session_verdict_words),
    OF_SESSION("verdict_text", verdict_text, FIELD_CHARS),
};

static void write_run(struct json *json, const struct session *session)
{
    const struct workload *workload = session->options.run.workload;
    json_string(json, "schema", FORMAT);
    json_string(json, "version", session->options.version);
    json_string(json, "workload", workload->name);
    write_time(json, "start", session->run.start + session->run.realtime);
    write_time(json, "end", session->run.end + session->run.realtime);
    write_bits(json, "seed", (uint64_t)workload->train.seed);
    write_bits(json, "entropy", session->options.run.entropy);
    FIELDS_WRITE(session, run_fields, json);
}

/* Writes the phases; *passed: the training met its target, or there was none. */
static bool write_results(struct json *json, const struct session *session, bool *passed, struct error *err)
{
    const struct metrics *metrics = &session->run.whole;
    bool eval = session->run.eval.steps > 0;
    bool trains = metrics->options.steps[METRICS_TRAIN] > 0 || metrics_ran(metrics, METRICS_TRAIN, 0);
    *passed = write_phase(json, "training", metrics, METRICS_TRAIN, trains);
    write_phase(json, "evaluation", metrics, METRICS_EVAL, eval);
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
    FIELDS_WRITE(session, verdict_fields, json);
    if (session->has_rules)
        write_rules(json, &session->rules);
    json_open(json, "hosts", '[');
    for (int i = 0; i < session->host_count; i++)
        FIELDS_WRITE(&session->hosts[i], host_fields, json);
    json_close(json);
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
