/* Layers from files, and their times on several devices. */
#include "core/file.h"
#include "core/hash.h"
#include "cost/count/fork.h"
#include "cost/count/xla_time.h"
#include "cost/layer.h"
#include "cost/profile_links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One layer of the profile. */
struct made {
    const struct layer_file *file;
    int same;           /* index of the layer with the same text; its own: it is made */
    uint64_t digest[2]; /* of its text, and that of its backward pass */
    size_t length;
    struct hlo_module forward, backward;
    struct module_count forward_count, backward_count; /* by XLA's rules, when they are asked for */
    struct layer_cost cost;
    bool is_made;
    struct error err; /* when it is not */
};

struct making {
    struct made *layers;
    int *distinct; /* indices of what is made */
    const struct layer_profile_options *options;
};

/* ---- equal files ---- */

static bool digest_file(struct made *layer, const char *path, struct error *err)
{
    char *data;
    size_t length;
    if (!file_read(path, HLO_MAX_BYTES, &data, &length, err))
        return false;
    for (int h = 0; h < 2; h++)
        layer->digest[h] = hash_bytes(layer->digest[h], data, length);
    layer->length += length;
    free(data);
    return true;
}

/* The first layer has no layer before it: it is like no other when that matters. */
static bool find_same(struct making *m, int file_count, int *distinct_count, struct error *err)
{
    for (int i = 0; i < file_count; i++) {
        struct made *layer = &m->layers[i];
        layer->digest[0] = 0; /* two hashes, from two starts */
        layer->digest[1] = 1;
        layer->same = i;
        if (!digest_file(layer, layer->file->path, err) ||
            (layer->file->backward && !digest_file(layer, layer->file->backward, err)))
            return false;
        for (int before = m->options->layer.is_first ? 1 : 0; before < i && layer->same == i; before++)
            if (m->layers[before].length == layer->length &&
                memcmp(m->layers[before].digest, layer->digest, sizeof layer->digest) == 0)
                layer->same = m->layers[before].same;
        if (layer->same == i)
            m->distinct[(*distinct_count)++] = i;
    }
    return true;
}

/* ---- making them ---- */

static bool check_known(struct made *layer, int count, const char *const *unknown)
{
    return count == 0 ||
           error_set(&layer->err, ERROR_INPUT,
                     "%s: custom call '%s' is not in the table of custom calls: its time is not known",
                     layer->file->path, unknown[0]);
}

static bool count_layer(struct made *layer, enum count_rules rules)
{
    struct count_options count = {.rules = rules};
    return module_count(&layer->forward_count, &layer->forward, &count, &layer->err) &&
           check_known(layer, layer->forward_count.unknown_count, layer->forward_count.unknown) &&
           (!layer->file->backward ||
            (module_count(&layer->backward_count, &layer->backward, &count, &layer->err) &&
             check_known(layer, layer->backward_count.unknown_count, layer->backward_count.unknown)));
}

static bool make_layer(struct made *layer, const struct layer_options *options, enum count_rules rules)
{
    const struct layer_cost *cost = &layer->cost;
    if (!hlo_load(&layer->forward, layer->file->path, &layer->err))
        return false;
    if (layer->file->backward && !hlo_load(&layer->backward, layer->file->backward, &layer->err))
        return false;
    if (rules != COUNT_REHEARSE && !count_layer(layer, rules))
        return false;
    if (!layer_cost(&layer->cost, &layer->forward, layer->file->backward ? &layer->backward : NULL, options,
                    &layer->err))
        return false;
    if (!check_known(layer, cost->forward.unknown_count, cost->forward.unknown) ||
        !check_known(layer, cost->backward.unknown_count, cost->backward.unknown))
        return false;
    if (cost->forward.kernel_count == 0)
        return error_set(&layer->err, ERROR_INPUT, "%s: computes nothing", layer->file->path);
    return true;
}

