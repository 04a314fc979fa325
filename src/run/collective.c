/* Collectives of groups of devices.
 *
 * Devices of a rank act as one: what they have is added up, or laid side by side, and what comes out is copied to each.
 * Ranks i = 0 … R-1 of a group move
 *
 *   all-reduce       chunks of the buffer around a ring: R-1 steps in which they are added, R-1 in which they are told
 *                    to all
 *   reduce-scatter   the first R-1 of these steps
 *   all-gather       the other R-1
 *   all-to-all       in step k, what is for rank i+k, to it
 *   meeting          nothing: in step k, rank i tells rank i + 2^k when the last member came that it knows of
 *
 * Each member contributes its weight (device % 16 + 1) times a small number that depends on the place, so that all sums
 * are whole numbers that floats hold exactly, and what comes out is compared with what it must be. */
#include "core/vector.h"
#include "run/player.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN 4                  /* numbers after which the contribution repeats */
#define SLICE   ((int64_t)1 << 18) /* numbers that are worked on before messages and devices have their turn */

static double weight_of(int device)
{
    return device % 16 + 1;
}

static float value_at(double weight, int64_t place)
{
    return (float)(weight * (double)(1 + place % PATTERN));
}

/* ---- groups ---- */

static bool add_rank(struct player_group *group, int rank)
{
    int n = group->rank_count;
    if (n > 0 && group->ranks[n - 1] == rank) {
        group->members_of[n - 1]++;
        return true;
    }
    int *ranks = realloc(group->ranks, ((size_t)n + 1) * sizeof *ranks);
    if (ranks)
        group->ranks = ranks;
    int *members = realloc(group->members_of, ((size_t)n + 1) * sizeof *members);
    if (members)
        group->members_of = members;
    if (!ranks || !members)
        return false;
    ranks[n] = rank;
    members[n] = 1;
    group->rank_count++;
    return true;
}

static bool add_member(struct player *player, int device, int g)
{
    struct player_group *group = &player->groups[g];
    int rank = player_rank_of(player, device);
    group->members++;
    group->weight += weight_of(device);
    group->local += rank == player->wire->rank;
    return add_rank(group, rank);
}

bool collective_init(struct player *player, struct error *err)
{
    const struct engine_system *system = player->system;
    player->groups = calloc((size_t)system->group_count + 1, sizeof *player->groups);
    if (!player->groups)
        return error_memory(err);
    for (int d = 0; d < system->device_count; d++) {
        const struct plan_of_order *order = &player->compiled.orders[system->devices[d].order];
        for (int g = 1; g <= order->groups; g++)
            if (order->uses_group[g] && !add_member(player, d, system->devices[d].groups[g - 1]))
                return error_memory(err);
    }
    for (int g = 0; g < system->group_count; g++) {
        struct player_group *group = &player->groups[g];
        group->own = -1;
        for (int i = 0; i < group->rank_count; i++)
            if (group->ranks[i] == player->wire->rank)
                group->own = i;
        group->there = calloc((size_t)group->local + 1, sizeof *group->there);
        if (!group->there)
            return error_memory(err);
    }
    return true;
}

void collective_release(struct player *player)
{
    for (int g = 0; player->groups && g < player->system->group_count; g++) {
        struct player_group *group = &player->groups[g];
        for (size_t i = 0; i < group->piece_count; i++)
            pool_give(&player->pool, group->pieces[i].values);
        pool_give(&player->pool, group->values);
        pool_give(&player->pool, group->copy);
        free(group->pieces);
        free(group->there);
        free(group->ranks);
        free(group->members_of);
    }
    free(player->groups);
    player->groups = NULL;
}

/* ---- what is moved ---- */

/* A part of the values: of chunk c of n. */
struct span {
    int64_t first, count;
};

static struct span chunk(int64_t count, int c, int n)
{
    int64_t first = count * c / n;
    return (struct span){first, count * (c + 1) / n - first};
}

static int wrap(int i, int n)
{
    return ((i % n) + n) % n;
}

static uint32_t steps_of(const struct player_group *group)
{
    int n = group->rank_count;
    uint32_t rounds = 0;
    switch (group->kind) {
    case SIM_ALL_REDUCE:
        return 2 * ((uint32_t)n - 1);
    case SIM_MEETING:
        while (1 << rounds < n)
            rounds++;
        return rounds;
    default:
        return (uint32_t)n - 1;
    }
}

