#include "cli/command.h"
#include "cli/figure/options.h"
#include "cli/output.h"
#include "cli/trace/compare_report.h"
#include "cli/trace/select_given.h"
#include "core/file.h"
#include "figure/differences.h"
#include "trace/similarity/similarity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    struct rh_list traces, baseline, weights;
    struct select_given selected;
    const char *output, *breakdown, *figure;
    int64_t replicates, values, seed;
    int style;
    bool json;
};

static const struct option_spec table[] = {
    OPTION(compare_options, baseline, OPTION_FILE, "baseline", .letter = 'b', .repeats = true,
           .argument = "DB",
           .help = "a repeat of one run, two at least; traces after the first two are repeats, too"),
    OPTION(compare_options, weights, OPTION_TEXT, "weight", .letter = 'w', .repeats = true,
           .argument = "KIND=N",
           .help = "the weight of a kind of component: size=2, latency=1, inter-arrival=1, rate=2, count=2, "
                   "order=1, "
                   "duration=1, series=0.5"),
    OPTION(compare_options, replicates, OPTION_INTEGER, "replicates", .argument = "N", .initial = "200",
           .max = 10000, .help = "replicates of the bootstrap; 0: no intervals"),
    OPTION(compare_options, values, OPTION_INTEGER, "values", .argument = "N", .initial = "100000",
           .min = 1000, .max = SIMILARITY_MAX_VALUES,
           .help = "maximum number of values of a distribution in memory; of more, a sample is kept"),
    OPTION(compare_options, seed, OPTION_INTEGER, "seed", .argument = "N", .initial = "1", .max = 0x1p53,
           .help = "random seed of the bootstrap and of the draws"),
    OPTION(compare_options, breakdown, OPTION_FILE, "breakdown", .argument = "FOLDER",
           .help = "write all components of each pair into FOLDER: A_B.txt, or A_B.json with --json"),
    OPTION(compare_options, figure, OPTION_FILE, "figure", .argument = "FILE",
           .help = "draw where two traces differ: .svg, .png or .pdf"),
    OPTIONS_SELECT(struct compare_options, "file"),
    OPTION_STYLE(struct compare_options),
    OPTION_JSON(struct compare_options),
    OPTION_OUTPUT(struct compare_options),
    OPTION_END,
};

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
static const char *path_of(const struct compare_options *given, size_t i)
{
    if (i < 2)
        return given->traces.items[i];
    i -= 2;
    return i < given->baseline.count ? given->baseline.items[i]
                                     : given->traces.items[2 + i - given->baseline.count];
}

static bool many(const struct compare_options *given)
{
    return given->traces.count > 2 && given->baseline.count == 0;
}

/* Everything that is read and compared. */
struct work {
    const struct compare_options *given;
    struct similarity_options options;
    size_t count, pair_count;
    struct similarity_trace *traces; /* where there are not many: the two, then the repeats */
    struct similarity *pairs;
    char **labels;
};

static bool make_work(struct work *work, struct error *err)
{
    const struct compare_options *given = work->given;
    work->count = given->traces.count + given->baseline.count;
    work->pair_count = many(given) ? work->count * (work->count - 1) / 2 : 1;
    work->traces = calloc(work->count, sizeof *work->traces);
    work->pairs = calloc(work->pair_count, sizeof *work->pairs);
    work->labels = calloc(work->count, sizeof *work->labels);
    return (work->traces && work->pairs && work->labels) || error_memory(err);
}

static void release_work(struct work *work)
{
    for (size_t i = 0; work->traces && i < work->count; i++)
        similarity_trace_release(&work->traces[i]);
    for (size_t i = 0; work->pairs && i < work->pair_count; i++)
        similarity_release(&work->pairs[i]);
    for (size_t i = 0; work->labels && i < work->count; i++)
        free(work->labels[i]);
    free(work->traces);
    free(work->pairs);
    free(work->labels);
}

/* Returns the name of a trace's file without ".db", preceded by its number if another trace has the same
 * name. */
static char *label_of(const struct compare_options *given, size_t i, size_t count)
{
    struct text label = {0};
    const char *path = path_of(given, i), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
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
    const struct compare_options *given = work->given;
    struct text path = {0}, text = {0};
    text_format(&path, "%s/%s_%s.%s", given->breakdown, work->labels[a], work->labels[b],
                given->json ? "json" : "txt");
    given->json ? comparison_write_json(comparison, &text) : comparison_print(comparison, &text);
    bool written = path.failed ? error_memory(err) : output_text(path.data, &text, err);
    text_release(&path);
    text_release(&text);
    return written;
}

