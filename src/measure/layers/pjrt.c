#include "measure/layers/pjrt.h"

#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/text.h"
#include "core/vector.h"
#include "measure/layers/pjrt_api.h"
#include "measure/layers/pjrt_plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGUMENTS 65536
#define MAX_OUTPUTS   65536
#define MAX_TEXT      4096 /* of names that a plugin gives */
#define MAX_OPTIONS   (1 << 20)

typedef struct pjrt_error *pjrt_call(void *args);
typedef void pjrt_silent_call(void *args);

struct pjrt {
    struct arena arena;
    struct pjrt_facts facts;
    const struct pjrt_api *api;
    size_t call_count;
    struct pjrt_client *client;
    struct pjrt_device *device;
    const char *options; /* of compiling */
    size_t options_size;
};

struct pjrt_program {
    struct pjrt *pjrt;
    char *path;
    struct pjrt_loaded *loaded;
    struct pjrt_executable *executable;
    struct pjrt_buffer **arguments, **outputs;
    int64_t *not_donated;
    size_t argument_count, argument_room, not_donated_room;
    int output_count;
};

/* ---- calls ---- */

#define WORDS(name, place, words) [place] = (words),
static const char *const call_names[] = {PJRT_CALLS(WORDS)};

static bool has_call(const struct pjrt *pjrt, enum pjrt_slot slot)
{
    return (size_t)slot < pjrt->call_count && pjrt->api->calls[slot];
}

static void call_silent(const struct pjrt *pjrt, enum pjrt_slot slot, void *args)
{
    if (has_call(pjrt, slot))
        ((pjrt_silent_call *)pjrt->api->calls[slot])(args);
}

/* Puts what the plugin says about an error, without line breaks, into `text`, and ends the error. Returns its code. */
static int take_error(const struct pjrt *pjrt, struct pjrt_error *error, char *text, size_t size)
{
    struct pjrt_error_args said = {.head.size = sizeof said, .error = error};
    struct pjrt_error_args coded = {.head.size = offsetof(struct pjrt_error_args, code) + sizeof coded.code,
                                    .error = error};
    struct pjrt_error_args ended = {.head.size = offsetof(struct pjrt_error_args, code), .error = error};
    call_silent(pjrt, PJRT_ERROR_MESSAGE, &said);
    size_t length =
        said.message ? strnlen(said.message, said.message_size < size ? said.message_size : size - 1) : 0;
    snprintf(text, size, "%.*s", (int)length, length > 0 ? said.message : "");
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t' || (*at == '.' && !at[1]))
            *at = at[1] ? ' ' : 0;
    bool has_code =
        has_call(pjrt, PJRT_ERROR_CODE) && !((pjrt_call *)pjrt->api->calls[PJRT_ERROR_CODE])(&coded);
    call_silent(pjrt, PJRT_ERROR_DESTROY, &ended);
    return has_code ? coded.code : -1;
}

/* Calls the plugin. *code (may be NULL): of the error. */
static bool call_coded(const struct pjrt *pjrt, const char *about, enum pjrt_slot slot, void *args, int *code,
                       struct error *err)
{
    char said[640];
    int found;
    if (!has_call(pjrt, slot)) {
        if (code)
            *code = PJRT_CODE_UNIMPLEMENTED;
        return error_set(err, ERROR_FAILED, "%s: the plugin cannot %s: its interface %d.%d lacks the call",
                         about, call_names[slot], pjrt->facts.major, pjrt->facts.minor);
    }
    struct pjrt_error *error = ((pjrt_call *)pjrt->api->calls[slot])(args);
    if (!error)
        return true;
    found = take_error(pjrt, error, said, sizeof said);
    if (code)
        *code = found;
    bool is_full = found == PJRT_CODE_RESOURCE_EXHAUSTED;
    return error_set(err, ERROR_FAILED, "%s: the plugin could not %s: %s%s%s", about, call_names[slot],
                     is_full ? "out of memory: " : "", *said ? said : "it does not say why",
                     pjrt_advice(!is_full             ? said
                                 : pjrt->facts.is_gpu ? "out of memory"
                                                      : ""));
}

