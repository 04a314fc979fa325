#include "schedule/search/pull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 48 /* passes that are looked at behind the next one */
#define EFFORT 12 /* a round takes as many evaluations of a pass */
#define ROUNDS 8

struct pull_rules {
    double overrun;    /* share of a pass by which it may delay the one that it overtakes */
    bool weights_last; /* weight passes overtake only if no other pass can */
    bool backwards;    /* from the end of the iteration on */
};

struct pull_device {
    double clock; /* of its next decision; HUGE_VAL: none before a result arrives */
    double free;  /* end of its last pass */
    double kept;
    uint32_t head; /* place of its next pass in the sequence */
    size_t place;  /* in the sequence that is made */
};

/* Backwards, time goes from the end of the iteration to its beginning, a sequence is read from its end, a pass needs
 * those that need it, and takes the memory that it frees. */
struct puller {
    const struct search_problem *problem;
    const uint32_t *sequence;
    bool backwards;
    struct pull_device *device;
    int *done;        /* of each type */
    double *end;      /* of each pass that has begun */
    uint32_t *behind; /* of each place: the next one that is left */
    uint32_t *copy, *pulled, *current;
};

struct puller *puller_make(const struct search_problem *problem, struct error *err)
{
    struct puller *puller = calloc(1, sizeof *puller);
    if (puller == NULL)
        return error_memory_null(err);
    puller->problem = problem;
    puller->device = malloc((size_t)problem->devices * sizeof *puller->device);
    puller->done = malloc((size_t)problem->types * sizeof *puller->done);
    puller->end = malloc(problem->passes * sizeof *puller->end);
    puller->behind = malloc(problem->passes * sizeof *puller->behind);
    puller->copy = malloc(problem->passes * sizeof *puller->copy);
    puller->pulled = malloc(problem->passes * sizeof *puller->pulled);
    puller->current = malloc(problem->passes * sizeof *puller->current);
    if (puller->device != NULL && puller->done != NULL && puller->end != NULL && puller->behind != NULL &&
        puller->copy != NULL && puller->pulled != NULL && puller->current != NULL)
        return puller;
    puller_free(puller);
    return error_memory_null(err);
}

void puller_free(struct puller *puller)
{
    if (puller == NULL)
        return;
    free(puller->device);
    free(puller->done);
    free(puller->end);
    free(puller->behind);
    free(puller->copy);
    free(puller->pulled);
    free(puller->current);
    free(puller);
}

static const struct search_type *type_of(const struct puller *puller, uint32_t pass)
{
    return &puller->problem->type[puller->problem->type_of[pass]];
}

static double takes(const struct puller *puller, const struct search_type *type)
{
    return puller->backwards ? type->frees : type->takes;
}

static double frees(const struct puller *puller, const struct search_type *type)
{
    return puller->backwards ? type->takes : type->frees;
}

static double occupied_before(const struct puller *puller, const struct search_type *type)
{
    return puller->backwards ? type->after : type->before;
}

/* Returns whether a pass is the next one of its type. */
static bool is_next(const struct puller *puller, uint32_t pass)
{
    const struct search_problem *problem = puller->problem;
    int microbatch = (int)(pass % (uint32_t)problem->microbatches),
        done = puller->done[problem->type_of[pass]];
    return microbatch == (puller->backwards ? problem->microbatches - 1 - done : done);
}

/* Fills in the types whose passes need the result of one of this type; returns how many. */
static int users_of(const struct search_problem *problem, const struct search_type *type, int users[static 2])
{
    int count = 0, stages = problem->stages, stage = type->stage;
    if (type->kind == PASS_FORWARD)
        users[count++] = stage + 1 < stages ? stage + 1 : stages + stage;
    if (type->kind == PASS_INPUT)
        users[count++] = 2 * stages + stage;
    if (type->kind == PASS_INPUT && stage > 0)
        users[count++] = stages + stage - 1;
    return count;
}

/* Returns when a pass of another type with the same micro-batch has ended, and its result has come; HUGE_VAL: it has
 * not begun. `lag` is of the one that takes the result in the order of time. */
static double come_from(const struct puller *puller, int from, uint32_t microbatch, double lag)
{
    const struct search_problem *problem = puller->problem;
    int count = puller->backwards ? problem->microbatches - 1 - (int)microbatch : (int)microbatch;
    size_t pass = (size_t)from * (size_t)problem->microbatches + microbatch;
    return puller->done[from] > count ? puller->end[pass] + lag : HUGE_VAL;
}

/* Returns the time at which a pass can begin; HUGE_VAL: its input is not being made. */
static double start_of(const struct puller *puller, uint32_t pass)
{
    const struct search_problem *problem = puller->problem;
    const struct search_type *type = type_of(puller, pass);
    uint32_t microbatch = pass % (uint32_t)problem->microbatches;
    double start = puller->device[type->device].free + occupied_before(puller, type);
    if (!puller->backwards) {
        int from = type->needs_other ? problem->type_of[(size_t)((ptrdiff_t)pass + type->needs)] : -1;
        return from >= 0 ? search_max(start, come_from(puller, from, microbatch, type->lag)) : start;
    }
    int users[2];
    for (int i = users_of(problem, type, users) - 1; i >= 0; i--)
        start = search_max(start, come_from(puller, users[i], microbatch, problem->type[users[i]].lag));
    return start;
}

