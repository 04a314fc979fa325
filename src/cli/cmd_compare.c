#include "cli/command.h"
#include "cli/output.h"
#include "core/json.h"
#include "trace/similarity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    struct option_list traces, baseline, weights;
    const char *output;
    int64_t replicates, values, seed;
    bool json;
};

static const struct option_spec table[] = {
    {.name = "baseline",
     .letter = 'b',
     .kind = OPTION_FILE,
     .repeats = true,
     .at = offsetof(struct compare_options, baseline),
     .argument = "DB",
     .help = "a repeat of one run, two at least; traces after the first two are further ones"},
    {.name = "weight",
     .letter = 'w',
     .kind = OPTION_TEXT,
     .repeats = true,
     .at = offsetof(struct compare_options, weights),
     .argument = "KIND=N",
     .help = "what a kind of component counts: size=2, latency=1, inter-arrival=1, rate=2, count=2, order=1, "
             "duration=1, series=0.5"},
    {.name = "replicates",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct compare_options, replicates),
     .argument = "N",
     .initial = "200",
     .most = 10000,
     .help = "of the bootstrap; 0: no intervals"},
    {.name = "values",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct compare_options, values),
     .argument = "N",
     .initial = "100000",
     .least = 1000,
     .most = SIMILARITY_VALUES_MOST,
     .help = "of each distribution, kept in memory; of more, so many are drawn at random"},
    {.name = "seed",
     .kind = OPTION_INTEGER,
     .at = offsetof(struct compare_options, seed),
     .argument = "N",
     .initial = "1",
     .most = 0x1p53,
     .help = "of the bootstrap and of the draws"},
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

static const char *verdict(double value, double floor)
{
    if (isnan(floor))
        return "";
    return value >= floor ? "within the noise of repeats" : "beyond the noise of repeats";
}

static void print_json(const struct compare_options *given, const struct similarity_options *options,
                       const struct similarity_trace *traces, const struct similarity *result,
                       struct text *out)
{
    struct json json = {.out = out};
    const struct similarity_component *worst = similarity_worst(result);
    bool floor = given->baseline.count > 0;
    json_open(&json, NULL, '{');
    json_string(&json, "format", "rehearse-comparison/1");
    json_string(&json, "a", given->traces.items[0]);
    json_string(&json, "b", given->traces.items[1]);
    json_number(&json, "similarity", result->value);
    json_number(&json, "low", result->low);
    json_number(&json, "high", result->high);
    if (floor) {
        json_number(&json, "floor", result->floor);
        json_bool(&json, "within_noise", result->value >= result->floor);
    }
    if (worst) {
        json_open_flat(&json, "differs_most", '{');
        json_string(&json, "kind", similarity_kind_names[worst->kind]);
        json_string(&json, "name", worst->name);
        json_close(&json);
    } else
        json_null(&json, "differs_most");
    json_integer(&json, "lost_a", traces[0].lost);
    json_integer(&json, "lost_b", traces[1].lost);
    json_integer(&json, "common_files", (int64_t)result->common_files);
    json_integer(&json, "replicates", given->replicates);
    json_integer(&json, "values", given->values);
    json_integer(&json, "seed", given->seed);
    json_open_flat(&json, "weights", '{');
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++)
        json_number(&json, similarity_kind_names[kind], options->weights[kind]);
    json_close(&json);
    json_open(&json, "components", '[');
    for (size_t i = 0; i < result->count; i++) {
        const struct similarity_component *component = &result->components[i];
        json_open_flat(&json, NULL, '{');
        json_string(&json, "kind", similarity_kind_names[component->kind]);
        json_string(&json, "name", component->name);
        json_number(&json, "weight", component->weight);
        json_number(&json, "similarity", component->value);
        json_number(&json, "low", component->low);
        json_number(&json, "high", component->high);
        json_bool(&json, "drawn", component->drawn);
        if (floor) {
            json_number(&json, "floor", component->floor);
            isnan(component->floor) ? json_null(&json, "within_noise")
                                    : json_bool(&json, "within_noise", component->value >= component->floor);
        }
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static void print_line(const char *kind, const char *name, double weight, double value, double low,
                       double high, double floor, struct text *out)
{
    text_format(out, "%-13s  %-28s  %5.1f %%   %.4f  %.4f-%.4f", kind, name, 100 * weight, value, low, high);
    if (!isnan(floor))
        text_format(out, "  %.4f  %s", floor, verdict(value, floor));
    text_add(out, "\n");
}

static void print_kinds(const struct similarity *result, struct text *out)
{
    text_add(out, "\nkind           weight   similarity\n");
    for (int kind = 0; kind < SIMILARITY_KINDS; kind++) {
        double weight = 0, sum = 0;
        for (size_t i = 0; i < result->count; i++) {
            const struct similarity_component *component = &result->components[i];
            weight += component->kind == (enum similarity_kind)kind ? component->weight : 0;
            sum += component->kind == (enum similarity_kind)kind ? component->weight * component->value : 0;
        }
        if (weight > 0)
            text_format(out, "%-13s  %4.1f %%   %.4f\n", similarity_kind_names[kind], 100 * weight,
                        sum / weight);
    }
}

/* What is to be known before the numbers are believed. */
static void print_notes(const struct compare_options *given, const struct similarity_trace *traces,
                        const struct similarity *result, struct text *out)
{
    int drawn = 0;
    for (size_t i = 0; i < result->count; i++)
        drawn += result->components[i].drawn;
    for (int i = 0; i < 2; i++)
        if (traces[i].lost > 0)
            text_format(out, "%s lost %" PRId64 " events when it was recorded: it tells too few\n",
                        traces[i].path, traces[i].lost);
    if (drawn > 0)
        text_format(out, "%d components are of %" PRId64 " values drawn from more (--values, --seed)\n",
                    drawn, given->values);
}

static void print_text(const struct compare_options *given, const struct similarity_trace *traces,
                       const struct similarity *result, struct text *out)
{
    const struct similarity_component *worst = similarity_worst(result);
    text_format(out, "similarity  %.4f (95 %%: %.4f-%.4f)", result->value, result->low, result->high);
    if (given->baseline.count > 0)
        text_format(out, ", repeats %.4f or more: %s", result->floor, verdict(result->value, result->floor));
    if (worst)
        text_format(out, "\ndiffers most in %s of %s: %.4f, which takes %.4f from the whole",
                    similarity_kind_names[worst->kind], worst->name, worst->value,
                    worst->weight * (1 - worst->value));
    text_add(out, "\n");
    print_notes(given, traces, result, out);
    print_kinds(result, out);
    text_format(out, "\n%-13s  %-28s  %-7s  %s%s\n", "kind", "component", "weight", "similarity (95 %)",
                given->baseline.count > 0 ? "       repeats" : "");
    for (size_t i = 0; i < result->count; i++) {
        const struct similarity_component *c = &result->components[i];
        print_line(similarity_kind_names[c->kind], c->name, c->weight, c->value, c->low, c->high, c->floor,
                   out);
    }
}

/* Traces: the two, then the repeats, of which `--baseline` names the first. */
static const char *path_of(const struct compare_options *given, size_t i)
{
    if (i < 2)
        return given->traces.items[i];
    i -= 2;
    return i < given->baseline.count ? given->baseline.items[i]
                                     : given->traces.items[2 + i - given->baseline.count];
}

static bool compare_all(const struct compare_options *given, const struct similarity_options *options,
                        struct similarity_trace *traces, size_t count, struct similarity *result,
                        struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!similarity_trace_read(&traces[i], path_of(given, i), options, err))
            return false;
    return similarity_compare(&traces[0], &traces[1], options, result, err) &&
           similarity_add_floor(result, traces + 2, count - 2, options, err);
}