static bool call(const struct pjrt *pjrt, const char *about, enum pjrt_slot slot, void *args,
                 struct error *err)
{
    return call_coded(pjrt, about, slot, args, NULL, err);
}

/* Calls that end things: what a plugin says about them helps nobody. */
static void call_end(const struct pjrt *pjrt, enum pjrt_slot slot, void *args)
{
    struct error ignored;
    call(pjrt, pjrt->facts.path, slot, args, &ignored);
}

static bool await(const struct pjrt *pjrt, const char *about, struct pjrt_event *event, struct error *err)
{
    struct pjrt_object_args args = {.head.size = sizeof args, .of = event};
    if (!event)
        return true;
    bool done = call(pjrt, about, PJRT_EVENT_AWAIT, &args, err);
    call_end(pjrt, PJRT_EVENT_DESTROY, &args);
    return done;
}

/* ---- the plugin ---- */

static const char *read_text(struct pjrt *pjrt, enum pjrt_slot slot, void *of)
{
    struct pjrt_text_args args = {.head.size = sizeof args, .of = of};
    struct error ignored;
    if (!call(pjrt, pjrt->facts.path, slot, &args, &ignored) || !args.text || args.size > MAX_TEXT)
        return "";
    const char *copy = arena_copy(&pjrt->arena, args.text, args.size);
    return copy ? copy : "";
}

static bool load_table(struct pjrt *pjrt, struct error *err)
{
    const char *path = pjrt->facts.path;
    /* without a slash dlopen looks in the system's folders, not here */
    const char *file = strchr(path, '/') ? path : arena_format(&pjrt->arena, "./%s", path);
    if (!file)
        return error_memory(err);
    pjrt_load_beside(file);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *why = dlerror();
        why = why ? why : "unknown error";
        /* glibc names no reason where it lacks memory for a name or a descriptor */
        if (access(file, R_OK) == 0 && (text_ends_with(why, "cannot open shared object file") ||
                                        text_ends_with(why, "cannot create shared object descriptor")))
            return error_memory(err);
        enum error_kind kind = strstr(why, "Cannot allocate memory") ? ERROR_FAILED : ERROR_INPUT;
        return error_set(err, kind, "%s: cannot load the plugin: %s%s", path, why,
                         access(file, R_OK) == 0 ? pjrt_advice(why) : "");
    }
    void *entry = dlsym(library, PJRT_ENTRY);
    if (!entry)
        return error_set(err, ERROR_INPUT, "%s: not a PJRT plugin: it has no function %s", path, PJRT_ENTRY);
    const struct pjrt_api *(*get)(void);
    memcpy(&get, &entry, sizeof get);
    pjrt->api = get();
    if (!pjrt->api)
        return error_set(err, ERROR_INPUT, "%s: its %s returns nothing", path, PJRT_ENTRY);
    size_t size = pjrt->api->head.size, fixed = offsetof(struct pjrt_api, calls);
    if (size < fixed)
        return error_set(err, ERROR_INPUT, "%s: its table of calls has %zu bytes, fewer than its head", path,
                         size);
    pjrt->call_count = (size - fixed) / sizeof *pjrt->api->calls;
    pjrt->facts.major = pjrt->api->version.major;
    pjrt->facts.minor = pjrt->api->version.minor;
    if (pjrt->facts.major != PJRT_MAJOR)
        return error_set(err, ERROR_INPUT, "%s: version %d.%d of PJRT, expected %d.x", path,
                         pjrt->facts.major, pjrt->facts.minor, PJRT_MAJOR);
    if (pjrt->call_count < PJRT_SLOTS_NEEDED)
        return error_set(err, ERROR_INPUT, "%s: has %zu calls of PJRT (version %d.%d), expected at least %d",
                         path, pjrt->call_count, pjrt->facts.major, pjrt->facts.minor, PJRT_SLOTS_NEEDED);
    return true;
}

