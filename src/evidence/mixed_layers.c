#include "evidence/mixed_setup.h"

#include "core/text.h"

#include <math.h>
#include <string.h>

#define MAX_SECONDS 1e6

/* ---- reading ---- */

struct columns {
    int model, device, tensor, microbatch, layer;
    int forward, backward, update;
};

/* AMP's table has one column of costs, Sailor's has three. */
static bool find_columns(const struct csv *csv, struct columns *at, struct error *err)
{
    bool measured = csv_column(csv, "fwd_s") >= 0;
    at->microbatch = csv_column(csv, "mbs_key");
    at->backward = csv_column(csv, "bwd_s");
    at->update = csv_column(csv, "update_s");
    return csv_need(csv, "model", &at->model, err) && csv_need(csv, "gpu", &at->device, err) &&
           csv_need(csv, measured ? "tp_key" : "tp", &at->tensor, err) &&
           csv_need(csv, "layer", &at->layer, err) &&
           csv_need(csv, measured ? "fwd_s" : "cost", &at->forward, err);
}

static bool whole(const struct csv *csv, int row, int column, double min, double max, int64_t *value,
                  struct error *err)
{
    double read;
    if (!csv_number(csv, row, column, min, max, &read, err))
        return false;
    *value = (int64_t)read;
    return read == floor(read) || csv_error(csv, row, column, err, "expected a whole number, found '%s'",
                                            csv_cell(csv, row, column));
}

static bool same_key(const struct csv *csv, const struct columns *at, int row, int other)
{
    const int keys[] = {at->model, at->device, at->tensor, at->microbatch};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(csv_cell(csv, row, keys[i]), csv_cell(csv, other, keys[i])) != 0)
            return false;
    return true;
}

/* Rows first..last - 1. */
static bool read_entry(const struct csv *csv, const struct columns *at, int first, int last,
                       struct arena *arena, struct mixed_entry *entry, struct error *err)
{
    int64_t tensor, layer;
    entry->model = csv_cell(csv, first, at->model);
    entry->device = csv_cell(csv, first, at->device);
    entry->layer_count = last - first;
    entry->microbatch = 1;
    entry->forward = ARENA_ARRAY(arena, (size_t)entry->layer_count, double);
    entry->backward = at->backward < 0 ? NULL : ARENA_ARRAY(arena, (size_t)entry->layer_count, double);
    if (!entry->forward || (at->backward >= 0 && !entry->backward))
        return error_memory(err);
    if (!whole(csv, first, at->tensor, 1, 65536, &tensor, err) ||
        (at->microbatch >= 0 && !whole(csv, first, at->microbatch, 1, 1 << 20, &entry->microbatch, err)) ||
        (at->update >= 0 && !csv_number(csv, first, at->update, 0.0, MAX_SECONDS, &entry->update, err)))
        return false;
    entry->tensor = (int)tensor;
    for (int row = first; row < last; row++) {
        if (!whole(csv, row, at->layer, 0, MIXED_MAX_LAYERS, &layer, err))
            return false;
        if (layer != row - first)
            return csv_error(csv, row, at->layer, err, "expected layer %d of its model and device",
                             row - first);
        if (!csv_number(csv, row, at->forward, 0.0, MAX_SECONDS, &entry->forward[layer], err) ||
            (entry->backward &&
             !csv_number(csv, row, at->backward, 0.0, MAX_SECONDS, &entry->backward[layer], err)))
            return false;
    }
    return true;
}

bool mixed_entries_read(struct mixed_entries *entries, const struct csv *csv, struct arena *arena,
                        struct error *err)
{
    struct columns at;
    if (!find_columns(csv, &at, err))
        return false;
    *entries =
        (struct mixed_entries){.entries = ARENA_ARRAY(arena, (size_t)csv->row_count + 1, struct mixed_entry)};
    if (!entries->entries)
        return error_memory(err);
    for (int first = 0, last; first < csv->row_count; first = last) {
        for (last = first + 1; last < csv->row_count && same_key(csv, &at, first, last);)
            last++;
        if (!read_entry(csv, &at, first, last, arena, &entries->entries[entries->count++], err))
            return false;
    }
    return true;
}

/* ---- times ---- */

static const struct mixed_entry *find_entry(const struct mixed_place *place, const char *device,
                                            int64_t microbatch)
{
    for (int i = 0; i < place->entries->count; i++) {
        const struct mixed_entry *entry = &place->entries->entries[i];
        if (strcmp(entry->model, place->model->table) == 0 && text_starts_with(entry->device, device) &&
            entry->tensor == place->tensor && entry->microbatch == microbatch)
            return entry;
    }
    return NULL;
}

/* A small micro-batch takes no longer than a larger one: a longer measured time is an error of the measurement. */
static double shortest_of_larger(const struct mixed_place *place, const struct mixed_entry *entry, int layer,
                                 bool forward)
{
    double shortest = forward ? entry->forward[layer] : entry->backward[layer];
    for (int i = 0; i < place->entries->count; i++) {
        const struct mixed_entry *other = &place->entries->entries[i];
        if (other->microbatch > entry->microbatch && other->tensor == entry->tensor &&
            other->layer_count == entry->layer_count && strcmp(other->model, entry->model) == 0 &&
            strcmp(other->device, entry->device) == 0)
            shortest = fmin(shortest, forward ? other->forward[layer] : other->backward[layer]);
    }
    return shortest;
}

static void sum_measured(const struct mixed_place *place, const struct mixed_entry *entry, double *seconds)
{
    for (int l = 0; l < entry->layer_count; l++)
        seconds[l + 1] = seconds[l] + shortest_of_larger(place, entry, l, true) +
                         shortest_of_larger(place, entry, l, false);
}

