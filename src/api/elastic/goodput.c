#include "api/elastic/goodput.h"
#include "api/elastic/report.h"
#include "core/fields.h"
#include "core/file_output.h"
#include "core/progress.h"
#include "core/vector.h"
#include "elastic/kit_rates.h"
#include "elastic/series.h"
#include "figure/elastic.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void complete_row(const struct goodput_rows *answer, struct goodput_row *row)
{
    const struct elastic_costs *costs = &row->variant.setup.costs;
    const struct failure_model *model = &answer->model;
    double restart = costs->detect + costs->restart + costs->load;
    row->spares = row->variant.policy->fixed ? row->variant.setup.spares : INT64_MIN;
    row->slow_policy = answer->slow ? slow_answer_names[row->variant.setup.slow_answer] : NULL;
    if (answer->slow_answer_count < 2)
        row->goodput.behind = row->goodput.behind_low = row->goodput.behind_high = NAN;
    if (!answer->drawn || answer->slow || model->repair > 0 || model->batch > 1 ||
        model->life != FAILURE_EXPONENTIAL || row->variant.policy != elastic_policy_named("restart") ||
        row->variant.setup.spares > 0 || row->variant.setup.need > 0 || !isfinite(costs->interval))
        return;
    row->closed.ettr = failure_expected_ettr(model->nodes, model->rate, restart, costs->interval,
                                             costs->save_block, &row->closed.holds);
    row->closed.exact =
        failure_exact_ettr(model->nodes, model->rate, restart, costs->interval, costs->save_block);
    row->expected = &row->closed;
}

/* Sets all that follows from the others. */
static void goodput_complete(struct goodput_rows *answer)
{
    double rate = answer->drawn ? answer->model.rate : NAN;
    for (int i = 0; i < answer->count; i++)
        complete_row(answer, &answer->rows[i]);
    answer->per_1000_days = rate * 1000 * SECONDS_PER_DAY;
    answer->mttf = answer->drawn ? failure_mttf(answer->rates.nodes, rate) : NAN;
    answer->repair = answer->drawn ? answer->model.repair : NAN;
    answer->trace = answer->given->failures;
    answer->source = answer->fact ? answer->fact->source : NULL;
    answer->horizon = answer->rows[0].goodput.horizon;
    answer->seeds = answer->rows[0].goodput.seeds;
}

/* ---- JSON ---- */

static const struct field policy_fields[] = {
    FIELD_OUT(struct elastic_policy, "policy", name, FIELD_TEXT),
    FIELD(struct elastic_policy, assumes, FIELD_TEXT, 0, 0),
    FIELD(struct elastic_policy, source, FIELD_TEXT, 0, 0),
};

static const struct field expected_fields[] = {
    FIELD_OUT(struct goodput_expectation, "value", ettr, FIELD_DOUBLE),
    FIELD(struct goodput_expectation, holds, FIELD_FLAG, 0, 0),
    FIELD(struct goodput_expectation, exact, FIELD_DOUBLE, 0, 0),
};

static const struct field row_fields[] = {
    FIELD_OUT(struct goodput_row, "goodput", goodput.mean, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "low", goodput.low, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "high", goodput.high, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "save_interval", variant.setup.costs.interval, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "spares", spares, FIELD_INT64),
    FIELD(struct goodput_row, slow_policy, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct goodput_row, "behind", goodput.behind, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "behind_low", goodput.behind_low, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "behind_high", goodput.behind_high, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "losses", goodput.losses, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "slowdowns", goodput.slow, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "restarts", goodput.restarts, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "reconfigurations", goodput.changes, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_row, "saves", goodput.saves, FIELD_DOUBLE),
    FIELD_OPEN("shares", FIELD_MAP),
};

static const struct field row_end_fields[] = {
    FIELD_CLOSE,
    FIELD_PART(struct goodput_row, "expected_ettr", expected, expected_fields, FIELD_POINTER),
};

static void write_row(const struct goodput_row *row, struct json *json)
{
    json_open(json, NULL, '{');
    fields_write(row->variant.policy, policy_fields, 1, json);
    FIELDS_WRITE(row, row_fields, json);
    for (int cause = 0; cause < ELASTIC_CAUSE_COUNT; cause++)
        json_number(json, elastic_cause_name((enum elastic_cause)cause), row->goodput.share[cause]);
    FIELDS_WRITE(row, row_end_fields, json);
    fields_write(row->variant.policy, policy_fields + 1, 2, json);
    json_close(json);
}

