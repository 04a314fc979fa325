#include "api/validate/report.h"
#include "core/fields.h"

#include <string.h>

#define MAX_GROUPS 256

/* ---- groups of runs ---- */

/* The runs of which everything that is not NULL is true. */
struct group {
    const char *source, *gpu; /* as in the table */
    const char *set, *generation;
};

struct group_score {
    struct error_score errors;
    double inside; /* share of the runs within their 80 % intervals */
    int of;        /* runs with measured seconds, also those that cannot be modelled */
};

static bool is(const char *wanted, const char *found)
{
    return !wanted || strcmp(wanted, found) == 0;
}

static bool in_group(const struct run *run, const void *context)
{
    const struct group *group = context;
    return is(group->source, run->source) && is(group->gpu, run->gpu) && is(group->set, run->set) &&
           is(group->generation, run->job.device ? run->job.device->generation : "");
}

static struct group_score score_of(const struct validate_report *report, const struct group *group)
{
    const struct validation *validation = &report->validation;
    struct group_score score = {.errors = validation_score(validation, in_group, group)};
    int inside = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->scored || !in_group(run, group))
            continue;
        score.of++;
        inside += !run->reason && interval_holds(&report->judged[i].interval, run->seconds);
    }
    score.inside = score.errors.rows > 0 ? (double)inside / score.errors.rows : 0.0;
    return score;
}

static int list_sources(const struct validation *validation, struct group *groups)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        int at = 0;
        if (!run->scored)
            continue;
        while (at < count && !in_group(run, &groups[at]))
            at++;
        if (at == count && count < MAX_GROUPS)
            groups[count++] = (struct group){.source = run->source, .gpu = run->gpu};
    }
    return count;
}

static bool has_measured(const struct validation *validation, const struct group *group)
{
    for (int i = 0; i < validation->count; i++)
        if (validation->runs[i].scored && in_group(&validation->runs[i], group))
            return true;
    return false;
}

/* In the order in which generations were released, and the sum; runs on other devices count only in the sum. */
static int list_generations(const struct validation *validation, const char *set, struct group *groups)
{
    static const char *const names[] = {"volta", "turing", "ampere", "ada", "hopper",  "blackwell",
                                        "cdna2", "cdna3",  "cdna4",  "tpu", "trainium"};
    int count = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        groups[count] = (struct group){.set = set, .generation = names[i]};
        count += has_measured(validation, &groups[count]);
    }
    groups[count++] = (struct group){.set = set};
    return count;
}

/* The sets that have runs with measured seconds, in the order of the table; none if no run belongs to one. */
static int list_sets(const struct validation *validation, const char **sets)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        int at = 0;
        if (!run->scored || !*run->set)
            continue;
        while (at < count && strcmp(sets[at], run->set) != 0)
            at++;
        if (at == count && count < MAX_GROUPS)
            sets[count++] = run->set;
    }
    return count;
}

/* ---- for people ---- */

static void print_score(const char *left, const char *right, const struct group_score *score, bool wide,
                        struct text *out)
{
    const struct error_score *errors = &score->errors;
    int source = wide ? 34 : 31, gpu = wide ? 44 : 22;
    text_format(out, "%-*.*s %-*.*s %4d %4d", source, source, left, gpu, gpu, right, errors->rows, score->of);
    if (errors->rows > 0)
        text_format(out, " %6.1f %% %6.1f %% %+6.1f %% %5.0f %%\n", 100 * errors->median, 100 * errors->p90,
                    100 * errors->bias, 100 * score->inside);
    else
        text_format(out, " %8s %8s %8s %7s\n", "-", "-", "-", "-");
}

static void print_generations(const struct validate_report *report, const char *set, struct text *out)
{
    struct group groups[MAX_GROUPS];
    int count = list_generations(&report->validation, set, groups);
    for (int i = 0; i < count; i++) {
        struct group_score score = score_of(report, &groups[i]);
        print_score(set ? set : "all sources", groups[i].generation ? groups[i].generation : "all", &score,
                    report->wide, out);
    }
}

/* ---- what others could take for a prediction ---- */

enum judge { JUDGE_EXPECTED, JUDGE_FORMULA, JUDGE_NEAREST, JUDGES };

/* Returns a run's seconds; 0: none. */
static double seconds_by(const struct validate_report *report, int index, enum judge judge)
{
    const struct run *run = &report->validation.runs[index];
    return judge == JUDGE_EXPECTED  ? run->expected
           : judge == JUDGE_FORMULA ? run->predicted.seconds
                                    : report->judged[index].nearest;
}

static struct error_score score_by(const struct validate_report *report, const struct group *group,
                                   enum judge judge)
{
    const struct validation *validation = &report->validation;
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored && in_group(run, group) && seconds_by(report, i, judge) > 0.0)
            validation->errors[count++] = seconds_by(report, i, judge) / run->seconds - 1.0;
    }
    return error_score_of(validation->errors, count);
}

