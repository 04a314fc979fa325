/* Files of StableHLO, compiled, run and timed by a PJRT plugin. */
#include "core/clock.h"
#include "core/file.h"
#include "cost/count/count.h"
#include "measure/layers/fill.h"
#include "measure/layers/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEED 1

/* One pass of a layer. */
struct subject {
    struct measured_layers *measured;
    struct pjrt *pjrt;
    const char *path;
    char *text;
    size_t length;
    struct hlo_module module;
    struct pjrt_program *program;
};

static bool run_batch(void *context, int64_t count, struct sample_batch *batch, struct error *err)
{
    struct subject *subject = context;
    int64_t switches = host_switches();
    double processor = clock_processor();
    if (!pjrt_execute(subject->program, count, &batch->wall, err))
        return false;
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
                         "%s: PJRT takes StableHLO, this is no MLIR; HLO is measured without --pjrt",
                         subject->path);
    if (hlo_parse(&subject->module, subject->path, subject->text, subject->length, err))
        return true;
    char *advice = strstr(err->text, ": give dimension"); /* of other commands, by --dim */
    if (advice)
        snprintf(advice, sizeof err->text - (size_t)(advice - err->text),
                 "; PJRT runs programs of fixed sizes");
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

static bool time_subject(struct subject *subject, struct measured_pass *pass, struct error *err)
{
    return read_subject(subject, err) &&
           (subject->program =
                pjrt_compile(subject->pjrt, subject->path, subject->text, subject->length, err)) &&
           add_arguments(subject, err) && describe(subject, pass, err) &&
           sample_repeat(&pass->time, &subject->measured->options, run_batch, subject, err) &&
           measured_take(subject->measured, pass, err);
}

static bool measure_pass(struct measured_layers *measured, struct pjrt *pjrt, const char *path,
                         struct measured_pass *pass, struct error *err)
{
    struct subject subject = {.measured = measured, .pjrt = pjrt, .path = path};
    bool done = time_subject(&subject, pass, err);
    pjrt_release(subject.program);
    hlo_release(&subject.module);
    free(subject.text);
    return done;
}

static bool measure_layer(struct measured_layers *measured, struct pjrt *pjrt, int number,
                          const struct layer_file *file, const struct layer_options *options,
                          struct error *err)
{
    struct measured_layer *layer = &measured->layers[number];
    if (!measure_pass(measured, pjrt, file->path, &layer->forward, err) ||
        (file->backward && !measure_pass(measured, pjrt, file->backward, &layer->backward, err)))
        return false;
    return measured_price(measured, layer, file, options, err);
}

bool measure_files_pjrt(struct measured_layers *measured, struct pjrt *pjrt, const struct layer_file *files,
                        int count, const struct layer_options *options, const struct sample_options *samples,
                        struct error *err)
{
    const struct pjrt_facts *facts = pjrt_facts_of(pjrt);
    struct host_watch watch;
    if (!measured_begin(measured, count, samples, &watch, err))
        return false;
    measured->library = arena_format(&measured->arena, "PJRT %d.%d, %s%s%s", facts->major, facts->minor,
                                     facts->platform, *facts->version ? ", " : "", facts->version);
    measured->device = arena_string(&measured->arena, *facts->device ? facts->device : facts->platform);
    bool done = (measured->library && measured->device) || error_memory(err);
    for (int i = 0; done && i < count; i++) {
        done = measured_name(measured, i, files, err) &&
               (measured->layers[i].same < i || measure_layer(measured, pjrt, i, &files[i], options, err));
        if (done)
            measured_copy(measured, i);
    }
    measured_end(measured, &watch);
    if (!done)
        measured_release(measured);
    return done;
}