static const struct field answer_fields[] = {
    FIELD_OUT(struct goodput_rows, "nodes", rates.nodes, FIELD_INT),
    FIELD_OUT(struct goodput_rows, "nodes_per_pipeline", rates.stages, FIELD_INT),
    FIELD_OUT(struct goodput_rows, "iteration_time", rates.full, FIELD_DOUBLE),
    FIELD(struct goodput_rows, trace, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct goodput_rows, "losses_per_1000_node_days", per_1000_days, FIELD_DOUBLE),
    FIELD(struct goodput_rows, mttf, FIELD_DOUBLE, 0, 0),
    FIELD(struct goodput_rows, repair, FIELD_DOUBLE, 0, 0),
    FIELD_OUT(struct goodput_rows, "copy_seconds", copies, FIELD_DOUBLE),
    FIELD_OUT(struct goodput_rows, "checkpoint_share", checkpoints, FIELD_DOUBLE),
    FIELD(struct goodput_rows, source, FIELD_TEXT, 0, 0),
    FIELD_OUT(struct goodput_rows, "seconds", horizon, FIELD_DOUBLE),
    FIELD(struct goodput_rows, seeds, FIELD_INT, 0, 0),
};

static void goodput_write_json(const struct goodput_rows *answer, struct json *json)
{
    json_open_document(json, "rehearse-goodput/1");
    FIELDS_WRITE(answer, answer_fields, json);
    json_open(json, "policies", '[');
    for (int i = 0; i < answer->count; i++)
        write_row(&answer->rows[i], json);
    json_close(json);
    json_close(json);
}

#define MAX_GIVEN_EVENTS (1 << 22) /* of all traces of a file together */
#define MICROBATCHES     32        /* of a pipeline, without a plan */

const char *const goodput_lives[] = {"exponential", "weibull", "fixed", NULL};

bool goodput_is_asked(const struct rh_elastic_request *given)
{
    return given->failures || given->rate || given->mtbf > 0;
}

/* ---- how fast the job is ---- */

static bool make_rates(struct goodput_rows *answer, const struct elastic_kit *kit, int faults,
                       struct error *err)
{
    const struct rh_elastic_request *given = answer->given;
    answer->exists_once = kit && elastic_exists_once(kit);
    if (kit)
        return elastic_rates_of_kit(&answer->rates, kit, faults, err) &&
               elastic_copy_seconds(kit, &answer->copies, &answer->checkpoints, err);
    int nodes = given->nodes > 0 ? (int)given->nodes : answer->traces[0].nodes;
    if (nodes == 0)
        return error_set(err, ERROR_USAGE, "elastic: give the number of nodes with --nodes, or a plan");
    if (given->stages > nodes)
        return error_set(err, ERROR_USAGE, "--stages: a pipeline of %lld nodes does not fit %d nodes",
                         (long long)given->stages, nodes);
    int64_t batch = given->microbatches > 0 ? given->microbatches : MICROBATCHES * (nodes / given->stages);
    return elastic_rates_make(&answer->rates, nodes, (int)given->stages, batch,
                              given->iteration > 0 ? given->iteration : 1, NULL, NULL, err);
}

/* ---- failures ---- */

static bool read_rate(struct goodput_rows *answer, double *rate, struct error *err)
{
    const struct rh_elastic_request *given = answer->given;
    char *end;
    if (!given->rate) {
        *rate = 1 / given->mtbf;
        return true;
    }
    answer->fact = failure_fact_named(given->rate);
    const struct dimension_number number = dimension_split(DIMENSION_LOSSES, given->rate);
    double value = answer->fact ? answer->fact->rate : number.factor * strtod(number.digits, &end);
    if (!answer->fact && (end == number.digits || *end || !(value >= 0 && value <= 1e9))) {
        struct text names = {0};
        int count;
        const struct failure_fact *facts = failure_facts(&count);
        for (int i = 0; i < count; i++)
            text_format(&names, "%s%s", i > 0 ? ", " : "", facts[i].name);
        error_set(err, ERROR_USAGE, "--rate: expected losses per 1000 node-days or one of %s, found '%s'",
                  names.data ? names.data : "", given->rate);
        text_release(&names);
        return false;
    }
    *rate = failure_rate_of_node_days(value);
    return answer->fact || number.has_unit ||
           dimension_check(DIMENSION_LOSSES, "rate", given->rate, value, err);
}