static bool open_client(struct pjrt *pjrt, const struct pjrt_client_options *options, struct error *err)
{
    const char *path = pjrt->facts.path;
    struct pjrt_initialize_args initialize = {.head.size = sizeof initialize};
    struct pjrt_client_create_args create = {
        .head.size = sizeof create, .options = options->values, .option_count = (size_t)options->count};
    if (!call(pjrt, path, PJRT_PLUGIN_INITIALIZE, &initialize, err) ||
        !call(pjrt, path, PJRT_CLIENT_CREATE, &create, err))
        return false;
    if (!create.client)
        return error_set(err, ERROR_FAILED, "%s: the plugin created no client", path);
    pjrt->client = create.client;
    struct pjrt_devices_args devices = {.head.size = sizeof devices, .client = pjrt->client};
    if (!call(pjrt, path, PJRT_CLIENT_ADDRESSABLE_DEVICES, &devices, err))
        return false;
    if (devices.count < 1 || devices.count > INT_MAX || !devices.devices || !devices.devices[0])
        return error_set(err, ERROR_FAILED, "%s: the plugin has no device here", path);
    pjrt->device = devices.devices[0];
    pjrt->facts.device_count = (int)devices.count;
    return true;
}

static void read_facts(struct pjrt *pjrt)
{
    struct pjrt_description_args described = {.head.size = sizeof described, .device = pjrt->device};
    struct error ignored;
    pjrt->facts.platform = read_text(pjrt, PJRT_CLIENT_PLATFORM_NAME, pjrt->client);
    const char *name = pjrt->facts.platform;
    pjrt->facts.is_gpu = strcmp(name, "cuda") == 0 || strcmp(name, "rocm") == 0 || strcmp(name, "gpu") == 0;
    pjrt->facts.version = read_text(pjrt, PJRT_CLIENT_PLATFORM_VERSION, pjrt->client);
    pjrt->facts.device = "";
    if (call(pjrt, pjrt->facts.path, PJRT_DEVICE_DESCRIPTION, &described, &ignored) && described.description)
        pjrt->facts.device = read_text(pjrt, PJRT_DESCRIPTION_KIND, described.description);
}

struct pjrt *pjrt_open(const char *path, const char *const *options, size_t option_count, struct error *err)
{
    /* a CompileOptionsProto: field 3, its options of building, with device -1, the default (1), one replica (4) and one
     * partition (5) */
    static const char building[] = "\x1a\x0f\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\x01\x28\x01";
    struct pjrt_client_options read = {0};
    struct pjrt *pjrt = calloc(1, sizeof *pjrt);
    if (pjrt)
        *pjrt = (struct pjrt){.options = building, .options_size = sizeof building - 1};
    if (!pjrt || !(pjrt->facts.path = arena_string(&pjrt->arena, path)))
        error_memory(err);
    else if (pjrt_options_read(&read, &pjrt->arena, path, options, option_count, err) &&
             load_table(pjrt, err) && open_client(pjrt, &read, err)) {
        read_facts(pjrt);
        return pjrt;
    }
    pjrt_close(pjrt);
    return NULL;
}

void pjrt_close(struct pjrt *pjrt)
{
    if (!pjrt)
        return;
    struct pjrt_object_args args = {.head.size = sizeof args, .of = pjrt->client};
    if (pjrt->client)
        call_end(pjrt, PJRT_CLIENT_DESTROY, &args);
    arena_release(&pjrt->arena);
    free(pjrt);
}

const struct pjrt_facts *pjrt_facts_of(const struct pjrt *pjrt)
{
    return &pjrt->facts;
}

