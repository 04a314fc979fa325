#include "feed/result/result.h"

#include "core/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

static void write_time(struct json *json, const char *key, const struct session *session, int64_t at)
{
    char text[40];
    result_time(text, at + session->run.realtime, "");
    json_string(json, key, text);
}

/* "15.85": DLIO writes the lengths of epochs and blocks as text. */
static void write_seconds(struct json *json, const char *key, int64_t length)
{
    char text[32];
    snprintf(text, sizeof text, "%.2f", (double)length / 1e9);
    json_string(json, key, text);
}

static void write_numbers(struct json *json, const char *key, const double *values, size_t count)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, values[i]);
    json_close(json);
}

/* The value of a line "name : value" with one colon, and its name without the blanks before the colon. */
static bool split(const char *line, size_t length, char key[64], char value[2048])
{
    const char *colon = memchr(line, ':', length);
    if (!colon || memchr(colon + 1, ':', length - (size_t)(colon + 1 - line)))
        return false;
    const char *key_end = colon;
    while (key_end > line && (key_end[-1] == ' ' || key_end[-1] == '\t'))
        key_end--;
    const char *from = colon + 1, *end = line + length;
    while (from < end && *from == ' ')
        from++;
    while (end > from && end[-1] == ' ')
        end--;
    snprintf(key, 64, "%.*s", (int)(key_end - line), line);
    snprintf(value, 2048, "%.*s", (int)(end - from), from);
    return key[0] && strcmp(key, "processor") != 0;
}

/* The last paragraph of a file in /proc (of cpuinfo: the last processor), as a map. */
static void write_proc(struct json *json, const char *key, const char *text)
{
    if (!text)
        return;
    for (const char *next; (next = strstr(text, "\n\n")) && next[2];)
        text = next + 2;
    json_open(json, key, '{');
    for (const char *line = text; *line && *line != '\n';) {
        char name[64], value[2048];
        size_t length = strcspn(line, "\n");
        if (split(line, length, name, value))
            json_string(json, name, value);
        line += length + (line[length] == '\n');
    }
    json_close(json);
}

/* The processor's name in /proc/cpuinfo. */
static void write_processor(struct json *json, const char *cpuinfo)
{
    const char *line = cpuinfo ? strstr(cpuinfo, "model name") : NULL;
    const char *colon = line ? strchr(line, ':') : NULL;
    char name[128] = "";
    if (colon)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
                 colon + 1 + strspn(colon + 1, " "));
    json_string(json, "host_processor_name", name);
}

static int per_host(const struct session *session)
{
    int accelerators = session->run.metrics.options.accelerators;
    return accelerators > session->host_count ? accelerators / session->host_count : 1;
}

/* Returns GiB as DLIO computes them, in whole samples of the mean length. */
static double data_per_host(const struct session *session)
{
    int64_t samples = per_host(session) * session->layout.samples_per_file * session->layout.files_train /
                      session->run.metrics.options.accelerators;
    return (double)samples * session->options.run.workload->dataset.record_length_bytes / GIB;
}

static bool may_cache(const struct session *session, int host)
{
    return (double)session->hosts[host].memory / GIB > data_per_host(session);
}

static const char *own_host(const struct session *session)
{
    const struct comm *comm = session->options.run.comm;
    return comm_host(comm, comm_rank(comm));
}

static void write_name(struct json *json, const char *phase, const char *rest, double value)
{
    char key[80];
    snprintf(key, sizeof key, "%s_%s", phase, rest);
    json_number(json, key, value);
}

static bool write_phase(struct json *json, const struct metrics *metrics, enum metrics_phase phase,
                        size_t *epochs, struct error *err)
{
    const char *name = phase == METRICS_TRAIN ? "train" : "eval";
    struct metrics_dlio dlio;
    char key[80];
    if (!metrics_dlio(metrics, phase, &dlio, err))
        return false;
    snprintf(key, sizeof key, "%s_au_percentage", name);
    write_numbers(json, key, dlio.au, dlio.count);
    write_name(json, name, "au_mean_percentage", dlio.au_mean);
    snprintf(key, sizeof key, "%s_au_meet_expectation", name);
    json_string(json, key, dlio.met ? "success" : "fail");
    write_name(json, name, "au_stdev_percentage", dlio.au_stdev);
    snprintf(key, sizeof key, "%s_throughput_samples_per_second", name);
    write_numbers(json, key, dlio.throughput, dlio.count);
    write_name(json, name, "throughput_mean_samples_per_second", dlio.throughput_mean);
    write_name(json, name, "throughput_stdev_samples_per_second", dlio.throughput_stdev);
    write_name(json, name, "io_mean_MB_per_second", dlio.io_mean);
    write_name(json, name, "io_stdev_MB_per_second", dlio.io_stdev);
    *epochs = dlio.count;
    metrics_dlio_release(&dlio);
    return true;
}

