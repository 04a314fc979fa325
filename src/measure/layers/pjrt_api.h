/* The part of the PJRT C API that is used here. Layouts and numbers are those of version 0.81 (openxla/xla,
 * xla/pjrt/c/pjrt_c_api.h), to which later versions only append; scripts/check-pjrt compares them with the header
 * that a plugin brings.
 *
 * A plugin exports GetPjrtApi, which returns a table of calls. Each call takes a struct of arguments and results that
 * begins with its own size, and returns NULL or an error. A plugin that is older than this knows fewer calls: its
 * table's size tells how many. */
#ifndef REHEARSE_MEASURE_LAYERS_PJRT_API_H
#define REHEARSE_MEASURE_LAYERS_PJRT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PJRT_ENTRY "GetPjrtApi"
#define PJRT_MAJOR 0 /* another one has other layouts */

/* Calls: the place in the table, and what is said of one that fails. Of an error, the first two return nothing. */
#define PJRT_CALLS(X)                                                                                        \
    X(ERROR_DESTROY, 0, "end an error")                                                                      \
    X(ERROR_MESSAGE, 1, "explain an error")                                                                  \
    X(ERROR_CODE, 2, "name an error")                                                                        \
    X(PLUGIN_INITIALIZE, 3, "initialize")                                                                    \
    X(EVENT_DESTROY, 5, "end an event")                                                                      \
    X(EVENT_AWAIT, 8, "wait")                                                                                \
    X(CLIENT_CREATE, 10, "create a client")                                                                  \
    X(CLIENT_DESTROY, 11, "end the client")                                                                  \
    X(CLIENT_PLATFORM_NAME, 12, "name its platform")                                                         \
    X(CLIENT_PLATFORM_VERSION, 14, "name its version")                                                       \
    X(CLIENT_ADDRESSABLE_DEVICES, 16, "list its devices")                                                    \
    X(CLIENT_COMPILE, 20, "compile")                                                                         \
    X(CLIENT_BUFFER_FROM_HOST, 22, "copy an argument to the device")                                         \
    X(DESCRIPTION_KIND, 26, "name its device")                                                               \
    X(DEVICE_DESCRIPTION, 29, "describe its device")                                                         \
    X(EXECUTABLE_DESTROY, 40, "end a program")                                                               \
    X(EXECUTABLE_OUTPUTS, 44, "count results")                                                               \
    X(EXECUTABLE_COSTS, 46, "analyse costs")                                                                 \
    X(LOADED_DESTROY, 50, "unload a program")                                                                \
    X(LOADED_EXECUTABLE, 51, "describe a program")                                                           \
    X(LOADED_EXECUTE, 55, "run")                                                                             \
    X(BUFFER_DESTROY, 58, "free a buffer")                                                                   \
    X(EXECUTABLE_MEMORY, 96, "analyse memory")

#define PJRT_SLOT(name, place, words) PJRT_##name = (place),
enum pjrt_slot {
    PJRT_CALLS(PJRT_SLOT) PJRT_SLOTS_NEEDED = PJRT_BUFFER_DESTROY + 1 /* the rest can be done without */
};

struct pjrt_error;
struct pjrt_event;
struct pjrt_client;
struct pjrt_device;
struct pjrt_description;
struct pjrt_loaded;
struct pjrt_executable;
struct pjrt_buffer;

struct pjrt_head {
    size_t size;     /* of the whole struct */
    void *extension; /* NULL */
};

struct pjrt_api {
    struct pjrt_head head; /* its size tells how many calls there are */
    struct {
        struct pjrt_head head;
        int major, minor;
    } version;
    void (*calls[])(void);
};

enum pjrt_code { PJRT_CODE_RESOURCE_EXHAUSTED = 8, PJRT_CODE_UNIMPLEMENTED = 12 };

enum pjrt_value_type {
    PJRT_VALUE_STRING,
    PJRT_VALUE_INTEGER,
    PJRT_VALUE_INTEGERS,
    PJRT_VALUE_FLOAT,
    PJRT_VALUE_FLAG
};