/* Returns the floats that the collective works on, of so many bytes that a device sends. */
static int64_t values_of(const struct player *player, const struct player_group *group, double bytes)
{
    double n = group->members;
    if (group->kind == SIM_MEETING || n < 2)
        return 0;
    double buffer = group->kind == SIM_ALL_REDUCE   ? bytes * n / (2 * (n - 1))
                    : group->kind == SIM_ALL_TO_ALL ? bytes * group->local
                                                    : bytes * n / (n - 1);
    return player_bytes(player, buffer) / (int64_t)sizeof(float);
}

int64_t collective_bytes(const struct player *player, int number, enum sim_collective kind, double bytes)
{
    struct player_group group = player->groups[number];
    group.kind = kind;
    int64_t own = values_of(player, &group, bytes) * (int64_t)sizeof(float);
    return group.local > 1 && (kind == SIM_ALL_REDUCE || kind == SIM_ALL_GATHER) ? 2 * own : own;
}

/* Floats that a rank and rank k of an all-to-all send to each other: what each of their members has for each other
 * one. */
static int64_t between(const struct player *player, const struct player_group *group, int k)
{
    int64_t each = player_bytes(player, group->bytes) / (int64_t)sizeof(float) / (group->members - 1);
    return each * group->members_of[group->own] * group->members_of[k];
}

struct move {
    int to, from; /* places of ranks in the group */
    struct span out, in;
    bool adds;
};

static struct move move_of(const struct player *player, const struct player_group *group, uint32_t step)
{
    int n = group->rank_count, i = group->own, s = (int)step;
    struct move move = {.to = wrap(i + 1, n), .from = wrap(i - 1, n)};
    bool reduces = group->kind == SIM_REDUCE_SCATTER || (group->kind == SIM_ALL_REDUCE && s < n - 1);
    switch (group->kind) {
    case SIM_MEETING:
        move.to = wrap(i + (1 << s), n);
        move.from = wrap(i - (1 << s), n);
        return move;
    case SIM_ALL_TO_ALL:
        move.to = wrap(i + s + 1, n);
        move.from = wrap(i - s - 1, n);
        move.out.count = between(player, group, move.to);
        move.in.count = between(player, group, move.from);
        return move;
    default:
        break;
    }
    if (group->kind == SIM_ALL_REDUCE && !reduces)
        s -= n - 1;
    int lead = reduces ? i : i + (group->kind == SIM_ALL_REDUCE); /* the chunk that it has to begin with */
    move.out = chunk(group->count, wrap(lead - s, n), n);
    move.in = chunk(group->count, wrap(lead - s - 1, n), n);
    move.adds = reduces;
    return move;
}

static bool send_step(struct player *player, struct player_group *group, struct error *err)
{
    const struct move move = move_of(player, group, group->step);
    struct wire_head head = {.kind = WIRE_PIECE,
                             .to = group->ranks[move.to],
                             .number = (uint32_t)(group - player->groups),
                             .instance = group->instance,
                             .step = group->step,
                             .length = move.out.count * (int64_t)sizeof(float),
                             .time = group->begin,
                             .origin = (uint64_t)group->cause};
    return wire_send(player->wire, &head, group->values ? group->values + move.out.first : NULL,
                     &group->pending, err);
}

/* ---- what members have, and what they get ---- */

/* Fills in some values; a device's part in a gather is its rank's chunk. */
static void fill(const struct player_group *group, int64_t first, int64_t last)
{
    float *values = group->values;
    const struct span own = chunk(group->count, group->own, group->rank_count);
    switch (group->kind) {
    case SIM_ALL_REDUCE:
    case SIM_REDUCE_SCATTER:
        for (int64_t i = first; i < last; i++)
            values[i] = 0.0f;
        for (int m = 0; m < group->local; m++) {
            float weight[PATTERN];
            for (int k = 0; k < PATTERN; k++)
                weight[k] = value_at(weight_of(group->there[m].device), k);
            for (int64_t i = first; i < last; i++)
                values[i] += weight[i % PATTERN];
        }
        break;
    case SIM_ALL_GATHER:
        for (int64_t i = first > own.first ? first : own.first; i < last && i < own.first + own.count; i++)
            values[i] = value_at(group->own + 1, i - own.first);
        break;
    default:
        for (int64_t i = first; i < last; i++)
            values[i] = value_at(group->own + 1, i);
    }
}