static void print_judges(const struct validate_report *report, struct text *out)
{
    static const char *const names[JUDGES] = {"formula and known runs", "formula alone",
                                              "nearest known run, by flops"};
    struct group groups[MAX_GROUPS];
    int count = list_generations(&report->validation, NULL, groups);
    text_format(out, "\n%-31s %-22s %9s %8s %8s %8s\n", "predicted by", "gpu", "runs", "median", "p90",
                "bias");
    for (int g = 0; g < count; g++)
        for (int j = report->no_neighbours ? JUDGE_FORMULA : JUDGE_EXPECTED; j < JUDGES; j++) {
            struct error_score score = score_by(report, &groups[g], (enum judge)j);
            if (score.rows > 0)
                text_format(out, "%-31s %-22s %9d %6.1f %% %6.1f %% %+6.1f %%\n", names[j],
                            groups[g].generation ? groups[g].generation : "all", score.rows,
                            100 * score.median, 100 * score.p90, 100 * score.bias);
        }
}

void validate_print_scores(const struct validate_report *report, struct text *out)
{
    const struct validation *validation = &report->validation;
    struct group groups[MAX_GROUPS];
    const char *sets[MAX_GROUPS];
    int count = list_sources(validation, groups);
    text_format(out, "\n%-*s %-*s %4s %4s %8s %8s %8s %7s\n", report->wide ? 34 : 31, "source",
                report->wide ? 44 : 22, "gpu", "runs", "of", "median", "p90", "bias", "inside");
    for (int i = 0; i < count; i++) {
        struct group_score score = score_of(report, &groups[i]);
        print_score(groups[i].source, groups[i].gpu, &score, report->wide, out);
    }
    count = list_sets(validation, sets);
    for (int i = 0; count > 1 && i < count; i++) {
        text_add(out, "\n");
        print_generations(report, sets[i], out);
    }
    text_add(out, "\n");
    print_generations(report, NULL, out);
    text_add(out,
             "runs: modelled and scored; of: those whose source gives seconds; inside: within their 80 % "
             "intervals\n");
    print_judges(report, out);
    text_format(
        out,
        "\n80 %% intervals from all known runs but the run itself: %.1f %% of the runs lie inside; %d "
        "extrapolate\n",
        100.0 * report->covered / validation_score(validation, NULL, NULL).rows, report->extrapolated);
}

/* ---- for programs ---- */

static const struct field group_fields[] = {
    FIELD_OUT(struct group, "source", source, FIELD_SOME_TEXT),
    FIELD_OUT(struct group, "gpu", gpu, FIELD_SOME_TEXT),
    FIELD_OUT(struct group, "set", set, FIELD_SOME_TEXT),
};

static void write_groups(const struct validate_report *report, const struct group *groups, int count,
                         struct json *json)
{
    for (int i = 0; i < count; i++) {
        const struct group *group = &groups[i];
        struct group_score score = score_of(report, group);
        json_open_flat(json, NULL, '{');
        FIELDS_WRITE(group, group_fields, json);
        if (group->generation || group->set)
            json_string(json, "generation", group->generation ? group->generation : "all");
        fields_write(&score.errors, error_score_fields, 1, json);
        json_integer(json, "of", score.of);
        fields_write(&score.errors, error_score_fields + ERRORS_MEAN, 4, json);
        json_number(json, "covered", score.inside);
        json_close(json);
    }
}

static void write_judges(const struct validate_report *report, struct json *json)
{
    static const char *const names[JUDGES] = {NULL, "formula", "nearest"};
    static const struct group all = {.set = NULL};
    for (int j = JUDGE_FORMULA; j < JUDGES; j++) {
        struct error_score score = score_by(report, &all, (enum judge)j);
        fields_write_map(&score, error_score_fields + ERRORS_MEAN, 3, json, names[j]);
    }
}

void validate_write_scores(const struct validate_report *report, struct json *json)
{
    const struct validation *validation = &report->validation;
    struct group groups[MAX_GROUPS];
    const char *sets[MAX_GROUPS];
    int count = list_sources(validation, groups);
    write_judges(report, json);
    json_open(json, "sources", '[');
    write_groups(report, groups, count, json);
    json_close(json);
    count = list_generations(validation, NULL, groups) - 1;
    json_open(json, "generations", '[');
    write_groups(report, groups, count, json);
    json_close(json);
    int set_count = list_sets(validation, sets);
    json_open(json, "sets", '[');
    for (int s = 0; s < set_count; s++)
        write_groups(report, groups, list_generations(validation, sets[s], groups), json);
    json_close(json);
}
