/* A PJRT plugin that computes nothing: programs are accepted as they are and take 20 us. It checks the sizes of all structs
 * that it is given against those of version 0.81 of the interface, which stand here as numbers, and counts what is not ended.
 *
 * $FAKE_PJRT says how it behaves, words separated by commas: calls=59 (it is older), major=1, minor=200, table=8 (bytes),
 * nothing (no table at all), absent=46, fail=20 (always), fail=55:3 (at the third call), code=8 (of failures), silent (errors
 * without text), outputs=0, arguments=N (only programs with N), devices=0, empty=10 (a call that leaves its result empty),
 * peak (memory statistics know it), gpu (its platform is cuda, its programs take 100 us, of which 50 us are the host's, and find their
 * caches filled by one another unless 256 MiB were written since). Numbers are slots. $FAKE_PJRT_SAYS is the text of errors.
 * The count of live objects, and what was wrong, is in fake_pjrt_report(); how often another program ran than before, in fake_pjrt_turns(); the
 * options of its client are in fake_pjrt_options(). */
#include "measure/layers/pjrt_api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLOTS 97

struct pjrt_error {
    int slot;
};

static struct {
    size_t size;
    void *extension;
    size_t version_size;
    void *version_extension;
    int major, minor;
    void (*calls[SLOTS + 16])(void);
} table;

#define OBJECTS 4096
static struct pjrt_error objects[OBJECTS];
static bool taken[OBJECTS];
static int live[4], calls[SLOTS + 16];
static const char *const kinds[] = {"errors", "events", "buffers", "programs"};
static int turns; /* runs of another program than the last */
static const void *last;
static char wrong[512], report[1024], options_text[256];
enum { ERRORS, EVENTS, BUFFERS, PROGRAMS };
enum { NOTHING, COMPUTES, FLUSHES }; /* programs */

/* The number after WORD= in $FAKE_PJRT, `otherwise` if the word is not there. */
static long setting(const char *word, long otherwise)
{
    const char *at = getenv("FAKE_PJRT");
    size_t length = strlen(word);
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, word, length) == 0 && (at[length] == '=' || at[length] == 0 || at[length] == ','))
            return at[length] == '=' ? strtol(at + length + 1, NULL, 10) : 1;
    return otherwise;
}

static long fails_from(void)
{
    const char *at = getenv("FAKE_PJRT");
    at = at ? strstr(at, "fail=") : NULL;
    at = at ? at + strcspn(at, ",:") : NULL;
    return at && *at == ':' ? strtol(at + 1, NULL, 10) : 1;
}

static void complain(const char *what, int slot, size_t found, size_t expected)
{
    size_t length = strlen(wrong);
    snprintf(wrong + length, sizeof wrong - length, "call %d: %s is %zu, expected %zu. ", slot, what, found,
             expected);
}

static void expect(int slot, const char *what, size_t found, size_t expected)
{
    if (found != expected)
        complain(what, slot, found, expected);
}

const char *fake_pjrt_report(void);
const char *fake_pjrt_report(void)
{
    size_t length = (size_t)snprintf(report, sizeof report, "%s", wrong);
    for (int i = 0; i < 4; i++)
        if (live[i] != 0)
            length += (size_t)snprintf(report + length, sizeof report - length, "%d %s are left. ", live[i],
                                       kinds[i]);
    *wrong = 0;
    memset(live, 0, sizeof live);
    memset(calls, 0, sizeof calls);
    return report;
}

int fake_pjrt_turns(void);
int fake_pjrt_turns(void)
{
    return turns;
}

/* Objects do not come from the heap, so that memory refused to rehearse is not refused here. */
static void *make(int kind)
{
    live[kind]++;
    for (size_t i = 0; i < OBJECTS; i++)
        if (!taken[i]) {
            taken[i] = true;
            return &objects[i];
        }
    abort();
}

static void end(int kind, void *object)
{
    size_t i = (size_t)((struct pjrt_error *)object - objects);
    if (i >= OBJECTS || !taken[i])
        complain("an object that is there no longer", kind, 0, 1);
    else
        taken[i] = false;
    live[kind]--;
}

/* Begins a call: its struct has this size; NULL unless it is to fail. */
static struct pjrt_error *begin(int slot, void *args, size_t size)
{
    expect(slot, "the struct's size", ((struct pjrt_head *)args)->size, size);
    if (setting("fail", -1) != slot || ++calls[slot] < fails_from())
        return NULL;
    struct pjrt_error *error = make(ERRORS);
    error->slot = slot;
    return error;
}

