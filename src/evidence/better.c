#include "evidence/better.h"

#include "core/stop.h"
#include "core/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct finder {
    struct better *betters;
    const struct validation *validation;
    pthread_mutex_t lock; /* of the members below */
    bool failed;
    struct error err;
};

static void add_change(struct better *better, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_change(struct better *better, const char *format, ...)
{
    size_t length = strlen(better->changes);
    va_list args;
    va_start(args, format);
    length += (size_t)snprintf(better->changes + length, sizeof better->changes - length, "%s",
                               length > 0 ? ", " : "");
    if (length < sizeof better->changes)
        vsnprintf(better->changes + length, sizeof better->changes - length, format, args);
    va_end(args);
}

static void add_dimension(struct better *better, enum job_dimension dimension, const struct job *used)
{
    int64_t from = job_dimension_value(used, dimension),
            to = job_dimension_value(&better->plan.job, dimension);
    struct text words = {0};
    if (from == to)
        return;
    text_format(&words, "%s ", job_dimension_name(dimension));
    job_dimension_write(&words, dimension, from);
    text_add(&words, " to ");
    job_dimension_write(&words, dimension, to);
    add_change(better, "%s", words.data ? words.data : job_dimension_name(dimension));
    text_release(&words);
}

static void name_changes(struct better *better, const struct job *used)
{
    const struct job *plan = &better->plan.job;
    if (plan->devices != used->devices)
        add_change(better, "devices %d to %d", used->devices, plan->devices);
    for (int d = 0; d <= JOB_RECOMPUTE; d++)
        if (d != JOB_DATA)
            add_dimension(better, (enum job_dimension)d, used);
    if (plan->stage_blocks)
        add_change(better, "uneven stages");
}

static void name_part(struct better *better, const struct job_time *used)
{
    for (int i = 0; i < JOB_TIME_PARTS; i++) {
        double saved =
            field_get(used, &job_time_parts[i]) - field_get(&better->plan.time, &job_time_parts[i]);
        if (saved > better->saved) {
            better->saved = saved;
            better->part = job_time_parts[i].key;
        }
    }
}

/* False: a search ran out of memory. */
static bool find(struct better *better, const struct run *run, struct error *err)
{
    struct job_question question = {.job = run->job};
    double memory = (double)run->job.device->memory;
    struct job_search search;
    better->seconds = run->predicted.seconds;
    better->used_fits = run->predicted_memory.total <= memory;
    if (!better->used_fits) /* it ran: a plan that is predicted to need no more runs, too */
        question.headroom = 1.0 - run->predicted_memory.total / memory * (1.0 + 1e-9);
    if (!job_search(&search, &question, &(struct job_search_options){.top = 1}, err))
        return err->kind != ERROR_FAILED;
    better->found = true;
    better->plan = search.plans[0];
    better->gain = better->seconds / better->plan.time.seconds - 1.0;
    name_changes(better, &run->job);
    name_part(better, &run->predicted);
    better->plan.job.stage_blocks = NULL; /* goes with the search */
    job_search_release(&search);
    return true;
}

static void find_some(void *context, size_t first, size_t last, int thread)
{
    struct finder *finder = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        finder->betters[i] = (struct better){0};
        struct error err;
        if (finder->validation->runs[i].reason ||
            find(&finder->betters[i], &finder->validation->runs[i], &err))
            continue;
        pthread_mutex_lock(&finder->lock);
        finder->failed = true;
        finder->err = err;
        pthread_mutex_unlock(&finder->lock);
    }
}

bool better_find(struct better *betters, const struct validation *validation, struct parallel *pool,
                 struct error *err)
{
    struct finder finder = {.betters = betters, .validation = validation, .lock = PTHREAD_MUTEX_INITIALIZER};
    parallel_while(pool, (size_t)validation->count, 1, find_some, stop_unwanted, &finder);
    if (finder.failed)
        *err = finder.err;
    return !finder.failed;
}