/* A file of numbers of nodes is played once for each seed, which chooses the nodes that leave. */
static bool load_traces(struct goodput_rows *answer, int nodes, struct error *err)
{
    const struct rh_elastic_request *given = answer->given;
    int wanted = 1;
    for (int i = 0; i < wanted; i++, answer->trace_count++) {
        struct failure_trace *trace = &answer->traces[i];
        if (!failures_load(trace, given->failures, nodes, (uint64_t)(given->seed + i), err))
            return false;
        if (i == 0 && trace->counted && trace->count < MAX_GIVEN_EVENTS / given->seeds)
            wanted = (int)given->seeds;
    }
    return true;
}

static bool read_failures(struct goodput_rows *answer, const struct elastic_kit *kit, struct error *err)
{
    const struct rh_elastic_request *given = answer->given;
    int asked = (given->failures != NULL) + (given->rate != NULL) + (given->mtbf > 0);
    if (asked != 1)
        return error_set(err, ERROR_USAGE, "elastic: give exactly one of --failures, --rate and --mtbf");
    if (given->failures)
        return load_traces(answer, kit ? elastic_kit_nodes(kit) : (int)given->nodes, err);
    answer->drawn = true;
    answer->model =
        (struct failure_model){.life = (enum failure_distribution)option_index(goodput_lives, given->life),
                               .shape = given->shape,
                               .repair = given->repair,
                               .batch = given->together,
                               .slow_rate = failure_rate_of_node_days(given->slow_rate),
                               .slow_speed = given->slow_speed,
                               .slow_time = given->slow_time};
    return read_rate(answer, &answer->model.rate, err);
}

static struct failure_source source_of(const struct goodput_rows *answer)
{
    return (struct failure_source){.model = answer->drawn ? &answer->model : NULL,
                                   .trace = answer->traces,
                                   .traces = answer->trace_count,
                                   .horizon = answer->given->days * SECONDS_PER_DAY,
                                   .seed = (uint64_t)answer->given->seed,
                                   .seeds = (int)answer->given->seeds};
}

/* Draws the first run, of which the timeline is, and counts its losses. */
static bool draw_first(struct goodput_rows *answer, struct error *err)
{
    if (answer->drawn) {
        answer->model.nodes = answer->rates.nodes;
        if (!failures_draw(answer->traces, &answer->model, answer->given->days * SECONDS_PER_DAY,
                           (uint64_t)answer->given->seed, err))
            return false;
    }
    answer->slow = answer->traces->slow_count > 0 || answer->model.slow_rate > 0;
    struct failure_source given = {.trace = answer->traces};
    return goodput_loss_rate(&given, &answer->losses_per_second, err);
}

/* ---- policies ---- */

static bool add_policy(struct goodput_rows *answer, const struct elastic_policy *policy, struct error *err)
{
    struct elastic_variant variant = {.policy = policy,
                                      .setup = {.rates = &answer->rates,
                                                .costs = answer->costs,
                                                .need = (int)answer->given->need,
                                                .exists_once = answer->exists_once,
                                                .slow_detect = answer->given->slow_detect}};
    variant.setup.costs.reconfigure += answer->copies;
    for (int i = 0; i < answer->slow_answer_count; i++) {
        variant.setup.slow_answer = answer->slow_answers[i];
        snprintf(variant.name, sizeof variant.name, "%s%s%s", policy->name,
                 answer->slow_answer_count > 1 ? "+" : "",
                 answer->slow_answer_count > 1 ? slow_answer_names[answer->slow_answers[i]] : "");
        if (!VECTOR_ADD(answer->rows, answer->count, answer->row_capacity,
                        (struct goodput_row){.variant = variant}))
            return error_memory(err);
    }
    return true;
}

/* The next word of "a,b"; *at is moved behind it. */
static bool next_choice(const char *option, const char *const *words, const char **at, int *choice,
                        struct error *err)
{
    char name[32];
    size_t length = strcspn(*at, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), *at);
    *at += length;
    return option_choose(option, words, name, choice, err);
}

static bool choose_slow_answers(struct goodput_rows *answer, struct error *err)
{
    if (!answer->slow && strcmp(answer->given->slow_policy, "ignore") != 0)
        return error_set(err, ERROR_USAGE,
                         "--slow-policy: no node is ever slow: give --slow-rate, or a table of --failures "
                         "with slow nodes");
    for (const char *at = answer->given->slow_policy;; at++) {
        int choice;
        if (!next_choice("slow-policy", slow_answer_names, &at, &choice, err))
            return false;
        for (int i = 0; i < answer->slow_answer_count; i++)
            if (answer->slow_answers[i] == (enum slow_answer)choice)
                return error_set(err, ERROR_USAGE, "--slow-policy: '%s' is given twice",
                                 slow_answer_names[choice]);
        answer->slow_answers[answer->slow_answer_count++] = (enum slow_answer)choice;
        if (!*at)
            return true;
    }
}