static int is_empty(int slot)
{
    return setting("empty", -1) == slot;
}

/* ---- calls ---- */

static void error_destroy(struct pjrt_error_args *args)
{
    expect(PJRT_ERROR_DESTROY, "the struct's size", args->head.size, 24);
    end(ERRORS, args->error);
}

static void error_message(struct pjrt_error_args *args)
{
    static char text[256];
    const char *said = getenv("FAKE_PJRT_SAYS");
    expect(PJRT_ERROR_MESSAGE, "the struct's size", args->head.size, 40);
    if (args->error->slot < 0)
        said = "No FFI handler registered for solve_ffi on a platform CUDA";
    int length = said ? snprintf(text, sizeof text, "%s, and more", said)
                      : snprintf(text, sizeof text, "call %d fails\nas told, and more", args->error->slot);
    if (setting("silent", 0))
        return;
    args->message = text;
    args->message_size = (size_t)length - 10; /* texts need not end in a NUL */
}

static struct pjrt_error *error_code(struct pjrt_error_args *args)
{
    expect(PJRT_ERROR_CODE, "the struct's size", args->head.size, 28);
    args->code = (int)setting("code", 13);
    return NULL;
}

static struct pjrt_error *initialize(void *args)
{
    return begin(PJRT_PLUGIN_INITIALIZE, args, 16);
}

static struct pjrt_error *event_destroy(struct pjrt_object_args *args)
{
    struct pjrt_error *error = begin(PJRT_EVENT_DESTROY, args, 24);
    end(EVENTS, args->of);
    return error;
}

static struct pjrt_error *event_await(struct pjrt_object_args *args)
{
    return begin(PJRT_EVENT_AWAIT, args, 24);
}

const char *fake_pjrt_options(void);
const char *fake_pjrt_options(void)
{
    return options_text;
}

static void note_option(const struct pjrt_value *value)
{
    size_t length = strlen(options_text);
    char *at = options_text + length;
    size_t room = sizeof options_text - length;
    expect(PJRT_CLIENT_CREATE, "an option's size", value->head.size, 56);
    int name = snprintf(at, room, "%s%.*s=", length > 0 ? " " : "", (int)value->name_size, value->name);
    at += name;
    room -= (size_t)name;
    if (value->type == PJRT_VALUE_INTEGERS)
        for (size_t i = 0; i < value->size; i++) {
            int more = snprintf(at, room, "%s%d", i > 0 ? "," : "[", (int)value->integers[i]);
            at += more;
            room -= (size_t)more;
        }
    if (value->type == PJRT_VALUE_STRING)
        snprintf(at, room, "'%.*s'", (int)value->size, value->string);
    else if (value->type == PJRT_VALUE_INTEGER)
        snprintf(at, room, "%d", (int)value->integer);
    else if (value->type == PJRT_VALUE_FLOAT)
        snprintf(at, room, "%.3f", (double)value->number);
    else if (value->type == PJRT_VALUE_FLAG)
        snprintf(at, room, "%s", value->flag ? "true" : "false");
    else
        snprintf(at, room, "]");
}

static struct pjrt_error *client_create(struct pjrt_client_create_args *args)
{
    *options_text = 0;
    for (size_t i = 0; i < args->option_count; i++)
        note_option(&args->options[i]);
    struct pjrt_error *error = begin(PJRT_CLIENT_CREATE, args, 88);
    args->client = error || is_empty(PJRT_CLIENT_CREATE) ? NULL : (void *)live;
    return error;
}

static bool is_gpu(void)
{
    return setting("gpu", 0);
}

static struct pjrt_error *client_destroy(void *args)
{
    return begin(PJRT_CLIENT_DESTROY, args, 24);
}

static struct pjrt_error *text(int slot, struct pjrt_text_args *args, const char *value)
{
    struct pjrt_error *error = begin(slot, args, 40);
    args->text = value;
    args->size = strlen(value);
    return error;
}

static struct pjrt_error *platform(void *args)
{
    return text(PJRT_CLIENT_PLATFORM_NAME, args, is_gpu() ? "cuda" : "fake");
}

static struct pjrt_error *version(void *args)
{
    return text(PJRT_CLIENT_PLATFORM_VERSION, args, "version 7");
}

static struct pjrt_error *kind(void *args)
{
    return text(PJRT_DESCRIPTION_KIND, args, "Fake 100");
}

static struct pjrt_error *devices(struct pjrt_devices_args *args)
{
    static struct pjrt_device *const all[] = {(void *)calls, (void *)live};
    struct pjrt_error *error = begin(PJRT_CLIENT_ADDRESSABLE_DEVICES, args, 40);
    args->devices = all;
    args->count = (size_t)setting("devices", 2);
    return error;
}