/* Takes the next numbers of a work on `count` of them: group->at … *last - 1. Returns false if there are none. */
static bool next_slice(struct player_group *group, int64_t count, int64_t *budget, int64_t *last)
{
    if (group->at >= count)
        return false;
    *last = group->at + *budget < count ? group->at + *budget : count;
    *budget -= *last - group->at;
    return true;
}

static bool is_right(const struct player_group *group, const struct span *part, double weight, bool from_zero)
{
    for (int k = 0; k < 3 && part->count > 0; k++) {
        int64_t at = k == 0 ? 0 : k == 1 ? part->count / 2 : part->count - 1;
        if (group->values[part->first + at] != value_at(weight, from_zero ? at : part->first + at))
            return false;
    }
    return true;
}

/* Compares what has come out with what it must be. */
static bool check(struct player *player, struct player_group *group, struct error *err)
{
    int n = group->rank_count;
    for (int c = 0; c < n; c++) {
        const struct span part = chunk(group->count, c, n);
        bool right = true;
        if (group->kind == SIM_ALL_REDUCE ||
            (group->kind == SIM_REDUCE_SCATTER && c == wrap(group->own + 1, n)))
            right = is_right(group, &part, group->weight, false);
        else if (group->kind == SIM_ALL_GATHER)
            right = is_right(group, &part, c + 1, true);
        if (!right)
            return error_set(
                err, ERROR_FAILED,
                "rank %d: collective %u of group %d is wrong: part %d of %d is not the sum of its %d members",
                player->wire->rank, group->instance, (int)(group - player->groups), c, n, group->members);
    }
    player->checked++;
    return true;
}

/* Each device gets its copy of what is its own. False: not all of it yet, or *err is set. */
static bool tell_devices(struct player *player, struct player_group *group, int64_t *budget, bool *failed,
                         struct error *err)
{
    int64_t last, copies = group->local - 1;
    if (copies < 1 || group->count == 0 || (group->kind != SIM_ALL_REDUCE && group->kind != SIM_ALL_GATHER))
        return true;
    if (!group->copy)
        group->copy = pool_take(&player->pool, group->count * (int64_t)sizeof(float), err);
    *failed = !group->copy;
    if (*failed)
        return false;
    while (*budget > 0 && next_slice(group, group->count * copies, budget, &last))
        while (group->at < last) { /* a copy begins anew where one ends */
            int64_t from = group->at % group->count, length = group->count - from;
            if (length > last - group->at)
                length = last - group->at;
            memcpy(group->copy + from, group->values + from, (size_t)length * sizeof(float));
            group->at += length;
            player->copied_bytes += length * (int64_t)sizeof(float);
        }
    if (group->at < group->count * copies)
        return false;
    pool_give(&player->pool, group->copy);
    group->copy = NULL;
    return true;
}

/* ---- the course of a collective ---- */

static void end(struct player *player, struct player_group *group)
{
    double now = player_now(player), end = group->begin + group->seconds;
    if (group->count > 0)
        end = fmax(end, now);
    for (int m = 0; m < group->local; m++) {
        struct player_device *device = &player->devices[group->there[m].device - player->first];
        struct player_stream *stream = &device->streams[group->there[m].stream];
        if (stream->begin < group->begin) {
            stream->begin = group->begin;
            if (group->cause >= 0)
                stream->cause = group->cause;
        }
        stream->end = end;
        stream->state = STREAM_TIMED;
    }
    pool_give(&player->pool, group->values);
    group->values = NULL;
    group->goes = false;
    group->arrived = 0;
    group->instance++;
    player->moved = true;
}

/* Uses the piece of this step. False: it is not there, not all of it has been used, or *err is set. */
static bool use_piece(struct player *player, struct player_group *group, int64_t *budget, bool *failed,
                      struct error *err)
{
    const struct move move = move_of(player, group, group->received);
    size_t i = 0;
    while (i < group->piece_count &&
           (group->pieces[i].instance != group->instance || group->pieces[i].step != group->received))
        i++;
    if (i == group->piece_count)
        return false;
    const struct player_piece piece = group->pieces[i];
    int64_t count = piece.length / (int64_t)sizeof(float), last;
    *failed = count != move.in.count;
    if (*failed)
        return error_set(err, ERROR_FAILED,
                         "rank %d: a piece of a collective has %lld numbers instead of %lld",
                         player->wire->rank, (long long)count, (long long)move.in.count);
    while (group->kind != SIM_ALL_TO_ALL && *budget > 0 && next_slice(group, count, budget, &last)) {
        float *to = group->values + move.in.first;
        for (int64_t k = group->at; move.adds && k < last; k++)
            to[k] += piece.values[k];
        if (!move.adds)
            memcpy(to + group->at, piece.values + group->at, (size_t)(last - group->at) * sizeof *to);
        group->at = last;
    }
    if (group->kind != SIM_ALL_TO_ALL && group->at < count)
        return false;
    group->at = 0;
    group->pieces[i] = group->pieces[--group->piece_count];
    pool_give(&player->pool, piece.values);
    if (piece.time > group->begin) {
        group->begin = piece.time;
        group->cause = piece.cause;
    }
    group->received++;
    return true;
}

