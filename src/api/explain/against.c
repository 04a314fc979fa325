/* What became slower between two runs. */
#include "api/explain/explain.h"
#include "core/fields.h"

#include <math.h>
#include <string.h>

#define MAX_KERNELS      12 /* in the table for people */
#define MAX_JSON_KERNELS 1000
#define NAME_WIDTH       60
#define SHOWN            0.0005 /* of the step: smaller differences of classes are not listed */

static void print_change(const struct explain_change *change, struct text *out)
{
    text_format(out, "%10.3f  %10.3f  %+10.3f", 1e3 * change->now, 1e3 * change->before, 1e3 * change->more);
    if (isnan(change->low))
        text_format(out, "  %21s", "one step only");
    else
        text_format(out, "  %+9.3f to %+8.3f", 1e3 * change->low, 1e3 * change->high);
    text_add(out, change->sure ? "  * " : "    ");
    explain_tell_name(change->name, NAME_WIDTH, out);
    text_add(out, "\n");
}

/* The largest of the changes in the direction of the step's; NULL: none. */
static const struct explain_change *largest(const struct explain_change *changes, size_t count, double sign)
{
    const struct explain_change *most = NULL;
    for (size_t i = 0; i < count; i++)
        if (changes[i].more * sign > (most ? most->more * sign : 0))
            most = &changes[i];
    return most;
}

void explain_print_changes(const struct explain_changes *changes, const char *unlike, struct text *out)
{
    const struct explain_change *step = &changes->step;
    double sign = step->more < 0 ? -1 : 1;
    const struct explain_change share = explain_most_changed(changes, sign);
    const struct explain_change *kernel = largest(changes->kernels, changes->kernel_count, sign);
    bool alike = fabs(step->more) <= SHOWN * step->before;
    text_format(out, "%s: %.3f ms a step after %.3f (%+.3f, %+.1f %%)",
                alike      ? "as fast"
                : sign < 0 ? "faster"
                           : "slower",
                1e3 * step->now, 1e3 * step->before, 1e3 * step->more,
                100 * explain_share_of(step->more, step->before));
    if (!isnan(step->low) && !step->sure)
        text_add(out, ", within the noise of steps");
    if (share.name && !alike)
        text_format(out, "; most of it %s (%+.3f)", share.name, 1e3 * share.more);
    if (changes->slowest >= 0 && !alike && 2 * changes->rank.more > fabs(step->more) && sign > 0)
        text_format(out, ", rank %lld's own time (%+.3f)", (long long)changes->slowest,
                    1e3 * changes->rank.more);
    if (kernel && !alike)
        text_format(out, ", of kernels %.*s (%+.3f)", NAME_WIDTH, kernel->name, 1e3 * kernel->more);
    if (*unlike)
        text_format(out, "\nnote: not the same job or device: %s", unlike);
    text_format(out,
                "\n\n%10s  %10s  %10s  %21s    ms a step and rank (* sure: 95 %% by Welch's t over steps)\n",
                "now", "before", "difference", "interval");
    print_change(step, out);
    for (int i = 0; i < EXPLAIN_SHARES; i++)
        if (fabs(changes->shares[i].more) > SHOWN * step->now)
            print_change(&changes->shares[i], out);
    text_add(out, "kernels by class\n");
    for (int i = 0; i < KERNEL_CLASSES; i++)
        if (fabs(changes->classes[i].more) > SHOWN * step->now)
            print_change(&changes->classes[i], out);
    text_add(out, "kernels\n");
    for (size_t i = 0; i < changes->kernel_count && i < MAX_KERNELS; i++)
        print_change(&changes->kernels[i], out);
    explain_tell_rest(changes->kernel_count, MAX_KERNELS, out);
    text_add(out, "\nthis run:\n");
}

#define DIFFERENCE                                                                                           \
    FIELD_OUT(struct explain_change, "now", now, FIELD_DOUBLE),                                              \
        FIELD_OUT(struct explain_change, "before", before, FIELD_DOUBLE),                                    \
        FIELD_OUT(struct explain_change, "difference", more, FIELD_DOUBLE),                                  \
        FIELD_OUT(struct explain_change, "low", low, FIELD_DOUBLE),                                          \
        FIELD_OUT(struct explain_change, "high", high, FIELD_DOUBLE),                                        \
        FIELD_OUT(struct explain_change, "sure", sure, FIELD_FLAG)

static const struct field change_fields[] = {FIELD_OUT(struct explain_change, "name", name, FIELD_TEXT),
                                             DIFFERENCE};

static const struct field kernel_fields[] = {
    FIELD_OUT(struct explain_change, "name", name, FIELD_TEXT),
    FIELD_WORDS(struct explain_change, "class", kind, kernel_class_names),
    FIELD_OUT(struct explain_change, "count", now_count, FIELD_DOUBLE),
    FIELD_OUT(struct explain_change, "count_before", old_count, FIELD_DOUBLE),
    DIFFERENCE,
};

void explain_write_changes(const struct explain_changes *changes, const char *unlike, struct json *json)
{
    size_t count = changes->kernel_count < MAX_JSON_KERNELS ? changes->kernel_count : MAX_JSON_KERNELS;
    json_open(json, "against", '{');
    json_string(json, "unlike", unlike);
    FIELDS_MAP(&changes->step, change_fields, json, "step");
    FIELDS_LIST(changes->shares, EXPLAIN_SHARES, change_fields, json, "shares");
    FIELDS_LIST(changes->classes, KERNEL_CLASSES, change_fields, json, "classes");
    FIELDS_LIST(changes->kernels, count, kernel_fields, json, "kernels");
    json_close(json);
}