static struct pjrt_error *describe(struct pjrt_description_args *args)
{
    args->description = (void *)table.calls;
    return begin(PJRT_DEVICE_DESCRIPTION, args, 32);
}

static struct pjrt_error *compile(struct pjrt_compile_args *args)
{
    const struct pjrt_program_text *program = args->program;
    struct pjrt_error *error = begin(PJRT_CLIENT_COMPILE, args, 56);
    expect(PJRT_CLIENT_COMPILE, "the program's size", program->head.size, 48);
    expect(PJRT_CLIENT_COMPILE, "the format", (size_t)strncmp(program->format, "mlir", program->format_size),
           0);
    expect(PJRT_CLIENT_COMPILE, "the first option", (size_t)args->options[0], 0x1a);
    expect(PJRT_CLIENT_COMPILE, "the options' length", (size_t)args->options[1], args->options_size - 2);
    bool unknown = memmem(program->code, program->code_size, "custom_call", 11);
    if (!error &&
        (args->options[0] != 0x1a || memmem(program->code, program->code_size, "does_not_compile", 16))) {
        error = make(ERRORS);
        error->slot = PJRT_CLIENT_COMPILE;
    }
    if (!error && unknown) {
        error = make(ERRORS);
        error->slot = -1;
    }
    args->loaded = error || is_empty(PJRT_CLIENT_COMPILE) ? NULL : make(PROGRAMS);
    if (args->loaded)
        ((struct pjrt_error *)(void *)args->loaded)->slot =
            memmem(program->code, program->code_size, "67108864", 8)    ? FLUSHES
            : memmem(program->code, program->code_size, "stablehlo", 9) ? COMPUTES
                                                                        : NOTHING;
    return error;
}

static struct pjrt_error *from_host(struct pjrt_buffer_from_host_args *args)
{
    struct pjrt_error *error = begin(PJRT_CLIENT_BUFFER_FROM_HOST, args, 120);
    if (!args->data || args->type < 1 || args->type > 29 || !args->device)
        complain("the argument's type", PJRT_CLIENT_BUFFER_FROM_HOST, (size_t)args->type, 0);
    if (error || is_empty(PJRT_CLIENT_BUFFER_FROM_HOST))
        return error;
    args->buffer = make(BUFFERS);
    args->done = make(EVENTS);
    return NULL;
}

static struct pjrt_error *buffer_destroy(struct pjrt_object_args *args)
{
    struct pjrt_error *error = begin(PJRT_BUFFER_DESTROY, args, 24);
    end(BUFFERS, args->of);
    return error;
}

static struct pjrt_error *executable_destroy(struct pjrt_object_args *args)
{
    struct pjrt_error *error = begin(PJRT_EXECUTABLE_DESTROY, args, 24);
    end(PROGRAMS, args->of);
    return error;
}

static struct pjrt_error *outputs(struct pjrt_outputs_args *args)
{
    args->count = (size_t)setting("outputs", 1);
    return begin(PJRT_EXECUTABLE_OUTPUTS, args, 32);
}

/* Values of a later version, which are longer: a size ends with the last member, the padding behind it does not count. */
static struct pjrt_error *costs(struct pjrt_costs_args *args)
{
    static struct {
        struct pjrt_value value;
        char more[20];
    } values[] = {
        {.value = {{sizeof(struct pjrt_value) + 20, NULL},
                   "utilization",
                   11,
                   PJRT_VALUE_STRING,
                   {.string = "none"},
                   4}},
        {.value =
             {{sizeof(struct pjrt_value) + 20, NULL}, "flops", 5, PJRT_VALUE_FLOAT, {.number = 1024.0F}, 1}},
        {.value = {{sizeof(struct pjrt_value) + 20, NULL},
                   "bytes accessed",
                   14,
                   PJRT_VALUE_INTEGER,
                   {.integer = 96},
                   1}},
    };
    args->count = sizeof values / sizeof *values;
    args->values = &values->value;
    return begin(PJRT_EXECUTABLE_COSTS, args, 40);
}

static struct pjrt_error *loaded_destroy(struct pjrt_object_args *args)
{
    struct pjrt_error *error = begin(PJRT_LOADED_DESTROY, args, 24);
    end(PROGRAMS, args->of);
    return error;
}

static struct pjrt_error *loaded_executable(struct pjrt_loaded_args *args)
{
    struct pjrt_error *error = begin(PJRT_LOADED_EXECUTABLE, args, 32);
    args->executable = error ? NULL : make(PROGRAMS);
    return error;
}

