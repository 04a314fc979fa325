/* Schedules that are played by their names. */
#include "laws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
    "gpipe",       "looped-bfs", "1f1b",   "eager-1f1b", "interleaved",    "pipedream",
    "2bw",         "chimera",    "zb-h1",  "zb-h2",      "interleaved-zb", "zb-v",
    "v-half",      "v-min",      "hanayo", "dualpipe",   "dualpipev",      "zb-1p",
    "zb-2p",       "v-1p",       "best",   "seq-1f1b",   "bpipe",          "group-interleaved",
    "pipe-offload"};

#define NAMES (int)(sizeof names / sizeof *names)

static void set_times(struct question *question, const double times[4], double factor)
{
    static const char *const options[] = {"forward", "backward", "weight", "comm"};
    for (int i = 0; i < 4; i++)
        question_set(question, options[i], "%.17g", times[i] * factor);
}

static void draw_times(struct law_case *kase, double times[4])
{
    for (int i = 0; i < 4; i++)
        times[i] = random_range(&kase->random, 1, 30) / 16.0;
    if (random_one_in(&kase->random, 2))
        times[3] = 0.0;
}

static double number_given(const struct law_case *kase, const char *option)
{
    return strtod(question_value(&kase->question, option), NULL);
}

static bool is_searched(const struct law_case *kase)
{
    static const char *const searched[] = {"best", "zb-1p", "zb-2p", "v-1p"};
    for (int i = 0; i < 4; i++)
        if (strcmp(question_value(&kase->question, "schedule"), searched[i]) == 0)
            return true;
    return false;
}

/* Searches for an order take a hundred times as long as others. */
static bool is_small(const struct law_case *kase)
{
    return number_given(kase, "stages") * number_given(kase, "microbatches") <= 16;
}

static void draw_schedule(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    double times[4];
    kase->question = (struct question){.command = "simulate"};
    question_set(&kase->question, "schedule", "%s", names[random_range(source, 0, NAMES - 1)]);
    question_set(&kase->question, "stages", "%d",
                 random_range(source, 1, 4) * (random_one_in(source, 2) ? 1 : 2));
    question_set(&kase->question, "microbatches", "%d", random_range(source, 1, 12));
    draw_times(kase, times);
    set_times(&kase->question, times, 1.0);
    if (!is_small(kase) && is_searched(kase))
        question_set(&kase->question, "schedule", "%s", names[random_range(source, 0, 8)]);
}

static bool schedule_doubled(struct law_case *kase)
{
    const double times[4] = {number_given(kase, "forward"), number_given(kase, "backward"),
                             number_given(kase, "weight"), number_given(kase, "comm")};
    struct question other = kase->question;
    set_times(&other, times, 2.0);
    struct answer answer = law_ask(kase, &other, 1);
    bool holds = true;
    if (answer.code != kase->answer.code)
        holds = law_broken(kase, "one has an answer, the other none");
    else if (!answer.code && !law_near(answer.time, 2 * kase->answer.time))
        holds = law_broken(kase, "%.17g s, and %.17g s were expected", answer.time, 2 * kase->answer.time);
    else if (!answer.code && rh_number(answer.handle, "peak") != rh_number(kase->answer.handle, "peak"))
        holds = law_broken(kase, "another peak of memory");
    answer_free(&answer);
    return holds;
}

/* A bound is none that any schedule passes, and a formula that is exact is the time. */
static bool formula_holds(struct law_case *kase)
{
    if (!kase->answer.handle)
        return true;
    double makespan = rh_number(kase->answer.handle, "makespan"),
           bound = rh_number(kase->answer.handle, "lower_bound"),
           formula = rh_number(kase->answer.handle, "formula"),
           exact = rh_number(kase->answer.handle, "formula_exact");
    if (makespan < bound * (1 - LAWS_SAME))
        return law_broken(kase, "%.17g s, where no order takes less than %.17g s", makespan, bound);
    if (exact == 1.0 && isfinite(formula) && !law_near(formula, makespan))
        return law_broken(kase, "the exact formula says %.17g s, played it takes %.17g s", formula, makespan);
    return true;
}

/* The search for the best order has those of all schedules to choose from that need no more memory. */
static bool best_is_best(struct law_case *kase)
{
    struct question other = kase->question;
    question_set(&other, "schedule", "best");
    const char *name = question_value(&kase->question, "schedule");
    if (strcmp(name, "seq-1f1b") == 0 || strcmp(name, "bpipe") == 0 || strcmp(name, "pipe-offload") == 0)
        return true; /* the search neither cuts sequences nor moves activations */
    /* one without a bound keeps two copies of each stage, which the search does not */
    if (!kase->answer.handle || !is_small(kase) || isnan(rh_number(kase->answer.handle, "lower_bound")))
        return true;
    double peak = rh_number(kase->answer.handle, "peak");
    question_set(&other, "memory", "%.17g", peak);
    struct answer best = law_ask(kase, &other, 1);
    bool holds = true;
    double mine = rh_number(kase->answer.handle, "makespan"),
           its = best.handle ? rh_number(best.handle, "makespan") : NAN;
    if (best.handle && its > mine * (1 + LAWS_SAME))
        holds = law_broken(kase, "best takes %.17g s in the memory of one that takes %.17g s", its, mine);
    answer_free(&best);
    return holds;
}

static bool faster_sends(struct law_case *kase)
{
    struct question other = kase->question;
    question_set(&other, "comm", "0");
    struct answer answer = law_ask(kase, &other, 1);
    bool holds = true;
    if (answer.code != kase->answer.code)
        holds = law_broken(kase, "one has an answer, the other none");
    else if (!answer.code && answer.time > kase->answer.time * (1 + LAWS_SAME))
        holds = law_broken(kase, "%.17g s without sends, %.17g s with them", answer.time, kase->answer.time);
    answer_free(&answer);
    return holds;
}

static const struct law schedule_laws[] = {{"threads", law_threads},       {"doubled", schedule_doubled},
                                           {"formula", formula_holds},     {"best", best_is_best},
                                           {"faster sends", faster_sends}, {0}};

const struct family family_schedule = {"schedule", 20, 3, draw_schedule, schedule_laws};
