#include "api/elastic/goodput.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* "154 days", "13.9 h", "20 min" */
static const char *long_time(char text[32], double seconds)
{
    bool days = seconds >= 2 * SECONDS_PER_DAY, hours = seconds >= 3600;
    snprintf(text, 32, "%.3g %s",
             seconds / (days    ? SECONDS_PER_DAY
                        : hours ? 3600
                                : 60),
             days    ? "days"
             : hours ? "h"
                     : "min");
    return text;
}

static void print_head(const struct goodput_rows *answer, struct text *out)
{
    const struct failure_model *model = &answer->model;
    double losses = answer->rows[0].goodput.losses;
    char each[32], any[32], back[32];
    if (answer->drawn && model->rate > 0) {
        text_format(out, "%d nodes, each fails every %s; ", answer->rates.nodes,
                    long_time(each, 1 / model->rate));
        if (model->repair > 0)
            text_format(out, "repaired in %s\n", long_time(back, model->repair));
        else
            text_add(out, "replaced at once\n");
        text_format(out, "a node of the job fails every %s on average\n", long_time(any, answer->mttf));
        if (answer->fact)
            text_format(out, "rate of %s\n  %s\n", answer->fact->title, answer->source);
    } else if (answer->drawn) {
        text_format(out, "%d nodes that never fail\n", answer->rates.nodes);
    } else {
        text_format(out, "%d nodes of %s\n", answer->rates.nodes, answer->trace);
    }
    if (answer->slow)
        text_format(out, "nodes become slow %.4g times; ", answer->rows[0].goodput.slow);
    text_format(out, "%.4g loss%s in %.4g days; %d run%s\n\n", losses, losses == 1 ? "" : "es",
                answer->horizon / SECONDS_PER_DAY, answer->seeds, answer->seeds == 1 ? "" : "s");
}

static void print_expectation(const struct goodput_rows *answer, struct text *out)
{
    for (int i = 0; i < answer->count; i++) {
        const struct goodput_expectation *expected = answer->rows[i].expected;
        if (!expected)
            continue;
        text_format(out, "\nrestart: E[ETTR] of arXiv 2410.21680 is %.2f %%, simulated %.2f %%;\n",
                    100 * expected->ettr, 100 * answer->rows[i].goodput.mean);
        if (expected->holds)
            text_add(out, "its assumption of rare losses holds\n");
        else
            text_format(out, "its assumption of rare losses does not hold (the exact formula: %.2f %%)\n",
                        100 * expected->exact);
    }
}

/* A policy that mostly waits for nodes says nothing of the policy: it needs more of them than there are. */
#define MOSTLY_WAITS 0.25

static void print_waits(const struct goodput_rows *answer, struct text *out)
{
    const struct goodput_row *worst = NULL;
    for (int i = 0; i < answer->count; i++)
        if (answer->rows[i].goodput.share[ELASTIC_WAIT] >
            (worst ? worst->goodput.share[ELASTIC_WAIT] : MOSTLY_WAITS))
            worst = &answer->rows[i];
    if (!worst)
        return;
    const struct policy_setup *setup = &worst->variant.setup;
    int need = setup->need > 0 ? setup->need : answer->rates.nodes - setup->spares;
    text_format(out,
                "\n%s waits %.1f %% of the time until %d of %d nodes are available:\n"
                "hold some back with --spares N or '--spares best', or go on with fewer, --need N\n",
                worst->variant.name, 100 * worst->goodput.share[ELASTIC_WAIT], need, answer->rates.nodes);
}

static void print_notes(const struct goodput_rows *answer, struct text *out)
{
    struct unit_texts units = {0};
    print_waits(answer, out);
    if (answer->copies > 0)
        text_format(out, "\ncopies of layers add %s on average to each reconfiguration\n",
                    unit_text(&units, answer->copies, UNIT_TIME));
    if (answer->exists_once)
        text_add(out,
                 "\nstates have a single copy, sharded over all pipelines (ZeRO): after a loss, oobleck,\n"
                 "recycle and torchft load the last save, bamboo does so if neighbours are lost, and\n"
                 "parcae reads its parameter server\n");
    else if (answer->checkpoints > 0)
        text_format(
            out,
            "\n%.3g %% of single losses need a checkpoint with this plan: some layers have no copy left\n",
            100 * answer->checkpoints);
    if (answer->mixed)
        text_add(out, "\nspeeds assume that losses hit the device types in proportion to their nodes\n");
}