struct pjrt_value {
    struct pjrt_head head;
    const char *name;
    size_t name_size;
    int type; /* enum pjrt_value_type */
    union {
        const char *string;
        int64_t integer;
        const int64_t *integers;
        float number;
        bool flag;
    };
    size_t size; /* of a string or list, else 1 */
};

struct pjrt_program_text {
    struct pjrt_head head;
    char *code;
    size_t code_size;
    const char *format; /* "mlir": StableHLO as text or bytes */
    size_t format_size;
};

/* Arguments and results of calls, in the order of the slots. Results say so. */

struct pjrt_error_args {
    struct pjrt_head head;
    struct pjrt_error *error;
    union {
        int code; /* result of PJRT_ERROR_CODE */
        struct {
            const char *message; /* result of PJRT_ERROR_MESSAGE */
            size_t message_size; /* result */
        };
    };
};

/* Of all calls that need one object alone. */
struct pjrt_object_args {
    struct pjrt_head head;
    void *of;
};

struct pjrt_initialize_args {
    struct pjrt_head head;
};

struct pjrt_client_create_args {
    struct pjrt_head head;
    const struct pjrt_value *options;
    size_t option_count;
    void *get, *get_context, *put, *put_context; /* a store of several processes: NULL */
    struct pjrt_client *client;                  /* result */
    void *try_get, *try_get_context;
};

/* Of all calls that ask one object for a text: platform's name and version, kind of a device. */
struct pjrt_text_args {
    struct pjrt_head head;
    void *of;
    const char *text; /* result */
    size_t size;      /* result */
};

struct pjrt_devices_args {
    struct pjrt_head head;
    struct pjrt_client *client;
    struct pjrt_device *const *devices; /* result */
    size_t count;                       /* result */
};

struct pjrt_compile_args {
    struct pjrt_head head;
    struct pjrt_client *client;
    const struct pjrt_program_text *program;
    const char *options; /* a CompileOptionsProto */
    size_t options_size;
    struct pjrt_loaded *loaded; /* result */
};

struct pjrt_buffer_from_host_args {
    struct pjrt_head head;
    struct pjrt_client *client;
    const void *data;
    int type; /* pjrt_type_of */
    const int64_t *dims;
    size_t rank;
    const int64_t *strides;
    size_t stride_count;
    int semantics; /* 0: data may change after the call */
    struct pjrt_device *device;
    void *memory, *layout;
    struct pjrt_event *done;    /* result */
    struct pjrt_buffer *buffer; /* result */
};

struct pjrt_description_args {
    struct pjrt_head head;
    struct pjrt_device *device;
    struct pjrt_description *description; /* result */
};

struct pjrt_outputs_args {
    struct pjrt_head head;
    struct pjrt_executable *executable;
    size_t count; /* result */
};

struct pjrt_costs_args {
    struct pjrt_head head;
    struct pjrt_executable *executable;
    size_t count;                    /* result */
    const struct pjrt_value *values; /* result */
};

struct pjrt_loaded_args {
    struct pjrt_head head;
    struct pjrt_loaded *loaded;
    struct pjrt_executable *executable; /* result of PJRT_LOADED_EXECUTABLE */
};

struct pjrt_execute_options {
    struct pjrt_head head;
    void *sends, *receives;
    size_t send_count, receive_count;
    int launch;
    const int64_t *not_donated; /* numbers of arguments that stay as they are */
    size_t not_donated_count;
    void *context;
    const char *place;
    size_t task_count;
    int *tasks;
    int64_t *incarnations;
};

struct pjrt_execute_args {
    struct pjrt_head head;
    struct pjrt_loaded *loaded;
    struct pjrt_execute_options *options;
    struct pjrt_buffer *const *const *arguments; /* by device */
    size_t device_count;
    size_t argument_count;
    struct pjrt_buffer **const *outputs; /* by device; filled in */
    struct pjrt_event **done;            /* by device; filled in */
    struct pjrt_device *device;
};

struct pjrt_memory_args {
    struct pjrt_head head;
    struct pjrt_executable *executable;
    int64_t code, arguments, outputs, alias, temporary;                          /* results */
    int64_t host_code, host_arguments, host_outputs, host_alias, host_temporary; /* results */
    int64_t peak;                                                                /* result */
};

#endif
