#include "cli/answer.h"
#include "cli/command.h"

#include <inttypes.h>

/* ---- generate ---- */

COMMAND(dataset_generate, &api_dataset_generate,
        .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON_OF("print a summary of the written files as JSON")));

/* ---- verify ---- */

static bool run_verify(void *context, struct error *err)
{
    rh_report *report = answer_ask(context, err);
    if (!report)
        return false;
    int64_t faults = (int64_t)rh_number(report, "faults"), files = (int64_t)rh_number(report, "files");
    bool done = answer_write(report, context, err);
    if (done && faults > 0)
        done = error_set(err, ERROR_FAILED,
                         "%s: %" PRId64 " of %" PRId64 " files differ from what was generated",
                         rh_string(report, "folder"), faults, files);
    rh_free(report);
    return done;
}

COMMAND(dataset_verify, &api_dataset_verify, .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON),
        .run = run_verify);

/* ---- scale ---- */

COMMAND(dataset_scale, &api_dataset_scale,
        .options = COMMAND_ROWS(LINE_THREADS, LINE_JSON_OF("print a summary of the copies as JSON")));
