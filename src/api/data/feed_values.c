/* What callers can ask of a run of rh_feed. */
#include "api/data/feed.h"
#include "feed/result/steps.h"

#include <stdlib.h>

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
}

void feed_add_max(const struct session_max *max, int processes, rh_handle *handle)
{
    api_add_flag(handle, "bounded", max->bounded);
    api_add_count(handle, "unjudged_at", (int64_t)max->unjudged_at * processes);
    api_add_string(handle, "unjudged", max->unjudged_at > 0 ? max->unjudged : NULL);
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
