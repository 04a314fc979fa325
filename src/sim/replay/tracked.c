#include "sim/replay/tracked.h"

#include "core/vector.h"

#include <string.h>
#include <strings.h>

bool kineto_name(struct kineto *kineto, struct error *err)
{
    const char *what = kineto_value(kineto, FIELD_NAME);
    bool process = strcmp(what, "process_name") == 0, thread = strcmp(what, "thread_name") == 0;
    return (!process && !thread) || replay_tracks_name(&kineto->tracks, kineto_value(kineto, FIELD_PROCESS),
                                                       thread ? kineto_value(kineto, FIELD_THREAD) : NULL,
                                                       kineto_value(kineto, FIELD_LABEL), err);
}

bool kineto_is_operation(const char *category)
{
    return strcasecmp(category, "cpu_op") == 0 || strcasecmp(category, "operator") == 0;
}

/* Exchanges of gloo and MPI are annotations, on threads of their own. */
static bool is_exchange(const char *name)
{
    return text_starts_with(name, "gloo:") || text_starts_with(name, "mpi:") ||
           text_starts_with(name, "ucc:");
}

/* Is a span of a host an activity, where no device has any? */
static bool is_operation(const struct kineto *kineto)
{
    if (is_exchange(kineto_value(kineto, FIELD_NAME)))
        return true;
    return kineto->operations > 0 ? kineto->given[FIELD_OPERATION]
           : kineto->cpu_ops > 0  ? kineto_is_operation(kineto_value(kineto, FIELD_CATEGORY))
                                  : true;
}

static bool add_span(struct kineto *kineto, enum replay_track_kind kind, int64_t device, uint32_t name,
                     int64_t start, int64_t duration, struct error *err)
{
    const char *thread = kineto_value(kineto, FIELD_THREAD);
    struct replay_activity activity = {
        .start = start,
        .duration = duration,
        .place = (uint32_t)kineto->replay->events,
        .name = name,
        .call = -1,
        .category = REPLAY_KERNEL,
        .correlation = kind == TRACK_STREAM ? kineto_whole(kineto, FIELD_XLA_CORRELATION, 0) : 0,
    };
    int32_t stream;
    uint32_t id = replay_tracks_id(&kineto->tracks, kineto_value(kineto, FIELD_PROCESS), thread, err);
    if (id == 0 ||
        !replay_add_stream(kineto->replay, device, kineto_whole(kineto, FIELD_THREAD, id), &stream, err))
        return false;
    activity.stream = (unsigned)stream;
    return replay_add_activity(kineto->replay, &activity, err);
}

/* Takes a launch of the host, as XLA's profiler writes it. */
static bool take_launch(struct kineto *kineto, struct error *err)
{
    struct replay_call call = {.place = (uint32_t)kineto->replay->events,
                               .correlation = kineto_whole(kineto, FIELD_XLA_CORRELATION, 0)};
    return call.correlation == 0 ||
           !replay_name_call(kineto->replay, kineto_value(kineto, FIELD_NAME), &call) ||
           (kineto_span(kineto, &call.begin, &call.duration, err) &&
            kineto_thread(kineto, &call.thread, err) && replay_add_call(kineto->replay, &call, err));
}

/* Begins or ends a span; an end without a beginning, which the recording may have missed, is none. */
static bool take_pair(struct kineto *kineto, bool begin, enum replay_track_kind kind, int64_t device,
                      uint32_t name, struct error *err)
{
    struct open_span span = {.name = name};
    span.track = replay_tracks_id(&kineto->tracks, kineto_value(kineto, FIELD_PROCESS),
                                  kineto_value(kineto, FIELD_THREAD), err);
    if (span.track == 0 || !kineto_time(kineto, FIELD_START, &span.start, err))
        return false;
    if (begin && kineto->open_count == MAX_OPEN)
        return kineto_error(kineto, "more than 4096 spans are open at once", err);
    if (begin)
        return VECTOR_ADD(kineto->open, kineto->open_count, kineto->open_capacity, span) || error_memory(err);
    size_t at = kineto->open_count;
    while (at > 0 && kineto->open[at - 1].track != span.track)
        at--;
    if (at-- == 0)
        return true;
    const struct open_span begun = kineto->open[at];
    memmove(kineto->open + at, kineto->open + at + 1, (--kineto->open_count - at) * sizeof *kineto->open);
    if (span.start < begun.start)
        return kineto_error(kineto, "time goes backwards: a span ends before it begins", err);
    return begun.name == 0 ||
           add_span(kineto, kind, device, begun.name, begun.start, span.start - begun.start, err);
}

bool kineto_tracked(struct kineto *kineto, const char *phase, struct error *err)
{
    enum replay_track_kind kind;
    int64_t device, start, duration;
    uint32_t id = 0;
    const char *name = kineto_value(kineto, FIELD_NAME),
               *category = kineto_value(kineto, FIELD_OPERATION_KIND);
    bool whole = strcmp(phase, "X") == 0, begin = strcmp(phase, "B") == 0, end = strcmp(phase, "E") == 0;
    if (!whole && !begin && !end)
        return true;
    if (!replay_tracks_find(&kineto->tracks, kineto_value(kineto, FIELD_PROCESS),
                            kineto_value(kineto, FIELD_THREAD), &kind, &device, err))
        return false;
    if (kind == TRACK_HOST && !kineto->replay->host_only)
        return !whole || take_launch(kineto, err);
    if (kind == TRACK_HOST && whole && text_starts_with(name, "ProfilerStep#"))
        return kineto->cpu_ops > 0 || kineto_mark(kineto, false, err); /* else it has been taken */
    if (kind == TRACK_HOST && !end && !is_operation(kineto))
        name = "";
    if (!end && !replay_add_operation(kineto->replay, name, strlen(name), category, strlen(category),
                                      kind == TRACK_TPU, &id, err))
        return false;
    if (!whole)
        return take_pair(kineto, begin, kind, device, id, err);
    return id == 0 || (kineto_span(kineto, &start, &duration, err) &&
                       add_span(kineto, kind, device, id, start, duration, err));
}
