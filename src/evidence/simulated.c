#include "evidence/simulated.h"

#include "core/stop.h"
#include "plan/split/plan.h"
#include "sim/play.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

struct player {
    struct simulated *simulated;
    struct validation *validation;
    enum sim_level level;
    pthread_mutex_t lock; /* of the validation's arena, and of the members below */
    bool failed;
    struct error err;
};

static void note(struct player *player, size_t run, const struct error *err)
{
    pthread_mutex_lock(&player->lock);
    if (err->kind == ERROR_FAILED) {
        player->failed = true;
        player->err = *err;
    } else {
        player->simulated[run].reason = arena_copy(&player->validation->arena, err->text, strlen(err->text));
    }
    pthread_mutex_unlock(&player->lock);
}

static bool play(const struct run *run, enum sim_level level, double *seconds, struct error *err)
{
    const struct sim_options options = {.plain = true, .level = level};
    struct sim_result result;
    struct plan plan;
    plan_init(&plan);
    if (!plan_of_one_job(&plan, &run->job, run->job.devices, err))
        return false;
    bool played = sim_play(&plan, &options, &result, err);
    if (played) {
        *seconds = result.seconds;
        sim_result_release(&result);
    }
    plan_release(&plan);
    return played;
}

static void play_some(void *context, size_t first, size_t last, int thread)
{
    struct player *player = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        const struct run *run = &player->validation->runs[i];
        struct simulated *simulated = &player->simulated[i];
        struct error err;
        *simulated = (struct simulated){.seconds = NAN, .error = NAN, .reason = run->reason};
        if (run->reason)
            continue;
        if (!play(run, player->level, &simulated->seconds, &err))
            note(player, i, &err);
        else if (run->seconds > 0.0)
            simulated->error = simulated->seconds / run->seconds - 1.0;
    }
}

bool simulated_find(struct simulated *simulated, struct validation *validation, enum sim_level level,
                    struct parallel *pool, struct error *err)
{
    struct player player = {
        .simulated = simulated, .validation = validation, .level = level, .lock = PTHREAD_MUTEX_INITIALIZER};
    parallel_while(pool, (size_t)validation->count, 1, play_some, stop_unwanted, &player);
    if (player.failed)
        *err = player.err;
    return !player.failed;
}

static struct error_score score_of(const struct simulated *simulated, const struct validation *validation,
                                   bool (*matches)(const struct run *run), bool simulation)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (!run->reason && run->scored && isfinite(simulated[i].error) && (!matches || matches(run)))
            validation->errors[count++] =
                simulation ? simulated[i].error
                           : validation->runs[i].predicted.seconds / validation->runs[i].seconds - 1.0;
    }
    return error_score_of(validation->errors, count);
}

struct simulated_score simulated_score(const struct simulated *simulated, const struct validation *validation,
                                       bool (*matches)(const struct run *run))
{
    return (struct simulated_score){.formula = score_of(simulated, validation, matches, false),
                                    .simulation = score_of(simulated, validation, matches, true)};
}

static bool has_pipeline(const struct run *run)
{
    return run->job.degrees.pipeline > 1;
}

static bool has_none(const struct run *run)
{
    return run->job.degrees.pipeline == 1;
}

static bool has_shards(const struct run *run)
{
    return run->job.sharding == 3;
}

const struct simulated_group simulated_groups[] = {
    {"all", NULL}, {"with pipelines", has_pipeline}, {"without", has_none}, {"with shards", has_shards},
    {NULL, NULL},
};
