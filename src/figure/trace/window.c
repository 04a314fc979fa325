#include "figure/trace/window.h"

#include "core/text.h"
#include "core/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LENGTH (INT64_C(10) * 366 * 86400 * 1000000000) /* a clock jumped, if a run takes longer */
#define MAX_NAMES  16

double trace_window_seconds(const struct trace_window *window, int64_t time_ns)
{
    return trace_seconds(window->zero_ns, time_ns);
}

static bool find_run(struct trace_reader *reader, const char *path, int64_t *first_ns, int64_t *last_ns,
                     struct error *err)
{
    if (!trace_span_of_calls(reader, first_ns, last_ns, err) ||
        (*first_ns == TRACE_NONE && !trace_span(reader, first_ns, last_ns, err)))
        return false;
    if (*first_ns == TRACE_NONE)
        return error_set(err, ERROR_INPUT, "%s: the trace is empty", path);
    if (*last_ns < *first_ns || *last_ns - *first_ns > MAX_LENGTH)
        return error_set(err, ERROR_INPUT,
                         "%s: its times, from %" PRId64 " to %" PRId64
                         " ns, are not those of one run; did a clock jump?",
                         path, *first_ns, *last_ns);
    return true;
}

/* "INIT, TRAINING, EVAL": each once, as they come. */
static void list_phases(const struct trace_phase *phases, int count, struct text *out)
{
    int listed = 0;
    for (int i = 0; i < count && listed < MAX_NAMES; i++) {
        bool before = false;
        for (int j = 0; j < i && !before; j++)
            before = strcmp(phases[i].name, phases[j].name) == 0;
        if (!before)
            text_format(out, "%s%.40s", listed++ > 0 ? ", " : "", phases[i].name);
    }
}

static bool no_phase(const char *path, const char *asked, int64_t found, const struct trace_phase *phases,
                     int count, struct error *err)
{
    struct text names = {0};
    list_phases(phases, count, &names);
    if (found > 0)
        error_set(err, ERROR_INPUT, "%s: no phase '%s': the trace has %" PRId64 " of that name", path, asked,
                  found);
    else if (count == 0)
        error_set(err, ERROR_INPUT, "%s: no phase '%s': the trace has no phases", path, asked);
    else
        error_set(err, ERROR_INPUT, "%s: no phase '%s': the trace has %s", path, asked,
                  names.data ? names.data : "others");
    text_release(&names);
    return false;
}

/* "EVAL:3" */
static bool find_phase(const struct trace_reader *reader, const char *path, const char *asked,
                       const struct trace_phase **phase, struct error *err)
{
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    const char *colon = strrchr(asked, ':');
    int64_t number = 1, found = 0;
    size_t length = colon ? (size_t)(colon - asked) : strlen(asked);
    if (colon) {
        char *end;
        number = strtoll(colon + 1, &end, 10);
        if (end == colon + 1 || *end || number < 1)
            return error_set(err, ERROR_USAGE,
                             "--phase: expected NAME or NAME:N with a number from 1, found '%s'", asked);
    }
    for (int i = 0; i < count; i++)
        if (strlen(phases[i].name) == length && strncasecmp(phases[i].name, asked, length) == 0 &&
            ++found == number) {
            *phase = &phases[i];
            return true;
        }
    return no_phase(path, asked, found, phases, count, err);
}

static int64_t after(int64_t time_ns, double seconds)
{
    double at = (double)time_ns +
                seconds * 1e9; /* exact to less than a microsecond; but huge margins do not overflow */
    return at >= 9e18    ? INT64_MAX / 2
           : at <= -9e18 ? INT64_MIN / 2
                         : time_ns + (int64_t)llround(seconds * 1e9);
}

bool trace_window_find(struct trace_reader *reader, const char *path, const struct trace_zoom *zoom,
                       struct trace_window *window, struct error *err)
{
    int64_t first, last;
    if (!find_run(reader, path, &first, &last, err))
        return false;
    int64_t end = last < INT64_MAX ? last + 1 : last; /* the last moment belongs to the run */
    *window = (struct trace_window){first, first, end};
    if (zoom->phase) {
        const struct trace_phase *phase = NULL;
        if (!find_phase(reader, path, zoom->phase, &phase, err))
            return false;
        window->from_ns = after(phase->start_ns, -zoom->margin);
        window->to_ns = after(phase->end_ns, zoom->margin);
    } else if (zoom->first > 0)
        window->to_ns = after(first, zoom->first);
    else if (zoom->last > 0)
        window->from_ns = after(last, -zoom->last);
    else {
        window->from_ns = isnan(zoom->from) ? first : after(first, zoom->from);
        window->to_ns = isnan(zoom->to) ? end : after(first, zoom->to);
    }
    if (window->from_ns < first)
        window->from_ns = first;
    if (window->to_ns > end)
        window->to_ns = end;
    if (window->from_ns < window->to_ns)
        return true;
    char length[32];
    unit_format(length, sizeof length, trace_seconds(first, last), UNIT_TIME, 4);
    return error_set(err, ERROR_INPUT, "%s: nothing to draw in this window: the run takes %s", path, length);
}
