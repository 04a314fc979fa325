/* Profiles of layers from files. */
#include "core/file.h"
#include "core/hash.h"
#include "core/text.h"
#include "cost/count/fork.h"
#include "cost/count/xla_time.h"
#include "cost/layer.h"
#include "cost/profile_devices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One layer of the profile. */
struct layer_job {
    const struct layer_file *file;
    int same;           /* index of the layer with the same text; its own: it is made */
    uint64_t digest[2]; /* of its text, and that of its backward pass */
    size_t length;
    struct hlo_module forward, backward;
    struct module_count forward_count, backward_count; /* by XLA's rules, when they are asked for */
    struct layer_cost cost;
    struct kernel_time times[2]; /* of its passes, on the device that is being timed */
    bool is_made;
    struct error err; /* when it is not */
};

struct profile_job {
    struct layer_job *layers;
    int *distinct; /* indices of the layers to make */
    struct profile *profile;
    struct layer_doubts doubts;
    const struct layer_profile_options *options;
};

/* ---- equal files ---- */

static bool digest_file(struct layer_job *layer, const char *path, struct error *err)
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

/* A first layer that needs no input gradients equals no other. */
static bool find_same(struct profile_job *m, int file_count, int *distinct_count, struct error *err)
{
    for (int i = 0; i < file_count; i++) {
        struct layer_job *layer = &m->layers[i];
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

static bool check_known(struct layer_job *layer, int count, const char *const *unknown)
{
    return count == 0 ||
           error_set(&layer->err, ERROR_INPUT,
                     text_starts_with(unknown[0], LAYER_GAP)
                         ? "%s: the %s has no rule: name a backward pass with --backward-file"
                         : "%s: unknown custom call '%s': describe it in a file for --custom-calls",
                     layer->file->path, unknown[0]);
}

static bool count_layer(struct layer_job *layer, const struct layer_profile_options *of_profile)
{
    struct count_options count = {.rules = of_profile->rules, .custom_calls = of_profile->layer.custom_calls};
    return module_count(&layer->forward_count, &layer->forward, &count, &layer->err) &&
           check_known(layer, layer->forward_count.unknown_count, layer->forward_count.unknown) &&
           (!layer->file->backward ||
            (module_count(&layer->backward_count, &layer->backward, &count, &layer->err) &&
             check_known(layer, layer->backward_count.unknown_count, layer->backward_count.unknown)));
}

static bool make_layer(struct layer_job *layer, const struct layer_options *options,
                       const struct layer_profile_options *of_profile)
{
    const struct layer_cost *cost = &layer->cost;
    if (!hlo_load_sized(&layer->forward, layer->file->path, of_profile->dims, &layer->err))
        return false;
    if (layer->file->backward &&
        !hlo_load_sized(&layer->backward, layer->file->backward, of_profile->dims, &layer->err))
        return false;
    if (of_profile->rules != COUNT_REHEARSE && !count_layer(layer, of_profile))
        return false;
    if (!layer_cost(&layer->cost, &layer->forward, layer->file->backward ? &layer->backward : NULL, options,
                    &layer->err))
        return false;
    if (!check_known(layer, cost->forward.unknown_count, cost->forward.unknown) ||
        !check_known(layer, cost->backward.unknown_count, cost->backward.unknown))
        return false;
    return cost->forward.kernel_count + cost->forward.transfer_count != 0 ||
           error_set(&layer->err, ERROR_INPUT, "%s: computes nothing", layer->file->path);
}

static void make_layers(void *context, size_t first, size_t last, int thread)
{
    struct profile_job *m = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct layer_options options = m->options->layer;
        struct layer_job *layer = &m->layers[m->distinct[i]];
        options.is_first = m->options->layer.is_first && m->distinct[i] == 0;
        layer->is_made = make_layer(layer, &options, m->options);
    }
}

/* ---- the profile ---- */

static const char *stem(struct arena *arena, const char *path)
{
    const char *name = basename(path), *dot = strrchr(name, '.');
    return arena_copy(arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static const char *folder(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(arena, path, slash > path ? (size_t)(slash - path) : 1)
                 : arena_string(arena, ".");
}

/* Rounds to a quarter of a nanosecond: more digits would claim more than is known. A profile has no zeros: a pass
 * without kernels takes one launch. */
static double presentable(double seconds, const struct cost_device *device)
{
    double rounded = nearbyint(seconds * 4e9) / 4e9;
    return rounded > 0.0 ? rounded : device->launch;
}

static void time_made(const struct profile_job *m, struct layer_job *layer, const struct cost_device *device,
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
        layer->times[0] = layer_seconds(&layer->cost.forward, device, options);
        layer->times[1] = layer_seconds(&layer->cost.backward, device, options);
        *forward = layer->times[0].seconds;
        *backward = layer->times[1].seconds;
    }
    *forward = presentable(*forward, device);
    *backward = presentable(*backward, device);
}

static void time_layer(void *context, struct profile_device *to, int layer, const struct cost_device *device)
{
    struct profile_job *m = context;
    int same = m->layers[layer].same;
    if (same == layer)
        time_made(m, &m->layers[layer], device, &to->forward[layer], &to->backward[layer]);
    to->forward[layer] = to->forward[same];
    to->backward[layer] = to->backward[same];
    for (int p = 0; p < 2; p++)
        kernel_time_add(&m->doubts.times[to - m->profile->devices], &m->layers[same].times[p]);
}

static const char *describe(struct arena *arena, struct profile_job *m, int count)
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
    m->doubts.unbounded_loops = unbounded;
    if (unbounded > 0.0)
        text = arena_format(arena, "%s; %.0f loops of unknown trip count, counted once", text, unbounded);
    return text;
}

static bool fill_profile(struct profile *profile, struct profile_job *m, int count,
                         const struct cost_device *const *devices, int device_count)
{
    struct arena *arena = &profile->arena;
    profile->path =
        count == 1 ? arena_string(arena, m->layers[0].file->path) : folder(arena, m->layers[0].file->path);
    profile->source = describe(arena, m, count);
    profile->microbatch_size = m->options->microbatch_size;
    profile->layer_count = count;
    profile->layers = ARENA_ARRAY(arena, (size_t)count, struct profile_layer);
    if (!profile->path || !profile->source || !profile->layers)
        return false;
    for (int i = 0; i < count; i++) {
        const struct layer_cost *cost = &m->layers[m->layers[i].same].cost;
        profile->layers[i] = (struct profile_layer){
            .name = stem(arena, m->layers[i].file->path),
            .parameter_bytes = cost->parameter_bytes,
            .activation_bytes = cost->kept_bytes,
            .output_bytes = cost->output_bytes,
        };
        if (!profile->layers[i].name)
            return false;
    }
    const struct profile_maker maker = {
        .profile = profile,
        .tables = m->options->layer.tables,
        .reach = m->options->layer.reach,
        .time_layer = time_layer,
        .context = m,
    };
    return profile_make_devices(&maker, devices, device_count);
}

static bool check_rules(const struct layer_file *files, int file_count,
                        const struct cost_device *const *devices, int device_count, enum count_rules rules,
                        struct error *err)
{
    if (rules == COUNT_XLA)
        return error_set(err, ERROR_USAGE, "the rules xla only count and have no times: use xla-gpu");
    for (int i = 0; rules == COUNT_XLA_GPU && i < file_count; i++)
        if (!files[i].backward)
            return error_set(err, ERROR_USAGE,
                             "%s: XLA derives no backward pass: name it with --backward-file", files[i].path);
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

static bool make_profile(struct profile *profile, struct profile_job *m, int file_count,
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

bool layer_profile(struct profile *profile, struct layer_doubts *doubts, const struct layer_file *files,
                   int file_count, const struct cost_device *const *devices, int device_count,
                   const struct layer_profile_options *options, struct parallel *pool, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    if (!check_counts(file_count, device_count, err) ||
        !check_rules(files, file_count, devices, device_count, options->rules, err))
        return false;
    struct profile_job m = {.options = options, .profile = profile};
    m.layers = calloc((size_t)file_count, sizeof *m.layers);
    m.distinct = calloc((size_t)file_count, sizeof *m.distinct);
    for (int i = 0; m.layers && i < file_count; i++)
        m.layers[i].file = &files[i];
    bool made = m.layers && m.distinct
                    ? make_profile(profile, &m, file_count, devices, device_count, pool, err)
                    : error_memory(err);
    if (doubts)
        *doubts = m.doubts;
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