/* Ranks exchange pieces. Returns true when all are here and there. */
static bool move_pieces(struct player *player, struct player_group *group, int64_t *budget, bool *failed,
                        struct error *err)
{
    for (;;) {
        if (group->step < group->steps && group->step == group->received) {
            *failed = !send_step(player, group, err);
            if (*failed)
                return false;
            group->step++;
        }
        if (group->received == group->steps)
            return group->pending == 0;
        if (!use_piece(player, group, budget, failed, err))
            return false;
    }
}

bool collective_advance(struct player *player, struct player_group *group, struct error *err)
{
    int64_t budget = SLICE, last;
    bool failed = false;
    while (group->phase == GROUP_FILLS && budget > 0) {
        if (next_slice(group, group->count, &budget, &last)) {
            fill(group, group->at, last);
            group->at = last;
        }
        if (group->at >= group->count) {
            group->at = 0;
            group->phase = GROUP_MOVES;
        }
    }
    if (group->phase == GROUP_MOVES && move_pieces(player, group, &budget, &failed, err)) {
        failed = group->count > 0 && !check(player, group, err);
        group->phase = GROUP_COPIES;
    }
    if (group->phase == GROUP_COPIES && !failed && tell_devices(player, group, &budget, &failed, err)) {
        group->at = 0;
        end(player, group);
    }
    player->busy |= budget <= 0; /* the rest after others have had their turn */
    return !failed;
}

bool collective_join(struct player *player, struct player_device *device, unsigned s, struct error *err)
{
    struct player_stream *stream = &device->streams[s];
    const struct step *step = player_step(player, stream);
    struct player_group *group = &player->groups[device->source->groups[step->task->group - 1]];
    stream->state = STREAM_MEETS;
    if (step->flags & STEP_SHARE) /* from its begin on; what it takes while it waits is little */
        player_share(device, stream->begin, step->task->share);
    if (group->arrived == 0) {
        group->begin = -INFINITY;
        group->seconds = group->bytes = 0.0;
        group->cause = -1;
    }
    group->there[group->arrived++] = (struct player_member){device->number, (uint8_t)s};
    if (stream->begin > group->begin) {
        group->begin = stream->begin;
        group->cause = stream->cause;
    }
    group->seconds = fmax(group->seconds, step->seconds);
    if (step->task->bytes >= group->bytes) {
        group->bytes = step->task->bytes;
        group->kind = sim_task_collective(step->task);
    }
    if (group->arrived < group->local)
        return true;
    group->count = values_of(player, group, group->bytes);
    if (group->count == 0)
        group->kind = SIM_MEETING;
    group->goes = true;
    group->phase = GROUP_FILLS;
    group->at = 0;
    group->step = group->received = 0;
    group->steps = steps_of(group);
    if (group->count > 0) {
        group->values = pool_take(&player->pool, group->count * (int64_t)sizeof(float), err);
        if (!group->values)
            return false;
        player->copied_bytes += group->count * (int64_t)sizeof(float) * (group->local - 1);
    }
    return collective_advance(player, group, err);
}

bool collective_arrived(struct player *player, const struct wire_head *head, void *bytes, struct error *err)
{
    if (head->number >= (uint32_t)player->system->group_count || player->groups[head->number].own < 0)
        return error_set(err, ERROR_FAILED, "a message from rank %d is corrupted: rank %d is in no group %u",
                         head->from, player->wire->rank, head->number);
    struct player_group *group = &player->groups[head->number];
    const struct player_piece piece = {head->instance,        head->step,  head->time, bytes,
                                       (int64_t)head->origin, head->length};
    player->moved = true;
    if (!VECTOR_ADD(group->pieces, group->piece_count, group->piece_capacity, piece))
        return error_memory(err);
    return !group->goes || collective_advance(player, group, err);
}
