/* The module `rehearse-dnnl.so`: the table of kernel_module.h over oneDNN 2 or 3. Arrays are row-major, as a
 * framework's. */
#include "measure/layers/dnnl2.h"
#include "measure/layers/kernel_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_STEPS  8
#define MAX_MEMORY 9 /* of the backward pass of a norm */
#define MAX_ARRAYS 32
#define MAX_DESCS  32
#define MAX_BYTES                                                                                            \
    ((size_t)1 << 42) /* of an array: no machine has more, and oneDNN divides by zero for some */
#define EPSILON     1e-5F
#define ANY_BATCHES 3 /* rank of a product with a batch */
#define LINE        64
#define LINES       ((size_t)64) /* of a page */

struct step {
    dnnl_primitive_t primitive;
    int count;
    dnnl_exec_arg_t arguments[MAX_MEMORY];
};

struct made {
    dnnl_stream_t stream;
    dnnl_data_type_t type;
    int step_count, array_count, desc_count;
    struct step steps[MAX_STEPS];
    array_desc descs[MAX_DESCS];
    dnnl_memory_t arrays[MAX_ARRAYS];
    void *data[MAX_ARRAYS];
    struct block {
        void *start;
        size_t size;
    } blocks[MAX_ARRAYS];
    void (*fill)(void *data, int64_t count, bool is_bf16);
    const char *failed; /* the call that failed first; NULL: none */
    dnnl_status_t status;
};

static dnnl_engine_t engine;

static const char *name(void)
{
    static char text[32];
    const dnnl_version_t *version = dnnl_version();
    snprintf(text, sizeof text, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return text;
}

/* Notes the first failure. */
static bool ok(struct made *made, dnnl_status_t status, const char *call)
{
    if (status != dnnl_success && !made->failed) {
        made->failed = call;
        made->status = status;
    }
    return !made->failed;
}

/* Describes a row-major array; `flipped`: its last two dimensions are stored the other way round. NULL after a
 * failure. */
static array_desc describe(struct made *made, dnnl_data_type_t type, int rank, const dnnl_dim_t *dims,
                           bool flipped)
{
    dnnl_dims_t sizes = {0}, strides = {0}; /* the library's prototype names arrays of the highest rank */
    dnnl_dim_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        int at = flipped && i >= rank - 2 ? 2 * rank - 3 - i : i;
        sizes[at] = dims[at];
        strides[at] = stride;
        stride *= dims[at];
    }
    array_desc desc = NULL;
    if (made->desc_count == MAX_DESCS)
        ok(made, dnnl_out_of_memory, "describe an array");
    else if (!made->failed &&
             ok(made, dnnl_memory_desc_create_with_strides(&desc, rank, sizes, type, strides),
                "describe an array"))
        made->descs[made->desc_count++] = desc;
    return desc;
}

/* Returns memory at another place each time, both in the address space (by lines of a cache) and in the machine (new
 * pages): how fast a kernel is depends on where its arrays lie, and an array that is made again must not find the pages
 * of the one before. */
static void *place(struct block *block, size_t bytes)
{
    static uint64_t next = 1;
    next = next * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t offset = (size_t)(next >> 58) * LINE;
    block->size = bytes + LINES * LINE;
    block->start = mmap(NULL, block->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block->start == MAP_FAILED)
        block->start = NULL;
    return block->start ? (char *)block->start + offset : NULL;
}

/* Returns the number of a new array with random contents. */
static int add_array(struct made *made, dnnl_data_type_t type, array_desc desc)
{
    int number = made->array_count;
    if (made->failed)
        return 0;
    size_t bytes = dnnl_memory_desc_get_size(desc);
    bool narrow = type == dnnl_bf16;
    void *data = number < MAX_ARRAYS && bytes <= MAX_BYTES ? place(&made->blocks[number], bytes) : NULL;
    if (!data) {
        ok(made, dnnl_out_of_memory, "allocate an array");
        return 0;
    }
    made->fill(data, (int64_t)(bytes / (narrow ? 2 : 4)), narrow);
    made->data[number] = data;
    made->array_count++;
    ok(made, dnnl_memory_create(&made->arrays[number], desc, engine, data), "make an array");
    return number;
}

