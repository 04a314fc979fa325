/* Draws the requests of a stream, and what they do with the cache: entries by least recent use, first in memory
 * where there is some, then in the storage. */
#include "core/clock.h"
#include "core/heap.h"
#include "core/random.h"
#include "core/vector.h"
#include "feed/requests/requests.h"

#include <math.h>
#include <stdlib.h>

#define MAX_REQUESTS 10000000
#define MAX_TURNS    1000

struct user {
    int64_t next_ns, think_ns; /* arrival of the next request; time between requests */
    uint64_t state;            /* of the random numbers */
    uint32_t number, last;     /* last: its request before, + 1 */
    uint32_t conversation;     /* entry of the last turn; 0: none */
    int turn, context, answer;
};

/* A use of an entry, which is out of date if the entry was used again or is elsewhere. */
struct use {
    uint64_t used;
    uint32_t entry;
};

struct drawing {
    struct requests_plan *plan;
    const struct requests_workload *workload;
    struct request *request;
    struct tier {
        struct use *uses; /* a heap, the oldest first */
        size_t count, capacity;
        int64_t bytes;
    } tiers[REQUEST_TIERS];
    int64_t capacity; /* bytes of REQUEST_STORED */
    uint64_t uses;
    struct user *users; /* a heap by next_ns */
};

static int64_t draw(uint64_t *state, int64_t from, int64_t to)
{
    return from + (int64_t)(random_uniform(state) * (double)(to - from + 1));
}

/* ---- the cache ---- */

static bool add_op(struct drawing *drawing, enum request_action action, uint32_t entry, int64_t times)
{
    struct requests_plan *plan = drawing->plan;
    const struct request_op op = {entry, (uint32_t)times, action};
    drawing->request->ops++;
    plan->entries[entry].reads += action == REQUEST_READ;
    return plan->op_count < UINT32_MAX && VECTOR_ADD(plan->ops, plan->op_count, plan->op_capacity, op);
}

static bool is_older(const void *a, const void *b, const void *context)
{
    (void)context;
    return ((const struct use *)a)->used < ((const struct use *)b)->used;
}

static bool note_use(struct drawing *drawing, uint32_t entry)
{
    const struct request_entry *it = &drawing->plan->entries[entry];
    struct tier *tier = &drawing->tiers[it->tier];
    const struct use use = {it->used, entry};
    if (!VECTOR_ADD(tier->uses, tier->count, tier->capacity, use))
        return false;
    heap_push(tier->uses, tier->count, sizeof use, is_older, NULL);
    return true;
}

static bool put(struct drawing *drawing, uint32_t entry, enum request_tier tier)
{
    struct request_entry *it = &drawing->plan->entries[entry];
    it->tier = tier;
    drawing->tiers[tier].bytes += it->bytes;
    return note_use(drawing, entry);
}

/* Takes the least recently used entry out of a tier; 0: it is empty. */
static uint32_t take_oldest(struct drawing *drawing, enum request_tier which)
{
    struct tier *tier = &drawing->tiers[which];
    while (tier->count > 0) {
        heap_pop(tier->uses, tier->count--, sizeof *tier->uses, is_older, NULL);
        const struct use *use = &tier->uses[tier->count];
        struct request_entry *it = &drawing->plan->entries[use->entry];
        if (it->tier == which && it->used == use->used) {
            it->tier = REQUEST_GONE;
            tier->bytes -= it->bytes;
            return use->entry;
        }
    }
    return 0;
}

/* Writes an entry into the storage, from which the oldest are removed. One that is too large for it is written
 * nevertheless. */
static bool store(struct drawing *drawing, uint32_t entry)
{
    int64_t room = drawing->capacity - drawing->plan->entries[entry].bytes;
    while (drawing->tiers[REQUEST_STORED].bytes > room) {
        uint32_t oldest = take_oldest(drawing, REQUEST_STORED);
        if (!oldest)
            break;
        if (!add_op(drawing, REQUEST_REMOVE, oldest, 1))
            return false;
    }
    return put(drawing, entry, REQUEST_STORED) && add_op(drawing, REQUEST_WRITE, entry, 1);
}

static bool keep(struct drawing *drawing, uint32_t entry)
{
    const struct requests_workload *workload = drawing->workload;
    double memory = (double)workload->memory, room = workload->memory_use * memory;
    struct request_entry *it = &drawing->plan->entries[entry];
    it->used = ++drawing->uses;
    room -= (double)it->bytes;
    if (room < 0.0 || (double)it->bytes > workload->memory_largest * memory)
        return store(drawing, entry);
    while ((double)drawing->tiers[REQUEST_MEMORY].bytes > room)
        if (!store(drawing, take_oldest(drawing, REQUEST_MEMORY)))
            return false;
    return put(drawing, entry, REQUEST_MEMORY);
}

