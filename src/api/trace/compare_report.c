#include "api/trace/compare_report.h"

#include "core/fields.h"
#include "core/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *verdict(double value, double floor)
{
    if (isnan(floor))
        return "";
    return value >= floor ? "within the noise of repeats" : "beyond the noise of repeats";
}

static void add_worst(const struct similarity *result, struct json *json)
{
    const struct similarity_component *worst = similarity_worst(result);
    if (!worst) {
        json_null(json, "differs_most");
        return;
    }
    json_open_flat(json, "differs_most", '{');
    json_string(json, "kind", similarity_kind_names[worst->kind]);
    json_string(json, "name", worst->name);
    json_close(json);
}

static void add_options(const struct similarity_options *options, struct json *json)
{
    json_integer(json, "replicates", options->replicates);
    json_integer(json, "values", options->values);
    json_integer(json, "seed", (int64_t)options->seed);
    json_open_flat(json, "weights", '{');
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        json_number(json, similarity_kind_names[kind], options->weights[kind]);
    json_close(json);
}

/* Returns whether the total and every tenth of the calls are within the noise of repeats. */
static bool is_within_noise(const struct similarity *result)
{
    const struct similarity_window *window = &result->window;
    return result->value >= result->floor && !(window->value < window->floor);
}

static const struct field window_fields[] = {
    FIELD_OUT(struct similarity_window, "value", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_window, "latency_ratio", ratio, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_window, "floor", floor, FIELD_DOUBLE),
};

static void add_window(const struct similarity *result, struct json *json)
{
    const struct similarity_window *window = &result->window;
    if (window->stream < 0) {
        json_null(json, "worst_window");
        return;
    }
    json_open_flat(json, "worst_window", '{');
    json_string(json, "name", similarity_stream_name(window->stream));
    json_string(json, "of", similarity_part_names[window->part]);
    json_number(json, "from", (double)window->tenth / SIMILARITY_TENTHS);
    json_number(json, "to", (double)(window->tenth + 1) / SIMILARITY_TENTHS);
    FIELDS_WRITE(window, window_fields, json);
    json_close(json);
}

static const struct field similarity_fields[] = {
    FIELD_OUT(struct similarity, "similarity", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct similarity, "floor", floor, FIELD_DOUBLE),
};

static const struct field component_fields[] = {
    FIELD_OUT(struct similarity_component, "name", name, FIELD_CHARS),
    FIELD_OUT(struct similarity_component, "weight", weight, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "similarity", value, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "low", low, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "high", high, FIELD_DOUBLE),
    FIELD_OUT(struct similarity_component, "drawn", drawn, FIELD_FLAG),
    FIELD_OUT(struct similarity_component, "floor", floor, FIELD_DOUBLE),
};

void comparison_write_json(const struct comparison *comparison, struct json *json)
{
    const struct similarity *result = comparison->result;
    bool floor = comparison->floor;
    json_open_document(json, "rehearse-comparison/1");
    json_string(json, "a", comparison->a->path);
    json_string(json, "b", comparison->b->path);
    fields_write(result, similarity_fields, floor ? 4 : 3, json);
    if (floor)
        json_bool(json, "within_noise", is_within_noise(result));
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
        json_string(json, "kind", similarity_kind_names[component->kind]);
        fields_write(component, component_fields, floor ? 7 : 6, json);
        if (floor)
            isnan(component->floor) ? json_null(json, "within_noise")
                                    : json_bool(json, "within_noise", component->value >= component->floor);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static void print_line(const char *kind, const char *name, double weight, double value, double low,
                       double high, double floor, struct text *out)
{
    text_format(out, "%-13s  %-28s  %5.1f %%   %.4f", kind, name, 100 * weight, value);
    if (!isnan(low))
        text_format(out, "  %.4f-%.4f", low, high);
    if (!isnan(floor))
        text_format(out, "  %.4f  %s", floor, verdict(value, floor));
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

/* "latencies differ most in read, the calls from 70 to 80 % of TRAINING: 9.98 times as long (0.6672), repeats
 * …" */
static void print_window(const struct comparison *comparison, struct text *out)
{
    const struct similarity_window *window = &comparison->result->window;
    if (window->stream < 0 || window->value == 1)
        return;
    bool longer = window->ratio >= 1;
    text_format(out, "latencies differ most in %s, calls %d-%d %% of %s: %.4g times as %s (%.4f)",
                similarity_stream_name(window->stream), 100 / SIMILARITY_TENTHS * window->tenth,
                100 / SIMILARITY_TENTHS * (window->tenth + 1),
                window->part == 0 ? "the run" : similarity_part_names[window->part],
                longer ? window->ratio : 1 / window->ratio, longer ? "long" : "short", window->value);
    if (!isnan(window->floor))
        text_format(out, ", repeats %.4f or more: %s", window->floor, verdict(window->value, window->floor));
    text_add(out, "\n");
}

void comparison_print(const struct comparison *comparison, struct text *out)
{
    const struct similarity *result = comparison->result;
    const struct similarity_component *worst = similarity_worst(result);
    bool intervals = !isnan(result->low);
    text_format(out, "similarity  %.4f", result->value);
    if (!isnan(result->low))
        text_format(out, " (95 %%: %.4f-%.4f)", result->low, result->high);
    if (comparison->floor)
        text_format(out, ", repeats %.4f or more: %s", result->floor, verdict(result->value, result->floor));
    if (worst)
        text_format(out, "\nlargest difference: %s of %s, %.4f; it lowers the similarity by %.4f",
                    similarity_kind_names[worst->kind], worst->name, worst->value,
                    worst->weight * (1 - worst->value));
    text_add(out, "\n");
    print_window(comparison, out);
    print_notes(comparison, out);
    print_kinds(result, out);
    text_format(out, "\n%-13s  %-28s  %-7s  %s%s\n", "kind", "component", "weight",
                intervals ? "similarity (95 %)" : "similarity",
                !comparison->floor ? ""
                : intervals        ? "       repeats"
                                   : "  repeats");
    for (size_t i = 0; i < result->count; i++) {
        const struct similarity_component *c = &result->components[i];
        print_line(similarity_kind_names[c->kind], c->name, c->weight, c->value, c->low, c->high, c->floor,
                   out);
    }
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

void comparison_print_matrix(const struct comparison_matrix *matrix, struct text *out)
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

void comparison_write_matrix_json(const struct comparison_matrix *matrix, struct json *json)
{
    json_open_document(json, "rehearse-comparison-matrix/1");
    add_options(matrix->options, json);
    json_open(json, "traces", '[');
    for (size_t i = 0; i < matrix->count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "label", matrix->labels[i]);
        json_string(json, "path", matrix->traces[i].path);
        json_integer(json, "lost", matrix->traces[i].shortfall.lost);
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
