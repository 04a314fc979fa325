/* rh_compare: how similar two traces are, or all pairs of several. */
#include "api/command.h"
#include "api/figure/options.h"
#include "api/trace/compare_kernels.h"
#include "api/trace/select.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/json.h"
#include "figure/differences.h"
#include "trace/similarity/similarity.h"

#include <inttypes.h>
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

/* ---- the report ---- */

/* Two traces compared. */
struct comparison {
    const struct similarity_trace *a, *b;
    const struct similarity_options *options;
    const struct similarity *result;
    bool floor; /* against a baseline */
};

/* All pairs of some traces. */
struct comparison_matrix {
    size_t count; /* of traces */
    const struct similarity_trace *traces;
    char *const *labels;
    const struct similarity_options *options;
    const struct similarity *pairs; /* (0, 1), (0, 2), …, (1, 2), … */
};

static const char *verdict(bool within)
{
    return within ? "within the noise of repeats" : "beyond the noise of repeats";
}

static const struct field worst_fields[] = {
    FIELD_WORDS(struct similarity_component, "kind", kind, similarity_kind_names),
    FIELD_OUT(struct similarity_component, "name", name, FIELD_CHARS),
};

static void add_worst(const struct similarity *result, struct json *json)
{
    const struct similarity_component *worst = similarity_worst(result);
    if (worst)
        FIELDS_MAP(worst, worst_fields, json, "differs_most");
    else
        json_null(json, "differs_most");
}

static const struct field option_fields[] = {
    FIELD_OUT(struct similarity_options, "replicates", replicates, FIELD_INT),
    FIELD_OUT(struct similarity_options, "values", values, FIELD_INT64),
    FIELD_OUT(struct similarity_options, "seed", seed, FIELD_INT64),
};

static void add_options(const struct similarity_options *options, struct json *json)
{
    FIELDS_WRITE(options, option_fields, json);
    json_open_flat(json, "weights", '{');
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        json_number(json, similarity_kind_names[kind], options->weights[kind]);
    json_close(json);
}

static const struct field window_fields[] = {
    FIELD_OUT(struct similarity_component, "name", name, FIELD_CHARS),
    FIELD_WORDS(struct similarity_component, "kind", kind, similarity_kind_names),
    FIELD_WORDS(struct similarity_component, "of", part, similarity_part_names),
    FIELD_OUT(struct similarity_component, "value", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "ratio", ratio, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "floor", floor, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "p", p, FIELD_DOUBLE),
};

static void add_window(const struct similarity *result, struct json *json)
{
    const struct similarity_component *window = similarity_worst_window(result);
    if (!window) {
        json_null(json, "worst_window");
        return;
    }
    json_open_flat(json, "worst_window", '{');
    fields_write(window, window_fields, 3, json);
    json_number(json, "from", (double)window->tenth / SIMILARITY_TENTHS);
    json_number(json, "to", (double)(window->tenth + 1) / SIMILARITY_TENTHS);
    fields_write(window, window_fields + 3, 4, json);
    json_close(json);
}

static const struct field similarity_fields[] = {
    FIELD_OUT(struct similarity, "similarity", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "floor", floor, FIELD_DOUBLE),
};

static const struct field component_fields[] = {
    FIELD_WORDS(struct similarity_component, "kind", kind, similarity_kind_names),
    FIELD_OUT(struct similarity_component, "name", name, FIELD_CHARS),
    FIELD_OUT(struct similarity_component, "weight", weight, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "similarity", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "drawn", drawn, FIELD_FLAG),
    FIELD_OUT(struct similarity_component, "floor", floor, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "p", p, FIELD_DOUBLE),
};

static const struct field trace_fields[] = {
    FIELD_OUT(struct similarity_trace, "path", path, FIELD_TEXT),
    FIELD_OUT(struct similarity_trace, "lost", shortfall.lost, FIELD_INT64),
};

static void print_component(const struct similarity_component *component, struct text *out)
{
    text_format(out, "%-13s  %-28s  %5.1f %%   %.4f", similarity_kind_names[component->kind], component->name,
                100 * component->weight, component->value);
    if (!isnan(component->low))
        text_format(out, "  %.4f-%.4f", component->low, component->high);
    if (!isnan(component->floor))
        text_format(out, "  %.4f", component->floor);
    if (!isnan(component->p))
        text_format(out, "%s  %s", isnan(component->floor) ? "      " : "",
                    verdict(!similarity_is_beyond(component)));
    text_add(out, "\n");
}

static void print_kinds(const struct similarity *result, struct text *out)
{
    text_add(out, "\nkind           weight   similarity\n");
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++) {
        double value, weight = similarity_of_kind(result, (enum similarity_kind)kind, &value);
        if (weight > 0)
            text_format(out, "%-13s  %4.1f %%   %.4f\n", similarity_kind_names[kind], 100 * weight, value);
    }
}