bool pjrt_read_options(struct pjrt *pjrt, const char *path, struct error *err)
{
    char *bytes = NULL;
    size_t size;
    if (!file_read(path, MAX_OPTIONS, &bytes, &size, err))
        return false;
    pjrt->options = arena_copy(&pjrt->arena, bytes, size);
    pjrt->options_size = size;
    free(bytes);
    return pjrt->options || error_memory(err);
}

/* ---- programs ---- */

static bool compile(struct pjrt_program *program, const char *code, size_t size, struct error *err)
{
    static const char format[] = "mlir";
    char *copy = malloc(size + 1); /* the interface wants it writable */
    if (!copy)
        return error_memory(err);
    memcpy(copy, code, size);
    copy[size] = 0;
    struct pjrt_program_text text = {
        .head.size = sizeof text,
        .code = copy,
        .code_size = size,
        .format = format,
        .format_size = sizeof format - 1,
    };
    struct pjrt_compile_args args = {
        .head.size = sizeof args,
        .client = program->pjrt->client,
        .program = &text,
        .options = program->pjrt->options,
        .options_size = program->pjrt->options_size,
    };
    bool done = call(program->pjrt, program->path, PJRT_CLIENT_COMPILE, &args, err);
    free(copy);
    program->loaded = done ? args.loaded : NULL;
    return done && (program->loaded ||
                    error_set(err, ERROR_FAILED, "%s: the plugin compiled nothing", program->path));
}

static bool find_outputs(struct pjrt_program *program, struct error *err)
{
    struct pjrt_loaded_args loaded = {.head.size = sizeof loaded, .loaded = program->loaded};
    if (!call(program->pjrt, program->path, PJRT_LOADED_EXECUTABLE, &loaded, err))
        return false;
    program->executable = loaded.executable;
    struct pjrt_outputs_args outputs = {.head.size = sizeof outputs, .executable = program->executable};
    if (!call(program->pjrt, program->path, PJRT_EXECUTABLE_OUTPUTS, &outputs, err))
        return false;
    if (outputs.count > MAX_OUTPUTS)
        return error_set(err, ERROR_FAILED, "%s: has %zu results, expected at most %d", program->path,
                         outputs.count, MAX_OUTPUTS);
    program->output_count = (int)outputs.count;
    program->outputs = calloc(outputs.count + 1, sizeof *program->outputs);
    return program->outputs || error_memory(err);
}

struct pjrt_program *pjrt_compile(struct pjrt *pjrt, const char *path, const char *code, size_t size,
                                  struct error *err)
{
    struct pjrt_program *program = calloc(1, sizeof *program);
    if (program) {
        program->pjrt = pjrt;
        program->path = strdup(path);
    }
    if (!program || !program->path)
        error_memory(err);
    else if (compile(program, code, size, err) && find_outputs(program, err))
        return program;
    pjrt_release(program);
    return NULL;
}

static void free_buffer(const struct pjrt *pjrt, struct pjrt_buffer *buffer)
{
    struct pjrt_object_args args = {.head.size = sizeof args, .of = buffer};
    if (buffer)
        call_end(pjrt, PJRT_BUFFER_DESTROY, &args);
}

static void free_outputs(struct pjrt_program *program)
{
    for (int i = 0; i < program->output_count; i++) {
        free_buffer(program->pjrt, program->outputs[i]);
        program->outputs[i] = NULL;
    }
}

void pjrt_release(struct pjrt_program *program)
{
    if (!program)
        return;
    struct pjrt_object_args executable = {.head.size = sizeof executable, .of = program->executable};
    struct pjrt_object_args loaded = {.head.size = sizeof loaded, .of = program->loaded};
    for (size_t i = 0; i < program->argument_count; i++)
        free_buffer(program->pjrt, program->arguments[i]);
    if (program->outputs)
        free_outputs(program);
    if (program->executable)
        call_end(program->pjrt, PJRT_EXECUTABLE_DESTROY, &executable);
    if (program->loaded)
        call_end(program->pjrt, PJRT_LOADED_DESTROY, &loaded);
    free(program->arguments);
    free(program->outputs);
    free(program->not_donated);
    free(program->path);
    free(program);
}

