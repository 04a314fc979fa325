#include "feed/result/result.h"

#include "core/file_output.h"

#include <inttypes.h>
#include <unistd.h>

struct timeline {
    FILE *out;
    int64_t realtime;
    int accelerator;
    int64_t number; /* of the span */
};

/* Microseconds since 1970, as DFTracer has them; the fraction is ours. */
static void write_span(struct timeline *timeline, const char *category, const char *name, int64_t start,
                       int64_t length, const char *arguments)
{
    int64_t ts = start + timeline->realtime;
    fprintf(timeline->out,
            "{\"id\":%" PRId64 ",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%ld,\"tid\":%d,\"ts\":%" PRId64
            ".%03" PRId64 ",\"dur\":%" PRId64 ".%03" PRId64 ",\"ph\":\"X\",\"args\":{%s}}\n",
            ++timeline->number, name, category, (long)getpid(), timeline->accelerator, ts / 1000, ts % 1000,
            length / 1000, length % 1000, arguments);
}

/* The parts of a step follow each other; those that took no time are left out. */
static void write_step(struct timeline *timeline, const struct result_step *step, int64_t number)
{
    const struct {
        const char *category, *name;
        int64_t length;
    } parts[] = {
        {"dataloader", "fetch", step->load},
        {"device", "copy", step->process - step->load - step->compute},
        {"compute", "step", step->compute},
        {"comm", "barrier", step->barrier},
    };
    char arguments[32];
    int64_t at = step->start;
    snprintf(arguments, sizeof arguments, "\"step\":%" PRId64, number);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].length > 0)
            write_span(timeline, parts[i].category, parts[i].name, at, parts[i].length, arguments);
        at += parts[i].length;
    }
}

static bool write_steps(struct timeline *timeline, const struct result_steps *steps, struct error *err)
{
    struct result_step some[RESULT_STEPS_CHUNK];
    int64_t all = result_steps_count(steps, timeline->accelerator);
    for (int64_t done = 0; done < all; done += RESULT_STEPS_CHUNK) {
        int64_t count = all - done < RESULT_STEPS_CHUNK ? all - done : RESULT_STEPS_CHUNK;
        if (!result_steps_read(steps, timeline->accelerator, done, count, some, err))
            return false;
        for (int64_t i = 0; i < count; i++)
            write_step(timeline, &some[i], done + i + 1);
    }
    return true;
}

static void write_checkpoints(struct timeline *timeline, const struct metrics *metrics)
{
    for (size_t i = 0; i < metrics->checkpoint_count; i++) {
        const struct metrics_checkpoint *checkpoint = &metrics->checkpoints[i];
        char arguments[32];
        if (checkpoint->rank != timeline->accelerator)
            continue;
        snprintf(arguments, sizeof arguments, "\"size\":%" PRId64, checkpoint->bytes);
        write_span(timeline, "checkpoint", checkpoint->kind == METRICS_SAVE ? "save" : "load",
                   checkpoint->start, checkpoint->end - checkpoint->start, arguments);
    }
}

static void write_phase(struct timeline *timeline, const char *name, int64_t start, int64_t end)
{
    write_span(timeline, "phase", name, start, end - start, "\"source\":\"feed\"");
}

/* INIT is what comes before the first block of steps or checkpoint. A restore belongs to no phase. */
static void write_phases(struct timeline *timeline, const struct metrics *metrics, int64_t opened)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < metrics->block_count; i++) {
        const struct metrics_block *block = &metrics->blocks[i];
        if (block->accelerator != timeline->accelerator)
            continue;
        first = block->start < first ? block->start : first;
        write_phase(timeline, block->phase == METRICS_EVAL ? "EVAL" : "TRAINING", block->start, block->end);
    }
    for (size_t i = 0; i < metrics->checkpoint_count; i++) {
        const struct metrics_checkpoint *checkpoint = &metrics->checkpoints[i];
        if (checkpoint->rank != timeline->accelerator)
            continue;
        first = checkpoint->start < first ? checkpoint->start : first;
        if (checkpoint->kind == METRICS_SAVE)
            write_phase(timeline, "CHECKPOINT", checkpoint->start, checkpoint->end);
    }
    if (first < INT64_MAX && first > opened)
        write_phase(timeline, "INIT", opened, first);
}

static bool save_one(const struct session *session, const char *folder, int accelerator, struct error *err)
{
    struct file_output file;
    struct timeline timeline = {.realtime = session->run.realtime, .accelerator = accelerator};
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%d_timeline.pfw", folder, accelerator) >= (int)sizeof path)
        return error_set(err, ERROR_USAGE, "%s: the name is too long", folder);
    if (!file_output_open(&file, path, err))
        return false;
    timeline.out = file.out;
    fputs("[\n", file.out);
    bool done = write_steps(&timeline, &session->each, err);
    write_checkpoints(&timeline, &session->run.metrics);
    if (accelerator == 0)
        write_phases(&timeline, &session->run.metrics, session->opened);
    return file_output_close(&file, done, err);
}

bool result_timeline(const struct session *session, const char *folder, struct error *err)
{
    const struct metrics *metrics = &session->run.metrics;
    for (int a = metrics->first; a < metrics->first + metrics->count; a++)
        if (!save_one(session, folder, a, err))
            return false;
    return true;
}
