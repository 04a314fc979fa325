/* What programs can ask of a table of runs that was validated: its JSON, and values beside that. */
#include "api/validate/report.h"
#include "core/fields.h"
#include "core/stop.h"

enum { BETTER_GAIN = 2, BETTER_MEMORY = 4 };

const struct field validate_run_fields[] = {
    FIELD_OUT(struct run, "id", id, FIELD_TEXT),
    FIELD_OUT(struct run, "line", line, FIELD_INT),
    [RUN_SOURCE] = FIELD_OUT(struct run, "source", source, FIELD_TEXT),
    FIELD_OUT(struct run, "gpu", gpu, FIELD_TEXT),
    FIELD_OUT(struct run, "model", model_name, FIELD_TEXT),
    [RUN_SET] = FIELD_OUT(struct run, "set", set, FIELD_TEXT),
    FIELD_OUT(struct run, "software", framework, FIELD_TEXT),
    FIELD_OUT(struct run, "devices", job.devices, FIELD_INT),
    [RUN_REASON] = FIELD_OUT(struct run, "reason", reason, FIELD_TEXT),
    [RUN_MEASURED] = FIELD_OUT(struct run, "measured", seconds, FIELD_DOUBLE),
    FIELD_OUT(struct run, "error", error, FIELD_DOUBLE),
    [RUN_PREDICTED] = FIELD_OUT(struct run, "predicted", expected, FIELD_DOUBLE),
    FIELD_OUT(struct run, "formula", predicted.seconds, FIELD_DOUBLE),
    [RUN_MEMORY] = FIELD_OUT(struct run, "memory", predicted_memory.total, FIELD_DOUBLE),
    FIELD_OUT(struct run, "fits", fits_open, FIELD_FLAG),
    FIELD_OUT(struct run, "measured_memory", memory, FIELD_DOUBLE),
};

static const struct field better_fields[] = {
    FIELD_OPEN("best", FIELD_FLAT_MAP),
    FIELD_OUT(struct better, "iteration_time", plan.time.seconds, FIELD_DOUBLE),
    [BETTER_GAIN] = FIELD_OUT(struct better, "gain", gain, FIELD_DOUBLE),
    FIELD_OUT(struct better, "devices", plan.job.devices, FIELD_INT),
    [BETTER_MEMORY] = FIELD_OUT(struct better, "memory", plan.memory.total, FIELD_DOUBLE),
    FIELD_OUT(struct better, "used_fits", used_fits, FIELD_FLAG),
};

static void write_best(const struct better *better, struct json *json)
{
    const struct job_choice *plan = &better->plan;
    if (!better->found)
        return;
    fields_write(better, better_fields, BETTER_MEMORY, json);
    for (int d = 0; d < JOB_RECOMPUTE; d++)
        json_integer(json, job_dimension_name((enum job_dimension)d),
                     job_dimension_value(&plan->job, (enum job_dimension)d));
    json_string(json, "recompute", recompute_name(plan->job.recompute));
    fields_write(better, better_fields + BETTER_MEMORY, 2, json);
    json_close(json);
}

static void write_row(const struct validate_report *report, int index, struct json *json)
{
    const struct run *run = &report->validation.runs[index];
    json_open_flat(json, NULL, '{');
    fields_write(run, validate_run_fields, RUN_SET, json);
    json_bool(json, "scored", !run->reason && run->scored);
    if (run->reason) {
        fields_write(run, validate_run_fields + RUN_REASON, 1, json);
    } else {
        if (run->seconds > 0.0)
            fields_write(run, validate_run_fields + RUN_MEASURED, 2, json);
        fields_write(run, validate_run_fields + RUN_PREDICTED, 2, json);
        fields_write(&report->judged[index].interval, interval_fields, INTERVAL_FIELDS, json);
        fields_write(&run->predicted, job_time_parts, JOB_TIME_PARTS, json);
        fields_write(run, validate_run_fields + RUN_MEMORY, run->memory > 0.0 ? 3 : 2, json);
        if (report->betters)
            write_best(&report->betters[index], json);
        if (report->simulated && !report->simulated[index].reason)
            json_number(json, "simulated", report->simulated[index].seconds);
    }
    json_close(json);
}

static void write_simulated(const struct validate_report *report, struct json *json)
{
    json_open(json, "simulated", '[');
    for (const struct simulated_group *group = simulated_groups; group->name; group++) {
        struct simulated_score score =
            simulated_score(report->simulated, &report->validation, group->matches);
        json_open_flat(json, NULL, '{');
        json_string(json, "runs", group->name);
        fields_write(&score.formula, error_score_fields, 1, json);
        fields_write_map(&score.formula, error_score_fields + ERRORS_MEAN, 3, json, "formula");
        fields_write_map(&score.simulation, error_score_fields + ERRORS_MEAN, 3, json, "simulation");
        json_close(json);
    }
    json_close(json);
}

static const struct field memory_fields[] = {
    FIELD_OUT(struct memory_score, "ran", ran, FIELD_INT),
    FIELD_OUT(struct memory_score, "wrongly_refused", wrongly_refused, FIELD_INT),
    FIELD_OUT(struct memory_score, "ran_out", ran_out, FIELD_INT),
    FIELD_OUT(struct memory_score, "caught", caught, FIELD_INT),
};

void validate_write(const struct validate_report *report, struct json *json)
{
    const struct validation *validation = &report->validation;
    struct error_score all = validation_score(validation, NULL, NULL);
    struct memory_score memory = validation_memory(validation);
    json_open_document(json, "rehearse-validation/1");
    json_integer(json, "rows", validation->count);
    fields_write(&all, error_score_fields, ERRORS_BIAS, json);
    json_number(json, "covered", all.rows > 0 ? (double)report->covered / all.rows : 0.0);
    json_open_flat(json, "memory", '{');
    fields_write(&memory.errors, error_score_fields, ERRORS_BIAS, json);
    FIELDS_WRITE(&memory, memory_fields, json);
    json_close(json);
    validate_write_scores(report, json);
    if (report->simulated)
        write_simulated(report, json);
    if (report->ranked)
        validate_write_ranking(report, json);
    if (report->left_out)
        validate_write_left_out(report, json);
    json_open(json, "results", '[');
    fields_tell(validate_run_fields + RUN_REASON, RUN_FIELDS - RUN_REASON, json);
    FIELDS_TELL(interval_fields, json);
    for (int i = 0; i < validation->count && !stop_wanted_at((size_t)i); i++)
        write_row(report, i, json);
    json_close(json);
    json_close(json);
}

static const struct field left_out_fields[] = {
    FIELD_OUT(struct left_out, "name", name, FIELD_TEXT), /* of their sum, which is the last, none */
    FIELD_OUT(struct left_out, "inside", inside, FIELD_INT),
};

void validate_add_values(const struct validate_report *report, rh_handle *handle)
{
    struct error_score all = validation_score(&report->validation, NULL, NULL);
    API_VALUES(handle, &all, error_score_fields);
    API_FIELDS(handle, "runs", report->validation.runs, report->validation.count, validate_run_fields);
    if (report->left_out)
        API_FIELDS(handle, "left_out", report->left_out, report->left_out_count, left_out_fields);
}
