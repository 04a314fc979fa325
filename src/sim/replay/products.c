#include "sim/replay/products.h"

#include "core/statistics.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EDGE (INT64_C(1) << 40)

/* Where the operands stand among the inputs. */
static const struct operation {
    const char *name;
    int left; /* the right one follows */
    bool batched;
} operations[] = {{"aten::mm", 0, false},
                  {"aten::addmm", 1, false},
                  {"aten::bmm", 0, true},
                  {"aten::baddbmm", 1, true},
                  {"aten::_scaled_mm", 0, false},
                  {"aten::_int_mm", 0, false},
                  {"aten::_addmm_activation", 1, false}};

static const struct operation *find_operation(const char *name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(name, operations[i].name) == 0)
            return &operations[i];
    return NULL;
}

bool replay_is_product(const char *name)
{
    return find_operation(name) != NULL;
}

/* Reads "4096,100;" as `count` numbers; returns what follows, NULL: it is something else. */
static const char *read_input(const char *text, int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtoll(text, &end, 10);
        if (end == text || numbers[i] < 1 || numbers[i] > MAX_EDGE || *end != (i + 1 < count ? ',' : ';'))
            return NULL;
        text = end + 1;
    }
    return text;
}

bool replay_product_size(const char *name, const char *dims, struct product_size *size)
{
    const struct operation *operation = find_operation(name);
    int64_t left[3] = {1}, right[3] = {1};
    if (!operation)
        return false;
    for (int i = 0; i < operation->left; i++) {
        const char *end = strchr(dims, ';');
        if (!end)
            return false;
        dims = end + 1;
    }
    int skip = operation->batched ? 0 : 1;
    if (!(dims = read_input(dims, left + skip, 3 - skip)) || !read_input(dims, right + skip, 3 - skip) ||
        left[0] != right[0] || left[2] != right[1])
        return false;
    *size = (struct product_size){.batch = left[0], .m = left[1], .n = right[2], .k = left[2]};
    return true;
}

/* ---- kernels of operations ---- */

static int by_thread(const void *a, const void *b)
{
    const struct replay_operation *first = a, *second = b;
    int order = order_of(first->thread, second->thread);
    return order ? order : order_of(first->begin, second->begin);
}

/* The operation within which a call was made; NULL: none. */
static struct replay_operation *around(struct replay_operation *list, size_t count,
                                       const struct replay_call *call)
{
    size_t low = 0, high = count;
    while (low < high) { /* the first that begins after the call */
        size_t middle = low + (high - low) / 2;
        const struct replay_operation *at = &list[middle];
        if (at->thread < call->thread || (at->thread == call->thread && at->begin <= call->begin))
            low = middle + 1;
        else
            high = middle;
    }
    struct replay_operation *found = low > 0 ? &list[low - 1] : NULL;
    return found && found->thread == call->thread && call->begin < found->end ? found : NULL;
}

struct timed {
    struct replay_operation operation;
    int64_t time, longest;
    uint32_t kernel;
};

static int compare_kinds(const struct timed *a, const struct timed *b)
{
    const struct product_size *x = &a->operation.size, *y = &b->operation.size;
    const int64_t first[] = {x->batch, x->m, x->n, x->k, a->operation.type, a->kernel};
    const int64_t second[] = {y->batch, y->m, y->n, y->k, b->operation.type, b->kernel};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (first[i] != second[i])
            return order_of(first[i], second[i]);
    return 0;
}

static int by_kind(const void *a, const void *b)
{
    const struct timed *first = a, *second = b;
    int order = compare_kinds(first, second);
    return order ? order : order_of(first->time, second->time);
}

static int by_total(const void *a, const void *b)
{
    const struct replay_product *first = a, *second = b;
    int order = order_of(second->total, first->total);
    return order ? order : order_of(first->kernel, second->kernel);
}

static void add_kernels(const struct replay *replay, struct replay_operation *operations_sorted,
                        struct timed *timed)
{
    for (size_t i = 0; i < replay->count; i++) {
        const struct replay_activity *activity = &replay->activities[i];
        if (activity->class != REPLAY_COMPUTE || activity->call < 0)
            continue;
        const struct replay_operation *at =
            around(operations_sorted, replay->operation_count, &replay->calls[activity->call]);
        if (!at)
            continue;
        struct timed *own = &timed[at - operations_sorted];
        own->time += activity->duration;
        if (activity->duration >= own->longest) {
            own->longest = activity->duration;
            own->kernel = activity->name;
        }
    }
}

/* Lists kinds of what has kernels. */
static size_t gather(struct timed *timed, size_t count, struct replay_product *list)
{
    size_t kinds = 0;
    for (size_t i = 0, end; i < count; i = end) {
        struct replay_product product = {
            .size = timed[i].operation.size, .type = timed[i].operation.type, .kernel = timed[i].kernel};
        for (end = i; end < count && compare_kinds(&timed[end], &timed[i]) == 0; end++)
            product.total += timed[end].time;
        product.count = end - i;
        product.median = timed[i + product.count / 2].time;
        if (product.total > 0)
            list[kinds++] = product;
    }
    return kinds;
}

bool replay_products(const struct replay *replay, struct replay_product **list, size_t *count,
                     struct error *err)
{
    size_t room = replay->operation_count;
    struct replay_operation *sorted = malloc((room + 1) * sizeof *sorted);
    struct timed *timed = calloc(room + 1, sizeof *timed);
    *count = 0;
    *list = malloc((room + 1) * sizeof **list);
    bool done = (sorted && timed && *list) || error_memory(err);
    if (done && room > 0) {
        memcpy(sorted, replay->operations, room * sizeof *sorted);
        done = sort_items(sorted, room, sizeof *sorted, by_thread, err);
        for (size_t i = 0; done && i < room; i++)
            timed[i].operation = sorted[i];
        if (done)
            add_kernels(replay, sorted, timed);
        done = done && sort_items(timed, room, sizeof *timed, by_kind, err);
        if (done)
            *count = gather(timed, room, *list);
        done = done && sort_items(*list, *count, sizeof **list, by_total, err);
    }
    free(sorted);
    free(timed);
    if (!done) {
        free(*list);
        *list = NULL;
    }
    return done;
}
