#include "api/command.h"
#include "cli/answer.h"
#include "cli/command.h"
#include "cli/output.h"

#define FEED_CSV OPTION(command_line, csv, OPTION_FLAG, "csv", .help = "with --vary: print the table as CSV")

/* The exit status of a grid: 1 where a run is missing or did not pass. */
static bool all_passed(const rh_report *report, struct error *err)
{
    double points = rh_number(report, "points"), failed = rh_number(report, "points_failed"),
           not_passed = rh_number(report, "points_not_passed");
    if (failed > 0.0)
        return error_set(err, ERROR_FAILED,
                         "%.0f of %.0f runs have no result: see the table, then give the same command again",
                         failed, points);
    return !(not_passed > 0.0) ||
           error_set(err, ERROR_FAILED, "%.0f of %.0f runs did not pass: see the table", not_passed, points);
}

/* The exit status: 1 where the storage, or the run, did not pass; 4 where it keeps no accelerator busy. */
static bool passed(const rh_report *report, struct error *err)
{
    if (rh_number(report, "passed") == 0.0)
        return error_set(err, ERROR_FAILED, "%s", rh_string(report, "reason"));
    return !(rh_number(report, "accelerators") == 0.0) ||
           error_set(err, ERROR_INFEASIBLE, "this storage does not keep a single accelerator %.0f %% busy",
                     100.0 * rh_number(report, "target"));
}

static bool run_feed(void *context, struct error *err)
{
    const struct command_line *line = context;
    const struct rh_feed_request *asked = context;
    bool grid = asked->vary.count > 0;
    if (line->csv && !grid)
        return error_set(err, ERROR_USAGE, "--csv is for the table of --vary");
    rh_report *report = output_check(asked->prometheus, err) ? answer_ask(context, err) : NULL;
    bool done =
        report && answer_write(report, line, err) && (grid ? all_passed(report, err) : passed(report, err));
    rh_free(report);
    return done;
}

COMMAND(feed, &api_feed,
        .options = COMMAND_ROWS(LINE_JSON_OF("print result.json instead of a report for people"), FEED_CSV),
        .run = run_feed);