/* Returns the number of another view of an array's bytes, which may be transposed; of a new array for number -1. */
static int view(struct made *made, array_desc desc, int array)
{
    if (array < 0)
        return add_array(made, made->type, desc);
    if (!made->failed && made->array_count == MAX_ARRAYS)
        ok(made, dnnl_out_of_memory, "view an array");
    if (made->failed ||
        !ok(made, dnnl_memory_create(&made->arrays[made->array_count], desc, engine, made->data[array]),
            "view an array"))
        return 0;
    return made->array_count++;
}

/* Adds the primitive of a description, which it frees, with arrays as its arguments, unless there was a failure. */
static void add_step(struct made *made, dnnl_primitive_desc_t desc, const int (*arguments)[2], int count)
{
    struct step *step = &made->steps[made->step_count];
    if (!made->failed && ok(made, dnnl_primitive_create(&step->primitive, desc), "make a primitive")) {
        made->step_count++;
        for (; step->count < count; step->count++)
            step->arguments[step->count] =
                (dnnl_exec_arg_t){arguments[step->count][0], made->arrays[arguments[step->count][1]]};
    }
    if (desc)
        dnnl_primitive_desc_destroy(desc);
}

#define ADD_STEP(made, desc, ...)                                                                            \
    add_step(made, desc, (const int[][2]){__VA_ARGS__},                                                      \
             sizeof((const int[][2]){__VA_ARGS__}) / sizeof(int[2]))

/* ---- tasks ---- */

/* Of left (m x k, or flipped) and right (k x n, or flipped) into result: numbers of arrays. */
static void add_product(struct made *made, const struct kernel_task *task, const int64_t size[3],
                        const bool flipped[2], const int arrays[3])
{
    int rank = task->size.batch > 1 ? ANY_BATCHES : ANY_BATCHES - 1, skip = ANY_BATCHES - rank;
    const dnnl_dim_t left[] = {task->size.batch, size[0], size[2]},
                     right[] = {task->size.batch, size[2], size[1]},
                     result[] = {task->size.batch, size[0], size[1]};
    array_desc descs[] = {
        describe(made, made->type, rank, left + skip, flipped[0]),
        describe(made, made->type, rank, right + skip, flipped[1]),
        describe(made, made->type, rank, result + skip, false),
    };
    int at[3];
    for (int i = 0; i < 3; i++)
        at[i] = view(made, descs[i], arrays[i]);
    dnnl_primitive_desc_t product = NULL;
    if (!made->failed && ok(made, PRODUCT(&product, descs[0], descs[1], descs[2]), "describe a product"))
        ADD_STEP(made, product, {DNNL_ARG_SRC, at[0]}, {DNNL_ARG_WEIGHTS, at[1]}, {DNNL_ARG_DST, at[2]});
}

static void make_product(struct made *made, const struct kernel_task *task)
{
    const int64_t size[] = {task->size.m, task->size.n, task->size.k};
    add_product(made, task, size, (const bool[]){false, false}, (const int[]){-1, -1, -1});
}

/* Softmax along rows of array `from`, into `to` (-1: a new one); backwards `to` gets the gradient. */
static void add_softmax(struct made *made, dnnl_dim_t rows, dnnl_dim_t width, bool backward, int from, int to)
{
    const dnnl_dim_t dims[] = {rows, width};
    array_desc desc = describe(made, made->type, 2, dims, false);
    dnnl_primitive_desc_t forward = NULL, back = NULL;
    int source = view(made, desc, from), target = view(made, desc, to),
        shares = backward ? add_array(made, made->type, desc) : 0;
    if (made->failed || !ok(made, SOFTMAX(&forward, desc), "describe a softmax"))
        return;
    if (!backward) {
        ADD_STEP(made, forward, {DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target});
        return;
    }
    if (ok(made, SOFTMAX_BACK(&back, desc, forward), "describe a softmax"))
        ADD_STEP(made, back, {DNNL_ARG_DST, shares}, {DNNL_ARG_DIFF_DST, source},
                 {DNNL_ARG_DIFF_SRC, target});
    dnnl_primitive_desc_destroy(forward);
}

