#include "evidence/rank.h"

#include "core/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what makes two runs the same ---- */

#define COMPARE_TEXT(member)                                                                                 \
    if ((order = strcmp(a->member, b->member)) != 0)                                                         \
    return order
#define COMPARE(member)                                                                                      \
    if ((order = order_of((int64_t)a->member, (int64_t)b->member)) != 0)                                     \
    return order

static int compare_jobs(const struct run *a, const struct run *b)
{
    int order;
    COMPARE_TEXT(source);
    COMPARE_TEXT(gpu);
    COMPARE_TEXT(framework);
    COMPARE_TEXT(model_name);
    COMPARE(model.layers);
    COMPARE(model.hidden);
    COMPARE(model.heads);
    COMPARE(model.kv_heads);
    COMPARE(model.ffn);
    COMPARE(model.vocabulary);
    COMPARE(job.technique.rank);
    COMPARE(job.type);
    COMPARE(job.devices);
    COMPARE(job.batch);
    COMPARE(job.sequence);
    return 0;
}

static int compare_splits(const struct run *a, const struct run *b)
{
    int order;
    COMPARE(job.degrees.tensor);
    COMPARE(job.degrees.pipeline);
    COMPARE(job.degrees.context);
    COMPARE(job.degrees.expert);
    COMPARE(job.chunks);
    COMPARE(job.sharding);
    COMPARE(job.microbatch);
    COMPARE(job.recompute);
    for (int k = 0; k < TECHNIQUE_COUNT; k++) {
        order = order_of(technique_get(&a->job.technique, (enum technique_kind)k),
                         technique_get(&b->job.technique, (enum technique_kind)k));
        if (order != 0)
            return order;
    }
    return 0;
}

/* Equal splits in the order of the table. */
static int compare_runs(const void *x, const void *y)
{
    const struct run *a = *(const struct run *const *)x, *b = *(const struct run *const *)y;
    int order = compare_jobs(a, b);
    if (order == 0)
        order = compare_splits(a, b);
    return order != 0 ? order : order_of(a->line, b->line);
}

static int compare_measured(const void *x, const void *y)
{
    const struct ranked_split *a = x, *b = y;
    int order = (a->measured > b->measured) - (a->measured < b->measured);
    return order != 0 ? order : order_of(a->run->line, b->run->line);
}

/* ---- scores ---- */

static struct ranked_split split_of(const struct run *const *runs, int count, double *room)
{
    for (int i = 0; i < count; i++)
        room[i] = runs[i]->seconds;
    sort_doubles(room, count);
    return (struct ranked_split){
        .run = runs[0],
        .runs = count,
        .measured = quantile_of(room, count, 0.5),
        .spread = room[count - 1] / room[0] - 1.0,
    };
}

static double regret_of(const struct ranked_job *job)
{
    double least = INFINITY, chosen = 0.0;
    int equal = 0;
    for (int i = 0; i < job->count; i++)
        least = fmin(least, job->splits[i].run->predicted.seconds);
    for (int i = 0; i < job->count; i++)
        if (job->splits[i].run->predicted.seconds <= least) {
            chosen += job->splits[i].measured;
            equal++;
        }
    return chosen / equal / job->splits[0].measured - 1.0;
}

/* `room`: of 4 numbers for each split. */
static void score_job(struct ranked_job *job, double *room)
{
    double *measured = room, *predicted = room + job->count;
    qsort(job->splits, (size_t)job->count, sizeof *job->splits, compare_measured);
    for (int i = 0; i < job->count; i++) {
        measured[i] = job->splits[i].measured;
        predicted[i] = job->splits[i].run->predicted.seconds;
    }
    job->correlation = rank_correlation(measured, predicted, job->count, room + 2 * (size_t)job->count);
    job->regret = regret_of(job);
    job->spread = job->splits[job->count - 1].measured / job->splits[0].measured - 1.0;
}

/* Sorted runs become splits, and these jobs. `spreads` takes those of repeated splits. */
static void gather(struct ranking *ranking, const struct run *const *runs, int count,
                   struct ranked_split *splits, double *spreads, double *room)
{
    for (int first = 0, last; first < count; first = last) {
        struct ranked_job job = {.splits = splits};
        for (last = first; last < count && compare_jobs(runs[first], runs[last]) == 0;) {
            int end = last;
            while (end < count && compare_jobs(runs[last], runs[end]) == 0 &&
                   compare_splits(runs[last], runs[end]) == 0)
                end++;
            splits[job.count] = split_of(&runs[last], end - last, room);
            if (end - last > 1)
                spreads[ranking->repeated++] = splits[job.count].spread;
            job.count++;
            last = end;
        }
        if (job.count < RANK_MIN_SPLITS)
            continue; /* the next job takes its place */
        score_job(&job, room);
        ranking->jobs[ranking->count++] = job;
        splits += job.count;
    }
}

bool ranking_make(struct ranking *ranking, const struct validation *validation, struct error *err)
{
    *ranking = (struct ranking){0};
    size_t size = (size_t)validation->count + 1;
    const struct run **runs = calloc(size, sizeof *runs);
    double *room = calloc(size, 5 * sizeof *room), *spreads = room + 4 * size;
    struct ranked_split *splits = ARENA_ARRAY(&ranking->arena, size, struct ranked_split);
    ranking->jobs = ARENA_ARRAY(&ranking->arena, size, struct ranked_job);
    bool ok = runs && room && splits && ranking->jobs;
    int count = 0;
    for (int i = 0; ok && i < validation->count; i++)
        if (!validation->runs[i].reason && validation->runs[i].scored)
            runs[count++] = &validation->runs[i];
    if (ok && count > 0) {
        qsort(runs, (size_t)count, sizeof *runs, compare_runs);
        gather(ranking, runs, count, splits, spreads, room);
        for (int i = 0; i < ranking->count; i++) {
            ranking->correlation += ranking->jobs[i].correlation / ranking->count;
            ranking->regret += ranking->jobs[i].regret / ranking->count;
        }
        sort_doubles(spreads, ranking->repeated);
        ranking->repeat_spread = ranking->repeated > 0 ? quantile_of(spreads, ranking->repeated, 0.5) : 0.0;
    }
    free(runs);
    free(room);
    if (!ok)
        ranking_release(ranking);
    return ok || error_memory(err);
}

void ranking_release(struct ranking *ranking)
{
    arena_release(&ranking->arena);
    *ranking = (struct ranking){0};
}
