#include "measure/layers/layers.h"

#include "model/profile_measured.h"

#include <math.h>
#include <string.h>

void measured_release(struct measured_layers *measured)
{
    arena_release(&measured->arena);
    memset(measured, 0, sizeof *measured);
}

/* ---- the profile ---- */

static void set_interval(struct profile_interval *to, const struct measured_pass *pass, double *reached)
{
    to->notes = pass->notes;
    if (!pass->is_timed)
        return;
    to->low = pass->time.low;
    to->high = pass->time.high;
    to->samples = pass->time.count;
    *reached = fmax(*reached, pass->time.precision);
}

static bool add_products(struct profile *profile, struct profile_measured *to,
                         const struct measured_layers *measured)
{
    to->product_count = measured->product_count;
    to->products = ARENA_ARRAY(&profile->arena, (size_t)measured->product_count + 1, struct profile_product);
    for (int i = 0; to->products && i < measured->product_count; i++) {
        const struct measured_product *product = &measured->products[i];
        to->products[i] = (struct profile_product){
            .type = cost_type_name(product->type),
            .batch = product->batch,
            .m = product->m,
            .n = product->n,
            .k = product->k,
            .seconds = product->time.median,
            .low = product->time.low,
            .high = product->time.high,
        };
    }
    return to->products != NULL;
}

static const char *text_of(struct arena *arena, struct text *text)
{
    const char *copy = text->length > 0 ? arena_string(arena, text->data) : NULL;
    text_release(text);
    return copy;
}

static bool fill_measured(struct profile *profile, struct profile_measured *to,
                          const struct measured_layers *measured, const char *command)
{
    struct arena *arena = &profile->arena;
    struct text cores = {0}, warnings = {0};
    host_write_cores(&measured->cores, &cores);
    host_load_print(&measured->load, &warnings);
    *to = (struct profile_measured){
        .host = arena_string(arena, measured->host.name),
        .processor = *measured->host.processor ? arena_string(arena, measured->host.processor) : NULL,
        .system = arena_string(arena, measured->host.system),
        .date = arena_string(arena, measured->host.date),
        .command = command ? arena_string(arena, command) : NULL,
        .library = arena_string(arena, measured->library),
        .cores = text_of(arena, &cores),
        .clock = measured->options.by_processor ? "cpu" : "wall",
        .warnings = text_of(arena, &warnings),
        .precision = measured->options.precision,
        .forward = ARENA_ARRAY(arena, (size_t)measured->count, struct profile_interval),
        .backward = ARENA_ARRAY(arena, (size_t)measured->count, struct profile_interval),
    };
    if (!to->forward || !to->backward || !to->library || !to->host)
        return false;
    for (int i = 0; i < measured->count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        set_interval(&to->forward[i], &layer->forward, &to->reached);
        set_interval(&to->backward[i], &layer->backward, &to->reached);
    }
    return add_products(profile, to, measured);
}

static bool fill_profile(struct profile *profile, const struct measured_layers *measured, const char *name,
                         const char *command)
{
    struct arena *arena = &profile->arena;
    size_t count = (size_t)measured->count;
    profile->path = arena_string(arena, measured->model ? measured->model : "measured layers");
    profile->model = measured->model ? arena_string(arena, measured->model) : NULL;
    profile->source = arena_format(arena, "measured on %s, %s: %s", measured->host.name, measured->host.date,
                                   measured->library);
    profile->microbatch_size = measured->microbatch_size;
    profile->layer_count = measured->count;
    profile->device_count = 1;
    profile->layers = ARENA_ARRAY(arena, count, struct profile_layer);
    profile->devices = ARENA_NEW(arena, struct profile_device);
    if (!profile->path || !profile->source || !profile->layers || !profile->devices)
        return false;
    struct profile_device *device = profile->devices;
    device->name = arena_string(arena, name);
    device->path = profile->path;
    device->forward = ARENA_ARRAY(arena, count, double);
    device->backward = ARENA_ARRAY(arena, count, double);
    device->measured = ARENA_NEW(arena, struct profile_measured);
    if (!device->name || !device->forward || !device->backward || !device->measured)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct measured_layer *layer = &measured->layers[i];
        profile->layers[i] = (struct profile_layer){
            .name = arena_string(arena, layer->name),
            .parameter_bytes = layer->parameter_bytes,
            .activation_bytes = layer->activation_bytes,
            .output_bytes = layer->output_bytes,
        };
        device->forward[i] = layer->forward.seconds;
        device->backward[i] = layer->backward.seconds;
    }
    return fill_measured(profile, device->measured, measured, command);
}

bool measured_profile(struct profile *profile, const struct measured_layers *measured, const char *name,
                      const char *command, struct error *err)
{
    memset(profile, 0, sizeof *profile);
    for (int i = 0; i < measured->count; i++)
        if (!measured->layers[i].backward.is_there)
            return error_set(err, ERROR_INPUT,
                             "%s: a profile needs a backward pass, give it with --backward-file: %s",
                             measured->layers[i].path,
                             measured->layers[i].backward.notes ? measured->layers[i].backward.notes
                                                                : "none could be derived");
    if (fill_profile(profile, measured, name, command))
        return true;
    profile_release(profile);
    return error_memory(err);
}
