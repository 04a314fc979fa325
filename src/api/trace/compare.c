/* rh_compare: how similar two traces are, or all pairs of several. */
#include "api/command.h"
#include "api/figure/options.h"
#include "api/trace/compare_report.h"
#include "api/trace/select.h"
#include "core/file.h"
#include "core/file_output.h"
#include "figure/differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const forms[] = {"text", "json", NULL};

/* "size=3" */
static bool read_weight(const char *given, double *weights, struct error *err)
{
    size_t length = strcspn(given, "=");
    int kind = 0;
    while (kind < SIMILARITY_KINDS && (strlen(similarity_kind_names[kind]) != length ||
                                       strncmp(similarity_kind_names[kind], given, length) != 0))
        kind++;
    if (kind == SIMILARITY_KINDS || given[length] != '=')
        return error_set(
            err, ERROR_USAGE,
            "--weight: expected KIND=N with a KIND of size, latency, inter-arrival, rate, count, "
            "order, duration, series, found '%s'",
            given);
    char *end;
    double weight = text_number(given + length + 1, &end);
    if (end == given + length + 1 || *end || !isfinite(weight) || weight < 0 || weight > 1e6)
        return error_set(err, ERROR_USAGE, "--weight: expected a number in [0, 1e6] after '=', found '%s'",
                         given);
    weights[kind] = weight;
    return true;
}

/* Returns the path of a trace: the two, then the repeats, of which `--baseline` names the first. */
static const char *path_of(const struct rh_compare_request *given, size_t i)
{
    if (i < 2)
        return given->traces.items[i];
    i -= 2;
    return i < given->baseline.count ? given->baseline.items[i]
                                     : given->traces.items[2 + i - given->baseline.count];
}

static bool many(const struct rh_compare_request *given)
{
    return given->traces.count > 2 && given->baseline.count == 0;
}

static bool writes_json(const struct rh_compare_request *given)
{
    return strcmp(given->form, "json") == 0;
}

/* Everything that is read and compared. The pairs outlive the call, since columns point into them. */
struct work {
    const struct rh_compare_request *given;
    struct api_report *report;
    struct similarity_options options;
    size_t count;
    struct similarity_trace *traces; /* where there are not many: the two, then the repeats */
    struct similarity *pairs;
    char **labels;
};

/* What the handle keeps. */
struct kept {
    size_t count;
    struct similarity pairs[];
};

static void drop(void *context)
{
    struct kept *kept = context;
    for (size_t i = 0; i < kept->count; i++)
        similarity_release(&kept->pairs[i]);
    free(kept);
}

static bool make_work(struct work *work, struct error *err)
{
    const struct rh_compare_request *given = work->given;
    work->count = given->traces.count + given->baseline.count;
    size_t pairs = many(given) ? work->count * (work->count - 1) / 2 : 1;
    struct kept *kept = api_report_keep(work->report, sizeof *kept + pairs * sizeof *kept->pairs, drop, err);
    if (!kept)
        return false;
    kept->count = pairs;
    work->pairs = kept->pairs;
    work->traces = calloc(work->count, sizeof *work->traces);
    work->labels = calloc(work->count, sizeof *work->labels);
    return (work->traces && work->labels) || error_memory(err);
}

static void release_work(struct work *work)
{
    for (size_t i = 0; work->traces && i < work->count; i++)
        similarity_trace_release(&work->traces[i]);
    for (size_t i = 0; work->labels && i < work->count; i++)
        free(work->labels[i]);
    free(work->traces);
    free(work->labels);
}

/* Returns the name of a trace's file without ".db", preceded by its number if another trace has the same
 * name. */
static char *label_of(const struct rh_compare_request *given, size_t i, size_t count)
{
    struct text label = {0};
    const char *path = path_of(given, i), *name = basename(path);
    size_t length = strlen(name);
    if (length > 3 && text_ends_with(name, ".db"))
        length -= 3;
    for (size_t j = 0; j < count && label.length == 0; j++) {
        const char *other = path_of(given, j), *other_slash = strrchr(other, '/');
        other = other_slash ? other_slash + 1 : other;
        if (j != i && strncmp(other, name, length) == 0 &&
            (other[length] == '\0' || strcmp(other + length, ".db") == 0))
            text_format(&label, "%zu-", i + 1);
    }
    text_add_bytes(&label, name, length);
    if (label.failed)
        text_release(&label);
    return label.data;
}

static bool read_all(struct work *work, struct error *err)
{
    for (size_t i = 0; i < work->count; i++) {
        if (!similarity_trace_read(&work->traces[i], path_of(work->given, i), &work->options, err))
            return false;
        work->labels[i] = label_of(work->given, i, many(work->given) ? work->count : 2);
        if (!work->labels[i])
            return error_memory(err);
    }
    return true;
}

/* Writes FOLDER/A_B.txt or .json. */
static bool write_breakdown(const struct work *work, size_t a, size_t b, const struct comparison *comparison,
                            struct error *err)
{
    const struct rh_compare_request *given = work->given;
    struct text path = {0}, text = {0};
    struct json json = {.out = &text};
    text_format(&path, "%s/%s_%s.%s", given->breakdown, work->labels[a], work->labels[b],
                writes_json(given) ? "json" : "txt");
    writes_json(given) ? comparison_write_json(comparison, &json) : comparison_print(comparison, &text);
    bool written = path.failed ? error_memory(err) : file_write_text(path.data, &text, err);
    text_release(&path);
    text_release(&text);
    return written;
}

