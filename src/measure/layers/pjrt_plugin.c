#include "measure/layers/pjrt_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Files are named xla_cuda_plugin.so, xla_rocm_plugin.so, pjrt_c_api_gpu_plugin.so. */
static bool is_for_gpus(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return strstr(name, "cuda") || strstr(name, "rocm") || strstr(name, "gpu");
}

/* ---- options of a client ---- */

/* Options that JAX sends; of others the value tells the type. */
static const struct known {
    const char *name, *variable;
    enum pjrt_value_type type;
    int64_t unit; /* of the variable */
} known[] = {
    {"allocator", "XLA_PYTHON_CLIENT_ALLOCATOR", PJRT_VALUE_STRING, 1},
    {"memory_fraction", "XLA_CLIENT_MEM_FRACTION", PJRT_VALUE_FLOAT, 1},
    {"memory_fraction", "XLA_PYTHON_CLIENT_MEM_FRACTION", PJRT_VALUE_FLOAT, 1},
    {"preallocate", "XLA_PYTHON_CLIENT_PREALLOCATE", PJRT_VALUE_FLAG, 1},
    {"collective_memory_size", "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", PJRT_VALUE_INTEGER, 1 << 20},
    {"visible_devices", "JAX_CUDA_VISIBLE_DEVICES", PJRT_VALUE_INTEGERS, 1},
    {"visible_devices", "JAX_ROCM_VISIBLE_DEVICES", PJRT_VALUE_INTEGERS, 1},
};

#define KNOWN (sizeof known / sizeof *known)

static bool read_integers(struct pjrt_value *value, struct arena *arena, const char *text)
{
    int64_t *numbers = ARENA_ARRAY(arena, strlen(text) / 2 + 1, int64_t);
    bool ok = numbers;
    for (char *end; ok; text = end + 1) {
        errno = 0;
        numbers[value->size++] = strtoll(text, &end, 10);
        ok = end > text && errno == 0 && (!*end || *end == ',');
        if (!*end)
            break;
    }
    if (ok && value->type == PJRT_VALUE_INTEGER)
        value->integer = numbers[0];
    else
        value->integers = numbers;
    return ok && (value->type == PJRT_VALUE_INTEGERS || value->size == 1);
}

/* False: the text is no value of this type. */
static bool read_value(struct pjrt_value *value, struct arena *arena, const char *text)
{
    char *end;
    value->size = 0;
    if (value->type == PJRT_VALUE_INTEGER || value->type == PJRT_VALUE_INTEGERS)
        return read_integers(value, arena, text);
    value->size = value->type == PJRT_VALUE_STRING ? strlen(text) : 1;
    if (value->type == PJRT_VALUE_FLOAT) {
        value->number = strtof(text, &end);
        return end > text && !*end;
    }
    if (value->type == PJRT_VALUE_FLAG) {
        value->flag = strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0;
        return value->flag || strcmp(text, "0") == 0 || strcasecmp(text, "false") == 0;
    }
    value->string = text;
    return true;
}

/* `from`: the option or variable, for the error. `row`: NULL: the type is the first as which the text can be read. */
static bool add(struct pjrt_client_options *options, struct arena *arena, const char *name,
                const struct known *row, const char *text, const char *from, struct error *err)
{
    static const enum pjrt_value_type guesses[] = {PJRT_VALUE_INTEGER, PJRT_VALUE_INTEGERS, PJRT_VALUE_FLOAT,
                                                   PJRT_VALUE_FLAG, PJRT_VALUE_STRING};
    struct pjrt_value value = {.head.size = sizeof value, .name = name, .name_size = strlen(name)};
    bool read = false;
    for (int i = 0; i < options->count; i++)
        if (strcmp(options->values[i].name, name) == 0)
            return true;
    if (!(options->values = arena_grow(arena, options->values, options->count, &options->room, sizeof value)))
        return error_memory(err);
    for (size_t i = 0; i < (row ? 1 : sizeof guesses / sizeof *guesses) && !read; i++) {
        value.type = (int)(row ? row->type : guesses[i]);
        read = read_value(&value, arena, text);
    }
    if (!read)
        return error_set(err, ERROR_USAGE, "%s: %s cannot be '%s'", from, name, text);
    if (row && row->unit > 1 && from == row->variable)
        value.integer = value.integer > INT64_MAX / row->unit ? INT64_MAX : value.integer * row->unit;
    options->values[options->count++] = value;
    return true;
}