static struct pjrt_error *execute(struct pjrt_execute_args *args)
{
    static bool is_cold;
    struct timespec start, now;
    struct pjrt_error *error = begin(PJRT_LOADED_EXECUTE, args, 80);
    int kind = ((struct pjrt_error *)(void *)args->loaded)->slot;
    long nanoseconds = !is_gpu() ? 20000 : kind == COMPUTES ? 50000 + (is_cold ? 50000 : 5000) : 50000;
    is_cold = kind == FLUSHES || (kind == NOTHING && is_cold);
    long wanted = setting("arguments", -1);
    expect(PJRT_LOADED_EXECUTE, "the options' size", args->options->head.size, 112);
    expect(PJRT_LOADED_EXECUTE, "arguments that are kept", args->options->not_donated_count,
           args->argument_count);
    turns += args->loaded != last;
    last = args->loaded;
    if (wanted >= 0)
        expect(PJRT_LOADED_EXECUTE, "the number of arguments", args->argument_count, (size_t)wanted);
    if (error)
        return error;
    for (long i = 0; i < setting("outputs", 1); i++)
        args->outputs[0][i] = make(BUFFERS);
    args->done[0] = make(EVENTS);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000 + now.tv_nsec - start.tv_nsec < nanoseconds);
    return NULL;
}

static struct pjrt_error *memory(struct pjrt_memory_args *args)
{
    struct pjrt_error *error = begin(PJRT_EXECUTABLE_MEMORY, args, 112);
    args->arguments = 64;
    args->outputs = 32;
    args->temporary = 16;
    args->code = 8;
    args->peak = setting("peak", 0) ? 128 : 0;
    return error;
}

/* ---- the table ---- */

static void add(int slot, void *call)
{
    void (*function)(void);
    memcpy(&function, &call, sizeof function);
    table.calls[slot] = setting("absent", -1) == slot ? NULL : function;
}

#define ADD(slot, function)                                                                                  \
    do {                                                                                                     \
        void *at;                                                                                            \
        __typeof__(&(function)) call = (function);                                                           \
        memcpy(&at, &call, sizeof at);                                                                       \
        add(slot, at);                                                                                       \
    } while (0)

const void *GetPjrtApi(void);
const void *GetPjrtApi(void)
{
    ADD(PJRT_ERROR_DESTROY, error_destroy);
    ADD(PJRT_ERROR_MESSAGE, error_message);
    ADD(PJRT_ERROR_CODE, error_code);
    ADD(PJRT_PLUGIN_INITIALIZE, initialize);
    ADD(PJRT_EVENT_DESTROY, event_destroy);
    ADD(PJRT_EVENT_AWAIT, event_await);
    ADD(PJRT_CLIENT_CREATE, client_create);
    ADD(PJRT_CLIENT_DESTROY, client_destroy);
    ADD(PJRT_CLIENT_PLATFORM_NAME, platform);
    ADD(PJRT_CLIENT_PLATFORM_VERSION, version);
    ADD(PJRT_CLIENT_ADDRESSABLE_DEVICES, devices);
    ADD(PJRT_CLIENT_COMPILE, compile);
    ADD(PJRT_CLIENT_BUFFER_FROM_HOST, from_host);
    ADD(PJRT_DESCRIPTION_KIND, kind);
    ADD(PJRT_DEVICE_DESCRIPTION, describe);
    ADD(PJRT_EXECUTABLE_DESTROY, executable_destroy);
    ADD(PJRT_EXECUTABLE_OUTPUTS, outputs);
    ADD(PJRT_EXECUTABLE_COSTS, costs);
    ADD(PJRT_LOADED_DESTROY, loaded_destroy);
    ADD(PJRT_LOADED_EXECUTABLE, loaded_executable);
    ADD(PJRT_LOADED_EXECUTE, execute);
    ADD(PJRT_BUFFER_DESTROY, buffer_destroy);
    ADD(PJRT_EXECUTABLE_MEMORY, memory);
    /* a table that ends earlier has rubbish behind it */
    size_t count = (size_t)setting("calls", SLOTS);
    for (size_t i = count; i < SLOTS; i++)
        memset(&table.calls[i], 0x5a, sizeof *table.calls);
    table.size = (size_t)setting("table", (long)(40 + count * sizeof *table.calls));
    table.version_size = 24;
    table.major = (int)setting("major", 0);
    table.minor = (int)setting("minor", 81);
    return setting("nothing", 0) ? NULL : &table;
}
