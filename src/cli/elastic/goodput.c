#include "cli/elastic/goodput.h"

#include "cli/output.h"
#include "core/vector.h"
#include "elastic/kit_rates.h"
#include "elastic/series.h"
#include "figure/elastic.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GIVEN_EVENTS (1 << 22) /* of all traces of a file together */
#define MICROBATCHES     32        /* of a pipeline, without a plan */

const char *const goodput_lives[] = {"exponential", "weibull", "fixed", NULL};

bool goodput_is_asked(const struct goodput_given *given)
{
    return given->failures || given->rate || given->mtbf > 0;
}

/* ---- how fast the job is ---- */

static bool make_rates(struct goodput_answer *answer, const struct elastic_kit *kit, int faults,
                       struct error *err)
{
    const struct goodput_given *given = answer->given;
    answer->exists_once = kit && elastic_exists_once(kit);
    if (kit)
        return elastic_rates_of_kit(&answer->rates, kit, faults, err) &&
               elastic_copy_seconds(kit, &answer->copies, &answer->checkpoints, err);
    int nodes = given->nodes > 0 ? (int)given->nodes : answer->traces[0].nodes;
    if (nodes == 0)
        return error_set(err, ERROR_USAGE, "elastic: without a plan, --nodes says how many nodes there are");
    if (given->stages > nodes)
        return error_set(err, ERROR_USAGE, "--stages: a pipeline of %lld nodes does not fit %d nodes",
                         (long long)given->stages, nodes);
    int64_t batch = given->batch > 0 ? given->batch : MICROBATCHES * (nodes / given->stages);
    return elastic_rates_make(&answer->rates, nodes, (int)given->stages, batch,
                              given->iteration > 0 ? given->iteration : 1, NULL, NULL, err);
}

/* ---- failures ---- */