static bool compare_pair(struct work *work, size_t a, size_t b, struct similarity *result, struct error *err)
{
    const struct rh_compare_request *given = work->given;
    bool floor = given->baseline.count > 0;
    const struct comparison comparison = {&work->traces[a], &work->traces[b], &work->options, result, floor};
    return similarity_compare(comparison.a, comparison.b, &work->options, result, err) &&
           (!floor || similarity_add_floor(result, work->traces + 2, work->count - 2, &work->options, err)) &&
           (!given->breakdown || write_breakdown(work, a, b, &comparison, err));
}

static bool compare_many(struct work *work, const struct api_call *call, struct error *err)
{
    struct api_report *report = work->report;
    struct similarity *pair = work->pairs;
    for (size_t i = 0; i < work->count; i++)
        for (size_t j = i + 1; j < work->count; j++)
            if (api_stopped(call, err) || !compare_pair(work, i, j, pair++, err))
                return false;
    const struct comparison_matrix matrix = {work->count, work->traces, work->labels, &work->options,
                                             work->pairs};
    comparison_write_matrix_json(&matrix, &report->json);
    comparison_print_matrix(&matrix, &report->text);
    return true;
}

static bool compare_two(struct work *work, struct error *err)
{
    const struct rh_compare_request *given = work->given;
    struct api_report *report = work->report;
    const struct similarity *result = work->pairs;
    if (!compare_pair(work, 0, 1, work->pairs, err))
        return false;
    const struct comparison comparison = {&work->traces[0], &work->traces[1], &work->options, result,
                                          given->baseline.count > 0};
    comparison_write_json(&comparison, &report->json);
    comparison_print(&comparison, &report->text);
    return !given->figure || figure_differences(given->figure, comparison.a, comparison.b, result,
                                                figure_style_of(given->style), err);
}

static bool check_given(const struct rh_compare_request *given, struct similarity_options *options,
                        struct error *err)
{
    memcpy(options->weights, similarity_kind_weights, sizeof options->weights);
    if (!select_read(&given->kinds, given->path, TRACE_SELECT_FILES.kinds, &options->selection, err))
        return false;
    for (size_t i = 0; i < given->weights.count; i++)
        if (!read_weight(given->weights.items[i], options->weights, err))
            return false;
    if (given->traces.count < 2)
        return error_set(err, ERROR_USAGE, "compare: expected at least two traces, found one");
    if (given->baseline.count > 0 && given->traces.count + given->baseline.count < 4)
        return error_set(err, ERROR_USAGE, "--baseline: expected at least two repeats, found one");
    if (given->figure && many(given))
        return error_set(err, ERROR_USAGE,
                         "--figure: expected two traces, found %zu (list repeats after --baseline)",
                         given->traces.count);
    return !given->breakdown || file_make_directory(given->breakdown, err);
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct rh_compare_request *given = request;
    struct work work = {.given = given,
                        .report = report,
                        .options = {.values = given->values,
                                    .replicates = (int)given->replicates,
                                    .seed = (uint64_t)given->seed}};
    bool done = check_given(given, &work.options, err) && make_work(&work, err) && read_all(&work, err) &&
                (many(given) ? compare_many(&work, call, err) : compare_two(&work, err));
    release_work(&work);
    return done;
}

const struct option_spec api_compare_options[] = {
    OPTION(rh_compare_request, traces, OPTION_FILE, "traces", .repeats = true, .is_operand = true,
           .required = true, .argument = "DB",
           .help = "the traces; with --baseline, those after the first two are repeats"),
    OPTION(rh_compare_request, form, OPTION_WORD, "form", .of_callers = true, .words = forms,
           .initial = "text", .help = "files of the breakdown"),
    OPTION(rh_compare_request, baseline, OPTION_FILE, "baseline", .letter = 'b', .repeats = true,
           .argument = "DB",
           .help = "a repeat of one run (at least two); traces after the first two are repeats, too"),
    OPTION(rh_compare_request, weights, OPTION_TEXT, "weight", .letter = 'w', .repeats = true,
           .argument = "KIND=N",
           .help = "the weight of a kind of component: size=2, latency=1, inter-arrival=1, rate=2, count=2, "
                   "order=1, "
                   "duration=1, series=0.5"),
    OPTION(rh_compare_request, replicates, OPTION_INTEGER, "replicates", .argument = "N", .initial = "200",
           .max = 10000, .help = "replicates of the bootstrap; 0: no intervals"),
    OPTION(rh_compare_request, values, OPTION_INTEGER, "values", .argument = "N", .initial = "100000",
           .min = 1000, .max = SIMILARITY_MAX_VALUES,
           .help = "maximum number of values of a distribution; larger ones are sampled"),
    OPTION(rh_compare_request, seed, OPTION_INTEGER, "seed", .argument = "N", .initial = "1", .max = 0x1p53,
           .help = "random seed of the bootstrap and of sampling"),
    OPTION(rh_compare_request, breakdown, OPTION_FILE, "breakdown", .argument = "FOLDER",
           .help = "write all components of each pair into FOLDER: A_B.txt, or A_B.json with --json"),
    OPTION(rh_compare_request, figure, OPTION_FILE, "figure", .argument = "FILE",
           .help = "draw where two traces differ: .svg, .png or .pdf"),
    OPTIONS_SELECT(rh_compare_request, "file"),
    OPTION_STYLE_OF(rh_compare_request, "figure"),
    OPTION_END,
};

const struct api_command api_compare = {
    .name = "compare",
    .options = api_compare_options,
    .size = sizeof(struct rh_compare_request),
    .answer = answer,
};
