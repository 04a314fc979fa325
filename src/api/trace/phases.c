/* rh_trace_phases: initialisation, training, evaluation and checkpoints, from the I/O. */
#include "api/command.h"
#include "api/trace/files.h"
#include "api/trace/print.h"
#include "trace/import/reader.h"
#include "trace/phase/phase.h"

#include <stdlib.h>

static bool find(const void *request, const struct api_call *call, struct api_report *report,
                 struct error *err)
{
    const struct rh_trace_phases_request *asked = request;
    (void)call;
    struct trace_phase *phases = NULL;
    size_t count = 0;
    struct trace_reader *reader = trace_open(asked->trace, NULL, err);
    bool done =
        reader && trace_phases_find(reader, &phases, &count, err) && trace_warn(asked->trace, reader, err);
    if (done) {
        trace_phases_write_json(asked->trace, reader, phases, count, &report->json);
        trace_phases_print(reader, phases, count, &report->text);
    }
    trace_reader_free(reader);
    done = done && (!asked->store || trace_phases_store(asked->trace, phases, count, err));
    free(phases);
    return done;
}

API_WHOLE_COMMAND(trace_phases, "trace phases", rh_trace_phases_request, .answer = find);
