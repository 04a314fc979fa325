#include "measure/layers/kernels.h"

#include "comm/load.h"
#include "core/features.h"
#include "measure/layers/fill.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODULE "rehearse-dnnl.so"
#define SEED   1

/* Passes over its numbers that a kernel of this kind makes, forwards and backwards. */
#define PASSES_FORWARD  2.0
#define PASSES_BACKWARD 3.0
#define PASSES_SUM      3.0

#define MAX_NUMBERS (INT64_C(1) << 40)

/* ---- the module ---- */

#ifdef REHEARSE_HAVE_DNNL

const struct kernel_calls *kernel_calls_load(struct error *err)
{
    static const struct module_place place = {
        .file = MODULE,
        .variable = "REHEARSE_DNNL_MODULE",
        .from_bin = REHEARSE_DNNL_MODULE_FROM_BIN,
        .flags = RTLD_NOW | RTLD_LOCAL,
    };
    char why[800];
    void *module = module_load(&place, why, sizeof why);
    const struct kernel_calls *calls = module ? dlsym(module, KERNEL_MODULE_SYMBOL) : NULL;
    if (!module)
        error_set(err, ERROR_FAILED, "cannot load oneDNN: %s", why);
    else if (!calls || calls->version != KERNEL_MODULE_VERSION)
        error_set(err, ERROR_FAILED, "%s belongs to another version of rehearse", MODULE);
    return calls && calls->version == KERNEL_MODULE_VERSION ? calls : NULL;
}

#else

const struct kernel_calls *kernel_calls_load(struct error *err)
{
    error_set(err, ERROR_FAILED,
              "this rehearse was built without oneDNN (libdnnl-dev): give a plugin with --pjrt");
    return NULL;
}

#endif

/* ---- tasks ---- */

bool kernel_does_work(const struct kernel *kernel)
{
    return kernel->repeats > 0.0 &&
           (kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION || kernel->bytes > 0.0);
}

static bool has_word(const char *name, const char *word)
{
    return name && strstr(name, word);
}

static int64_t rows_of(double numbers, int64_t width)
{
    return (int64_t)fmax(1.0, nearbyint(numbers / (double)width));
}

/* A stream of bytes is the operation of its name with as many bytes; without such a name it is a sum. */
static void set_stream(struct kernel_task *task, const struct kernel *kernel, int64_t width)
{
    double numbers = kernel->bytes / (task->is_bf16 ? 2.0 : 4.0);
    double passes = task->is_backward ? PASSES_BACKWARD : PASSES_FORWARD;
    task->size.batch = task->size.n = task->size.k = 1;
    if (has_word(kernel->name, "norm") || has_word(kernel->name, "softmax")) {
        task->kind = has_word(kernel->name, "norm") ? TASK_NORM : TASK_SOFTMAX;
        task->size.n = width;
        task->size.m = rows_of(numbers / passes, width);
    } else if (has_word(kernel->name, "activation")) {
        task->kind = TASK_ACTIVATION;
        task->size.m = rows_of(numbers / passes, 1);
    } else {
        task->kind = TASK_POINTWISE;
        task->is_backward = 0;
        task->size.m = rows_of(numbers / PASSES_SUM, 1);
    }
}

bool kernel_task_of(struct kernel_task *task, const struct kernel *kernel, bool is_backward, bool is_bf16,
                    int64_t width, struct error *err)
{
    bool has_type = kernel->kind == KERNEL_GEMM || kernel->kind == KERNEL_ATTENTION;
    const char *name = kernel->name ? kernel->name : "kernel";
    memset(task, 0, sizeof *task);
    if (has_type && kernel->type != COST_FP32 && kernel->type != COST_TF32 && kernel->type != COST_BF16)
        return error_set(err, ERROR_INPUT, "'%s' is in %s: oneDNN measures fp32 and bf16", name,
                         cost_type_name(kernel->type));
    task->is_bf16 = has_type ? kernel->type == COST_BF16 : is_bf16;
    task->is_backward = kernel->kind == KERNEL_ATTENTION ? kernel->backward : is_backward;
    if (kernel->kind == KERNEL_GEMM) {
        task->kind = TASK_PRODUCT;
        task->is_backward = 0;
    } else if (kernel->kind == KERNEL_ATTENTION) {
        task->kind = TASK_ATTENTION;
    } else {
        set_stream(task, kernel, width);
    }
    if (has_type) {
        task->size = kernel->size;
    }
    double largest =
        fmax(fmax((double)task->size.m * (double)task->size.k, (double)task->size.k * (double)task->size.n),
             (double)task->size.m * (double)task->size.n) *
        (double)task->size.batch;
    bool fits = task->size.batch <= INT32_MAX && task->size.n <= INT32_MAX && task->size.k <= INT32_MAX;
    return (fits && task->size.batch >= 1 && task->size.m >= 1 && task->size.n >= 1 && task->size.k >= 1 &&
            largest <= (double)MAX_NUMBERS) ||
           error_set(err, ERROR_INPUT, "'%s' has %.3g numbers in an array, expected from 1 to %.3g", name,
                     largest, (double)MAX_NUMBERS);
}

const char *kernel_task_text(const struct kernel_task *task, char *text, size_t size)
{
    static const char *const kinds[] = {"product", "attention", "norm", "softmax", "activation", "sum"};
    snprintf(text, size, "%s%s %" PRId64 " x %" PRId64 " x %" PRId64 " x %" PRId64 ", %s", kinds[task->kind],
             task->is_backward ? " (backward)" : "", task->size.batch, task->size.m, task->size.n,
             task->size.k, task->is_bf16 ? "bf16" : "fp32");
    return text;
}

/* ---- making ---- */

/* Fills arrays of tasks, as `make` wants it. */
static void kernel_fill(void *data, int64_t count, bool is_bf16)
{
    const struct hlo_shape shape = {
        .type = is_bf16 ? HLO_TYPE_BF16 : HLO_TYPE_F32, .rank = 1, .dims = &count};
    fill_random(data, &shape, SEED);
}

void *kernel_make(const struct kernel_calls *calls, const struct kernel_task *task, struct error *err)
{
    char why[128], text[128];
    void *made = calls->make(task, kernel_fill, why, sizeof why);
    if (!made)
        error_set(err, ERROR_FAILED, "%s: oneDNN %s", kernel_task_text(task, text, sizeof text), why);
    return made;
}
