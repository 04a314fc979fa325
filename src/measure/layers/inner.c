#include "measure/layers/inner.h"

#include "core/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

/* Releases a text; *kept is a copy, or NULL where it is empty. */
static bool keep_text(struct measured_layers *measured, struct text *text, const char **kept,
                      struct error *err)
{
    *kept = text->length > 0 ? arena_string(&measured->arena, text->data) : NULL;
    bool done = !text->failed && (text->length == 0 || *kept);
    text_release(text);
    return done || error_memory(err);
}

bool measured_begin(struct measured_layers *measured, int count, const struct sample_options *samples,
                    struct host_watch *watch, struct error *err)
{
    const struct host_facts *host = &measured->host;
    struct text text = {0};
    cpu_set_t cores;
    memset(measured, 0, sizeof *measured);
    measured->options = *samples;
    measured->count = count;
    measured->layers = ARENA_ARRAY(&measured->arena, (size_t)count, struct measured_layer);
    if (!measured->layers)
        return error_memory(err);
    if (!host_cores(&cores, err))
        return false;
    host_read_facts(&measured->host);
    host_watch_begin(watch, &cores);
    host_write_cores(&cores, &text);
    measured->about = (struct profile_measured){
        .host = host->name,
        .processor = *host->processor ? host->processor : NULL,
        .system = host->system,
        .date = host->date,
        .clock = samples->by_processor ? "cpu" : "wall",
        .precision = samples->precision,
    };
    return keep_text(measured, &text, &measured->about.cores, err);
}

bool measured_end(struct measured_layers *measured, const struct host_watch *watch, struct error *err)
{
    struct text text = {0};
    host_watch_end(watch, &measured->load);
    host_load_print(&measured->load, &text);
    return keep_text(measured, &text, &measured->about.warnings, err);
}

static bool same_files(const char *a, const char *b, bool *same, struct error *err)
{
    char *first = NULL, *second = NULL;
    size_t length, second_length;
    *same = false;
    if (!a || !b) {
        *same = !a && !b;
        return true;
    }
    bool done = file_read(a, HLO_MAX_BYTES, &first, &length, err) &&
                file_read(b, HLO_MAX_BYTES, &second, &second_length, err);
    if (done)
        *same = length == second_length && memcmp(first, second, length) == 0;
    free(first);
    free(second);
    return done;
}

bool measured_name(struct measured_layers *measured, int number, const struct layer_file *files,
                   struct error *err)
{
    struct measured_layer *layer = &measured->layers[number];
    const char *path = files[number].path;
    const char *name = basename(path), *dot = strrchr(name, '.');
    layer->path = path;
    layer->same = number;
    layer->row.name =
        arena_copy(&measured->arena, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
    if (!layer->row.name)
        return error_memory(err);
    for (int i = 0; i < number && layer->same == number; i++) {
        bool forward, backward;
        if (measured->layers[i].same < i)
            continue;
        if (!same_files(files[i].path, path, &forward, err) ||
            !same_files(files[i].backward, files[number].backward, &backward, err))
            return false;
        if (forward && backward)
            layer->same = i;
    }
    return true;
}

void measured_copy(struct measured_layers *measured, int number)
{
    struct measured_layer *layer = &measured->layers[number];
    struct measured_layer of = measured->layers[layer->same];
    of.row.name = layer->row.name;
    of.path = layer->path;
    of.same = layer->same;
    *layer = of;
}

bool measured_take(struct measured_layers *measured, struct measured_pass *pass, struct error *err)
{
    struct text text = {0};
    pass->is_there = pass->is_timed = true;
    pass->seconds = pass->time.median;
    sample_notes_print(&pass->time, &text);
    return keep_text(measured, &text, &pass->notes, err);
}

/* ---- bytes and estimates ---- */

static double work_of(const struct fused *fused)
{
    double flops = fused_product_flops(fused);
    for (int i = 0; i < fused->kernel_count; i++)
        flops += fused->kernels[i].kernel.repeats * fused->kernels[i].kernel.lane_flops;
    return flops;
}

static bool estimate(struct measured_layers *measured, struct measured_layer *layer,
                     const struct layer_cost *cost, struct error *err)
{
    double forward = work_of(&cost->forward), backward = work_of(&cost->backward);
    if (cost->backward.kernel_count == 0)
        return true;
    bool by_flops = forward > 0.0 && backward > 0.0;
    double ratio = by_flops ? backward / forward : fused_bytes(&cost->backward) / fused_bytes(&cost->forward);
    if (!isfinite(ratio) || ratio <= 0.0)
        return true;
    layer->backward.is_there = true;
    layer->backward.flops = backward;
    layer->backward.bytes = fused_bytes(&cost->backward);
    layer->backward.seconds = ratio * layer->forward.seconds;
    layer->backward.notes = arena_format(&measured->arena, "estimated: forward x %.2f, by %s", ratio,
                                         by_flops ? "flops" : "bytes");
    return layer->backward.notes || error_memory(err);
}

void measured_size(struct measured_layer *layer, const struct layer_cost *cost)
{
    layer->row.parameter_bytes = cost->parameter_bytes;
    layer->row.activation_bytes = cost->kept_bytes;
    layer->row.output_bytes = cost->output_bytes;
}

bool measured_price(struct measured_layers *measured, struct measured_layer *layer,
                    const struct layer_file *file, const struct layer_options *options, struct error *err)
{
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost cost = {0};
    bool done =
        hlo_load(&forward, file->path, err) && (!file->backward || hlo_load(&backward, file->backward, err));
    bool priced = done && layer_cost(&cost, &forward, file->backward ? &backward : NULL, options, err);
    if (priced) {
        measured_size(layer, &cost);
        done = file->backward || estimate(measured, layer, &cost, err);
    } else if (done && !error_is_memory(err)) {
        layer->backward.notes = arena_string(&measured->arena, err->text); /* times stand without it */
        done = layer->backward.notes != NULL || error_memory(err);
    } else {
        done = false;
    }
    layer_release(&cost);
    hlo_release(&backward);
    hlo_release(&forward);
    return done;
}