static bool compare(void *context, struct error *err)
{
    const struct compare_options *given = context;
    struct similarity_options options = {
        .values = given->values, .replicates = (int)given->replicates, .seed = (uint64_t)given->seed};
    struct similarity result = {0};
    struct text text = {0};
    size_t count = given->traces.count + given->baseline.count;
    memcpy(options.weights, similarity_kind_weights, sizeof options.weights);
    for (size_t i = 0; i < given->weights.count; i++)
        if (!read_weight(given->weights.items[i], options.weights, err))
            return false;
    if (given->traces.count > 2 && given->baseline.count == 0)
        return error_set(err, ERROR_USAGE,
                         "compare: expected two traces, found %zu; repeats follow --baseline",
                         given->traces.count);
    if (given->baseline.count > 0 && count < 4)
        return error_set(err, ERROR_USAGE, "--baseline: expected two repeats at least, found one");
    struct similarity_trace *traces = calloc(count, sizeof *traces);
    if (!traces)
        return error_memory(err);
    bool done = compare_all(given, &options, traces, count, &result, err);
    if (done)
        given->json ? print_json(given, &options, traces, &result, &text)
                    : print_text(given, traces, &result, &text);
    for (size_t i = 0; i < count; i++)
        similarity_trace_release(&traces[i]);
    similarity_release(&result);
    free(traces);
    if (!done)
        return false;
    return output_and_release(given->output, &text, err);
}

static const struct command_example examples[] = {
    {"rehearse compare real.db emulated.db", "one number, and what it is made of"},
    {"rehearse compare real1.db emulated.db --baseline real1.db real2.db real3.db",
     "the same against what repeats of the real run differ by"},
    {NULL, NULL},
};

const struct command command_compare = {
    .name = "compare",
    .summary = "say how alike two traces are",
    .description = "Compares two traces (rehearse trace): sizes, latencies and inter-arrival times of each "
                   "class of event, "
                   "rates\n"
                   "over time by phase, counts, order of access, durations, and processors, disks and GPUs. "
                   "Each component is "
                   "in\n"
                   "[0, 1] and 1 for equal traces; the whole is their weighted mean. docs/compare.md has the "
                   "definition.\n"
                   "\n"
                   "With --baseline, repeats of one run are compared in all pairs, and each component is "
                   "told against the "
                   "lowest\n"
                   "of these.",
    .options = table,
    .options_size = sizeof(struct compare_options),
    .operands = {.name = "DB",
                 .help = "the two traces; further ones are repeats after --baseline",
                 .least = 2,
                 .most = 0,
                 .at = offsetof(struct compare_options, traces)},
    .examples = examples,
    .run = compare,
};