static void make_layers(void *context, size_t first, size_t last, int thread)
{
    struct making *m = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct layer_options options = m->options->layer;
        struct made *layer = &m->layers[m->distinct[i]];
        options.is_first = m->options->layer.is_first && m->distinct[i] == 0;
        layer->is_made = make_layer(layer, &options, m->options->rules);
    }
}

/* ---- the profile ---- */

static const char *stem(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return arena_copy(arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static const char *folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(arena, path, slash > path ? (size_t)(slash - path) : 1)
                 : arena_string(arena, ".");
}

/* To a quarter of a nanosecond: more digits would claim more than is known. A profile has no zeros: what has no
 * gradient takes a launch. */
static double presentable(double seconds, const struct cost_device *device)
{
    double rounded = nearbyint(seconds * 4e9) / 4e9;
    return rounded > 0.0 ? rounded : device->launch;
}

static void time_layer(const struct making *m, const struct made *layer, const struct cost_device *device,
                       double *forward, double *backward)
{
    const struct layer_options *options = &m->options->layer;
    struct xla_device xla = xla_device_of(device);
    switch (m->options->rules) {
    case COUNT_XLA_FORK:
        *forward = fork_layer_seconds(fork_module_flops(&layer->forward_count, &layer->forward),
                                      fork_device_find(device->name)->clock_hz);
        *backward = 3.0 * *forward;
        break;
    case COUNT_XLA_GPU:
        *forward = xla_module_seconds(&layer->forward_count, &layer->forward, &xla);
        *backward = xla_module_seconds(&layer->backward_count, &layer->backward, &xla);
        break;
    default:
        *forward = layer_seconds(&layer->cost.forward, device, options);
        *backward = layer_seconds(&layer->cost.backward, device, options);
    }
    *forward = presentable(*forward, device);
    *backward = presentable(*backward, device);
}

static bool fill_device(struct profile *profile, struct profile_device *device, const struct making *m,
                        const struct cost_device *from)
{
    device->name = arena_string(&profile->arena, from->name);
    device->path = profile->path;
    device->forward = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, double);
    device->backward = ARENA_ARRAY(&profile->arena, (size_t)profile->layer_count, double);
    if (!device->name || !device->forward || !device->backward)
        return false;
    for (int i = 0; i < profile->layer_count; i++) {
        int same = m->layers[i].same;
        if (same == i)
            time_layer(m, &m->layers[i], from, &device->forward[i], &device->backward[i]);
        device->forward[i] = device->forward[same];
        device->backward[i] = device->backward[same];
    }
    return profile_fill_allreduce(profile, device, tables_link(m->options->layer.tables, from->link),
                                  m->options->layer.across, m->options->devices_per_node, m->options->nodes);
}

static const char *describe(struct arena *arena, const struct making *m, int count)
{
    static const char *const made_by[] = {
        [COUNT_REHEARSE] = "computed: kernels of HLO",
        [COUNT_XLA_GPU] = "computed: XLA's own times of HLO",
        [COUNT_XLA_FORK] = "computed: times of umichAC99/xla, April 2024",
    };
    const char *text = made_by[m->options->rules];
    double unbounded = 0.0;
    for (int i = 0; i < count; i++)
        unbounded += m->layers[m->layers[i].same].cost.forward.unbounded_loops;
    if (unbounded > 0.0)
        text = arena_format(arena, "%s; %.0f loops whose turns cannot be told run once", text, unbounded);
    return text;
}

