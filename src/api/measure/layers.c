/* rh_measure_layers: layers timed on this machine. */
#include "measure/layers/layers.h"
#include "api/choose.h"
#include "api/command.h"
#include "api/cost/dims.h"
#include "core/fields.h"
#include "core/file_output.h"

#include <stdlib.h>

/* In the order of enum type, and of `by_processor`. */
static const char *const types[] = {"fp32", "bf16", NULL};
static const char *const clocks[] = {"wall", "cpu", NULL};
enum { TYPE_FP32, TYPE_BF16 };

/* ---- options ---- */

static bool read_options(const struct rh_measure_layers_request *given, struct sample_options *samples,
                         struct error *err)
{
    samples->limit = given->limit;
    samples->by_processor = option_index(clocks, given->clock) == 1;
    if (!option_tolerance(given->tolerance, &samples->precision, err))
        return false;
    if (given->backward_file.count > 0 && given->backward_file.count != given->files.count)
        return error_set(err, ERROR_USAGE, "--backward-file: expected one for each of %zu files, found %zu",
                         given->files.count, given->backward_file.count);
    if (given->model && given->files.count > 0)
        return error_set(err, ERROR_USAGE, "files and --model exclude each other");
    if (given->output && !given->model && given->files.count == 0)
        return error_set(err, ERROR_USAGE, "--output writes a profile of layers: give files or --model");
    if (!given->pjrt && !given->model && !given->products && given->files.count == 0)
        return error_set(err, ERROR_USAGE, "expected files, --model or --products");
    if (given->pjrt && (given->model || given->products || given->dims.count > 0))
        return error_set(err, ERROR_USAGE, "--pjrt runs files of static shapes: it excludes --%s",
                         given->model      ? "model"
                         : given->products ? "products"
                                           : "dim");
    return true;
}

/* ---- what comes out ---- */

#define OF_LAYER(key, member, type) FIELD_OUT(struct measured_layer, key, member, type)

static const struct field layer_fields[] = {
    OF_LAYER("path", path, FIELD_TEXT),
    OF_LAYER("same", same, FIELD_INT),
    OF_LAYER("parameters", row.parameter_bytes, FIELD_INT64),
    OF_LAYER("activations", row.activation_bytes, FIELD_INT64),
    OF_LAYER("output", row.output_bytes, FIELD_INT64),
    OF_LAYER("forward", forward.seconds, FIELD_DOUBLE),
    OF_LAYER("forward_low", forward.time.low, FIELD_DOUBLE),
    OF_LAYER("forward_high", forward.time.high, FIELD_DOUBLE),
    OF_LAYER("forward_notes", forward.notes, FIELD_TEXT),
    OF_LAYER("backward", backward.seconds, FIELD_DOUBLE),
    OF_LAYER("backward_measured", backward.is_timed, FIELD_FLAG),
    OF_LAYER("backward_low", backward.time.low, FIELD_DOUBLE),
    OF_LAYER("backward_high", backward.time.high, FIELD_DOUBLE),
    OF_LAYER("backward_notes", backward.notes, FIELD_TEXT),
};

static const struct field measured_fields[] = {FIELD_OUT(struct measured_layers, "model", model, FIELD_TEXT)};

static bool save_profile(const struct rh_measure_layers_request *given,
                         const struct measured_layers *measured, struct error *err)
{
    struct text text = {0};
    struct profile profile;
    if (!given->output)
        return true;
    if (!measured_profile(&profile, measured, given->name ? given->name : measured->device, err))
        return false;
    profile_write_json(&profile, &(struct json){.out = &text});
    profile_release(&profile);
    bool done = file_write_exact(given->output, &text, err);
    text_release(&text);
    return done;
}

static bool deliver(const struct rh_measure_layers_request *given, struct measured_layers *measured,
                    struct api_report *report, struct error *err)
{
    measured->about.command = given->command;
    if (!save_profile(given, measured, err))
        return false;
    measured_write_json(measured, &report->json);
    measured_print(measured, &report->text);
    API_VALUES(&report->base, measured, measured_fields);
    API_FIELDS(&report->base, "layers", measured->layers, measured->count, layer_fields);
    return true;
}

static const struct field plugin_fields[] = {
    FIELD_OUT(struct pjrt_facts, "plugin", path, FIELD_TEXT),
    FIELD_OUT(struct pjrt_facts, "platform", platform, FIELD_TEXT),
    FIELD_OUT(struct pjrt_facts, "devices", device_count, FIELD_INT),
    FIELD_OUT(struct pjrt_facts, "device", device, FIELD_TEXT),
};

/* Without files. */
static bool show_plugin(const struct rh_measure_layers_request *given, const struct pjrt *pjrt,
                        struct api_report *report, struct error *err)
{
    const struct pjrt_facts *facts = pjrt_facts_of(pjrt);
    if (given->output)
        return error_set(err, ERROR_USAGE,
                         "expected files to measure (without files, only the plugin is shown)");
    text_format(&report->text, "%s: PJRT %d.%d, %s%s%s, %d device%s: %s\n", facts->path, facts->major,
                facts->minor, facts->platform, *facts->version ? ", " : "", facts->version,
                facts->device_count, facts->device_count == 1 ? "" : "s", facts->device);
    FIELDS_MAP(facts, plugin_fields, &report->json, NULL);
    return true;
}