static void print_shortfall(const struct similarity_trace *trace, struct text *out)
{
    if (trace->shortfall.lost == 0 && trace->shortfall.cut_ns == TRACE_NONE)
        return;
    text_format(out, "%s is incomplete: ", trace->path);
    trace_shortfall_add(out, trace->shortfall);
    text_add(out, "\n");
}

/* Prints warnings that belong before the numbers. */
static void print_notes(const struct comparison *comparison, struct text *out)
{
    const struct similarity_trace *const traces[2] = {comparison->a, comparison->b};
    const struct similarity *result = comparison->result;
    int drawn = 0;
    for (size_t i = 0; i < result->count; i++)
        drawn += result->components[i].drawn;
    for (int i = 0; i < 2; i++)
        print_shortfall(traces[i], out);
    if (drawn > 0)
        text_format(out, "%d components are samples of %" PRId64 " values (--values, --seed)\n", drawn,
                    comparison->options->values);
}

/* "read, calls 70-80 % of TRAINING: 9.98 times as long" */
static void print_window(const struct similarity_component *window, struct text *out)
{
    bool more = window->ratio >= 1;
    const char *word = window->kind == SIMILARITY_SIZE      ? (more ? "large" : "small")
                       : window->kind == SIMILARITY_LATENCY ? (more ? "long" : "short")
                                                            : (more ? "far apart" : "near");
    text_format(out, "%s, calls %d-%d %% of %s: %.4g times as %s", window->name,
                100 / SIMILARITY_TENTHS * window->tenth, 100 / SIMILARITY_TENTHS * (window->tenth + 1),
                window->part == 0 ? "the run" : similarity_part_names[window->part],
                more ? window->ratio : 1 / window->ratio, word);
}

/* The first line: the similarity, whether repeats explain it, and where the two differ most. */
static void print_head(const struct similarity *result, bool floor, struct text *out)
{
    const struct similarity_component *worst = similarity_worst(result),
                                      *window = similarity_worst_window(result);
    bool within = similarity_is_within_noise(result);
    text_format(out, "similarity  %.4f", result->value);
    if (!isnan(result->low))
        text_format(out, " (95 %%: %.4f-%.4f)", result->low, result->high);
    if (floor)
        text_format(out, ", repeats %.4f or more: %s", result->floor, verdict(within));
    if (floor && !within) {
        worst = similarity_is_beyond(worst) ? worst : NULL;
        window = similarity_is_beyond(window) ? window : NULL;
    }
    if (worst)
        text_format(out, "%s %s of %s, %.4f",
                    floor ? within ? "; most different" : " in" : "; most different:",
                    similarity_kind_names[worst->kind], worst->name, worst->value);
    if (window) {
        text_add(out, worst ? "; " : floor && !within ? " in " : "; most different: ");
        print_window(window, out);
    }
    text_add(out, "\n");
}

/* ---- the two ---- */

static void comparison_write_json(const struct comparison *comparison, struct json *json)
{
    const struct similarity *result = comparison->result;
    bool floor = comparison->floor;
    json_open_document(json, "rehearse-comparison/1");
    json_string(json, "a", comparison->a->path);
    json_string(json, "b", comparison->b->path);
    fields_write(result, similarity_fields, floor ? 4 : 3, json);
    if (floor)
        json_bool(json, "within_noise", similarity_is_within_noise(result));
    add_window(result, json);
    add_worst(result, json);
    json_integer(json, "lost_a", comparison->a->shortfall.lost);
    json_integer(json, "lost_b", comparison->b->shortfall.lost);
    json_number(json, "cut_off_after_a", trace_cut_seconds(comparison->a->shortfall));
    json_number(json, "cut_off_after_b", trace_cut_seconds(comparison->b->shortfall));
    json_integer(json, "common_files", (int64_t)result->common_files);
    add_options(comparison->options, json);
    json_open(json, "components", '[');
    FIELDS_TELL(component_fields, json);
    for (size_t i = 0; i < result->count; i++) {
        const struct similarity_component *component = &result->components[i];
        json_open_flat(json, NULL, '{');
        fields_write(component, component_fields, floor ? 9 : 7, json);
        if (floor)
            json_bool(json, "within_noise", !similarity_is_beyond(component));
        json_close(json);
    }
    json_close(json);
    compare_add_kernels(comparison->a, comparison->b, json);
    json_close(json);
}

static void comparison_print(const struct comparison *comparison, struct text *out)
{
    const struct similarity *result = comparison->result;
    bool intervals = !isnan(result->low);
    print_head(result, comparison->floor, out);
    print_notes(comparison, out);
    print_kinds(result, out);
    text_format(out, "\n%-13s  %-28s  %-7s  %s%s\n", "kind", "component", "weight",
                intervals ? "similarity (95 %)" : "similarity",
                !comparison->floor ? ""
                : intervals        ? "       repeats"
                                   : "  repeats");
    for (size_t i = 0; i < result->count; i++)
        print_component(&result->components[i], out);
    compare_print_kernels(comparison->a, comparison->b, out);
}

/* ---- all pairs ---- */