static bool read_rate(struct goodput_answer *answer, double *rate, struct error *err)
{
    const struct goodput_given *given = answer->given;
    char *end;
    if (!given->rate) {
        *rate = 1 / given->mtbf;
        return true;
    }
    answer->fact = failure_fact_named(given->rate);
    double value = answer->fact ? answer->fact->rate : strtod(given->rate, &end);
    if (!answer->fact && (end == given->rate || *end || !(value >= 0 && value <= 1e9))) {
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
    return true;
}

/* A file of numbers of nodes is played once for each seed, which chooses the nodes that leave. */
static bool load_traces(struct goodput_answer *answer, int nodes, struct error *err)
{
    const struct goodput_given *given = answer->given;
    int wanted = 1;
    for (int i = 0; i < wanted; i++, answer->trace_count++) {
        struct failure_trace *trace = &answer->traces[i];
        if (!failures_load(trace, given->failures, nodes, (uint64_t)(given->first_seed + i), err))
            return false;
        if (i == 0 && trace->counted && trace->count < MAX_GIVEN_EVENTS / given->seeds)
            wanted = (int)given->seeds;
    }
    return true;
}

static bool read_failures(struct goodput_answer *answer, const struct elastic_kit *kit, struct error *err)
{
    const struct goodput_given *given = answer->given;
    int asked = (given->failures != NULL) + (given->rate != NULL) + (given->mtbf > 0);
    if (asked != 1)
        return error_set(err, ERROR_USAGE, "elastic: give one of --failures, --rate and --mtbf");
    if (given->failures)
        return load_traces(answer, kit ? elastic_kit_nodes(kit) : (int)given->nodes, err);
    answer->drawn = true;
    answer->model = (struct failure_model){.life = (enum failure_distribution)given->life,
                                           .shape = given->shape,
                                           .repair = given->repair,
                                           .batch = given->together};
    return read_rate(answer, &answer->model.rate, err);
}

static struct failure_source source_of(const struct goodput_answer *answer)
{
    return (struct failure_source){.model = answer->drawn ? &answer->model : NULL,
                                   .trace = answer->traces,
                                   .traces = answer->trace_count,
                                   .horizon = answer->given->days * SECONDS_PER_DAY,
                                   .seed = (uint64_t)answer->given->first_seed,
                                   .seeds = (int)answer->given->seeds};
}

/* Draws the first run, of which the timeline is, and counts its losses. */
static bool draw_first(struct goodput_answer *answer, struct error *err)
{
    if (answer->drawn) {
        answer->model.nodes = answer->rates.nodes;
        if (!failures_draw(answer->traces, &answer->model, answer->given->days * SECONDS_PER_DAY,
                           (uint64_t)answer->given->first_seed, err))
            return false;
    }
    struct failure_source given = {.trace = answer->traces};
    return goodput_loss_rate(&given, &answer->losses_per_second, err);
}

/* ---- policies ---- */

static bool add_policy(struct goodput_answer *answer, const struct elastic_policy *policy, struct error *err)
{
    struct elastic_variant variant = {.policy = policy,
                                      .setup = {.rates = &answer->rates,
                                                .costs = answer->given->costs,
                                                .need = (int)answer->given->need,
                                                .exists_once = answer->exists_once}};
    variant.setup.costs.reconfigure += answer->copies;
    return VECTOR_ADD(answer->rows, answer->count, answer->row_capacity,
                      (struct goodput_row){.variant = variant}) ||
           error_memory(err);
}

/* "oobleck,varuna" */
static bool add_policies(struct goodput_answer *answer, const char *names, const char *const *words,
                         const struct elastic_policy *const *policies, struct error *err)
{
    for (const char *at = names;; at++) {
        char name[32];
        size_t length = strcspn(at, ",");
        int choice;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), at);
        if (!option_choose("policy", words, name, &choice, err) || !add_policy(answer, policies[choice], err))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

static bool choose_policies(struct goodput_answer *answer, struct error *err)
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
static double interval_by_formula(const struct goodput_answer *answer, const struct elastic_variant *variant)
{
    double save = goodput_save_seconds(variant), rate = answer->losses_per_second;
    return rate <= 0 ? INFINITY : fmax(failure_best_interval(1, rate, save), goodput_least_interval(variant));
}

static bool set_interval(const struct goodput_answer *answer, struct elastic_variant *variant,
                         struct error *err)
{
    const char *text = answer->given->interval;
    double *interval = &variant->setup.costs.interval;
    *interval = interval_by_formula(answer, variant);
    if (strcmp(text, "formula") == 0 || strcmp(text, "best") == 0)
        return true;
    if (strcmp(text, "none") == 0)
        *interval = INFINITY;
    else if (!unit_parse(text, UNIT_TIME, interval) || !(*interval >= 1e-3))
        return error_set(err, ERROR_USAGE, "--save-interval: expected %s, formula, best or none, found '%s'",
                         unit_example(UNIT_TIME), text);
    return true;
}

static bool set_spares(const struct goodput_answer *answer, struct elastic_variant *variant,
                       struct error *err)
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

static bool measure(struct goodput_answer *answer, struct parallel *pool, struct error *err)
{
    struct failure_source source = source_of(answer);
    bool best_interval = strcmp(answer->given->interval, "best") == 0;
    bool best_spares = strcmp(answer->given->spares, "best") == 0;
    for (int i = 0; i < answer->count; i++) {
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
        if (!measured && !goodput_measure(variant, 1, &source, pool, &row->goodput, err))
            return false;
    }
    return true;
}

/* ---- the first run over time ---- */

static bool write_series(const struct goodput_answer *answer, const struct elastic_series *series,
                         struct error *err)
{
    const struct goodput_given *given = answer->given;
    struct text text = {0};
    for (int i = 0; given->timeline && i < answer->count; i++)
        elastic_series_csv(&series[i], i == 0, &text);
    if (given->timeline && !output_and_release(given->timeline, &text, err))
        return false;
    return !given->figure || figure_elastic(given->figure, series, answer->count, answer->traces, err);
}

static bool show_first(const struct goodput_answer *answer, struct error *err)
{
    if (!answer->given->timeline && !answer->given->figure)
        return true;
    struct elastic_series *series = calloc((size_t)answer->count, sizeof *series);
    bool ok = series || error_memory(err);
    int made = 0;
    for (; ok && made < answer->count; made += ok)
        ok = elastic_series_make(&series[made], &answer->rows[made].variant, answer->traces, err);
    ok = ok && write_series(answer, series, err);
    for (int i = 0; i < made; i++)
        elastic_series_release(&series[i]);
    free(series);
    return ok;
}

static bool write_json(const struct goodput_answer *answer, const char *path, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    goodput_write_json(answer, &json);
    return output_and_release(path, &text, err);
}

static bool deliver(const struct goodput_answer *answer, struct error *err)
{
    const struct goodput_given *given = answer->given;
    if (given->output && !write_json(answer, given->output, err))
        return false;
    if (given->json)
        return write_json(answer, NULL, err);
    struct text text = {0};
    goodput_print(answer, &text);
    return output_and_release(NULL, &text, err);
}

bool goodput_run(const struct goodput_given *given, const struct elastic_kit *kit, int faults,
                 struct error *err)
{
    struct goodput_answer answer = {.given = given, .mixed = kit && kit->kind_count > 1};
    struct parallel *pool = NULL;
    if (given->figure && !figure_can_write(given->figure, err))
        return false;
    answer.traces = calloc((size_t)given->seeds, sizeof *answer.traces);
    bool ok = (answer.traces || error_memory(err)) && read_failures(&answer, kit, err) &&
              make_rates(&answer, kit, faults, err) && draw_first(&answer, err) &&
              choose_policies(&answer, err) && (pool = parallel_new((int)given->threads, err)) &&
              measure(&answer, pool, err) && show_first(&answer, err) && deliver(&answer, err);
    parallel_free(pool);
    free(answer.rows);
    for (int i = 0; answer.traces && i < given->seeds; i++)
        failures_release(&answer.traces[i]);
    free(answer.traces);
    elastic_rates_release(&answer.rates);
    return ok;
}