/* "oobleck,varuna" */
static bool add_policies(struct goodput_rows *answer, const char *names, const char *const *words,
                         const struct elastic_policy *const *policies, struct error *err)
{
    for (const char *at = names;; at++) {
        int choice;
        if (!next_choice("policy", words, &at, &choice, err) || !add_policy(answer, policies[choice], err))
            return false;
        if (!*at)
            return true;
    }
}

static bool choose_policies(struct goodput_rows *answer, struct error *err)
{
    const struct rh_list *names = &answer->given->policies;
    int all;
    const struct elastic_policy *const *policies = elastic_policies(&all);
    const char **words = calloc((size_t)all + 1, sizeof *words);
    bool ok = words || error_memory(err);
    for (int i = 0; ok && i < all; i++) {
        words[i] = policies[i]->name;
        ok = names->count > 0 || add_policy(answer, policies[i], err);
    }
    for (size_t i = 0; ok && i < names->count; i++)
        ok = add_policies(answer, names->items[i], words, policies, err);
    free(words);
    return ok;
}

/* sqrt(2 w / (N r)), with the losses of the first run. */
static double interval_by_formula(const struct goodput_rows *answer, const struct elastic_variant *variant)
{
    double save = goodput_save_seconds(variant), rate = answer->losses_per_second;
    return rate <= 0 ? INFINITY : fmax(failure_best_interval(1, rate, save), goodput_least_interval(variant));
}

static bool set_interval(const struct goodput_rows *answer, struct elastic_variant *variant,
                         struct error *err)
{
    const char *text = answer->given->save_interval;
    double *interval = &variant->setup.costs.interval;
    *interval = interval_by_formula(answer, variant);
    if (strcmp(text, "formula") == 0 || strcmp(text, "best") == 0)
        return true;
    if (strcmp(text, "none") == 0)
        *interval = INFINITY;
    else if (!unit_parse(text, UNIT_TIME, interval) || !(*interval >= 1e-3))
        return error_set(err, ERROR_USAGE, "--save-interval: expected %s, formula, best or none, found '%s'",
                         unit_example(UNIT_TIME), text);
    else
        return dimension_parse(DIMENSION_REPAIR, UNIT_TIME, "save-interval", text, interval, err);
    return true;
}

static bool set_spares(const struct goodput_rows *answer, struct elastic_variant *variant, struct error *err)
{
    const char *text = answer->given->spares;
    char *end;
    long value = strtol(text, &end, 10);
    if (strcmp(text, "best") == 0)
        return true;
    if (end == text || *end || value < 0 || value >= answer->rates.nodes)
        return error_set(err, ERROR_USAGE, "--spares: expected 0 to %d nodes or best, found '%s'",
                         answer->rates.nodes - 1, text);
    variant->setup.spares = variant->policy->fixed ? (int)value : 0;
    return true;
}

/* The answers to slow nodes of each policy, which follow each other. */
static bool measure_together(struct goodput_rows *answer, const struct failure_source *source,
                             struct parallel *pool, struct error *err)
{
    struct elastic_variant variants[SLOW_ANSWERS];
    struct goodput results[SLOW_ANSWERS];
    int count = answer->slow_answer_count;
    for (int first = 0; first + count <= answer->count; first += count) {
        for (int i = 0; i < count; i++)
            variants[i] = answer->rows[first + i].variant;
        if (!goodput_measure(variants, count, source, pool, results, err))
            return false;
        for (int i = 0; i < count; i++)
            answer->rows[first + i].goodput = results[i];
    }
    return true;
}

