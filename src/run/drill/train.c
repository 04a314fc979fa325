#include "run/drill/train.h"
#include "core/random.h"
#include "elastic/batch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS (1 << 20) /* of a cell */

/* What a sample contributes to a word of a cell is this times an odd number, so that contributions add up by words. */
static uint64_t contribution(uint64_t id, int cell)
{
    return random_mix(random_mix(id + 1) ^ ((uint64_t)cell + 1) * RANDOM_GOLDEN);
}

static uint64_t first_word(int cell, int64_t place)
{
    return random_mix(((uint64_t)cell << 32) + (uint64_t)place);
}

static uint64_t changed(uint64_t word, uint64_t sum)
{
    return random_mix(word ^ (sum + RANDOM_GOLDEN));
}

bool train_init(struct train *train, const struct elastic_kit *kit, int node, double byte_share,
                struct error *err)
{
    *train = (struct train){.kit = kit, .node = node};
    train->cell_count = kit->segment_count * kit->units;
    train->batch = kit->batch * (kit->microbatch > 0 ? kit->microbatch : 1);
    train->words = calloc((size_t)train->cell_count + 1, sizeof *train->words);
    train->cells = calloc((size_t)train->cell_count + 1, sizeof *train->cells);
    if (!train->words || !train->cells)
        return error_memory(err);
    for (int c = 0; c < train->cell_count; c++) {
        double words = elastic_unit_bytes(kit, c / kit->units, c / kit->units) * byte_share / 8;
        train->words[c] = words < 1.0 ? 1 : words > MAX_WORDS ? MAX_WORDS : (int64_t)words;
    }
    return true;
}

static void drop(struct train_cell *cell)
{
    free(cell->now);
    free(cell->next);
    free(cell->sum);
    *cell = (struct train_cell){.now = NULL};
}

void train_release(struct train *train)
{
    for (int c = 0; train->cells && c < train->cell_count; c++)
        drop(&train->cells[c]);
    free(train->cells);
    free(train->words);
}

static bool make_cell(const struct train *train, int cell, struct error *err)
{
    struct train_cell *to = &train->cells[cell];
    size_t words = (size_t)train->words[cell];
    to->now = malloc(words * sizeof *to->now);
    to->next = malloc(words * sizeof *to->next);
    to->sum = calloc(words, sizeof *to->sum);
    return (to->now && to->next && to->sum) || error_memory(err);
}

/* ---- who holds what ---- */

static bool slot_has(const struct train *train, const struct elastic_slot *slot, int cell)
{
    int segment = cell / train->kit->units, unit = cell % train->kit->units;
    return slot->first <= segment && segment <= slot->last && slot->from <= unit && unit < slot->until;
}

static bool place_holds(const struct train *train, const struct elastic_shape *shape, int position, int cell)
{
    for (int i = 0; i < shape->slot_count; i++)
        if (shape->slots[i].position == position && slot_has(train, &shape->slots[i], cell))
            return true;
    return false;
}

int train_holder(const struct train *train, const struct elastic_state *state, int instance, int cell)
{
    const struct elastic_instance *own = &state->instances[instance];
    const struct elastic_shape *shape = &train->kit->shapes[own->shape];
    int lowest = -1;
    for (int p = 0; p < shape->nodes; p++)
        if (place_holds(train, shape, p, cell) && (lowest < 0 || own->nodes[p] < lowest))
            lowest = own->nodes[p];
    return lowest;
}

bool train_holds(const struct train *train, const struct elastic_state *state, int node, int cell)
{
    if (node >= state->node_count || state->owner[node] < 0)
        return false;
    const struct elastic_instance *own = &state->instances[state->owner[node]];
    const struct elastic_shape *shape = &train->kit->shapes[own->shape];
    for (int p = 0; p < shape->nodes; p++)
        if (own->nodes[p] == node)
            return place_holds(train, shape, p, cell);
    return false;
}

bool train_begin(struct train *train, const struct elastic_state *state, struct error *err)
{
    for (int c = 0; c < train->cell_count; c++) {
        if (!train_holds(train, state, train->node, c))
            continue;
        if (!train->cells[c].now && !make_cell(train, c, err))
            return false;
        for (int64_t w = 0; w < train->words[c]; w++)
            train->cells[c].now[w] = first_word(c, w);
    }
    return true;
}

/* ---- samples ---- */

bool train_split(const struct train *train, const struct elastic_state *state, struct train_share **shares,
                 double *seconds, struct error *err)
{
    struct elastic_set set = {.counts = NULL};
    struct elastic_share *lines = NULL;
    int count = 0;
    double slowest = 0.0;
    *shares = calloc((size_t)state->instance_count + 1, sizeof **shares);
    int64_t *extras = NULL, next = 0, per = train->kit->microbatch > 0 ? train->kit->microbatch : 1;
    bool ok = *shares ? elastic_state_set(state, &set, err) : error_memory(err);
    ok = ok && elastic_set_split(&set, train->kit, &lines, &count, &slowest, err);
    if (ok)
        extras = calloc((size_t)count + 1, sizeof *extras);
    if (ok && !extras)
        ok = error_memory(err);
    for (int i = 0; ok && i < state->instance_count; i++) {
        int shape = state->instances[i].shape;
        (*shares)[i].first = next * per;
        for (int l = 0; l < count; l++) {
            if (lines[l].shape != shape)
                continue;
            int64_t pipelines = lines[l].line->copies, more = lines[l].extra - extras[l];
            more = more < pipelines ? more : pipelines;
            extras[l] += more;
            next += pipelines * lines[l].each + more;
        }
        (*shares)[i].until = next * per;
    }
    *seconds = set.seconds;
    if (ok && next != train->kit->batch)
        ok = error_set(err, ERROR_FAILED, "only %" PRId64 " of %" PRId64 " micro-batches were assigned", next,
                       train->kit->batch);
    elastic_set_release(&set);
    free(lines);
    free(extras);
    return ok;
}