/* NULL: out of memory. */
static struct layer_file *list_files(const struct rh_measure_layers_request *given, rh_handle *handle,
                                     struct error *err)
{
    const char *const *paths = api_keep_list(handle, &given->files, err); /* columns have them */
    struct layer_file *files = paths ? calloc(given->files.count + 1, sizeof *files) : NULL;
    if (paths && !files)
        error_memory(err);
    for (size_t i = 0; files && i < given->files.count; i++) {
        files[i].path = paths[i];
        files[i].backward = given->backward_file.count > 0 ? given->backward_file.items[i] : NULL;
    }
    return files;
}

static bool measure_by_pjrt(const struct rh_measure_layers_request *given,
                            const struct sample_options *samples, struct api_report *report,
                            struct measured_layers *measured, struct error *err)
{
    struct layer_options options = {.is_first = given->first_layer};
    struct layer_file *files = list_files(given, &report->base, err);
    struct pjrt *pjrt =
        files ? pjrt_open(given->pjrt, given->plugin_option.items, given->plugin_option.count, err) : NULL;
    bool done = pjrt && (!given->compile_options || pjrt_read_options(pjrt, given->compile_options, err));
    if (done && given->files.count == 0)
        done = show_plugin(given, pjrt, report, err);
    else if (done)
        done = measure_files_pjrt(measured, pjrt, files, (int)given->files.count, &options, samples, err) &&
               deliver(given, measured, report, err);
    pjrt_close(pjrt);
    free(files);
    return done;
}

static bool measure_named(const struct rh_measure_layers_request *given, struct measured_layers *measured,
                          const struct measure_products *products, const struct sample_options *samples,
                          struct error *err)
{
    struct cost_chosen chosen = {0};
    struct measure_model wanted = {
        .microbatch = given->microbatch_size,
        .sequence = given->sequence,
        .is_bf16 = option_index(types, given->type) == TYPE_BF16,
    };
    bool done = tables_ready(err) && cost_choose_model(&chosen, given->model, err);
    if (done) {
        wanted.software = cost_choose_software(&chosen, given->software, err);
        done = wanted.software && measure_model(measured, chosen.model, &wanted, products, samples, err);
    }
    cost_chosen_release(&chosen);
    return done;
}

/* Whether each given size is of a file, before hours of measuring. */
static bool check_dims(const struct layer_file *files, size_t count, const struct hlo_dims *dims,
                       struct error *err)
{
    bool done = true;
    for (size_t i = 0; i < 2 * count && done && dims->count > 0; i++) {
        const char *path = i < count ? files[i].path : files[i - count].backward;
        struct hlo_module module = {0};
        done = !path || hlo_load_sized(&module, path, dims, err);
        hlo_release(&module);
    }
    return done && cost_dims_check(dims, err);
}

static bool measure_files(const struct rh_measure_layers_request *given, rh_handle *handle,
                          struct measured_layers *measured, const struct measure_products *products,
                          const struct sample_options *samples, struct error *err)
{
    struct hlo_dims dims = {0};
    struct layer_options options = {.is_first = given->first_layer};
    struct layer_file *files = list_files(given, handle, err);
    bool done = files && tables_ready(err) && cost_dims_read(&dims, &given->dims, err) &&
                check_dims(files, given->files.count, &dims, err) &&
                measure_files_kernels(measured, files, (int)given->files.count, &options, &dims, products,
                                      samples, err);
    cost_dims_release(&dims);
    free(files);
    return done;
}

/* Kernel by kernel, by oneDNN. */
static bool measure_by_kernels(const struct rh_measure_layers_request *given,
                               const struct sample_options *samples, struct api_report *report,
                               struct measured_layers *measured, struct error *err)
{
    const struct measure_products wanted = {.is_bf16 = option_index(types, given->type) == TYPE_BF16};
    const struct measure_products *products = given->products ? &wanted : NULL;
    return (given->model ? measure_named(given, measured, products, samples, err)
                         : measure_files(given, &report->base, measured, products, samples, err)) &&
           deliver(given, measured, report, err);
}

/* ---- the command ---- */

static void drop(void *measured)
{
    measured_release(measured);
}

/* Only the calling thread, and threads that a library starts meanwhile, stay on the cores. */
static bool run_pinned(const struct rh_measure_layers_request *given, const struct sample_options *samples,
                       struct api_report *report, struct error *err)
{
    cpu_set_t before, cores;
    struct error ignored;
    struct measured_layers *measured = api_report_keep(report, sizeof *measured, drop, err);
    if (!measured ||
        (given->cores && (!host_cores(&before, err) || !host_read_cores(&cores, given->cores, err) ||
                          !host_pin(&cores, err))))
        return false;
    bool done = given->pjrt ? measure_by_pjrt(given, samples, report, measured, err)
                            : measure_by_kernels(given, samples, report, measured, err);
    if (given->cores)
        host_pin(&before, &ignored);
    return done;
}

static bool measure(const void *request, const struct api_call *call, struct api_report *report,
                    struct error *err)
{
    const struct rh_measure_layers_request *given = request;
    struct sample_options samples = {0};
    (void)call;
    return (given->files.count <= PROFILE_MAX_LAYERS ||
            error_set(err, ERROR_USAGE, "expected at most %d files", PROFILE_MAX_LAYERS)) &&
           read_options(given, &samples, err) && run_pinned(given, &samples, report, err);
}

API_WHOLE_COMMAND(measure_layers, "measure layers", rh_measure_layers_request, .answer = measure);
