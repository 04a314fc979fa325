#include "feed/result/dlio.h"

#include "core/file_output.h"
#include "core/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GIB (1024.0 * 1024 * 1024)

void result_time(char text[40], int64_t realtime, const char *zone)
{
    time_t seconds = (time_t)(realtime / 1000000000);
    struct tm parts;
    char day[24] = "";
    if (gmtime_r(&seconds, &parts))
        strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, 40, "%s.%06d%s", day, (int)(realtime % 1000000000 / 1000), zone);
}

bool result_save(const char *folder, const char *name, struct text *text, struct error *err)
{
    char *path = NULL;
    bool ok = !text->failed && asprintf(&path, "%s/%s", folder, name) >= 0;
    ok = ok ? file_write(path, text->data, text->length, err) : error_memory(err);
    free(path);
    text_release(text);
    return ok;
}

static void write_time(struct json *json, const char *key, const struct result_dlio *facts, int64_t at)
{
    char text[40];
    result_time(text, at + facts->realtime, "");
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

static int per_host(const struct metrics *metrics, const struct result_dlio *facts)
{
    int accelerators = metrics->options.accelerators;
    return accelerators > facts->hosts ? accelerators / facts->hosts : 1;
}

/* As DLIO reckons, in whole samples of the mean length. */
static double data_per_host(const struct metrics *metrics, const struct result_dlio *facts)
{
    int64_t samples = per_host(metrics, facts) * facts->samples_per_file * facts->files_train /
                      metrics->options.accelerators;
    return (double)samples * facts->record_length / GIB;
}

static bool may_cache(const struct metrics *metrics, const struct result_dlio *facts, int host)
{
    return (double)facts->host_memory[host] / GIB > data_per_host(metrics, facts);
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

static bool write_metric(struct json *json, const struct metrics *metrics, const struct result_dlio *facts,
                         size_t *epochs, struct error *err)
{
    size_t evaluations;
    bool ok = true;
    *epochs = 0;
    json_open(json, "metric", '{');
    if (facts->save)
        ok = write_checkpoints(json, metrics, METRICS_SAVE, err);
    if (ok && facts->load)
        ok = write_checkpoints(json, metrics, METRICS_LOAD, err);
    if (facts->save || facts->load)
        json_number(json, "checkpoint_size_GB", (double)facts->checkpoint_bytes / GIB);
    if (ok && facts->train)
        ok = write_phase(json, metrics, METRICS_TRAIN, epochs, err);
    if (ok && facts->eval)
        ok = write_phase(json, metrics, METRICS_EVAL, &evaluations, err);
    json_close(json);
    return ok;
}

static void write_hosts(struct json *json, const struct metrics *metrics, const struct result_dlio *facts)
{
    json_open(json, "host_cpu_count", '[');
    for (int host = 0; host < facts->hosts; host++)
        json_integer(json, NULL, facts->host_cpus[host]);
    json_close(json);
    json_string(json, "host_processor_name", facts->processor ? facts->processor : "");
    json_open(json, "potential_caching", '[');
    for (int host = 0; host < facts->hosts; host++)
        json_integer(json, NULL, may_cache(metrics, facts, host));
    json_close(json);
    write_proc(json, "host_cpuinfo", facts->cpuinfo);
    write_proc(json, "host_meminfo", facts->meminfo);
    json_open(json, "host_memory_GB", '[');
    for (int host = 0; host < facts->hosts; host++)
        json_number(json, NULL, (double)facts->host_memory[host] / GIB);
    json_close(json);
}

bool result_dlio_summary(struct text *out, const struct metrics *metrics, const struct result_dlio *facts,
                         struct error *err)
{
    struct json json = {.out = out};
    size_t epochs;
    json_open(&json, NULL, '{');
    write_time(&json, "start", facts, facts->start);
    json_integer(&json, "num_accelerators", metrics->options.accelerators);
    json_integer(&json, "num_hosts", facts->hosts);
    json_string(&json, "hostname", facts->hostname);
    if (!write_metric(&json, metrics, facts, &epochs, err))
        return false;
    json_integer(&json, "num_files_train", facts->files_train);
    json_integer(&json, "num_files_eval", facts->files_eval);
    json_integer(&json, "num_samples_per_file", facts->samples_per_file);
    write_hosts(&json, metrics, facts);
    json_number(&json, "data_size_per_host_GB", data_per_host(metrics, facts));
    json_integer(&json, "epochs", (int64_t)epochs);
    write_time(&json, "end", facts, facts->end);
    json_close(&json);
    return !out->failed || error_memory(err);
}

/* What one accelerator did, by epoch. */
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

static void write_block(struct json *json, const struct metrics_block *block, const struct result_dlio *facts)
{
    char name[32];
    json_open(json, block_name(name, block), '{');
    write_time(json, "start", facts, block->start);
    write_time(json, "end", facts, block->end);
    write_seconds(json, "duration", block->end - block->start);
    json_close(json);
}

static void write_checkpoint(struct json *json, const struct metrics_checkpoint *part,
                             const struct result_dlio *facts)
{
    char name[32];
    double seconds = (double)(part->end - part->start) / 1e9;
    snprintf(name, sizeof name, "%s_ckpt%d", part->kind == METRICS_SAVE ? "save" : "load", part->block);
    json_open(json, name, '{');
    write_time(json, "start", facts, part->start);
    write_time(json, "end", facts, part->end);
    json_number(json, "duration", seconds);
    json_number(json, "throughput", (double)facts->checkpoint_bytes / GIB / seconds);
    json_close(json);
}

static void write_epoch(struct json *json, const struct own *own, const struct metrics_row *row, int epoch,
                        const struct result_dlio *facts)
{
    char name[32];
    snprintf(name, sizeof name, "%d", epoch + 1);
    json_open(json, name, '{');
    write_time(json, "start", facts, row->start);
    for (size_t i = 0; i < own->block_count; i++)
        if (own->blocks[i]->epoch == epoch && own->blocks[i]->phase == METRICS_TRAIN)
            write_block(json, own->blocks[i], facts);
    for (size_t i = 0; i < own->checkpoint_count; i++)
        if (own->checkpoints[i]->epoch == epoch)
            write_checkpoint(json, own->checkpoints[i], facts);
    write_time(json, "end", facts, row->end);
    write_seconds(json, "duration", row->end - row->start);
    for (size_t i = 0; i < own->block_count; i++)
        if (own->blocks[i]->epoch == epoch && own->blocks[i]->phase == METRICS_EVAL)
            write_block(json, own->blocks[i], facts);
    json_close(json);
}

bool result_dlio_epochs(struct text *out, const struct metrics *metrics, int accelerator,
                        const struct result_dlio *facts, struct error *err)
{
    struct json json = {.out = out};
    struct own own;
    if (!own_init(&own, metrics, accelerator, err))
        return false;
    json_open(&json, NULL, '{');
    for (int epoch = 0; epoch < metrics->options.epochs; epoch++)
        if (own_epoch(&own, epoch))
            write_epoch(&json, &own, metrics_row(metrics, accelerator, epoch, METRICS_TRAIN), epoch, facts);
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

static bool write_output(struct json *json, const struct own *own, const struct metrics *metrics,
                         const struct result_steps *steps, int accelerator, const struct result_dlio *facts,
                         struct error *err)
{
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
        write_time(json, "start", facts, row->start);
        write_time(json, "end", facts, row->end);
        json_close(json);
    }
    return true;
}

bool result_dlio_output(struct text *out, const struct metrics *metrics, const struct result_steps *steps,
                        int accelerator, const struct result_dlio *facts, struct error *err)
{
    struct json json = {.out = out};
    struct own own;
    int host = accelerator / per_host(metrics, facts);
    if (!own_init(&own, metrics, accelerator, err))
        return false;
    host = host < facts->hosts ? host : facts->hosts - 1;
    json_open(&json, NULL, '{');
    json_number(&json, "host_memory_GB", (double)facts->host_memory[host] / GIB);
    json_integer(&json, "host_cpu_count", facts->host_cpus[host]);
    json_string(&json, "host_processor_name", facts->processor ? facts->processor : "");
    json_integer(&json, "potential_caching", may_cache(metrics, facts, host));
    write_proc(&json, "host_cpuinfo", facts->cpuinfo);
    write_proc(&json, "host_meminfo", facts->meminfo);
    bool ok = write_output(&json, &own, metrics, steps, accelerator, facts, err);
    json_string(&json, "hostname", facts->hostname);
    json_close(&json);
    own_release(&own);
    return ok && (!out->failed || error_memory(err));
}

bool result_dlio_save_summary(const char *folder, const struct metrics *metrics,
                              const struct result_dlio *facts, struct error *err)
{
    struct text text = {0};
    if (result_dlio_summary(&text, metrics, facts, err))
        return result_save(folder, "summary.json", &text, err);
    text_release(&text);
    return false;
}

static bool save_rank(const char *folder, const struct metrics *metrics, const struct result_steps *steps,
                      int accelerator, const struct result_dlio *facts, struct error *err)
{
    struct text text = {0};
    char name[48];
    snprintf(name, sizeof name, "%d_per_epoch_stats.json", accelerator);
    bool ok =
        result_dlio_epochs(&text, metrics, accelerator, facts, err) && result_save(folder, name, &text, err);
    if (ok && steps) {
        snprintf(name, sizeof name, "%d_output.json", accelerator);
        ok = result_dlio_output(&text, metrics, steps, accelerator, facts, err) &&
             result_save(folder, name, &text, err);
    }
    text_release(&text);
    return ok;
}

bool result_dlio_save_ranks(const char *folder, const struct metrics *metrics,
                            const struct result_steps *steps, const struct result_dlio *facts,
                            struct error *err)
{
    for (int a = metrics->first; a < metrics->first + metrics->count; a++)
        if (!save_rank(folder, metrics, steps, a, facts, err))
            return false;
    return true;
}