int pjrt_type_of(enum hlo_type type)
{
    static const unsigned char numbers[HLO_TYPE_COUNT] = {
        [HLO_TYPE_PRED] = 1,        [HLO_TYPE_S8] = 2,          [HLO_TYPE_S16] = 3,
        [HLO_TYPE_S32] = 4,         [HLO_TYPE_S64] = 5,         [HLO_TYPE_U8] = 6,
        [HLO_TYPE_U16] = 7,         [HLO_TYPE_U32] = 8,         [HLO_TYPE_U64] = 9,
        [HLO_TYPE_F16] = 10,        [HLO_TYPE_F32] = 11,        [HLO_TYPE_F64] = 12,
        [HLO_TYPE_BF16] = 13,       [HLO_TYPE_C64] = 14,        [HLO_TYPE_C128] = 15,
        [HLO_TYPE_F8E5M2] = 16,     [HLO_TYPE_F8E4M3FN] = 17,   [HLO_TYPE_F8E4M3B11FNUZ] = 18,
        [HLO_TYPE_F8E5M2FNUZ] = 19, [HLO_TYPE_F8E4M3FNUZ] = 20, [HLO_TYPE_S4] = 21,
        [HLO_TYPE_U4] = 22,         [HLO_TYPE_S2] = 24,         [HLO_TYPE_U2] = 25,
        [HLO_TYPE_F8E4M3] = 26,     [HLO_TYPE_F8E3M4] = 27,     [HLO_TYPE_F8E8M0FNU] = 28,
        [HLO_TYPE_F4E2M1FN] = 29,
    };
    return numbers[type];
}

bool pjrt_add_argument(struct pjrt_program *program, const struct hlo_shape *shape, const void *data,
                       struct error *err)
{
    const struct pjrt *pjrt = program->pjrt;
    char text[128];
    int type = pjrt_type_of(shape->type);
    if (type == 0)
        return error_set(err, ERROR_INPUT, "%s: argument %zu is %s, a type that PJRT does not have",
                         program->path, program->argument_count, hlo_shape_text(shape, text, sizeof text));
    if (program->argument_count >= MAX_ARGUMENTS)
        return error_set(err, ERROR_INPUT, "%s: has more than %d arguments", program->path, MAX_ARGUMENTS);
    struct pjrt_buffer_from_host_args args = {
        .head.size = sizeof args,
        .client = pjrt->client,
        .data = data,
        .type = type,
        .dims = shape->dims,
        .rank = (size_t)shape->rank,
        .device = pjrt->device,
    };
    size_t donated = program->argument_count;
    if (!VECTOR_ROOM(program->arguments, program->argument_room, program->argument_count + 1) ||
        !VECTOR_ADD(program->not_donated, donated, program->not_donated_room,
                    (int64_t)program->argument_count))
        return error_memory(err);
    if (!call(pjrt, program->path, PJRT_CLIENT_BUFFER_FROM_HOST, &args, err))
        return false;
    if (!args.buffer)
        return error_set(err, ERROR_FAILED, "%s: the plugin made no buffer of argument %zu", program->path,
                         program->argument_count);
    program->arguments[program->argument_count++] = args.buffer;
    return await(pjrt, program->path, args.done, err);
}

static bool execute_once(struct pjrt_program *program, double *seconds, struct error *err)
{
    struct pjrt_buffer *const *arguments = program->arguments;
    struct pjrt_buffer **outputs = program->outputs;
    struct pjrt_event *done = NULL;
    struct pjrt_execute_options options = {
        .head.size = sizeof options,
        .not_donated = program->not_donated,
        .not_donated_count = program->argument_count,
    };
    struct pjrt_execute_args args = {
        .head.size = sizeof args,
        .loaded = program->loaded,
        .options = &options,
        .arguments = &arguments,
        .device_count = 1,
        .argument_count = program->argument_count,
        .outputs = &outputs,
        .done = &done,
    };
    double start = clock_now();
    if (!call(program->pjrt, program->path, PJRT_LOADED_EXECUTE, &args, err))
        return false;
    bool ended = await(program->pjrt, program->path, done, err);
    *seconds += clock_now() - start;
    free_outputs(program);
    return ended;
}

