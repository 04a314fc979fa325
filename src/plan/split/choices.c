/* Several values of a technique to choose from (`--fix moments=fp32/bf16`): a search for each combination of them.
 *
 * Formats of numbers and the like change what training computes, so that no search takes them by itself. Where the
 * question names several, the best plan is the best of those of each combination, no plan beats the least of their
 * bounds, and a combination is searched only for plans that are faster than the last one wanted so far. */
#include "core/clock.h"
#include "plan/split/kept.h"
#include "plan/split/search.h"

#include <math.h>
#include <string.h>

#define MAX_COMBINATIONS 256

bool job_has_choices(const struct job_question *question)
{
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (question->choices[k] != 0)
            return true;
    return false;
}

static void fix(struct job_question *one, int kind, int value)
{
    one->ranges[JOB_TECHNIQUE + kind] = (struct job_range){value, value, true};
}

/* Sets the first combination, and returns how many there are. */
static double first_combination(struct job_question *one, const struct job_question *question)
{
    double count = 1.0;
    *one = *question;
    memset(one->choices, 0, sizeof one->choices);
    for (int k = 0; k < TECHNIQUE_COUNT; k++)
        if (question->choices[k] != 0) {
            fix(one, k, __builtin_ctz(question->choices[k]));
            count *= __builtin_popcount(question->choices[k]);
        }
    return count;
}

/* Sets the next one, as a counter with a digit for each technique does. False: there was the last. */
static bool next_combination(struct job_question *one, const struct job_question *question)
{
    for (int k = 0; k < TECHNIQUE_COUNT; k++) {
        unsigned values = question->choices[k];
        if (values == 0)
            continue;
        int value = (int)one->ranges[JOB_TECHNIQUE + k].min;
        unsigned above = values >> value >> 1;
        fix(one, k, above ? value + 1 + __builtin_ctz(above) : __builtin_ctz(values));
        if (above)
            return true;
    }
    return false;
}

struct chooser {
    struct job_search *search; /* the answer */
    struct job_search_options options;
    struct kept kept;
    double started, worst; /* value of the last plan wanted */
    double least;          /* bound of all combinations */
};

/* Returns the options of the next combination's search. */
static struct job_search_options options_of(const struct chooser *c)
{
    struct job_search_options options = c->options;
    bool several = options.front || options.within > 0.0;
    if (options.time_limit > 0.0)
        options.time_limit = fmax(options.time_limit - (clock_now() - c->started), 1e-9);
    if (!several && isfinite(c->worst))
        options.ceiling = options.ceiling > 0.0 ? fmin(options.ceiling, c->worst) : c->worst;
    return options;
}

static void keep(struct chooser *c, const struct job_search *found)
{
    for (int i = 0; i < found->plan_count; i++)
        kept_offer(&c->kept, &found->plans[i]);
    c->worst = kept_worst(&c->kept);
    c->least = fmin(c->least, found->lower_bound);
    c->search->combinations += found->combinations;
    c->search->complete &= found->complete;
}

static bool choose(struct chooser *c, const struct job_question *question, struct error *err)
{
    struct job_question one;
    double count = first_combination(&one, question);
    if (count > MAX_COMBINATIONS)
        return error_set(err, ERROR_USAGE, "--fix: %.0f combinations to choose from, expected at most %d",
                         count, MAX_COMBINATIONS);
    c->kept.max_stages = job_block_count(&question->job);
    if (!kept_init(&c->kept, &c->options, &c->search->arena))
        return error_memory(err);
    do {
        struct job_search_options options = options_of(c);
        struct job_search found;
        if (job_search(&found, &one, &options, err)) {
            keep(c, &found);
            job_search_release(&found);
        } else if (err->kind != ERROR_INFEASIBLE) {
            return false;
        } else if (c->options.time_limit > 0.0 && clock_now() - c->started > c->options.time_limit) {
            c->search->complete = false;
            c->least = 0.0;
        }
    } while (next_combination(&one, question));
    return c->kept.count > 0; /* else *err is of the last combination */
}

bool job_search_choices(struct job_search *search, const struct job_question *question,
                        const struct job_search_options *options, struct error *err)
{
    struct chooser chooser = {
        .search = search, .options = *options, .started = clock_now(), .worst = INFINITY, .least = INFINITY};
    *search = (struct job_search){.complete = true};
    if (!choose(&chooser, question, err)) {
        job_search_release(search);
        return false;
    }
    kept_sort(&chooser.kept);
    search->plans = chooser.kept.plans;
    search->plan_count = chooser.kept.count;
    search->lower_bound = fmin(kept_value(options, &search->plans[0]), chooser.least);
    return true;
}