/* Figures of no checkpoint are null. */
static bool write_checkpoints(struct json *json, const struct metrics *metrics, enum metrics_kind kind,
                              struct error *err)
{
    const char *name = kind == METRICS_SAVE ? "save_checkpoint" : "load_checkpoint";
    struct metrics_checkpoints figures;
    if (!metrics_checkpoints(metrics, kind, &figures, err))
        return false;
    double none = figures.count > 0 ? 0 : (double)NAN;
    write_name(json, name, "io_mean_GB_per_second", figures.dlio_throughput_mean + none);
    write_name(json, name, "io_stdev_GB_per_second", figures.dlio_throughput_stdev + none);
    write_name(json, name, "duration_mean_seconds", figures.dlio_duration_mean + none);
    write_name(json, name, "duration_stdev_seconds", figures.dlio_duration_stdev + none);
    return true;
}

static bool write_metric(struct json *json, const struct session *session, size_t *epochs, struct error *err)
{
    const struct workload *workload = session->options.run.workload;
    const struct metrics *metrics = &session->run.whole;
    bool saves = workload->workflow.checkpoint, ok = true;
    size_t evaluations;
    *epochs = 0;
    json_open(json, "metric", '{');
    if (saves)
        ok = write_checkpoints(json, metrics, METRICS_SAVE, err);
    if (ok && saves && workload->checkpoint.num_checkpoints_read > 0)
        ok = write_checkpoints(json, metrics, METRICS_LOAD, err);
    if (saves)
        json_number(json, "checkpoint_size_GB", session->checkpoint_bytes / GIB);
    if (ok && session->run.train.steps > 0)
        ok = write_phase(json, metrics, METRICS_TRAIN, epochs, err);
    if (ok && session->run.eval.steps > 0)
        ok = write_phase(json, metrics, METRICS_EVAL, &evaluations, err);
    json_close(json);
    return ok;
}

static void write_hosts(struct json *json, const struct session *session)
{
    json_open(json, "host_cpu_count", '[');
    for (int host = 0; host < session->host_count; host++)
        json_integer(json, NULL, session->hosts[host].cpus);
    json_close(json);
    write_processor(json, session->cpuinfo);
    json_open(json, "potential_caching", '[');
    for (int host = 0; host < session->host_count; host++)
        json_integer(json, NULL, may_cache(session, host));
    json_close(json);
    write_proc(json, "host_cpuinfo", session->cpuinfo);
    write_proc(json, "host_meminfo", session->meminfo);
    json_open(json, "host_memory_GB", '[');
    for (int host = 0; host < session->host_count; host++)
        json_number(json, NULL, (double)session->hosts[host].memory / GIB);
    json_close(json);
}

#define OF_SESSION(key, member, type) FIELD_OUT(struct session, key, member, type)

static const struct field size_fields[] = {
    OF_SESSION("num_accelerators", run.whole.options.accelerators, FIELD_INT),
    OF_SESSION("num_hosts", host_count, FIELD_INT),
};

static const struct field layout_fields[] = {
    OF_SESSION("num_files_train", layout.files_train, FIELD_INT64),
    OF_SESSION("num_files_eval", layout.files_eval, FIELD_INT64),
    OF_SESSION("num_samples_per_file", layout.samples_per_file, FIELD_INT64),
};

bool result_dlio_summary(const struct session *session, struct json *json, struct error *err)
{
    size_t epochs;
    json_open(json, NULL, '{');
    write_time(json, "start", session, session->run.start);
    FIELDS_WRITE(session, size_fields, json);
    json_string(json, "hostname", own_host(session));
    if (!write_metric(json, session, &epochs, err))
        return false;
    FIELDS_WRITE(session, layout_fields, json);
    write_hosts(json, session);
    json_number(json, "data_size_per_host_GB", data_per_host(session));
    json_integer(json, "epochs", (int64_t)epochs);
    write_time(json, "end", session, session->run.end);
    json_close(json);
    return !json->out->failed || error_memory(err);
}

