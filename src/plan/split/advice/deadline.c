#include "plan/split/advice/deadline.h"

#include "core/unit.h"
#include "plan/budget.h"

#include <inttypes.h>
#include <math.h>

#define MAX_DEVICES 1048576

/* ---- no plan is in time ---- */

/* Returns the seconds of the fastest training on so many devices, and its batch; INFINITY: there is no plan. */
static double fastest(const struct job_question *question, const struct job_deadline *deadline, int devices,
                      struct parallel *pool, int64_t *batch, struct error *err)
{
    const struct job_search_options options = {.top = 1, .pool = pool};
    double best = INFINITY;
    for (int b = 0; b < deadline->batch_count; b++) {
        struct job_question one = *question;
        struct job_search search;
        one.job.batch = deadline->batches[b];
        one.job.devices = devices;
        if (!job_search(&search, &one, &options, err))
            continue;
        double per_iteration = (double)one.job.batch * (double)one.job.sequence;
        double seconds = budget_seconds(deadline->tokens, per_iteration, search.plans[0].time.seconds);
        if (seconds < best) {
            best = seconds;
            *batch = one.job.batch;
        }
        job_search_release(&search);
    }
    return best;
}

/* Says how fast the fastest is, and how many devices would do: a doubled number first, then the least in whole nodes,
 * as more devices never make it slower. */
static bool too_slow(const struct job_question *question, const struct job_deadline *deadline,
                     struct parallel *pool, struct error *err)
{
    int most = question->job.devices, node = question->job.devices_per_node, high = most;
    int64_t batch = 0, ignored;
    struct error unused = {0};
    double best = fastest(question, deadline, most, pool, &batch, err);
    if (best == INFINITY) /* *err says why */
        return false;
    error_set(
        err, ERROR_INFEASIBLE,
        "--deadline: no plan trains within %.4g days: the fastest, on %d devices with a batch of %" PRId64
        ", takes %.4g days",
        deadline->seconds / SECONDS_PER_DAY, most, batch, best / SECONDS_PER_DAY);
    double seconds = best;
    while (seconds > deadline->seconds && high <= MAX_DEVICES / 2 && high < 16 * most) {
        high *= 2;
        seconds = fastest(question, deadline, high, pool, &ignored, &unused);
    }
    if (seconds > deadline->seconds)
        return false;
    int low = high / 2;
    while (high - low > node) {
        int middle = low + (high - low) / 2 / node * node;
        if (middle == low)
            break;
        bool enough = fastest(question, deadline, middle, pool, &ignored, &unused) <= deadline->seconds;
        *(enough ? &high : &low) = middle;
    }
    struct error first = *err;
    return error_set(err, ERROR_INFEASIBLE, "%s; %d devices would be enough", first.text, high);
}

/* ---- the cheapest ---- */

bool job_cheapest_in_time(struct job_search *search, struct job_question *question,
                          const struct job_deadline *deadline, const struct job_search_options *options,
                          struct error *err)
{
    double cheapest = INFINITY, shortest = INFINITY;
    *search = (struct job_search){0};
    for (int b = 0; b < deadline->batch_count; b++) {
        struct job_question one = *question;
        struct job_search_options within = *options;
        struct job_search found;
        one.job.batch = deadline->batches[b];
        double per_iteration = (double)one.job.batch * (double)one.job.sequence;
        double iterations = budget_seconds(deadline->tokens, per_iteration, 1.0);
        within.within = deadline->seconds / iterations;
        if (!job_search(&found, &one, &within, err)) {
            if (err->kind == ERROR_INFEASIBLE)
                continue;
            job_search_release(search);
            return false;
        }
        double seconds = iterations * found.plans[0].time.seconds;
        double cost = seconds * found.plans[0].job.devices;
        if (cost < cheapest || (cost == cheapest && seconds < shortest)) {
            job_search_release(search);
            *search = found;
            cheapest = cost;
            shortest = seconds;
            question->job.batch = one.job.batch;
        } else
            job_search_release(&found);
    }
    if (cheapest == INFINITY)
        return too_slow(question, deadline, options->pool, err);
    question->job.devices = search->plans[0].job.devices; /* others are not paid for */
    return true;
}
