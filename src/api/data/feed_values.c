/* What callers can ask of a run of rh_feed. */
#include "api/data/feed.h"
#include "feed/result/steps.h"

#include <stdlib.h>

/* Adds a number under a name of two parts, which are constants. */
#define ADD(name, value) api_add_number(handle, (training) ? "training." name : "evaluation." name, (value))

static void add_phase(const struct session *session, enum metrics_phase phase, rh_handle *handle)
{
    const struct metrics *whole = &session->run.whole;
    struct metrics_figures figures;
    struct error none;
    bool training = phase == METRICS_TRAIN;
    if ((training ? session->run.train.steps : session->run.eval.steps) == 0 ||
        !metrics_figures(whole, phase, METRICS_RUN, &figures, &none))
        return;
    struct metrics_percentiles wait = metrics_percentiles(&whole->wait[phase]);
    ADD("au", figures.au);
    ADD("au_without_barrier", figures.au_without_barrier);
    ADD("samples_per_second", figures.samples_per_second);
    ADD("bytes_per_second", figures.bytes_per_second);
    ADD("steps", (double)figures.steps);
    ADD("compute", figures.compute);
    ADD("load", figures.load);
    ADD("barrier", figures.barrier);
    ADD("late", figures.late);
    ADD("wait_p50", wait.p50);
    ADD("wait_p99", wait.p99);
    ADD("wait_max", wait.max);
}

void feed_add_values(const struct session *session, rh_handle *handle)
{
    struct error why = {.text = ""};
    bool passed = session_passed(session, &why);
    api_add_flag(handle, "passed", passed);
    api_add_string(handle, "reason", passed ? NULL : why.text);
    api_add_flag(handle, "complete", session->run.complete);
    api_add_count(handle, "epochs", session->run.epochs);
    api_add_count(handle, "device_read", session->device_read);
    api_add_count(handle, "device_written", session->device_written);
    add_phase(session, METRICS_TRAIN, handle);
    add_phase(session, METRICS_EVAL, handle);
}

void feed_add_max(const struct session_max *max, double target, int processes, rh_handle *handle)
{
    struct session_probe *probes =
        ARENA_ARRAY(&handle->arena, (size_t)max->probe_count + 1, struct session_probe);
    handle->failed = handle->failed || !probes;
    for (int i = 0; probes && i < max->probe_count; i++) {
        probes[i] = max->probes[i];
        probes[i].accelerators *= processes;
    }
    api_add_flag(handle, "bounded", max->bounded);
    api_add_count(handle, "unjudged_at", (int64_t)max->unjudged_at * processes);
    api_add_string(handle, "unjudged", max->unjudged_at > 0 ? max->unjudged : NULL);
    api_add_number(handle, "target", target);
    API_COLUMN(handle, "probes.accelerators", 'i', probes, max->probe_count, accelerators);
    API_COLUMN(handle, "probes.au", 'd', probes, max->probe_count, au);
    API_COLUMN(handle, "probes.error", 'd', probes, max->probe_count, error);
    API_COLUMN(handle, "probes.met", '?', probes, max->probe_count, met);
}

/* ---- steps ---- */

struct kept_step {
    int accelerator;
    int64_t number; /* from 0, over epochs */
    struct result_step times;
};

/* Reads the steps of an accelerator, a chunk at a time, behind those that are there. */
static bool read_steps(const struct result_steps *each, int accelerator, struct kept_step *to,
                       struct error *err)
{
    struct result_step chunk[RESULT_STEPS_CHUNK];
    int64_t count = result_steps_count(each, accelerator);
    for (int64_t at = 0; at < count; at += RESULT_STEPS_CHUNK) {
        int64_t n = count - at < RESULT_STEPS_CHUNK ? count - at : RESULT_STEPS_CHUNK;
        if (!result_steps_read(each, accelerator, at, n, chunk, err))
            return false;
        for (int64_t i = 0; i < n; i++)
            to[at + i] = (struct kept_step){accelerator, at + i, chunk[i]};
    }
    return true;
}

bool feed_keep_steps(struct session *session, struct api_report *report, struct error *err)
{
    const struct result_steps *each = &session->each;
    rh_handle *handle = &report->base;
    int64_t count = 0, at = 0;
    for (int i = 0; i < each->count; i++)
        count += result_steps_count(each, each->first + i);
    struct kept_step *steps = api_report_keep(report, (size_t)(count + 1) * sizeof *steps, free, err);
    if (!steps)
        return false;
    for (int i = 0; i < each->count; at += result_steps_count(each, each->first + i), i++)
        if (!read_steps(each, each->first + i, steps + at, err))
            return false;
    API_COLUMN(handle, "steps.accelerator", 'i', steps, count, accelerator);
    API_COLUMN(handle, "steps.number", 'q', steps, count, number);
    API_COLUMN(handle, "steps.start_ns", 'q', steps, count, times.start);
    API_COLUMN(handle, "steps.load_ns", 'q', steps, count, times.load);
    API_COLUMN(handle, "steps.process_ns", 'q', steps, count, times.process);
    API_COLUMN(handle, "steps.compute_ns", 'q', steps, count, times.compute);
    API_COLUMN(handle, "steps.barrier_ns", 'q', steps, count, times.barrier);
    return true;
}
