#include "caller.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char caller_profile[] =
    "{\"format\": \"rehearse-profile/1\", \"model\": \"toy\","
    " \"layers\": [{\"name\": \"first\", \"parameter_bytes\": 10, \"activation_bytes\": 1},"
    "              {\"parameter_bytes\": 20, \"activation_bytes\": 1},"
    "              {\"parameter_bytes\": 30, \"activation_bytes\": 1}],"
    " \"devices\": [{\"name\": \"gpu\", \"layers\": [{\"forward\": 1, \"backward\": 2},"
    "                                            {\"forward\": 1, \"backward\": 2},"
    "                                            {\"forward\": 2, \"backward\": 4}]}]}";

const char caller_schedules[] =
    "model,layers,hidden,heads,sequence,stages,microbatches,microbatch_size,schedule,chunks_per_stage,"
    "forward_us,"
    "backward_input_us,backward_weight_us,send_us,measured_samples_per_s_per_gpu,measured_memory_gb\n"
    "1.5B,22,2304,24,1024,8,24,6,1F1B,1,18522,18086,9337,601,11.8,30\n"
    "1.5B,22,2304,24,1024,8,24,6,1F1B-I,3,18522,18086,9337,601,13.1,40\n";

const char caller_layer[] = "module @layer {\n  func.func public @main(%x: tensor<4x8xf32>, %w: "
                            "tensor<8x8xf32>) -> tensor<4x8xf32> {\n"
                            "    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
                            "(tensor<4x8xf32>, tensor<8x8xf32>) -> "
                            "tensor<4x8xf32>\n    return %0 : tensor<4x8xf32>\n  }\n}\n";

static char paths[64][512], folder[64];
static int path_count;

static char *next_path(void)
{
    if (path_count == sizeof paths / sizeof *paths)
        abort();
    return paths[path_count++];
}

const char *caller_file(const char *name)
{
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char *path = next_path();
    snprintf(path, sizeof *paths, "%s/%s", root ? root : ".", name);
    return path;
}

static void remove_all(void)
{
    for (int i = 0; i < path_count; i++)
        if (strncmp(paths[i], folder, strlen(folder)) == 0)
            unlink(paths[i]);
    rmdir(folder);
}

const char *caller_write(const char *name, const char *text)
{
    char *path = next_path();
    if (!folder[0]) {
        strcpy(folder, "/tmp/rehearse-library-XXXXXX");
        if (!mkdtemp(folder))
            abort();
        atexit(remove_all);
    }
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
    return path;
}

static const void *element(const rh_handle *handle, const char *name, int64_t index, struct rh_array *array)
{
    if (rh_get(handle, name, array) && array->dimensions == 1 && index < array->shape[0])
        return (const char *)array->data + index * array->stride[0];
    fprintf(stderr, "no %s[%d]\n", name, (int)index);
    abort();
}

double caller_value(const rh_handle *handle, const char *name, int64_t index)
{
    struct rh_array array;
    const void *data = element(handle, name, index, &array);
    return array.type == 'i'   ? *(const int *)data
           : array.type == '?' ? *(const bool *)data
           : array.type == 'd' ? *(const double *)data
                               : (double)*(const int64_t *)data;
}

const char *caller_word(const rh_handle *handle, const char *name, int64_t index)
{
    struct rh_array array;
    return *(const char *const *)element(handle, name, index, &array);
}

void caller_check_forms(const rh_handle *handle, const char *format)
{
    struct rh_text json, text;
    if (!rh_write(handle, "json", &json, NULL) || !rh_write(handle, "text", &text, NULL) ||
        !strstr(json.data, format) || text.length == 0) {
        fprintf(stderr, "a form is missing, or it is not %s\n", format);
        abort();
    }
    rh_text_free(&json);
    rh_text_free(&text);
}