/* Host time of each layer: given for blocks, or the rest beside kernels that are known from another device. */
static bool find_launch(const struct mixed_place *place, const struct mixed_entry *entry,
                        const struct mixed_device *device, double *launch)
{
    const struct mixed_device *like =
        device && device->like ? mixed_device_find(place->setup, device->like) : NULL;
    const struct mixed_entry *other = like && like != device ? find_entry(place, like->name, 1) : NULL;
    double known = 0.0;
    const struct mixed_device *given = other ? like : device;
    bool found = false;
    for (int i = 0; given && i < given->launch_count; i++)
        if (given->launches[i].tensor == place->tensor) {
            known = given->launches[i].seconds;
            found = true;
        }
    if (other && other->layer_count != entry->layer_count)
        return false;
    for (int l = 0; l < entry->layer_count; l++) {
        double kernels = other ? device->times * fmax(0.0, other->forward[l] - known) : 0.0;
        launch[l] = place->model->kinds[l] != MIXED_BLOCK ? 0.0
                    : other                               ? fmax(0.0, entry->forward[l] - kernels)
                                                          : known;
    }
    return found;
}

static bool fill_times(const struct mixed_place *place, const struct mixed_entry *entry, double *seconds,
                       double *launches, double *room)
{
    if (entry->backward) {
        sum_measured(place, entry, seconds);
        return true;
    }
    if (!find_launch(place, entry, mixed_device_find(place->setup, place->device), room))
        return false;
    mixed_sums_of_forward(entry->forward, room, entry->layer_count, place->microbatch, seconds, launches);
    return true;
}

double mixed_layer_parameters(const struct mixed_architecture *model, enum mixed_layer_kind kind, bool alone)
{
    double table = model->vocabulary * model->hidden;
    switch (kind) {
    case MIXED_EMBEDDING:
        return table + model->positions * model->hidden;
    case MIXED_BLOCK: /* 4 h^2 of attention, 8 h^2 of the perceptron, biases, two norms */
        return 12.0 * model->hidden * model->hidden + 13.0 * model->hidden;
    case MIXED_HEAD:
        return alone && model->tied ? 0.0 : table;
    default:
        return 0.0;
    }
}

/* Bytes that a layer keeps for its backward pass, as Korthikanti et al. count them ("Reducing Activation Recomputation
 * in Large Transformer Models", section 4.1, without sequence parallelism). Of the 34 bytes per token and width, 8 and
 * 24 / t are elements of two bytes and 2 are masks of dropout; of the 5 per score, 2 are the softmax's result, and 3
 * dropout's mask and result. */
static double layer_activations(const struct mixed_place *place, enum mixed_layer_kind kind)
{
    const struct mixed_architecture *model = place->model;
    double tokens = (double)place->microbatch * model->sequence, t = place->tensor,
           wide = model->element / 2.0;
    double scores = model->heads * model->sequence * tokens, dropped = model->dropout ? 1.0 : 0.0;
    switch (kind) {
    case MIXED_BLOCK:
        return tokens * model->hidden * (wide * (8.0 + 24.0 / t) + 2.0 * dropped) +
               scores * (2.0 * wide + dropped * (2.0 * wide + 1.0)) / t;
    case MIXED_HEAD: /* logits, and in 32 bits, once as probabilities */
        return tokens * model->vocabulary * (model->element + 4.0) / t;
    default:
        return 0.0;
    }
}

static void fill_rest(const struct mixed_place *place, const struct mixed_entry *entry, double *update,
                      double *activations)
{
    const struct mixed_architecture *model = place->model;
    const struct mixed_device *device = mixed_device_find(place->setup, place->device);
    double per_parameter = device ? device->update / place->tensor : 0.0;
    for (int l = 0; l < entry->layer_count; l++) {
        update[l + 1] = update[l] + entry->update / entry->layer_count +
                        per_parameter * mixed_layer_parameters(model, model->kinds[l], false);
        activations[l + 1] = activations[l] + layer_activations(place, model->kinds[l]);
    }
}

struct mixed_times *mixed_times_at(const struct mixed_place *place, struct arena *arena, const char **reason)
{
    const struct mixed_entry *entry = find_entry(place, place->device, place->microbatch);
    if (!entry) {
        entry = find_entry(place, place->device, 1);
        if (!entry || entry->backward) {
            *reason =
                arena_format(arena, "no layer times of %s on %s, tp %d, micro-batch %lld",
                             place->model->table, place->device, place->tensor, (long long)place->microbatch);
            return NULL;
        }
    }
    if (entry->layer_count != place->model->layer_count) {
        *reason =
            arena_format(arena, "the table of layer times has %d layers of %s on %s, the model has %d",
                         entry->layer_count, place->model->table, place->device, place->model->layer_count);
        return NULL;
    }
    size_t count = (size_t)entry->layer_count + 1;
    struct mixed_times *times = ARENA_NEW(arena, struct mixed_times);
    double *sums = ARENA_ARRAY(arena, 5 * count, double);
    *reason = NULL;
    if (!times || !sums)
        return NULL;
    *times = (struct mixed_times){.seconds = sums,
                                  .launch = entry->backward ? NULL : sums + count,
                                  .update = sums + 2 * count,
                                  .activations = sums + 3 * count};
    if (!fill_times(place, entry, sums, sums + count, sums + 4 * count)) {
        *reason = arena_format(arena, "no host time of layers is given for %s, tp %d", place->device,
                               place->tensor);
        return NULL;
    }
    fill_rest(place, entry, sums + 2 * count, sums + 3 * count);
    return times;
}