/* Forwards P = softmax(Q K'), O = P V. Backwards P again, dV = P' dO, dP = dO V', dS of the softmax, dQ = dS K, dK =
 * dS' Q. */
static void make_attention(struct made *made, const struct kernel_task *task)
{
    enum { Q, K, V, O, SCORES, SHARES, ARRAYS };
    const dnnl_dim_t queries[] = {task->size.batch, task->size.m, task->size.k},
                     keys[] = {task->size.batch, task->size.n, task->size.k},
                     scores[] = {task->size.batch, task->size.m, task->size.n};
    const dnnl_dim_t *dims[ARRAYS] = {queries, keys, keys, queries, scores, scores};
    int at[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        array_desc desc = describe(made, made->type, ANY_BATCHES, dims[i], false);
        at[i] = add_array(made, made->type, desc);
    }
    const int64_t m = task->size.m, n = task->size.n, k = task->size.k;
    add_product(made, task, (const int64_t[]){m, n, k}, (const bool[]){false, true},
                (const int[]){at[Q], at[K], at[SCORES]});
    add_softmax(made, task->size.batch * m, n, false, at[SCORES], at[SHARES]);
    if (!task->is_backward) {
        add_product(made, task, (const int64_t[]){m, k, n}, (const bool[]){false, false},
                    (const int[]){at[SHARES], at[V], at[O]});
        return;
    }
    add_product(made, task, (const int64_t[]){n, k, m}, (const bool[]){true, false},
                (const int[]){at[SHARES], at[O], at[V]});
    add_product(made, task, (const int64_t[]){m, n, k}, (const bool[]){false, true},
                (const int[]){at[O], at[K], at[SCORES]});
    add_softmax(made, task->size.batch * m, n, true, at[SCORES], at[SHARES]);
    add_product(made, task, (const int64_t[]){m, k, n}, (const bool[]){false, false},
                (const int[]){at[SHARES], at[K], at[O]});
    add_product(made, task, (const int64_t[]){n, k, m}, (const bool[]){true, false},
                (const int[]){at[SHARES], at[Q], at[V]});
}

static void make_norm(struct made *made, const struct kernel_task *task)
{
    const dnnl_dim_t dims[] = {task->size.m, task->size.n};
    array_desc data = describe(made, made->type, 2, dims, false),
               rows = describe(made, dnnl_f32, 1, dims, false),
               weights = describe(made, dnnl_f32, 1, &task->size.n, false);
    const unsigned flags = dnnl_use_scale | dnnl_use_shift;
    dnnl_primitive_desc_t forward = NULL, back = NULL;
    int x = add_array(made, made->type, data), y = add_array(made, made->type, data),
        mean = add_array(made, dnnl_f32, rows), variance = add_array(made, dnnl_f32, rows),
        scale = add_array(made, dnnl_f32, weights), shift = add_array(made, dnnl_f32, weights);
    if (made->failed || !ok(made, NORM(&forward, data, rows, flags), "describe a norm"))
        return;
    if (task->is_backward)
        ok(made, NORM_BACK(&back, data, rows, flags, forward), "describe a norm");
    ADD_STEP(made, forward, {DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_MEAN, mean},
             {DNNL_ARG_VARIANCE, variance}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift});
    if (!back)
        return;
    if (!made->failed) { /* the forward pass, whose results it reads, is run once, now */
        struct step *first = &made->steps[0];
        ok(made, dnnl_primitive_execute(first->primitive, made->stream, first->count, first->arguments),
           "run a norm");
        dnnl_stream_wait(made->stream);
        dnnl_primitive_destroy(first->primitive);
        memset(first, 0, sizeof *first);
        made->step_count = 0;
    }
    int gradient = add_array(made, made->type, data), scales = add_array(made, dnnl_f32, weights),
        shifts = add_array(made, dnnl_f32, weights);
    ADD_STEP(made, back, {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_MEAN, mean},
             {DNNL_ARG_VARIANCE, variance}, {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift},
             {DNNL_ARG_DIFF_SRC, gradient}, {DNNL_ARG_DIFF_SCALE, scales}, {DNNL_ARG_DIFF_SHIFT, shifts});
}