/* The blocks and checkpoints of one accelerator. */
struct own {
    const struct metrics_block **blocks;
    const struct metrics_checkpoint **checkpoints;
    size_t block_count, checkpoint_count;
};

static bool own_init(struct own *own, const struct metrics *metrics, int accelerator, struct error *err)
{
    *own = (struct own){
        .blocks = calloc(metrics->block_count + 1, sizeof *own->blocks),
        .checkpoints = calloc(metrics->checkpoint_count + 1, sizeof *own->checkpoints),
    };
    if (!own->blocks || !own->checkpoints) {
        free(own->blocks);
        free(own->checkpoints);
        return error_memory(err);
    }
    for (size_t i = 0; i < metrics->block_count; i++)
        if (metrics->blocks[i].accelerator == accelerator)
            own->blocks[own->block_count++] = &metrics->blocks[i];
    for (size_t i = 0; i < metrics->checkpoint_count; i++)
        if (metrics->checkpoints[i].rank == accelerator)
            own->checkpoints[own->checkpoint_count++] = &metrics->checkpoints[i];
    return true;
}

static void own_release(struct own *own)
{
    free(own->blocks);
    free(own->checkpoints);
}

static bool own_epoch(const struct own *own, int epoch)
{
    for (size_t i = 0; i < own->block_count; i++)
        if (own->blocks[i]->epoch == epoch)
            return true;
    for (size_t i = 0; i < own->checkpoint_count; i++)
        if (own->checkpoints[i]->epoch == epoch)
            return true;
    return false;
}

static const char *block_name(char name[32], const struct metrics_block *block)
{
    if (block->phase == METRICS_EVAL)
        return "eval";
    snprintf(name, 32, "block%d", block->block);
    return name;
}

static void write_block(struct json *json, const struct metrics_block *block, const struct session *session)
{
    char name[32];
    json_open(json, block_name(name, block), '{');
    write_time(json, "start", session, block->start);
    write_time(json, "end", session, block->end);
    write_seconds(json, "duration", block->end - block->start);
    json_close(json);
}

static void write_checkpoint(struct json *json, const struct metrics_checkpoint *part,
                             const struct session *session)
{
    char name[32];
    double seconds = (double)(part->end - part->start) / 1e9;
    snprintf(name, sizeof name, "%s_ckpt%d", part->kind == METRICS_SAVE ? "save" : "load", part->block);
    json_open(json, name, '{');
    write_time(json, "start", session, part->start);
    write_time(json, "end", session, part->end);
    json_number(json, "duration", seconds);
    json_number(json, "throughput", session->checkpoint_bytes / GIB / seconds);
    json_close(json);
}

static void write_epoch(struct json *json, const struct own *own, const struct metrics_row *row, int epoch,
                        const struct session *session)
{
    char name[32];
    snprintf(name, sizeof name, "%d", epoch + 1);
    json_open(json, name, '{');
    write_time(json, "start", session, row->start);
    for (size_t i = 0; i < own->block_count; i++)
        if (own->blocks[i]->epoch == epoch && own->blocks[i]->phase == METRICS_TRAIN)
            write_block(json, own->blocks[i], session);
    for (size_t i = 0; i < own->checkpoint_count; i++)
        if (own->checkpoints[i]->epoch == epoch)
            write_checkpoint(json, own->checkpoints[i], session);
    write_time(json, "end", session, row->end);
    write_seconds(json, "duration", row->end - row->start);
    for (size_t i = 0; i < own->block_count; i++)
        if (own->blocks[i]->epoch == epoch && own->blocks[i]->phase == METRICS_EVAL)
            write_block(json, own->blocks[i], session);
    json_close(json);
}

bool result_dlio_epochs(const struct session *session, int accelerator, struct text *out, struct error *err)
{
    const struct metrics *metrics = &session->run.metrics;
    struct json json = {.out = out};
    struct own own;
    if (!own_init(&own, metrics, accelerator, err))
        return false;
    json_open(&json, NULL, '{');
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++)
        if (own_epoch(&own, epoch))
            write_epoch(&json, &own, metrics_row(metrics, accelerator, epoch, METRICS_TRAIN), epoch, session);
    json_close(&json);
    own_release(&own);
    return !out->failed || error_memory(err);
}