static bool measure(struct goodput_rows *answer, struct parallel *pool, struct progress *progress,
                    struct error *err)
{
    struct failure_source source = source_of(answer);
    bool best_interval = strcmp(answer->given->save_interval, "best") == 0;
    bool best_spares = strcmp(answer->given->spares, "best") == 0;
    for (int i = 0; i < answer->count; i++) {
        progress_show(progress, "policy %d of %d", i + 1, answer->count);
        struct goodput_row *row = &answer->rows[i];
        struct elastic_variant *variant = &row->variant;
        double *interval = &variant->setup.costs.interval;
        if (!set_interval(answer, variant, err) || !set_spares(answer, variant, err))
            return false;
        bool measured = false;
        if (best_spares && variant->policy->fixed &&
            !(measured =
                  goodput_best_spares(variant, &source, pool, &variant->setup.spares, &row->goodput, err)))
            return false;
        if (best_interval &&
            !(measured = goodput_best_interval(variant, &source, pool, interval, &row->goodput, err)))
            return false;
        if (!measured && answer->slow_answer_count < 2 &&
            !goodput_measure(variant, 1, &source, pool, &row->goodput, err))
            return false;
    }
    return answer->slow_answer_count < 2 || measure_together(answer, &source, pool, err);
}

static bool measure_all(struct goodput_rows *answer, struct parallel *pool, struct error *err)
{
    struct progress progress;
    progress_start(&progress, "playing failures");
    bool ok = measure(answer, pool, &progress, err);
    progress_end(&progress);
    return ok;
}

/* ---- the first run over time ---- */

static bool write_series(const struct goodput_rows *answer, const struct elastic_series *series,
                         struct report_drawing *drawing, struct error *err)
{
    const struct rh_elastic_request *given = answer->given;
    struct text text = {0};
    for (int i = 0; given->timeline && i < answer->count; i++)
        elastic_series_csv(&series[i], i == 0, &text);
    bool done = !given->timeline || file_write_exact(given->timeline, &text, err);
    text_release(&text);
    return done && elastic_draw_series(series, answer->count, answer->traces->horizon, drawing, err) &&
           (!given->figure || figure_elastic(given->figure, series, answer->count, answer->traces, err));
}

static bool show_first(const struct goodput_rows *answer, struct report_drawing *drawing, struct error *err)
{
    struct elastic_series *series = calloc((size_t)answer->count, sizeof *series);
    bool ok = series || error_memory(err);
    int made = 0;
    for (; ok && made < answer->count; made += ok)
        ok = elastic_series_make(&series[made], &answer->rows[made].variant, answer->traces, err);
    ok = ok && write_series(answer, series, drawing, err);
    for (int i = 0; i < made; i++)
        elastic_series_release(&series[i]);
    free(series);
    return ok;
}

/* ---- the answer ---- */

static const struct field rate_fields[] = {
    FIELD_OUT(struct goodput_rows, "losses_per_second", losses_per_second, FIELD_DOUBLE),
};

static bool deliver(struct goodput_rows *answer, struct api_report *report, struct error *err)
{
    goodput_complete(answer);
    goodput_write_json(answer, &report->json);
    goodput_print(answer, &report->text);
    API_VALUES(&report->base, answer, rate_fields);
    return !answer->given->output || file_write_exact(answer->given->output, &report->json_text, err);
}

static struct elastic_costs costs_of(const struct rh_elastic_request *given)
{
    return (struct elastic_costs){.detect = given->detect,
                                  .restart = given->restart,
                                  .load = given->load,
                                  .swap = given->swap,
                                  .reconfigure = given->reconfigure,
                                  .migrate = given->migrate,
                                  .reroute = given->reroute,
                                  .notice = given->notice,
                                  .save_block = given->save,
                                  .copy_block = given->copy,
                                  .save_write = given->write};
}

bool goodput_answer(const struct rh_elastic_request *given, const struct api_call *call,
                    const struct elastic_kit *kit, struct api_report *report, struct error *err)
{
    struct goodput_rows answer = {.given = given,
                                  .threads = call->how.threads,
                                  .costs = costs_of(given),
                                  .mixed = kit && kit->kind_count > 1};
    struct parallel *pool = NULL;
    if (given->figure && !figure_can_write(given->figure, err))
        return false;
    answer.traces = calloc((size_t)given->seeds, sizeof *answer.traces);
    bool ok = (answer.traces || error_memory(err)) && read_failures(&answer, kit, err) &&
              make_rates(&answer, kit, (int)given->faults, err) && draw_first(&answer, err) &&
              choose_slow_answers(&answer, err) && choose_policies(&answer, err) &&
              (pool = parallel_new(answer.threads, err)) && measure_all(&answer, pool, err) &&
              show_first(&answer, &report->drawing, err) && deliver(&answer, report, err);
    parallel_free(pool);
    free(answer.rows);
    for (int i = 0; answer.traces && i < given->seeds; i++)
        failures_release(&answer.traces[i]);
    free(answer.traces);
    elastic_rates_release(&answer.rates);
    return ok;
}
