/* rh_trace_export: a trace for other tools. */
#include "trace/export/export.h"
#include "api/command.h"
#include "api/trace/files.h"
#include "api/trace/select.h"
#include "core/fields.h"
#include "trace/import/reader.h"

enum export_format {
    EXPORT_CHROME,
    EXPORT_PFW,
    EXPORT_CSV,
    EXPORT_CSV_BLOCKS,
    EXPORT_STUDY,
    EXPORT_IOLOG,
    EXPORT_IOLOG_2
};
static const char *const format_words[] = {"chrome", "pfw",       "csv",         "csv-blocks",
                                           "study",  "fio-iolog", "fio-iolog-2", NULL};

/* Converts seconds since the beginning to times. */
static bool choose_range(const struct rh_trace_export_request *asked, struct trace_reader *reader,
                         struct trace_export_options *options, struct error *err)
{
    int64_t first_ns, last_ns;
    if (asked->from == 0 && asked->to == 0)
        return true;
    if (asked->to > 0 && asked->to <= asked->from)
        return error_set(err, ERROR_USAGE, "--to: expected a time after --from");
    if (!trace_span(reader, &first_ns, &last_ns, err))
        return false;
    if (first_ns == TRACE_NONE)
        return true;
    options->from_ns = first_ns + (int64_t)(asked->from * 1e9);
    options->to_ns = asked->to > 0 ? first_ns + (int64_t)(asked->to * 1e9) : INT64_MAX;
    return true;
}

static bool export_all(const struct rh_trace_export_request *asked, enum export_format format,
                       struct trace_reader *reader, struct error *err)
{
    struct trace_export_options options = {.workload = asked->workload, .overlook = asked->overlook};
    if (!choose_range(asked, reader, &options, err))
        return false;
    switch (format) {
    case EXPORT_CHROME:
        return trace_export_chrome(reader, asked->output, &options, err);
    case EXPORT_PFW:
        return trace_export_pfw(reader, asked->output, &options, err);
    case EXPORT_CSV:
        return trace_export_csv(reader, asked->output, &options, err);
    case EXPORT_CSV_BLOCKS:
        return trace_export_csv_blocks(reader, asked->output, &options, err);
    case EXPORT_STUDY:
        return trace_export_study(reader, asked->output, &options, err);
    case EXPORT_IOLOG:
    case EXPORT_IOLOG_2:
        return trace_export_iolog(reader, asked->output, format == EXPORT_IOLOG ? 3 : 2, &options, err);
    }
    return false;
}

static const struct field export_fields[] = {
    FIELD_OUT(struct rh_trace_export_request, "output", output, FIELD_TEXT),
    FIELD_OUT(struct rh_trace_export_request, "format", format, FIELD_TEXT),
};

static bool export(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_trace_export_request *asked = request;
    enum export_format format = (enum export_format)option_index(format_words, asked->format);
    struct trace_selection selection;
    (void)call;
    if (!select_read(&asked->kinds, asked->path, 0, &selection, err))
        return false;
    struct trace_reader *reader = trace_open(asked->trace, &selection, err);
    bool done = reader && export_all(asked, format, reader, err) && trace_warn(asked->trace, reader, err);
    trace_reader_free(reader);
    API_VALUES(&report->base, asked, export_fields);
    return done;
}

API_WHOLE_COMMAND(trace_export, "trace export", rh_trace_export_request, .answer = export);