static void make_activation(struct made *made, const struct kernel_task *task)
{
    array_desc data = describe(made, made->type, 1, &task->size.m, false);
    dnnl_primitive_desc_t forward = NULL, back = NULL;
    int x = add_array(made, made->type, data), y = add_array(made, made->type, data),
        gradient = task->is_backward ? add_array(made, made->type, data) : 0;
    if (made->failed || !ok(made, GELU(&forward, data), "describe an activation"))
        return;
    if (!task->is_backward) {
        ADD_STEP(made, forward, {DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y});
        return;
    }
    if (ok(made, GELU_BACK(&back, data, forward), "describe an activation"))
        ADD_STEP(made, back, {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_SRC, gradient});
    dnnl_primitive_desc_destroy(forward);
}

static void make_pointwise(struct made *made, const struct kernel_task *task)
{
    array_desc data = describe(made, made->type, 1, &task->size.m, false);
    dnnl_primitive_desc_t sum = NULL;
    int a = add_array(made, made->type, data), b = add_array(made, made->type, data),
        c = add_array(made, made->type, data);
    if (!made->failed && ok(made, SUM(&sum, data), "describe a sum"))
        ADD_STEP(made, sum, {DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, c});
}

/* ---- the table ---- */

static void end(void *context)
{
    struct made *made = context;
    for (int i = 0; i < MAX_STEPS; i++)
        if (made->steps[i].primitive)
            dnnl_primitive_destroy(made->steps[i].primitive);
    for (int i = 0; i < MAX_ARRAYS; i++) {
        if (made->arrays[i])
            dnnl_memory_destroy(made->arrays[i]);
        if (made->blocks[i].start)
            munmap(made->blocks[i].start, made->blocks[i].size);
    }
    for (int i = 0; i < made->desc_count; i++)
        dnnl_memory_desc_destroy(made->descs[i]);
    if (made->stream)
        dnnl_stream_destroy(made->stream);
    free(made);
}

static const char *status_name(dnnl_status_t status)
{
    switch (status) {
    case dnnl_out_of_memory:
        return "out of memory";
    case dnnl_unimplemented:
        return "not implemented on this processor";
    case dnnl_invalid_arguments:
        return "invalid arguments";
    default:
        return "it failed";
    }
}

static void *make_kernel(const struct kernel_task *task,
                         void (*fill)(void *data, int64_t count, bool is_bf16), char *why, size_t size)
{
    static void (*const makers[])(struct made *, const struct kernel_task *) = {
        [TASK_PRODUCT] = make_product,       [TASK_ATTENTION] = make_attention, [TASK_NORM] = make_norm,
        [TASK_ACTIVATION] = make_activation, [TASK_POINTWISE] = make_pointwise,
    };
    struct made *made = calloc(1, sizeof *made);
    if (!made) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    made->fill = fill;
    made->type = task->is_bf16 ? dnnl_bf16 : dnnl_f32;
    if ((engine || ok(made, dnnl_engine_create(&engine, dnnl_cpu, 0), "make an engine")) &&
        ok(made, dnnl_stream_create(&made->stream, engine, dnnl_stream_default_flags), "make a stream")) {
        if (task->kind == TASK_SOFTMAX)
            add_softmax(made, task->size.m, task->size.n, task->is_backward, -1, -1);
        else
            makers[task->kind](made, task);
    }
    if (!made->failed && made->step_count > 0)
        return made;
    snprintf(why, size, "could not %s: %s", made->failed ? made->failed : "make it",
             status_name(made->status));
    end(made);
    return NULL;
}

static bool run_kernel(void *context, int64_t count)
{
    struct made *made = context;
    for (int64_t i = 0; i < count; i++)
        for (int s = 0; s < made->step_count; s++)
            if (dnnl_primitive_execute(made->steps[s].primitive, made->stream, made->steps[s].count,
                                       made->steps[s].arguments) != dnnl_success)
                return false;
    return dnnl_stream_wait(made->stream) == dnnl_success;
}

extern const struct kernel_calls rehearse_kernel_calls;
const struct kernel_calls rehearse_kernel_calls = {
    .version = KERNEL_MODULE_VERSION,
    .name = name,
    .make = make_kernel,
    .run = run_kernel,
    .end = end,
};
