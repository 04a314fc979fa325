/* What callers can ask of a run of rh_feed. */
#include "api/data/feed.h"
#include "core/fields.h"
#include "feed/result/steps.h"

#include <stdlib.h>

static const struct field session_fields[] = {
    FIELD_OUT(struct session, "complete", run.complete, FIELD_FLAG),
    FIELD_OUT(struct session, "epochs", run.epochs, FIELD_INT),
    FIELD_OUT(struct session, "device_read", device_read, FIELD_INT64),
    FIELD_OUT(struct session, "device_written", device_written, FIELD_INT64),
};

void feed_add_values(const struct session *session, rh_handle *handle)
{
    struct error why = {.text = ""};
    api_judge(handle, session_passed(session, &why), &why);
    API_VALUES(handle, session, session_fields);
}

/* ---- steps ---- */

struct kept_step {
    int accelerator;
    int64_t number; /* from 0, over epochs */
    struct result_step times;
};

#define OF_STEP(key, member, type) FIELD_OUT(struct kept_step, key, member, type)

static const struct field step_fields[] = {
    OF_STEP("accelerator", accelerator, FIELD_INT),    OF_STEP("number", number, FIELD_INT64),
    OF_STEP("start_ns", times.start, FIELD_INT64),     OF_STEP("load_ns", times.load, FIELD_INT64),
    OF_STEP("process_ns", times.process, FIELD_INT64), OF_STEP("compute_ns", times.compute, FIELD_INT64),
    OF_STEP("barrier_ns", times.barrier, FIELD_INT64),
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
    API_FIELDS(handle, "steps", steps, count, step_fields);
    return true;
}