static bool fill_profile(struct profile *profile, const struct making *m, int count,
                         const struct cost_device *const *devices, int device_count)
{
    struct arena *arena = &profile->arena;
    profile->path = folder(arena, m->layers[0].file->path);
    profile->source = describe(arena, m, count);
    profile->microbatch_size = m->options->microbatch_size;
    profile->layer_count = count;
    profile->layers = ARENA_ARRAY(arena, (size_t)count, struct profile_layer);
    profile->devices = ARENA_ARRAY(arena, (size_t)device_count, struct profile_device);
    if (!profile->path || !profile->source || !profile->layers || !profile->devices)
        return false;
    for (int i = 0; i < count; i++) {
        const struct layer_cost *cost = &m->layers[m->layers[i].same].cost;
        profile->layers[i] = (struct profile_layer){
            .name = stem(arena, m->layers[i].file->path),
            .output_bytes = cost->output_bytes,
        };
        if (m->options->rules != COUNT_XLA_FORK) {
            profile->layers[i].parameter_bytes = cost->parameter_bytes;
            profile->layers[i].activation_bytes = cost->kept_bytes;
        }
        if (!profile->layers[i].name)
            return false;
    }
    for (; profile->device_count < device_count; profile->device_count++)
        if (!fill_device(profile, &profile->devices[profile->device_count], m,
                         devices[profile->device_count]))
            return false;
    return true;
}

static bool check_rules(const struct layer_file *files, int file_count,
                        const struct cost_device *const *devices, int device_count, enum count_rules rules,
                        struct error *err)
{
    if (rules == COUNT_XLA)
        return error_set(err, ERROR_USAGE, "the rules xla count and have no times: take xla-gpu");
    for (int i = 0; rules == COUNT_XLA_GPU && i < file_count; i++)
        if (!files[i].backward)
            return error_set(err, ERROR_USAGE,
                             "%s: XLA times what it is given: name the backward pass with --backward",
                             files[i].path);
    for (int i = 0; rules == COUNT_XLA_FORK && i < device_count; i++)
        if (!fork_device_find(devices[i]->name))
            return error_set(err, ERROR_USAGE, "the rules xla-fork do not know the device '%s'",
                             devices[i]->name);
    return true;
}

static bool check_counts(int file_count, int device_count, struct error *err)
{
    if (file_count < 1 || file_count > PROFILE_MAX_LAYERS)
        return error_set(err, ERROR_USAGE, "expected from 1 to %d layers, found %d", PROFILE_MAX_LAYERS,
                         file_count);
    if (device_count < 1 || device_count > PROFILE_MAX_DEVICES)
        return error_set(err, ERROR_USAGE, "expected from 1 to %d devices, found %d", PROFILE_MAX_DEVICES,
                         device_count);
    return true;
}

static bool make_profile(struct profile *profile, struct making *m, int file_count,
                         const struct cost_device *const *devices, int device_count, struct parallel *pool,
                         struct error *err)
{
    int distinct_count = 0;
    if (!find_same(m, file_count, &distinct_count, err))
        return false;
    parallel_for(pool, (size_t)distinct_count, 1, make_layers, m);
    for (int i = 0; i < distinct_count; i++)
        if (!m->layers[m->distinct[i]].is_made) {
            *err = m->layers[m->distinct[i]].err;
            return false;
        }
    if (fill_profile(profile, m, file_count, devices, device_count))
        return true;
    profile_release(profile);
    return error_memory(err);
}

bool layer_profile(struct profile *profile, const struct layer_file *files, int file_count,
                   const struct cost_device *const *devices, int device_count,
                   const struct layer_profile_options *options, struct parallel *pool, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    if (!check_counts(file_count, device_count, err) ||
        !check_rules(files, file_count, devices, device_count, options->rules, err))
        return false;
    struct making m = {.options = options};
    m.layers = calloc((size_t)file_count, sizeof *m.layers);
    m.distinct = calloc((size_t)file_count, sizeof *m.distinct);
    for (int i = 0; m.layers && i < file_count; i++)
        m.layers[i].file = &files[i];
    bool made = m.layers && m.distinct
                    ? make_profile(profile, &m, file_count, devices, device_count, pool, err)
                    : error_memory(err);
    for (int i = 0; m.layers && i < file_count; i++) {
        layer_release(&m.layers[i].cost);
        module_count_release(&m.layers[i].forward_count);
        module_count_release(&m.layers[i].backward_count);
        hlo_release(&m.layers[i].forward);
        hlo_release(&m.layers[i].backward);
    }
    free(m.layers);
    free(m.distinct);
    return made;
}
