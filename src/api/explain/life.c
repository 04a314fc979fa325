/* What became of a job over its life. */
#include "api/explain/explain.h"
#include "core/fields.h"

#include <math.h>

/* Is it slower than the first one, for sure where there are steps enough to say so? */
static bool is_slower(const struct explain_hour *hour)
{
    return hour->step.more > 0.0005 * hour->step.before && (hour->step.sure || isnan(hour->step.low));
}

static bool is_faster(const struct explain_hour *hour)
{
    return hour->step.more < -0.0005 * hour->step.before && (hour->step.sure || isnan(hour->step.low));
}

static void tell_growth(const struct explain_hour *hour, struct text *out)
{
    if (hour->share.name)
        text_format(out, "; most of it %s (%+.3f)", hour->share.name, 1e3 * hour->share.more);
    if (hour->slowest >= 0)
        text_format(out, ", rank %lld's own time (%+.3f)", (long long)hour->slowest, 1e3 * hour->rank.more);
    if (hour->class.name)
        text_format(out, ", kernels %s (%+.3f)", hour->class.name, 1e3 * hour->class.more);
}

static void print_first_line(const struct explain_life *life, struct text *out)
{
    const struct explain_hour *first = &life->hours[0], *last = &life->hours[life->count - 1], *told = last;
    for (size_t i = 1; !is_slower(last) && i < life->count; i++)
        if (is_slower(&life->hours[i]) && (told == last || life->hours[i].step.more > told->step.more))
            told = &life->hours[i];
    text_format(out, "%s: %.3f ms a step in %s after %.3f in %s (%+.3f, %+.1f %%",
                is_slower(last)   ? "slower over its life"
                : is_slower(told) ? "slower at times"
                : is_faster(last) ? "faster over its life"
                                  : "as fast over its life",
                1e3 * told->step.now, told->name, 1e3 * first->step.now, first->name, 1e3 * told->step.more,
                100 * explain_share_of(told->step.more, told->step.before));
    if (!isnan(told->step.low))
        text_format(out, "; 95 %%: %+.3f to %+.3f", 1e3 * told->step.low, 1e3 * told->step.high);
    text_add(out, ")");
    if (is_slower(told))
        tell_growth(told, out);
    text_add(out, "\n");
}

void explain_print_life(const struct explain_life *life, struct text *out)
{
    size_t most = 0;
    print_first_line(life, out);
    text_format(out, "\n%9s  %5s  %10s  %10s  %23s  %-13s  %9s  %-10s  %-13s  %s\n", "begin (s)", "steps",
                "ms a step", "difference", "95 %", "verdict", "loss (ms)", "cause", "grew most", "folder");
    for (size_t i = 0; i < life->count; i++) {
        const struct explain_hour *hour = &life->hours[i];
        text_format(out, "%9.0f  %5zu  %10.3f  %+10.3f", (double)hour->begin / 1e9, hour->steps,
                    1e3 * hour->step.now, 1e3 * hour->step.more);
        if (isnan(hour->step.low))
            text_format(out, "  %23s", "one step only");
        else
            text_format(out, "  %+10.3f to %+9.3f", 1e3 * hour->step.low, 1e3 * hour->step.high);
        text_format(out, "  %-13s  %9.3f  %-10s  %-13s  %s\n", hour->verdict, 1e3 * hour->loss, hour->cause,
                    hour->share.name ? hour->share.name : "", hour->name);
    }
    for (size_t i = 0; i < life->count; i++) {
        const struct explain_hour *hour = &life->hours[i];
        most = hour->ranks > most ? hour->ranks : most;
        if (*hour->unlike)
            text_format(out, "note: %s is not the job or device of %s: %s\n", hour->name, life->hours[0].name,
                        hour->unlike);
    }
    for (size_t i = 0; i < life->count; i++)
        if (life->hours[i].ranks < most)
            text_format(out, "note: %s has %zu of %zu ranks: its means are of these\n", life->hours[i].name,
                        life->hours[i].ranks, most);
    text_add(out, "\nthe last one:\n");
}

static const struct field growth_fields[] = {
    FIELD_OUT(struct explain_change, "name", name, FIELD_TEXT),
    FIELD_OUT(struct explain_change, "difference", more, FIELD_DOUBLE),
    FIELD_OUT(struct explain_change, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct explain_change, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct explain_change, "sure", sure, FIELD_FLAG),
};

static const struct field hour_fields[] = {
    FIELD_OUT(struct explain_hour, "name", name, FIELD_TEXT),
    FIELD_OUT(struct explain_hour, "unlike", unlike, FIELD_TEXT),
    FIELD_OUT(struct explain_hour, "ranks", ranks, FIELD_INT64),
    FIELD_OUT(struct explain_hour, "steps", steps, FIELD_INT64),
    FIELD_OUT(struct explain_hour, "begin", begin, FIELD_NANOSECONDS),
    FIELD_OUT(struct explain_hour, "verdict", verdict, FIELD_TEXT),
    FIELD_OUT(struct explain_hour, "cause", cause, FIELD_TEXT),
    FIELD_OUT(struct explain_hour, "loss", loss, FIELD_DOUBLE),
    FIELD_OUT(struct explain_hour, "step", step.now, FIELD_DOUBLE),
    FIELD_OUT(struct explain_hour, "rank", slowest, FIELD_INT64),
};

void explain_write_life(const struct explain_life *life, struct json *json)
{
    json_open(json, "life", '[');
    for (size_t i = 0; i < life->count; i++) {
        const struct explain_hour *hour = &life->hours[i];
        json_open(json, NULL, '{');
        fields_write(hour, hour_fields, sizeof hour_fields / sizeof *hour_fields, json);
        FIELDS_MAP(&hour->step, growth_fields, json, "against_first");
        if (hour->share.name)
            FIELDS_MAP(&hour->share, growth_fields, json, "share");
        if (hour->class.name)
            FIELDS_MAP(&hour->class, growth_fields, json, "class");
        if (hour->slowest >= 0)
            FIELDS_MAP(&hour->rank, growth_fields, json, "own_time");
        json_close(json);
    }
    json_close(json);
}
