/* Warnings about incomplete traces. */
#include "core/unit.h"
#include "trace/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *after(struct unit_texts *texts, int64_t first_ns, int64_t time_ns)
{
    return unit_text(texts, trace_seconds(first_ns, time_ns), UNIT_TIME);
}

struct trace_shortfall trace_shortfall_of(const struct trace_reader *reader)
{
    int64_t first = 0, last = 0;
    struct trace_shortfall shortfall = {.lost = trace_lost(reader), .cut_ns = TRACE_NONE};
    if (!trace_unfinished(reader))
        return shortfall;
    trace_span_when_short(reader, &first, &last); /* nothing was recorded: cut off at the beginning */
    shortfall.cut_ns = last - first;
    return shortfall;
}

double trace_cut_seconds(struct trace_shortfall shortfall)
{
    return shortfall.cut_ns == TRACE_NONE ? NAN : trace_seconds(0, shortfall.cut_ns);
}

void trace_shortfall_add(struct text *out, struct trace_shortfall shortfall)
{
    struct unit_texts texts = {0};
    bool cut = shortfall.cut_ns != TRACE_NONE;
    if (cut)
        text_format(out, "cut off after %s", after(&texts, 0, shortfall.cut_ns));
    if (shortfall.lost > 0)
        text_format(out, "%s%" PRId64 " events were lost", cut ? ", " : "", shortfall.lost);
}

void trace_add_warnings(const struct trace_reader *reader, struct text *out)
{
    struct unit_texts texts = {0};
    int count;
    int64_t first = 0, last = 0;
    bool spans = trace_span_when_short(reader, &first, &last);
    const struct trace_loss *losses = trace_losses(reader, &count);
    if (trace_unfinished(reader))
        text_format(out, "unfinished: the recording ends %s after its beginning\n",
                    after(&texts, first, last));
    for (int i = 0; i < count; i++) {
        bool timed = spans && losses[i].from_ns != TRACE_NONE && losses[i].to_ns != TRACE_NONE;
        /* at once: a line is there with its end, or not at all */
        text_format(out, "lost: %" PRId64 " %s events%s%s%s%s\n", losses[i].count, losses[i].class,
                    timed ? ", between " : "", timed ? after(&texts, first, losses[i].from_ns) : "",
                    timed ? " and " : "", timed ? after(&texts, first, losses[i].to_ns) : "");
    }
    const char *at = trace_meta(reader, "not_followed"); /* a line for each program whose work others do */
    for (; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        text_format(out, "missing: %.*s\n", (int)strcspn(at, "\n"), at);
}