bool pjrt_execute(struct pjrt_program *program, struct pjrt_program *before, int64_t count, double *seconds,
                  struct error *err)
{
    double ignored = 0.0;
    bool ok = true;
    *seconds = 0.0;
    for (int64_t i = 0; i < count && ok; i++)
        ok = (!before || execute_once(before, &ignored, err)) && execute_once(program, seconds, err);
    return ok;
}

/* ---- what the plugin says about a program ---- */

/* Says why a plugin has no answer: it is not implemented, or it failed. */
static void explain(int code, const struct error *err, char *why, size_t size)
{
    if (code == PJRT_CODE_UNIMPLEMENTED)
        snprintf(why, size, "not implemented by the plugin");
    else
        snprintf(why, size, "%.*s", (int)size - 1, err->text);
}

static double number_of(const struct pjrt_value *value)
{
    if (value->type == PJRT_VALUE_FLOAT)
        return (double)value->number;
    return value->type == PJRT_VALUE_INTEGER ? (double)value->integer : -1.0;
}

static bool is_named(const struct pjrt_value *value, const char *name)
{
    return value->name && value->name_size == strlen(name) &&
           memcmp(value->name, name, value->name_size) == 0;
}

void pjrt_read_costs(struct pjrt_program *program, struct pjrt_costs *costs)
{
    struct pjrt_costs_args args = {.head.size = sizeof args, .executable = program->executable};
    struct error err;
    int code = -1;
    *costs = (struct pjrt_costs){.flops = -1.0, .transcendentals = -1.0, .bytes = -1.0};
    if (!call_coded(program->pjrt, program->path, PJRT_EXECUTABLE_COSTS, &args, &code, &err)) {
        explain(code, &err, costs->why, sizeof costs->why);
        return;
    }
    /* values may be longer than those known here: the first one says how long */
    size_t step = args.count > 0 && args.values ? args.values->head.size : 0;
    step = step < sizeof *args.values || step > 1024 ? sizeof *args.values : step;
    step = (step + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *); /* padding is not part of a size */
    for (size_t i = 0; args.values && i < args.count; i++) {
        const struct pjrt_value *value = (const void *)((const char *)args.values + i * step);
        if (is_named(value, "flops"))
            costs->flops = number_of(value);
        else if (is_named(value, "transcendentals"))
            costs->transcendentals = number_of(value);
        else if (is_named(value, "bytes accessed"))
            costs->bytes = number_of(value);
    }
    if (costs->flops < 0.0 && costs->bytes < 0.0)
        snprintf(costs->why, sizeof costs->why, "the plugin names neither flops nor bytes");
}

void pjrt_read_memory(struct pjrt_program *program, struct pjrt_memory *memory)
{
    struct pjrt_memory_args args = {.head.size = sizeof args, .executable = program->executable, .peak = -1};
    struct error err;
    int code = -1;
    *memory = (struct pjrt_memory){-1, -1, -1, -1, -1, -1, ""};
    if (!call_coded(program->pjrt, program->path, PJRT_EXECUTABLE_MEMORY, &args, &code, &err)) {
        explain(code, &err, memory->why, sizeof memory->why);
        return;
    }
    memory->arguments = args.arguments;
    memory->outputs = args.outputs;
    memory->alias = args.alias;
    memory->temporary = args.temporary;
    memory->code = args.code;
    memory->peak = args.peak > 0 ? args.peak : -1; /* 0: older plugins leave it */
}