static bool compare_pair(struct work *work, size_t a, size_t b, struct similarity *result, struct error *err)
{
    const struct compare_options *given = work->given;
    bool floor = given->baseline.count > 0;
    const struct comparison comparison = {&work->traces[a], &work->traces[b], &work->options, result, floor};
    return similarity_compare(comparison.a, comparison.b, &work->options, result, err) &&
           (!floor || similarity_add_floor(result, work->traces + 2, work->count - 2, &work->options, err)) &&
           (!given->breakdown || write_breakdown(work, a, b, &comparison, err));
}

static bool compare_many(struct work *work, struct text *out, struct error *err)
{
    struct similarity *pair = work->pairs;
    for (size_t i = 0; i < work->count; i++)
        for (size_t j = i + 1; j < work->count; j++)
            if (!compare_pair(work, i, j, pair++, err))
                return false;
    const struct comparison_matrix matrix = {work->count, work->traces, work->labels, &work->options,
                                             work->pairs};
    work->given->json ? comparison_write_matrix_json(&matrix, out) : comparison_print_matrix(&matrix, out);
    return true;
}

static bool compare_two(struct work *work, struct text *out, struct error *err)
{
    const struct compare_options *given = work->given;
    if (!compare_pair(work, 0, 1, work->pairs, err))
        return false;
    const struct comparison comparison = {&work->traces[0], &work->traces[1], &work->options, work->pairs,
                                          given->baseline.count > 0};
    given->json ? comparison_write_json(&comparison, out) : comparison_print(&comparison, out);
    return !given->figure || figure_differences(given->figure, comparison.a, comparison.b, work->pairs,
                                                figure_style_at(given->style), err);
}

static bool check_given(const struct compare_options *given, struct similarity_options *options,
                        struct error *err)
{
    memcpy(options->weights, similarity_kind_weights, sizeof options->weights);
    if (!select_read(&given->selected, TRACE_SELECT_FILES.kinds, &options->selection, err))
        return false;
    for (size_t i = 0; i < given->weights.count; i++)
        if (!read_weight(given->weights.items[i], options->weights, err))
            return false;
    if (given->baseline.count > 0 && given->traces.count + given->baseline.count < 4)
        return error_set(err, ERROR_USAGE, "--baseline: expected two repeats at least, found one");
    if (given->figure && many(given))
        return error_set(err, ERROR_USAGE, "--figure: shows two traces, found %zu; repeats follow --baseline",
                         given->traces.count);
    return !given->breakdown || file_make_directory(given->breakdown, err);
}

static bool compare(void *context, struct error *err)
{
    const struct compare_options *given = context;
    struct work work = {.given = given,
                        .options = {.values = given->values,
                                    .replicates = (int)given->replicates,
                                    .seed = (uint64_t)given->seed}};
    struct text text = {0};
    bool done = check_given(given, &work.options, err) && make_work(&work, err) && read_all(&work, err) &&
                (many(given) ? compare_many(&work, &text, err) : compare_two(&work, &text, err));
    release_work(&work);
    if (!done) {
        text_release(&text);
        return false;
    }
    return output_and_release(given->output, &text, err);
}

static const struct command_example examples[] = {
    {"rehearse compare real.db emulated.db", "one number, and its components"},
    {"rehearse compare real1.db emulated.db --baseline real1.db real2.db real3.db",
     "the same, with the differences among repeats of the real run"},
    {"rehearse compare real.db emulated.db --figure where.svg", "a picture of where they differ"},
    {"rehearse compare *.db --breakdown pairs", "all pairs: a matrix, and a file for each pair"},
    {NULL, NULL},
};

const struct command command_compare = {
    .name = "compare",
    .summary = "compute how similar two traces are",
    .description =
        "Compares two traces (rehearse trace): sizes, latencies and inter-arrival times of each class of "
        "event, rates over time by phase, counts, order of access, durations, and processors, disks and "
        "GPUs. Each component is in [0, 1] and 1 for equal traces; the total is their weighted mean. "
        "docs/compare.md has the definition.\n\n"
        "With --baseline, repeats of one run are compared in all pairs, and each component is compared with "
        "its lowest value among them. Without --baseline, more than two traces are compared in all pairs.",
    .options = table,
    .options_size = sizeof(struct compare_options),
    .operands = {"DB", "the traces; with --baseline, those after the first two are repeats", NULL, 2, 0,
                 offsetof(struct compare_options, traces)},
    .examples = examples,
    .run = compare,
};
