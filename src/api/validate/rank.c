#include "api/validate/report.h"
#include "core/fields.h"

#include <inttypes.h>
#include <stdio.h>

/* "tp 8 pp 12 vp 2 mbs 4 zero 1 full": what is not 1 or none. */
static const char *split_text(const struct job *job, char text[96])
{
    const struct {
        const char *name;
        int64_t value;
    } degrees[] = {
        {"tp", job->degrees.tensor}, {"pp", job->degrees.pipeline}, {"cp", job->degrees.context},
        {"ep", job->degrees.expert}, {"vp", job->chunks},           {"dp", job->degrees.data},
    };
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (degrees[i].value > 1)
            length += (size_t)snprintf(text + length, 96 - length, "%s %" PRId64 " ", degrees[i].name,
                                       degrees[i].value);
    length += (size_t)snprintf(text + length, 96 - length, "mbs %" PRId64 " zero %d", job->microbatch,
                               job->sharding);
    if (job->recompute != RECOMPUTE_NONE)
        snprintf(text + length, 96 - length, " %s", recompute_name(job->recompute));
    return text;
}

static const struct ranked_split *chosen_of(const struct ranked_job *job)
{
    const struct ranked_split *chosen = &job->splits[0];
    for (int i = 1; i < job->count; i++)
        if (job->splits[i].run->predicted.seconds < chosen->run->predicted.seconds)
            chosen = &job->splits[i];
    return chosen;
}

static void print_splits(const struct ranked_job *job, struct text *out)
{
    char text[96];
    for (int i = 0; i < job->count; i++) {
        const struct ranked_split *split = &job->splits[i];
        text_format(out, "    %-44s %9.4g %9.4g", split_text(&split->run->job, text), split->measured,
                    split->run->predicted.seconds);
        if (split->runs > 1)
            text_format(out, "  %d runs, up to %.0f %% apart", split->runs, 100.0 * split->spread);
        text_add(out, "\n");
    }
}

void validate_print_ranking(const struct validate_report *report, struct text *out)
{
    const struct ranking *ranking = &report->ranking;
    text_format(out, "\nranking of splits, %d jobs with %d or more", ranking->count, RANK_MIN_SPLITS);
    if (ranking->count > 0)
        text_format(out, ": mean rank correlation %.2f, mean regret of the predicted best %.1f %%",
                    ranking->correlation, 100.0 * ranking->regret);
    text_add(out, "\n");
    if (ranking->repeated > 0)
        text_format(out, "%d splits were measured again: the median difference is %.1f %%\n",
                    ranking->repeated, 100.0 * ranking->repeat_spread);
    if (ranking->count == 0)
        return;
    text_format(out, "\n%-22s %-18s %6s %6s %6s %8s %8s %8s\n", "model", "gpu", "gpus", "batch", "splits",
                "spread", "rank", "regret");
    for (int i = 0; i < ranking->count; i++) {
        const struct ranked_job *job = &ranking->jobs[i];
        const struct run *run = job->splits[0].run;
        text_format(out, "%-22.22s %-18.18s %6d %6" PRId64 " %6d %6.0f %% %8.2f %6.1f %%\n", run->model_name,
                    run->gpu, run->job.devices, run->job.batch, job->count, 100.0 * job->spread,
                    job->correlation, 100.0 * job->regret);
        if (report->rows)
            print_splits(job, out);
    }
    text_add(out,
             "spread: of the slowest over the fastest split; regret: of the split predicted to be fastest\n");
}

const struct field validate_job_fields[] = {
    FIELD_OUT(struct ranked_job, "splits", count, FIELD_INT),
    FIELD_OUT(struct ranked_job, "spread", spread, FIELD_DOUBLE),
    FIELD_OUT(struct ranked_job, "rank_correlation", correlation, FIELD_DOUBLE),
    FIELD_OUT(struct ranked_job, "regret", regret, FIELD_DOUBLE),
};

static const struct field ranking_fields[] = {
    FIELD_OPEN("ranking", FIELD_MAP),
    FIELD_OUT(struct ranking, "rank_correlation", correlation, FIELD_DOUBLE),
    FIELD_OUT(struct ranking, "regret", regret, FIELD_DOUBLE),
    FIELD_OUT(struct ranking, "repeated", repeated, FIELD_INT),
    FIELD_OUT(struct ranking, "repeat_spread", repeat_spread, FIELD_DOUBLE),
};

static const struct field chosen_fields[] = {
    FIELD_OUT(struct run, "devices", job.devices, FIELD_INT),
    FIELD_OUT(struct run, "batch", job.batch, FIELD_INT64),
    FIELD_OUT(struct run, "fastest_line", line, FIELD_INT),
    FIELD_OUT(struct run, "chosen_line", line, FIELD_INT),
};

static void write_job(const struct ranked_job *job, struct json *json)
{
    const struct run *run = job->splits[0].run;
    json_open_flat(json, NULL, '{');
    fields_write(run, validate_run_fields + RUN_SOURCE, RUN_SET - RUN_SOURCE, json);
    fields_write(run, chosen_fields, 2, json);
    FIELDS_WRITE(job, validate_job_fields, json);
    fields_write(run, chosen_fields + 2, 1, json);
    fields_write(chosen_of(job)->run, chosen_fields + 3, 1, json);
    json_close(json);
}

void validate_write_ranking(const struct validate_report *report, struct json *json)
{
    const struct ranking *ranking = &report->ranking;
    FIELDS_WRITE(ranking, ranking_fields, json);
    json_open(json, "jobs", '[');
    FIELDS_TELL(validate_job_fields, json);
    for (int i = 0; i < ranking->count; i++)
        write_job(&ranking->jobs[i], json);
    json_close(json);
    json_close(json);
}