static const struct similarity *pair_of(const struct comparison_matrix *matrix, size_t i, size_t j)
{
    size_t a = i < j ? i : j, b = i < j ? j : i;
    return &matrix->pairs[a * (2 * matrix->count - a - 1) / 2 + b - a - 1];
}

static double cell(const struct comparison_matrix *matrix, size_t i, size_t j)
{
    return i == j ? 1 : pair_of(matrix, i, j)->value;
}

static void comparison_print_matrix(const struct comparison_matrix *matrix, struct text *out)
{
    int width = (int)strlen("similarity");
    for (size_t i = 0; i < matrix->count; i++)
        width = (int)strlen(matrix->labels[i]) > width ? (int)strlen(matrix->labels[i]) : width;
    text_format(out, "%-*s", width, "similarity");
    for (size_t j = 0; j < matrix->count; j++)
        text_format(out, "  %6s", matrix->labels[j]);
    for (size_t i = 0; i < matrix->count; i++) {
        text_format(out, "\n%-*s", width, matrix->labels[i]);
        for (size_t j = 0; j < matrix->count; j++)
            text_format(out, "  %*.4f", (int)fmax(6, (double)strlen(matrix->labels[j])), cell(matrix, i, j));
    }
    bool intervals = matrix->count > 1 && !isnan(pair_of(matrix, 0, 1)->low);
    text_format(out, "\n\n%-*s  %-*s  %s  differs most in\n", width, "", width, "",
                intervals ? "similarity (95 %)     " : "similarity");
    for (size_t i = 0; i < matrix->count; i++) {
        for (size_t j = i + 1; j < matrix->count; j++) {
            const struct similarity *pair = pair_of(matrix, i, j);
            const struct similarity_component *worst = similarity_worst(pair);
            text_format(out, intervals ? "%-*s  %-*s  %.4f" : "%-*s  %-*s  %10.4f", width, matrix->labels[i],
                        width, matrix->labels[j], pair->value);
            if (!isnan(pair->low))
                text_format(out, " (%.4f-%.4f)", pair->low, pair->high);
            text_add(out, "  ");
            if (worst)
                text_format(out, "%s of %s\n", similarity_kind_names[worst->kind], worst->name);
            else
                text_add(out, "nothing\n");
        }
    }
    for (size_t i = 0; i < matrix->count; i++)
        print_shortfall(&matrix->traces[i], out);
}

static void comparison_write_matrix_json(const struct comparison_matrix *matrix, struct json *json)
{
    json_open_document(json, "rehearse-comparison-matrix/1");
    add_options(matrix->options, json);
    json_open(json, "traces", '[');
    for (size_t i = 0; i < matrix->count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "label", matrix->labels[i]);
        FIELDS_WRITE(&matrix->traces[i], trace_fields, json);
        json_number(json, "cut_off_after", trace_cut_seconds(matrix->traces[i].shortfall));
        json_close(json);
    }
    json_close(json);
    json_open(json, "similarity", '[');
    for (size_t i = 0; i < matrix->count; i++) {
        json_open_flat(json, NULL, '[');
        for (size_t j = 0; j < matrix->count; j++)
            json_number(json, NULL, cell(matrix, i, j));
        json_close(json);
    }
    json_close(json);
    json_open(json, "pairs", '[');
    for (size_t i = 0; i < matrix->count; i++) {
        for (size_t j = i + 1; j < matrix->count; j++) {
            const struct similarity *pair = pair_of(matrix, i, j);
            json_open_flat(json, NULL, '{');
            json_string(json, "a", matrix->labels[i]);
            json_string(json, "b", matrix->labels[j]);
            fields_write(pair, similarity_fields, 3, json);
            add_worst(pair, json);
            json_close(json);
        }
    }
    json_close(json);
    json_close(json);
}

/* ---- the work ---- */

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
    size_t all = given->traces.count + given->baseline.count;
    if (given->traces.count < 2)
        return error_set(err, ERROR_USAGE, "compare: expected at least two traces, found one");
    if (given->baseline.count > 0 && all < 4)
        return error_set(err, ERROR_USAGE, "--baseline: expected at least two repeats, found one");
    for (size_t i = 3; i < all && given->baseline.count > 0; i++)
        for (size_t j = 2; j < i; j++)
            if (file_same(path_of(given, i), path_of(given, j)))
                return error_set(err, ERROR_USAGE,
                                 "--baseline: %s and %s are one file: repeats are runs of their own",
                                 path_of(given, j), path_of(given, i));
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
    struct kernel_classes rules = {.count = 0};
    work.options.rules = given->kernels ? &rules : NULL;
    bool done = (!given->kernels || kernel_classes_load(&rules, given->kernels, err)) &&
                check_given(given, &work.options, err) && make_work(&work, err) && read_all(&work, err) &&
                (many(given) ? compare_many(&work, call, err) : compare_two(&work, err));
    release_work(&work);
    kernel_classes_release(&rules);
    return done;
}

API_WHOLE_COMMAND(compare, "compare", rh_compare_request, .answer = answer);
