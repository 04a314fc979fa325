/* What callers can ask of a table of runs that was validated. */
#include "api/validate/report.h"

static void add_runs(const struct validate_report *report, rh_handle *handle)
{
    const struct run *runs = report->validation.runs;
    const struct judged *judged = report->judged;
    int count = report->validation.count;
    API_COLUMN(handle, "runs.set", 's', runs, count, set);
    API_COLUMN(handle, "runs.software", 's', runs, count, framework);
    API_COLUMN(handle, "runs.devices", 'i', runs, count, job.devices);
    API_COLUMN(handle, "runs.reason", 's', runs, count, reason);
    API_COLUMN(handle, "runs.measured", 'd', runs, count, seconds);
    API_COLUMN(handle, "runs.predicted", 'd', runs, count, expected);
    API_COLUMN(handle, "runs.formula", 'd', runs, count, predicted.seconds);
    API_COLUMN(handle, "runs.error", 'd', runs, count, error);
    API_COLUMN(handle, "runs.low", 'd', judged, count, interval.low);
    API_COLUMN(handle, "runs.high", 'd', judged, count, interval.high);
    API_COLUMN(handle, "runs.extrapolates", '?', judged, count, interval.extrapolates);
    API_COLUMN(handle, "runs.memory", 'd', runs, count, predicted_memory.total);
    API_COLUMN(handle, "runs.measured_memory", 'd', runs, count, memory);
    API_COLUMN(handle, "runs.fits", '?', runs, count, fits_open);
    if (report->betters)
        API_COLUMN(handle, "runs.gain", 'd', report->betters, count, gain);
    if (report->simulated)
        API_COLUMN(handle, "runs.simulated", 'd', report->simulated, count, seconds);
}

static void add_jobs(const struct ranking *ranking, rh_handle *handle)
{
    const struct ranked_job *jobs = ranking->jobs;
    api_add_number(handle, "rank_correlation", ranking->correlation);
    api_add_number(handle, "regret", ranking->regret);
    API_COLUMN(handle, "jobs.splits", 'i', jobs, ranking->count, count);
    API_COLUMN(handle, "jobs.rank_correlation", 'd', jobs, ranking->count, correlation);
    API_COLUMN(handle, "jobs.regret", 'd', jobs, ranking->count, regret);
    API_COLUMN(handle, "jobs.spread", 'd', jobs, ranking->count, spread);
}

/* The last of the parts is their sum, which has no name. */
static void add_left_out(const struct validate_report *report, rh_handle *handle)
{
    const struct left_out *parts = report->left_out;
    int count = report->left_out_count;
    API_COLUMN(handle, "left_out.name", 's', parts, count, name);
    API_COLUMN(handle, "left_out.inside", 'i', parts, count, inside);
}

void validate_add_values(const struct validate_report *report, rh_handle *handle)
{
    struct error_score all = validation_score(&report->validation, NULL, NULL);
    api_add_number(handle, "bias", all.bias);
    add_runs(report, handle);
    if (report->ranked)
        add_jobs(&report->ranking, handle);
    if (report->left_out)
        add_left_out(report, handle);
}
