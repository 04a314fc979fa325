/* A recorded run beside its plan. */
#include "api/explain/explain.h"
#include "core/fields.h"
#include "core/statistics.h"
#include "texts.h"

#include <inttypes.h>
#include <math.h>

#define MAX_RANKS 8
#define SHOWN     0.0005 /* of the step: smaller differences of classes are not listed */

static const struct {
    const char *what, *reason;
} class_words[PLANNED_CLASSES] = {ROWS_explain_planned};

static double more_of(const struct planned_row *row)
{
    return row->measured - row->planned;
}

static void print_row(const struct planned_row *row, struct text *out)
{
    text_format(out, "%10.3f  %10.3f  %+10.3f  ", 1e3 * row->measured, 1e3 * row->planned,
                1e3 * more_of(row));
}

static bool is_wait(const struct planned_row *row)
{
    return row->class == PLANNED_SKEW || row->class == PLANNED_PIPELINE;
}

/* The largest difference in the direction of the step's. Waits for stages and for ranks count together: which of them a
 * bubble becomes is up to its end. */
static const struct planned_row *first_row(const struct explain_planned *planned)
{
    double sign = planned->measured < planned->planned ? -1 : 1, waits = 0;
    int i = 0;
    for (int k = 0; k < PLANNED_CLASSES; k++)
        waits += is_wait(&planned->classes[k]) ? more_of(&planned->classes[k]) : 0;
    while (i < PLANNED_CLASSES - 1 &&
           (more_of(&planned->classes[i]) * sign <= 0 ||
            (is_wait(&planned->classes[i]) && waits * sign < SHOWN * planned->measured)))
        i++;
    return &planned->classes[i];
}

/* How many ranks compute so much longer than planned that others wait for them; 0: all about alike. */
static size_t slow_ranks(const struct explain_planned *planned, const struct planned_row *row)
{
    double sum = 0, most = planned->rank_count > 1 ? more_of(&planned->ranks[0]) : 0;
    size_t slow = 0;
    for (size_t i = 0; i < planned->rank_count; i++) {
        sum += more_of(&planned->ranks[i]);
        slow += more_of(&planned->ranks[i]) > 0.9 * most;
    }
    bool apart = (is_wait(row) || row->class == PLANNED_COMPUTE) && most >= more_of(row) &&
                 most > 1.5 * sum / (double)planned->rank_count;
    return apart && more_of(row) > 0 ? slow : 0;
}

static void tell(const struct explain_planned *planned, struct text *out)
{
    const struct planned_row *row = first_row(planned);
    size_t slow = slow_ranks(planned, row);
    const char *reason = more_of(row) > 0 ? class_words[row->class].reason : "less than the plan expects";
    if (slow == 0) {
        text_add(out, class_words[row->class].what);
    } else {
        row = &planned->ranks[0];
        reason = "the others wait for it: its device is slower, or has more work";
        text_format(out, "compute of rank %d", row->rank);
        if (slow > 1)
            text_format(out, " and %zu more", slow - 1);
    }
    text_format(out, " %.3f ms, plan %.3f ms: %s", 1e3 * row->measured, 1e3 * row->planned, reason);
}

void explain_print_planned(const struct explain_planned *planned, struct text *out)
{
    for (int i = 0; i < planned->mismatch_count; i++) {
        const struct planned_mismatch *mismatch = &planned->mismatches[i];
        text_format(out, "%s%s %" PRId64 ", plan %" PRId64 "%s",
                    i > 0 ? ", " : "not the job of this plan: ", mismatch->what, mismatch->recorded,
                    mismatch->planned, i + 1 < planned->mismatch_count ? "" : "\n");
    }
    const struct planned_row *first = first_row(planned);
    if (fabs(more_of(first)) < SHOWN * planned->measured)
        text_format(out, "as planned: no class of time differs by %g %% of a step", 100 * SHOWN);
    else
        tell(planned, out);
    text_format(out, "\n\n%10s  %10s  %10s  ms a step, mean of ranks\n%10.3f  %10.3f  %+10.3f  step\n",
                "measured", "planned", "difference", 1e3 * planned->measured, 1e3 * planned->planned,
                1e3 * (planned->measured - planned->planned));
    for (int i = 0; i < PLANNED_CLASSES; i++) {
        const struct planned_row *row = &planned->classes[i];
        if (fabs(more_of(row)) < SHOWN * planned->measured && row->class != PLANNED_COMPUTE)
            continue;
        print_row(row, out);
        text_format(out, "%s\n", class_words[row->class].what);
    }
    for (size_t i = 0; planned->stage_count > 1 && i < planned->stage_count; i++)
        if (!isnan(planned->stages[i].measured)) {
            print_row(&planned->stages[i], out);
            text_format(out, "compute of stage %zu\n", i);
        }
    for (size_t i = 0; i < planned->rank_count && i < MAX_RANKS; i++) {
        print_row(&planned->ranks[i], out);
        text_format(out, "compute of rank %d\n", planned->ranks[i].rank);
    }
    text_format(
        out,
        "assumed: tensor %d, context %d, data %d, pipeline %d; ranks of a %s follow each other; a step of "
        "the trace is an iteration of the plan",
        planned->degrees.tensor, planned->degrees.context, planned->degrees.data, planned->pipeline,
        planned->by_pipeline ? "pipeline" : "stage");
    text_format(out, "%s\n\nthis run:\n",
                planned->guessed ? "; what groups are for is guessed by their ranks" : "");
}

static const struct field row_fields[] = {
    FIELD_WORDS(struct planned_row, "class", class, planned_keys),
    FIELD_OUT(struct planned_row, "measured", measured, FIELD_DOUBLE),
    FIELD_OUT(struct planned_row, "planned", planned, FIELD_DOUBLE),
};

static const struct field mismatch_fields[] = {
    FIELD_OUT(struct planned_mismatch, "what", what, FIELD_TEXT),
    FIELD_OUT(struct planned_mismatch, "recorded", recorded, FIELD_INT64),
    FIELD_OUT(struct planned_mismatch, "planned", planned, FIELD_INT64),
};

static const struct field place_fields[] = {
    FIELD_OUT(struct planned_row, "stage", stage, FIELD_INT),
    FIELD_OUT(struct planned_row, "rank", rank, FIELD_INT),
    FIELD_OUT(struct planned_row, "measured", measured, FIELD_DOUBLE),
    FIELD_OUT(struct planned_row, "planned", planned, FIELD_DOUBLE),
};

void explain_write_planned(const struct explain_planned *planned, struct json *json)
{
    struct text says = {0};
    tell(planned, &says);
    json_open(json, "plan", '{');
    json_string(json, "says", text_within(&says, json->out));
    json_number(json, "measured", planned->measured);
    json_number(json, "planned", planned->planned);
    json_integer(json, "devices", planned->devices);
    json_bool(json, "groups_guessed", planned->guessed);
    json_bool(json, "ranks_by_pipeline", planned->by_pipeline);
    FIELDS_LIST(planned->mismatches, (size_t)planned->mismatch_count, mismatch_fields, json, "mismatches");
    FIELDS_LIST(planned->classes, PLANNED_CLASSES, row_fields, json, "classes");
    FIELDS_LIST(planned->stages, planned->stage_count, place_fields, json, "stages");
    FIELDS_LIST(planned->ranks, planned->rank_count, place_fields, json, "ranks");
    json_close(json);
    text_release(&says);
}