bool pjrt_options_read(struct pjrt_client_options *options, struct arena *arena, const char *path,
                       const char *const *given, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *equal = strchr(given[i], '=');
        if (!equal || equal == given[i])
            return error_set(err, ERROR_USAGE,
                             "--plugin-option '%s': expected NAME=VALUE, such as memory_fraction=0.5",
                             given[i]);
        const char *name = arena_copy(arena, given[i], (size_t)(equal - given[i]));
        const char *text = arena_string(arena, equal + 1);
        if (!name || !text)
            return error_memory(err);
        const struct known *row = NULL;
        for (size_t k = 0; k < KNOWN; k++)
            if (strcmp(known[k].name, name) == 0)
                row = &known[k];
        if (!add(options, arena, name, row, text, "--plugin-option", err))
            return false;
    }
    for (size_t k = 0; k < KNOWN && is_for_gpus(path); k++) {
        const char *text = getenv(known[k].variable);
        if (text && *text && strcmp(text, "all") != 0 &&
            !add(options, arena, known[k].name, &known[k], text, known[k].variable, err))
            return false;
    }
    return true;
}

/* ---- libraries ---- */

void pjrt_load_beside(const char *path)
{
    /* those that are needed by others first */
    static const char *const names[] = {"cudart",   "nvrtc", "nvJitLink",    "cublasLt",
                                        "cublas",   "nccl",  "cusparse",     "cupti",
                                        "cusolver", "cufft", "nvshmem_host", "cudnn"};
    const char *slash = strrchr(path, '/');
    char pattern[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names && is_for_gpus(path); i++) {
        glob_t found;
        int length = snprintf(pattern, sizeof pattern, "%.*s/../../nvidia/*/lib/lib%s.so.*",
                              slash ? (int)(slash - path) : 1, slash ? path : ".", names[i]);
        if (length >= PATH_MAX || glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            dlopen(found.gl_pathv[k], RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
        globfree(&found);
    }
}

const char *pjrt_advice(const char *said)
{
    static const char driver[] =
        ": does nvidia-smi list the GPUs here? In a container: docker run --gpus all; else look at "
        "CUDA_VISIBLE_DEVICES";
    static const char libraries[] =
        ": pip install 'jax[cuda12]' (or cuda13) puts NVIDIA's libraries beside the plugin; those "
        "elsewhere are found by LD_LIBRARY_PATH";
    static const struct {
        const char *said, *advice;
    } rows[] = {
        {"libcuda.so", driver},
        {"No visible GPU", driver},
        {"CUDA_ERROR_NO_DEVICE", driver},
        {"CUDA_ERROR_SYSTEM_NOT_READY",
         ": start NVIDIA's fabric manager: systemctl start nvidia-fabricmanager"},
        {"driver version is insufficient",
         ": the driver is older than the plugin's CUDA: update it, or take an older plugin"},
        {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", ": restart after the update of the driver"},
        {"cannot open shared object file", libraries},
        {"Could not load dynamic library", libraries},
        {"DSO_NOT_FOUND", libraries},
        {"ptxas", ": pip install nvidia-cuda-nvcc-cu12 brings ptxas; or add the folder of CUDA's to PATH"},
        {"libdevice",
         ": pip install nvidia-cuda-nvcc-cu12 brings libdevice; or XLA_FLAGS=--xla_gpu_cuda_data_dir=FOLDER"},
        {"No registered implementation for", ": " PJRT_GAP},
        {"No FFI handler registered", ": " PJRT_GAP},
        {"Symbols not found", ": " PJRT_GAP},
        {"out of memory",
         ": nvidia-smi lists what else is on the GPU; --plugin-option memory_fraction=0.9 takes more of it"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(said, rows[i].said))
            return rows[i].advice;
    return "";
}