/* Uses an entry if it is still there, and reads it from the storage. */
static bool use(struct drawing *drawing, uint32_t entry, int64_t times, uint32_t *found, uint32_t *missed)
{
    struct request_entry *it = &drawing->plan->entries[entry];
    *(it->tier == REQUEST_GONE ? missed : found) += 1;
    if (it->tier == REQUEST_GONE)
        return true;
    it->used = ++drawing->uses;
    return note_use(drawing, entry) &&
           (it->tier == REQUEST_MEMORY || add_op(drawing, REQUEST_READ, entry, times));
}

/* What a request does with the cache: the turns before are read, its context is written, and read while it is
 * answered. */
static bool use_cache(struct drawing *drawing, struct user *user)
{
    const struct requests_workload *workload = drawing->workload;
    struct requests_plan *plan = drawing->plan;
    struct request *request = drawing->request;
    const struct request_entry made = {.bytes = request->context * workload->token_bytes,
                                       .previous = user->conversation};
    uint32_t turns[MAX_TURNS], entry = (uint32_t)plan->entry_count, own = 0;
    int64_t times = 1 + (request->answer + workload->decode_tokens - 1) / workload->decode_tokens;
    int count = 0;
    for (uint32_t at = user->conversation; at; at = plan->entries[at].previous)
        turns[count++] = at;
    while (count-- > 0)
        if (!use(drawing, turns[count], 1, &request->found, &request->missed))
            return false;
    user->conversation = entry;
    return VECTOR_ADD(plan->entries, plan->entry_count, plan->entry_capacity, made) && keep(drawing, entry) &&
           (request->context >= workload->prefill_only || use(drawing, entry, times, &own, &own));
}

/* ---- the users ---- */

static void begin_user(const struct requests_workload *workload, struct user *user, uint32_t number)
{
    const struct requests_user *kind = workload->mix, *last = kind + workload->mix_count - 1;
    double at = 0.0;
    *user = (struct user){.state = random_mix((uint64_t)workload->seed * RANDOM_GOLDEN + number),
                          .number = number};
    if (workload->mix_count == 0)
        return;
    for (const struct requests_user *each = kind; each <= last; each++)
        at += each->share;
    for (at *= random_uniform(&user->state); kind < last && at >= kind->share; kind++)
        at -= kind->share;
    user->context = (int)draw(&user->state, kind->context_from, kind->context_to);
    user->answer = (int)draw(&user->state, kind->answer_from, kind->answer_to);
    user->think_ns = (int64_t)(1e9 * (kind->think_from +
                                      random_uniform(&user->state) * (kind->think_to - kind->think_from)));
}

/* A user's time to think differs by a fifth. */
static int64_t think(struct user *user)
{
    return (int64_t)((double)user->think_ns * (0.8 + 0.4 * random_uniform(&user->state)));
}

static bool draw_request(struct drawing *drawing, struct user *user)
{
    const struct requests_workload *workload = drawing->workload;
    struct request *request = drawing->request;
    if (user->conversation &&
        (random_uniform(&user->state) >= workload->again || user->turn >= workload->turns))
        user->conversation = 0;
    user->turn = user->conversation ? user->turn + 1 : 1;
    request->context = (int32_t)draw(&user->state, user->context < 4 ? 1 : user->context / 4, user->context);
    request->answer = (int32_t)draw(&user->state, user->answer < 4 ? 1 : user->answer / 4, user->answer);
    return use_cache(drawing, user);
}

static void sign(struct requests_plan *plan, const int64_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        plan->digest = random_mix(plan->digest ^ (uint64_t)parts[i]);
}

static bool add_request(struct drawing *drawing, struct user *user, int64_t arrival_ns, int64_t think_ns)
{
    struct requests_plan *plan = drawing->plan;
    const struct request made = {
        .arrival_ns = arrival_ns, .think_ns = think_ns, .user = user->number, .op = (uint32_t)plan->op_count};
    if (!VECTOR_ADD(plan->requests, plan->count, plan->request_capacity, made))
        return false;
    *(user->last ? &plan->requests[user->last - 1].next : &plan->first[user->number]) = (uint32_t)plan->count;
    user->last = (uint32_t)plan->count;
    drawing->request = &plan->requests[plan->count - 1];
    if (drawing->workload->token_bytes > 0 && !draw_request(drawing, user))
        return false;
    const int64_t parts[] = {arrival_ns, user->number, drawing->request->context, drawing->request->answer};
    sign(plan, parts, sizeof parts / sizeof *parts);
    return true;
}

