/* Files of StableHLO, compiled, run and timed by a PJRT plugin. */
#include "core/clock.h"
#include "core/file.h"
#include "core/unit.h"
#include "cost/count/count.h"
#include "measure/layers/fill.h"
#include "measure/layers/inner.h"
#include "measure/layers/pjrt_plugin.h"

#include <math.h>
#include <stdio.h>
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
    struct unit_texts texts = {0};
    sample_notes_print(&pass->time, &text);
    if (measured->empty > 0.0)
        text_format(&text, "%sless %s of an empty program, caches flushed", text.length > 0 ? "; " : "",
                    unit_text(&texts, measured->empty, UNIT_TIME));
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

/* Finds a layer's bytes, and estimates its backward pass if it has no file; a layer that has no derivative has none,
 * which its notes say. */
static bool measured_price(struct measured_layers *measured, struct measured_layer *layer,
                           const struct layer_file *file, const struct layer_options *options,
                           struct error *err)
{
    struct hlo_module forward = {0}, backward = {0};
    struct layer_cost cost = {0};
    bool done =
        hlo_load(&forward, file->path, err) && (!file->backward || hlo_load(&backward, file->backward, err));
    bool priced = done && layer_cost(&cost, &forward, file->backward ? &backward : NULL, options, err);
    if (priced) {
        measured_size(layer, &cost);
        done = file->backward || !layer->forward.is_timed || estimate(measured, layer, &cost, err);
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

/* ---- what a GPU needs besides ---- */

#define FLUSHED "67108864" /* floats, 256 MiB: more than the last cache of any GPU holds */

/* A smallest program, whose time is subtracted from others, as it is the host's and not theirs: calls, the start of a
 * kernel, and the news of its end. And one that fills the caches, which runs before each of them. NULL on processors. */
struct around {
    struct pjrt_program *empty, *flush;
    double seconds; /* of the empty one */
};

static bool run_empty(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    const struct around *around = context;
    return pjrt_execute(around->empty, around->flush, count, &batch->wall, err);
}

static struct pjrt_program *prepare_text(struct pjrt *pjrt, const char *name, const char *text,
                                         struct error *err)
{
    static const struct hlo_shape scalar = {.type = HLO_TYPE_F32};
    const float one = 1.0F;
    struct pjrt_program *program = pjrt_compile(pjrt, name, text, strlen(text), err);
    if (program && pjrt_add_argument(program, &scalar, &one, err))
        return program;
    pjrt_release(program);
    return NULL;
}

static bool prepare_around(struct around *around, struct pjrt *pjrt, const struct sample_options *samples,
                           struct error *err)
{
    struct sample_options options = *samples;
    struct sample_result result;
    if (!pjrt_facts_of(pjrt)->is_gpu || samples->by_processor)
        return true;
    options.limit = fmin(options.limit, 1.0);
    bool ok =
        (around->flush =
             prepare_text(pjrt, "the program that flushes caches",
                          "module { func.func public @main(%x: tensor<f32>) -> tensor<" FLUSHED "xf32> {\n"
                          "  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<" FLUSHED
                          "xf32>\n  return %0 : tensor<" FLUSHED "xf32>\n} }\n",
                          err)) &&
        (around->empty = prepare_text(pjrt, "the empty program",
                                      "module { func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
                                      "  return %x : tensor<f32>\n} }\n",
                                      err)) &&
        sample_repeat(&result, &options, run_empty, around, err);
    around->seconds = ok ? result.median : 0.0;
    return ok;
}

#define SEED 1

#define VISITS     40.0  /* to a pass, in the time limit */
#define SLOW       50e-3 /* seconds of a run, to which it is nothing what the caches hold at its begin */
#define KEEP_BYTES 2e9   /* of passes that are measured in the same rounds: the last may exceed it */

/* One pass of a layer. */
struct subject {
    struct measured_layers *measured;
    struct pjrt *pjrt;
    const struct around *around;
    const char *path;
    char *text;
    size_t length;
    struct hlo_module module;
    struct pjrt_program *program;
    struct measured_pass *pass;
    struct sample_series *series;
    bool is_slow;
};

static bool run_batch(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    struct subject *subject = context;
    int64_t switches = host_switches();
    double processor = clock_processor();
    if (!pjrt_execute(subject->program, subject->around->flush, count, &batch->wall, err))
        return false;
    batch->wall = fmax(0.0, batch->wall - (double)count * subject->around->seconds);
    batch->processor = clock_processor() - processor;
    batch->disturbed = host_switches() > switches;
    return true;
}

static bool read_subject(struct subject *subject, struct error *err)
{
    if (!file_read(subject->path, HLO_MAX_BYTES, &subject->text, &subject->length, err))
        return false;
    if (!hlo_is_mlir(subject->text, subject->length))
        return error_set(err, ERROR_INPUT,
                         "%s: not MLIR: PJRT needs StableHLO (HLO is measured without --pjrt)",
                         subject->path);
    if (hlo_parse(&subject->module, subject->path, subject->text, subject->length, err))
        return true;
    char *advice = strstr(err->text, ": give dimension"); /* of other commands, by --dim */
    if (advice)
        snprintf(advice, sizeof err->text - (size_t)(advice - err->text),
                 "; PJRT runs programs of static shapes");
    return false;
}

static bool add_arguments(struct subject *subject, struct error *err)
{
    const struct hlo_computation *entry = subject->module.entry;
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct hlo_shape *shape = entry->parameters[i]->shape;
        char text[128];
        if (pjrt_type_of(shape->type) == 0)
            return error_set(err, ERROR_INPUT, "%s: argument %d is %s, a type that PJRT has no buffers of",
                             subject->path, i, hlo_shape_text(shape, text, sizeof text));
        int64_t bytes = hlo_leaf_bytes(shape);
        void *data = malloc(bytes > 0 ? (size_t)bytes : 1);
        if (!data)
            return error_memory(err);
        fill_random(data, shape, SEED + (uint64_t)i);
        bool added = pjrt_add_argument(subject->program, shape, data, err);
        free(data);
        if (!added)
            return false;
    }
    return true;
}

/* What we and the plugin say about the program. */
static bool describe(struct subject *subject, struct measured_pass *pass, struct error *err)
{
    const struct count_options rules = {.rules = COUNT_XLA};
    const struct hlo_computation *entry = subject->module.entry;
    struct module_count count;
    if (!module_count(&count, &subject->module, &rules, err))
        return false;
    pass->flops = count.unknown_count == 0 ? count.flops : -1.0;
    pass->bytes = count.unknown_count == 0 ? count.bytes : -1.0;
    module_count_release(&count);
    for (int i = 0; i < entry->parameter_count; i++)
        pass->argument_bytes += hlo_leaf_bytes(entry->parameters[i]->shape);
    pass->output_bytes = hlo_leaf_bytes(entry->root->shape);
    pjrt_read_costs(subject->program, &pass->costs);
    pjrt_read_memory(subject->program, &pass->memory);
    return true;
}

/* Compiles the program and copies its arguments to the device. */
static bool prepare(struct subject *subject, struct measured_pass *pass, struct error *err)
{
    return read_subject(subject, err) &&
           (subject->program =
                pjrt_compile(subject->pjrt, subject->path, subject->text, subject->length, err)) &&
           add_arguments(subject, err) && describe(subject, pass, err) &&
           (subject->series = sample_new(&subject->measured->options, run_batch, subject, err));
}

static void release_subject(struct subject *subject)
{
    sample_free(subject->series);
    pjrt_release(subject->program);
    hlo_release(&subject->module);
    free(subject->text);
}

/* ---- groups of passes, which are timed in rounds ---- */

struct group {
    struct subject *subjects; /* room for all passes */
    int count;
    double bytes; /* of arguments and results, which the device holds at the same time */
    const struct sample_options *options;
};

static bool visit_subjects(void *context, int round, struct error *err)
{
    const struct group *group = context;
    struct sample_batch first; /* fetches the arrays into the caches again */
    bool ok = true;
    for (int i = 0; ok && i < group->count; i++) {
        struct subject *subject = &group->subjects[i];
        if (group->count > 1 && !subject->is_slow) {
            ok = run_batch(subject, 1, &first, err);
            subject->is_slow = ok && first.wall >= SLOW;
        }
        ok = ok && sample_visit(subject->series, round, group->options->limit / VISITS, err);
    }
    return ok;
}

/* Times the passes of a group, and empties it. */
static bool time_group(struct group *group, struct sample_series **series, struct error *err)
{
    for (int i = 0; i < group->count; i++)
        series[i] = group->subjects[i].series;
    bool ok = sample_rounds(series, group->count, group->options, visit_subjects, group, err);
    for (int i = 0; i < group->count; i++) {
        struct subject *subject = &group->subjects[i];
        const struct sample_result *time = ok ? sample_sum(subject->series, err) : NULL;
        if (time)
            subject->pass->time = *time;
        ok = time && measured_take(subject->measured, subject->pass, err);
        release_subject(subject);
    }
    group->count = 0;
    group->bytes = 0.0;
    return ok;
}

/* Adds a pass; what was there is timed before, where both would take too much of the device's memory. */
static bool add_subject(struct group *group, struct sample_series **series, const struct subject *subject,
                        struct error *err)
{
    struct subject *added = &group->subjects[group->count];
    *added = *subject;
    if (!prepare(added, added->pass, err)) {
        release_subject(added);
        if (!strstr(err->text, PJRT_GAP))
            return false;
        added->pass->seconds = NAN;
        added->pass->notes = arena_string(&added->measured->arena, err->text);
        return added->pass->notes || error_memory(err);
    }
    group->count++;
    group->bytes += (double)added->pass->argument_bytes + (double)added->pass->output_bytes;
    return group->bytes <= KEEP_BYTES || time_group(group, series, err);
}

static bool time_layers(struct measured_layers *measured, struct pjrt *pjrt, const struct layer_file *files,
                        struct error *err)
{
    size_t room = 2 * (size_t)measured->count + 1;
    struct group group = {.subjects = calloc(room, sizeof *group.subjects), .options = &measured->options};
    struct sample_series **series = calloc(room, sizeof *series);
    struct around around = {0};
    bool ok = ((group.subjects && series) || error_memory(err)) &&
              prepare_around(&around, pjrt, &measured->options, err);
    measured->empty = around.seconds;
    for (int i = 0; ok && i < 2 * measured->count; i++) {
        struct measured_layer *layer = &measured->layers[i / 2];
        bool backward = i % 2 > 0;
        const struct subject subject = {.measured = measured,
                                        .pjrt = pjrt,
                                        .around = &around,
                                        .path = backward ? files[i / 2].backward : files[i / 2].path,
                                        .pass = backward ? &layer->backward : &layer->forward};
        if (layer->same == i / 2 && subject.path)
            ok = add_subject(&group, series, &subject, err);
    }
    ok = ok && time_group(&group, series, err);
    for (int i = 0; i < group.count; i++)
        release_subject(&group.subjects[i]);
    pjrt_release(around.empty);
    pjrt_release(around.flush);
    free(group.subjects);
    free(series);
    return ok;
}

bool measure_files_pjrt(struct measured_layers *measured, struct pjrt *pjrt, const struct layer_file *files,
                        int count, const struct layer_options *options, const struct sample_options *samples,
                        struct error *err)
{
    const struct pjrt_facts *facts = pjrt_facts_of(pjrt);
    struct host_watch watch;
    if (!measured_begin(measured, count, samples, &watch, err))
        return false;
    measured->about.library = arena_format(&measured->arena, "PJRT %d.%d, %s%s%s", facts->major, facts->minor,
                                           facts->platform, *facts->version ? ", " : "", facts->version);
    measured->device = arena_string(&measured->arena, *facts->device ? facts->device : facts->platform);
    bool done = (measured->about.library && measured->device) || error_memory(err);
    for (int i = 0; done && i < count; i++)
        done = measured_name(measured, i, files, err);
    done = done && time_layers(measured, pjrt, files, err);
    for (int i = 0; done && i < count; i++) {
        done = measured->layers[i].same < i ||
               measured_price(measured, &measured->layers[i], &files[i], options, err);
        if (done)
            measured_copy(measured, i);
    }
    done = done && measured_end(measured, &watch, err);
    if (!done)
        measured_release(measured);
    return done;
}
