/* The present event of Kineto's JSON: its fields, and spans that the program named. */
#include "sim/replay/kineto_event.h"

#include "core/text.h"

#include <stdio.h>
#include <string.h>

const struct kineto_field kineto_fields[FIELD_COUNT] = {
    [FIELD_PHASE] = {"ph", false},
    [FIELD_CATEGORY] = {"cat", false},
    [FIELD_NAME] = {"name", false},
    [FIELD_PROCESS] = {"pid", false},
    [FIELD_THREAD] = {"tid", false},
    [FIELD_START] = {"ts", false},
    [FIELD_DURATION] = {"dur", false},
    [FIELD_STREAM] = {"stream", true},
    [FIELD_DEVICE] = {"device", true},
    [FIELD_CORRELATION] = {"correlation", true},
    [FIELD_COLLECTIVE] = {"Collective name", true},
    [FIELD_ELEMENTS] = {"In msg nelems", true},
    [FIELD_OUT_ELEMENTS] = {"Out msg nelems", true},
    [FIELD_DTYPE] = {"dtype", true},
    [FIELD_GROUP] = {"Process Group Name", true},
    [FIELD_GROUP_SIZE] = {"Group size", true},
    [FIELD_GROUP_RANKS] = {"Process Group Ranks", true},
    [FIELD_DESCRIPTION] = {"Process Group Description", true},
    [FIELD_SEQUENCE] = {"Seq", true},
    [FIELD_SOURCE] = {"Src Rank", true},
    [FIELD_DESTINATION] = {"Dst Rank", true},
    [FIELD_AWAITED] = {"wait_on_stream", true},
    [FIELD_RECORDED_BY] = {"wait_on_cuda_event_record_corr_id", true},
    [FIELD_ID] = {"id", false},
    [FIELD_LABEL] = {"name", true},
    [FIELD_OPERATION] = {"hlo_op", true},
    [FIELD_OPERATION_KIND] = {"hlo_category", true},
    [FIELD_XLA_CORRELATION] = {"correlation_id", true},
    [FIELD_DIMS] = {"Input Dims", true},
    [FIELD_TYPES] = {"Input type", true},
};

bool kineto_error(const struct kineto *kineto, const char *problem, struct error *err)
{
    return json_stream_error(&kineto->json, err, "traceEvents[%zu]: %s", kineto->replay->events, problem);
}

const char *kineto_value(const struct kineto *kineto, enum field field)
{
    const char *text = kineto->given[field] ? kineto->values[field].data : NULL;
    return text ? text : "";
}

/* A whole number, which some versions write as a text; `missing` where there is none. */
int64_t kineto_whole(const struct kineto *kineto, enum field field, int64_t missing)
{
    int64_t value;
    return text_whole(kineto_value(kineto, field), "", &value) ? value : missing;
}

bool kineto_time(const struct kineto *kineto, enum field field, int64_t *ns, struct error *err)
{
    char problem[160];
    const char *text = kineto_value(kineto, field);
    if (text_microseconds(text, ns))
        return true;
    snprintf(problem, sizeof problem, "'%s' has to be microseconds, found '%.40s'", kineto_fields[field].key,
             text);
    return kineto_error(kineto, problem, err);
}

bool kineto_span(const struct kineto *kineto, int64_t *start, int64_t *duration, struct error *err)
{
    if (!kineto_time(kineto, FIELD_START, start, err) || !kineto_time(kineto, FIELD_DURATION, duration, err))
        return false;
    return *duration >= 0 || kineto_error(kineto, "time goes backwards: 'dur' is negative", err);
}

bool kineto_text(struct kineto *kineto, enum field field, uint32_t *id, struct error *err)
{
    const char *text = kineto_value(kineto, field);
    return replay_add_text(kineto->replay, text, strlen(text), id, err);
}

bool kineto_thread(struct kineto *kineto, int32_t *thread, struct error *err)
{
    uint32_t process, number;
    return kineto_text(kineto, FIELD_PROCESS, &process, err) &&
           kineto_text(kineto, FIELD_THREAD, &number, err) &&
           replay_add_thread(kineto->replay, process, number, thread, err);
}

bool kineto_mark(struct kineto *kineto, bool device, struct error *err)
{
    struct replay *replay = kineto->replay;
    struct replay_mark mark = {.thread = -1, .device = -1, .number = -1};
    if (!*kineto_value(kineto, FIELD_NAME) || replay->mark_count == REPLAY_MAX_MARKS)
        return true;
    if (device) {
        mark.device = kineto_whole(kineto, FIELD_DEVICE, kineto_whole(kineto, FIELD_PROCESS, 0));
        mark.number = kineto_whole(kineto, FIELD_STREAM, kineto_whole(kineto, FIELD_THREAD, 0));
    }
    return kineto_span(kineto, &mark.begin, &mark.duration, err) &&
           kineto_text(kineto, FIELD_NAME, &mark.name, err) &&
           kineto_text(kineto, FIELD_PROCESS, &mark.process, err) &&
           (device || kineto_thread(kineto, &mark.thread, err)) && replay_add_mark(replay, &mark, err);
}