static bool arrives(const struct drawing *drawing, double arrival_ns)
{
    const struct requests_workload *workload = drawing->workload;
    return drawing->plan->count < (size_t)(workload->requests > 0 ? workload->requests : MAX_REQUESTS) &&
           arrival_ns < (workload->duration > 0.0 ? 1e9 * workload->duration : 0x1p62);
}

static bool is_before(const void *a, const void *b, const void *context)
{
    const struct user *left = a, *right = b;
    (void)context;
    return left->next_ns != right->next_ns ? left->next_ns < right->next_ns : left->number < right->number;
}

/* Requests of users who think. */
static bool draw_users(struct drawing *drawing)
{
    size_t count = (size_t)drawing->workload->users;
    struct user *users = drawing->users, *last = users + count - 1;
    for (size_t i = 0; i < count; i++) {
        users[i].next_ns = think(&users[i]);
        heap_push(users, i + 1, sizeof *users, is_before, NULL);
    }
    while (arrives(drawing, (double)users->next_ns)) {
        heap_pop(users, count, sizeof *users, is_before, NULL);
        int64_t before = last->last ? drawing->plan->requests[last->last - 1].arrival_ns : 0;
        if (!add_request(drawing, last, last->next_ns, last->next_ns - before))
            return false;
        last->next_ns += think(last);
        heap_push(users, count, sizeof *users, is_before, NULL);
    }
    return true;
}

/* Requests at a rate, each of any user. */
static bool draw_poisson(struct drawing *drawing)
{
    const struct requests_workload *workload = drawing->workload;
    uint64_t state = random_mix(~(uint64_t)workload->seed);
    double at = 0.0;
    while (at -= 1e9 * log(1.0 - random_uniform(&state)) / workload->rate, arrives(drawing, at))
        if (!add_request(drawing, &drawing->users[draw(&state, 0, workload->users - 1)], (int64_t)at, 0))
            return false;
    return true;
}

bool requests_plan(struct requests_plan *plan, const struct requests_workload *workload, int64_t capacity,
                   struct error *err)
{
    const struct request_entry none = {0};
    size_t users = (size_t)workload->users;
    const int64_t parts[] = {workload->seed,
                             workload->vectors,
                             workload->search_list,
                             workload->beam,
                             workload->shards,
                             workload->batch,
                             workload->degree,
                             workload->dimensions,
                             workload->align,
                             (int64_t)(0x1p52 * workload->cached),
                             workload->token_bytes,
                             workload->memory,
                             workload->capacity,
                             workload->prefill_only,
                             workload->decode_tokens,
                             (int64_t)(0x1p52 * workload->memory_use),
                             (int64_t)(0x1p52 * workload->memory_largest)};
    *plan = (struct requests_plan){.count = 0};
    sign(plan, parts, sizeof parts / sizeof *parts);
    if (workload->vectors > 0 && workload->arrival == REQUESTS_CLOSED) {
        plan->count = workload->requests > 0 ? (size_t)workload->requests : SIZE_MAX / 2;
        return true;
    }
    struct drawing drawing = {.plan = plan,
                              .workload = workload,
                              .capacity = capacity,
                              .users = calloc(users, sizeof *drawing.users)};
    plan->first = calloc(users, sizeof *plan->first);
    bool done = drawing.users && plan->first &&
                VECTOR_ADD(plan->entries, plan->entry_count, plan->entry_capacity, none);
    for (size_t i = 0; done && i < users; i++)
        begin_user(workload, &drawing.users[i], (uint32_t)i);
    done = done && (workload->arrival == REQUESTS_POISSON ? draw_poisson(&drawing) : draw_users(&drawing));
    free(drawing.users);
    for (int i = 0; i < REQUEST_TIERS; i++)
        free(drawing.tiers[i].uses);
    if (!done)
        return error_memory(err);
    if (workload->requests == 0 && plan->count == MAX_REQUESTS)
        return error_set(err, ERROR_INPUT,
                         "%s: more than %d requests within the 'duration': set 'requests', or a lower load",
                         workload->name, MAX_REQUESTS);
    return plan->count > 0 ||
           error_set(err, ERROR_INPUT, "%s: no request arrives within the 'duration'", workload->name);
}

void requests_plan_release(struct requests_plan *plan)
{
    free(plan->requests);
    free(plan->ops);
    free(plan->entries);
    free(plan->first);
}