uint64_t train_ids(const struct train *train, const struct train_share *share)
{
    uint64_t base = (uint64_t)train->iteration * (uint64_t)train->batch, sum = 0;
    for (int64_t i = share->first; i < share->until; i++)
        sum += random_mix(base + (uint64_t)i);
    return sum;
}

void train_contribute(const struct train *train, int cell, const struct train_share *share, uint64_t *words)
{
    uint64_t base = (uint64_t)train->iteration * (uint64_t)train->batch, sum = 0;
    for (int64_t i = share->first; i < share->until; i++)
        sum += contribution(base + (uint64_t)i, cell);
    for (int64_t w = 0; w < train->words[cell]; w++)
        words[w] = sum * (uint64_t)(2 * w + 1);
}

void train_clear(struct train *train)
{
    for (int c = 0; c < train->cell_count; c++) {
        struct train_cell *cell = &train->cells[c];
        if (cell->sum)
            memset(cell->sum, 0, (size_t)train->words[c] * sizeof *cell->sum);
        cell->samples = cell->parts = 0;
        cell->ids = 0;
    }
    train->has_next = false;
}

void train_add(struct train *train, int cell, const uint64_t *words, int64_t samples, uint64_t ids)
{
    struct train_cell *to = &train->cells[cell];
    for (int64_t w = 0; w < train->words[cell]; w++)
        to->sum[w] += words[w];
    to->samples += samples;
    to->ids += ids;
    to->parts++;
}

bool train_step(struct train *train, struct error *err)
{
    const struct train_share all = {0, train->batch};
    uint64_t ids = train_ids(train, &all);
    for (int c = 0; c < train->cell_count; c++) {
        struct train_cell *cell = &train->cells[c];
        if (!cell->now)
            continue;
        if (cell->samples != train->batch || cell->ids != ids)
            return error_set(
                err, ERROR_FAILED,
                "iteration %d, layers %d to %d: %" PRId64 " samples of %" PRId64 ", some lost or duplicated",
                train->iteration, train->kit->segment_from[c / train->kit->units],
                train->kit->segment_from[c / train->kit->units + 1] - 1, cell->samples, train->batch);
        for (int64_t w = 0; w < train->words[c]; w++)
            cell->next[w] = changed(cell->now[w], cell->sum[w]);
    }
    train->has_next = true;
    return true;
}

void train_count(struct train *train)
{
    for (int c = 0; c < train->cell_count; c++) {
        uint64_t *now = train->cells[c].now;
        train->cells[c].now = train->cells[c].next;
        train->cells[c].next = now;
    }
    train->iteration++;
    train->has_next = false;
}

/* ---- copies ---- */

bool train_put(struct train *train, int cell, const uint64_t *words, struct error *err)
{
    if (!train->cells[cell].now && !make_cell(train, cell, err))
        return false;
    memcpy(train->cells[cell].now, words, (size_t)train->words[cell] * sizeof *words);
    return true;
}

void train_drop(struct train *train, const struct elastic_state *state)
{
    for (int c = 0; c < train->cell_count; c++)
        if (train->cells[c].now && !train_holds(train, state, train->node, c))
            drop(&train->cells[c]);
}

int64_t train_compare(const struct train *train, struct error *err)
{
    int64_t compared = 0;
    for (int c = 0; c < train->cell_count; c++) {
        const uint64_t *now = train->cells[c].now;
        if (!now)
            continue;
        uint64_t *words = malloc((size_t)train->words[c] * sizeof *words);
        if (!words) {
            error_memory(err);
            return -1;
        }
        for (int64_t w = 0; w < train->words[c]; w++)
            words[w] = first_word(c, w);
        for (int i = 0; i < train->iteration; i++) {
            uint64_t sum = 0;
            for (int64_t k = 0; k < train->batch; k++)
                sum += contribution((uint64_t)i * (uint64_t)train->batch + (uint64_t)k, c);
            for (int64_t w = 0; w < train->words[c]; w++)
                words[w] = changed(words[w], sum * (uint64_t)(2 * w + 1));
        }
        bool same = memcmp(words, now, (size_t)train->words[c] * sizeof *words) == 0;
        free(words);
        if (!same) {
            error_set(err, ERROR_FAILED, "node %d: layers %d to %d differ from a run without losses",
                      train->node, train->kit->segment_from[c / train->kit->units],
                      train->kit->segment_from[c / train->kit->units + 1] - 1);
            return -1;
        }
        compared++;
    }
    return compared;
}