/* Returns the place before that of the pass that overtakes the head, or NULL: none can. */
static uint32_t *overtakes(const struct puller *puller, const struct pull_rules *rules,
                           struct pull_device *own, size_t last, double begin)
{
    const struct search_problem *problem = puller->problem;
    double kept = own->kept, peak = 0.0;
    uint32_t *weight = NULL, *at = &own->head;
    for (int i = 0; i < WINDOW && *at < last; i++, at = &puller->behind[*at]) {
        uint32_t pass = puller->sequence[*at];
        const struct search_type *type = type_of(puller, pass);
        double ready = own->clock + occupied_before(puller, type), taken = takes(puller, type);
        bool fits = i > 0 && is_next(puller, pass) &&
                    own->clock + type->seconds <= begin + rules->overrun * type->seconds + problem->hair &&
                    own->kept + taken <= problem->memory &&
                    peak + taken - frees(puller, type) <= problem->memory &&
                    start_of(puller, pass) <= ready + problem->hair;
        if (fits && (type->kind != PASS_WEIGHT || !rules->weights_last))
            return at;
        if (fits && weight == NULL)
            weight = at;
        kept += taken;
        peak = search_max(peak, kept);
        kept -= frees(puller, type);
    }
    return weight;
}

/* Lets a device look again when a result has come to it. */
static void wake(const struct puller *puller, int type, double end, double lag)
{
    struct pull_device *other = &puller->device[puller->problem->type[type].device];
    double before = occupied_before(puller, &puller->problem->type[type]);
    other->clock = search_min(other->clock, search_max(other->free, end + lag - before));
}

/* Begins the pass at a place: takes it out, notes its end, and wakes the devices that wait for it. */
static void begin(struct puller *puller, uint32_t *at)
{
    const struct search_problem *problem = puller->problem;
    uint32_t pass = puller->sequence[*at];
    const struct search_type *type = type_of(puller, pass);
    struct pull_device *own = &puller->device[type->device];
    double end = search_max(start_of(puller, pass), own->clock) + type->seconds;
    *at = puller->behind[*at];
    puller->end[pass] = end;
    puller->done[problem->type_of[pass]]++;
    puller->pulled[own->place++] = pass;
    own->free = own->clock = end + (puller->backwards ? type->before : type->after);
    own->kept += takes(puller, type) - frees(puller, type);
    if (puller->backwards) {
        if (type->needs_other)
            wake(puller, problem->type_of[(size_t)((ptrdiff_t)pass + type->needs)], end, type->lag);
        return;
    }
    int users[2];
    for (int i = users_of(problem, type, users) - 1; i >= 0; i--)
        wake(puller, users[i], end, problem->type[users[i]].lag);
}

/* Copies a sequence, backwards with the passes of each device turned round. */
static void copy(const struct puller *puller, const uint32_t *from, uint32_t *to)
{
    const struct search_problem *problem = puller->problem;
    for (int device = 0; device < problem->devices; device++)
        for (size_t i = problem->first[device], end = problem->first[device + 1]; i < end; i++)
            to[i] = from[puller->backwards ? problem->first[device] + end - 1 - i : i];
}

static bool play(struct puller *puller, const struct pull_rules *rules)
{
    const struct search_problem *problem = puller->problem;
    for (size_t begun = 0; begun < problem->passes;) {
        int device = 0;
        for (int i = 1; i < problem->devices; i++)
            if (puller->device[i].clock < puller->device[device].clock)
                device = i;
        struct pull_device *own = &puller->device[device];
        size_t last = problem->first[device + 1];
        if (own->clock == HUGE_VAL)
            return false;
        double next = HUGE_VAL;
        uint32_t *at = NULL;
        if (own->head < last) {
            const struct search_type *type = type_of(puller, puller->sequence[own->head]);
            double start = start_of(puller, puller->sequence[own->head]);
            next = start - occupied_before(puller, type);
            at = next <= own->clock + problem->hair ? &own->head : overtakes(puller, rules, own, last, start);
        }
        begun += at != NULL;
        if (at != NULL)
            begin(puller, at);
        else
            own->clock = next;
    }
    return true;
}

/* Fills the gaps of a sequence. Returns false if its passes wait for each other; the sequence is as it was then. */
static bool pull_ahead(struct puller *puller, const struct pull_rules *rules, uint32_t *sequence)
{
    const struct search_problem *problem = puller->problem;
    puller->backwards = rules->backwards;
    puller->sequence = puller->copy;
    copy(puller, sequence, puller->copy);
    for (int i = 0; i < problem->types; i++)
        puller->done[i] = 0;
    for (size_t i = 0; i < problem->passes; i++)
        puller->behind[i] = (uint32_t)i + 1;
    for (int device = 0; device < problem->devices; device++)
        puller->device[device] =
            (struct pull_device){.head = (uint32_t)problem->first[device], .place = problem->first[device]};
    if (!play(puller, rules))
        return false;
    copy(puller, puller->pulled, sequence);
    return true;
}

void pull_and_offer(struct puller *puller, struct evaluation *evaluation, int rules, const uint32_t *sequence,
                    struct search_pool *pool)
{
    static const double overruns[] = {0.0, 0.5, 1.0};
    const struct search_problem *problem = puller->problem;
    struct pull_rules own = {overruns[rules % 3], rules / 3 % 2 == 1, rules / 6 == 1};
    double best = HUGE_VAL;
    memcpy(puller->current, sequence, problem->passes * sizeof *sequence);
    for (int round = 0; round < ROUNDS; round++) {
        evaluation->evaluated += EFFORT * (int64_t)problem->passes;
        if (!pull_ahead(puller, &own, puller->current) || !evaluate_starts(evaluation, puller->current))
            return;
        search_pool_offer(pool, problem, puller->current, evaluation->value, evaluation->secondary);
        if (round > 1 && evaluation->value > best - problem->hair)
            return;
        best = search_min(best, evaluation->value);
        own.backwards = !own.backwards;
    }
}