static void print_policies(const struct goodput_rows *answer, struct text *out)
{
    text_format(out, "%-15s %8s  %-17s %11s %6s%s\n", "policy", "goodput", "90 % interval", "saves every",
                "spares", answer->slow ? "  slow nodes" : "");
    for (int i = 0; i < answer->count; i++) {
        const struct goodput_row *row = &answer->rows[i];
        struct unit_texts units = {0};
        char range[48] = "one run", spares[24] = "-";
        if (row->goodput.seeds > 1)
            snprintf(range, sizeof range, "%.2f-%.2f %%", 100 * row->goodput.low, 100 * row->goodput.high);
        if (row->spares >= 0)
            snprintf(spares, sizeof spares, "%" PRId64, row->spares);
        text_format(out, "%-15s %6.2f %%  %-17s %11s %6s%s%s\n", row->variant.policy->name,
                    100 * row->goodput.mean, range,
                    isfinite(row->variant.setup.costs.interval)
                        ? unit_text(&units, row->variant.setup.costs.interval, UNIT_TIME)
                        : "never",
                    spares, answer->slow ? "  " : "", answer->slow ? row->slow_policy : "");
    }
}

/* Which answer to slow nodes pays, for each policy, and by how much: the runs of one policy meet the same losses. */
static void print_answers(const struct goodput_rows *answer, struct text *out)
{
    int count = answer->slow_answer_count;
    for (int first = 0; count > 1 && first + count <= answer->count; first += count) {
        const struct goodput_row *rows = &answer->rows[first], *best = rows;
        for (int i = 1; i < count; i++)
            best = rows[i].goodput.mean > best->goodput.mean ? &rows[i] : best;
        text_format(out, "%s%s: %s pays most", first == 0 ? "\n" : "", best->variant.policy->name,
                    best->slow_policy);
        for (int i = 0; i < count; i++) {
            const struct goodput *other = &rows[i].goodput;
            if (&rows[i] == best)
                continue;
            text_format(out, "; over %s %.2f points", rows[i].slow_policy, 100 * other->behind);
            if (other->seeds > 1)
                text_format(out, " (%.2f to %.2f%s)", 100 * other->behind_low, 100 * other->behind_high,
                            other->behind_low > 0 ? "" : ", which may be chance");
        }
        text_add(out, "\n");
    }
}

static bool is_printed(const struct goodput_rows *answer, int cause)
{
    return cause != ELASTIC_SLOW || answer->slow;
}

static void print_causes(const struct goodput_rows *answer, struct text *out)
{
    int width = answer->slow_answer_count > 1 ? 20 : 15;
    text_format(out, "\n%-*s", width, "% of the time");
    for (int cause = ELASTIC_LOST; cause < ELASTIC_CAUSE_COUNT; cause++)
        if (is_printed(answer, cause))
            text_format(out, " %8s", elastic_cause_name((enum elastic_cause)cause));
    text_add(out, "\n");
    for (int i = 0; i < answer->count; i++) {
        text_format(out, "%-*s", width, answer->rows[i].variant.name);
        for (int cause = ELASTIC_LOST; cause < ELASTIC_CAUSE_COUNT; cause++)
            if (is_printed(answer, cause))
                text_format(out, " %8.2f", 100 * answer->rows[i].goodput.share[cause]);
        text_add(out, "\n");
    }
}

void goodput_print(const struct goodput_rows *answer, struct text *out)
{
    print_head(answer, out);
    print_policies(answer, out);
    print_answers(answer, out);
    print_causes(answer, out);
    print_expectation(answer, out);
    print_notes(answer, out);
}