enum list { LIST_LOAD, LIST_PROCESS, LIST_COMPUTE };

/* One block's list; `before` steps of this accelerator came before it. */
static bool write_steps(struct json *json, const char *key, enum list list, const struct result_steps *steps,
                        const struct metrics_block *block, int64_t before, struct error *err)
{
    struct result_step some[RESULT_STEPS_CHUNK];
    json_open(json, key, '[');
    for (int64_t done = 0, count; done < block->steps; done += count) {
        count = block->steps - done < RESULT_STEPS_CHUNK ? block->steps - done : RESULT_STEPS_CHUNK;
        if (!result_steps_read(steps, block->accelerator, before + done, count, some, err))
            return false;
        for (int64_t i = 0; i < count; i++) {
            const struct result_step *step = &some[i];
            int64_t value = list == LIST_LOAD      ? step->load
                            : list == LIST_PROCESS ? step->process
                                                   : step->compute;
            json_number(json, NULL, (double)value / 1e9);
        }
    }
    json_close(json);
    return true;
}

static bool write_lists(struct json *json, const char *key, enum list list, const struct result_steps *steps,
                        const struct own *own, int epoch, struct error *err)
{
    int64_t before = 0;
    json_open(json, key, '{');
    for (size_t i = 0; i < own->block_count; before += own->blocks[i++]->steps) {
        char name[32];
        if (own->blocks[i]->epoch == epoch &&
            !write_steps(json, block_name(name, own->blocks[i]), list, steps, own->blocks[i], before, err))
            return false;
    }
    json_close(json);
    return true;
}

static void write_values(struct json *json, const char *key, const struct own *own, int epoch, bool au)
{
    json_open(json, key, '{');
    for (size_t i = 0; i < own->block_count; i++) {
        char name[32];
        const struct metrics_block *block = own->blocks[i];
        if (block->epoch == epoch)
            json_number(json, block_name(name, block), au ? block->dlio_au : block->dlio_throughput);
    }
    json_close(json);
}

static bool write_output(struct json *json, const struct own *own, const struct session *session,
                         int accelerator, struct error *err)
{
    const struct metrics *metrics = &session->run.metrics;
    const struct result_steps *steps = &session->each;
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++) {
        char name[32];
        if (!own_epoch(own, epoch))
            continue;
        const struct metrics_row *row = metrics_row(metrics, accelerator, epoch, METRICS_TRAIN);
        snprintf(name, sizeof name, "%d", epoch + 1);
        json_open(json, name, '{');
        if (!write_lists(json, "load", LIST_LOAD, steps, own, epoch, err) ||
            !write_lists(json, "proc", LIST_PROCESS, steps, own, epoch, err))
            return false;
        write_values(json, "throughput", own, epoch, false);
        write_values(json, "au", own, epoch, true);
        if (!write_lists(json, "compute", LIST_COMPUTE, steps, own, epoch, err))
            return false;
        write_time(json, "start", session, row->start);
        write_time(json, "end", session, row->end);
        json_close(json);
    }
    return true;
}

bool result_dlio_output(const struct session *session, int accelerator, struct text *out, struct error *err)
{
    struct json json = {.out = out};
    struct own own;
    int host = accelerator / per_host(session);
    if (!own_init(&own, &session->run.metrics, accelerator, err))
        return false;
    host = host < session->host_count ? host : session->host_count - 1;
    json_open(&json, NULL, '{');
    json_number(&json, "host_memory_GB", (double)session->hosts[host].memory / GIB);
    json_integer(&json, "host_cpu_count", session->hosts[host].cpus);
    write_processor(&json, session->cpuinfo);
    json_integer(&json, "potential_caching", may_cache(session, host));
    write_proc(&json, "host_cpuinfo", session->cpuinfo);
    write_proc(&json, "host_meminfo", session->meminfo);
    bool ok = write_output(&json, &own, session, accelerator, err);
    json_string(&json, "hostname", own_host(session));
    json_close(&json);
    own_release(&own);
    return ok && (!out->failed || error_memory(err));
}
