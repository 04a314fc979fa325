#include "trace/similarity/kernels.h"

#include "core/hash.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a region's name. */
struct name {
    bool known;
    const char *text; /* NULL: of no kernel */
    enum kernel_class class;
    enum kernel_group group;
    int64_t count, ns;
};

/* The unions of intervals so far, of one device. */
enum { COMPUTE, COMMUNICATION, EITHER, ANY, UNIONS };
struct device {
    int64_t pid, until[UNIONS];
};

struct similarity_runs {
    struct trace_reader *reader;
    const struct kernel_classes *rules;
    bool wide, failed;
    struct name *names; /* by the id of a call */
    size_t names_room;
    int64_t *before; /* by the id of a process: the call of its last kernel */
    size_t before_room;
    struct hash_map pairs;
    struct device *devices;
    size_t device_count, device_room;
    int64_t sums[UNIONS], ops;
};

struct similarity_runs *similarity_runs_new(struct trace_reader *reader, const struct kernel_classes *rules,
                                            struct error *err)
{
    if (!kernel_classes_read(err))
        return NULL;
    struct similarity_runs *runs = calloc(1, sizeof *runs);
    if (!runs)
        return error_memory_null(err);
    runs->reader = reader;
    runs->rules = rules;
    return runs;
}

void similarity_runs_free(struct similarity_runs *runs)
{
    if (!runs)
        return;
    hash_map_release(&runs->pairs);
    free(runs->names);
    free(runs->before);
    free(runs->devices);
    free(runs);
}

void similarity_runs_widen(struct similarity_runs *runs)
{
    runs->wide = true;
    for (size_t i = 0; i < runs->names_room; i++)
        runs->names[i].known = false;
}

static void learn(struct similarity_runs *runs, struct name *name, const char *region)
{
    static const char *const prefixes[] = {"kernel.", "gpu_memcpy.", "gpu_memset."};
    *name = (struct name){.known = true};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(region, prefixes[i], strlen(prefixes[i])) == 0)
            name->text = region + strlen(prefixes[i]);
    const char *point = strchr(region, '.');
    if (runs->wide)
        name->text = point ? point + 1 : region;
    if (!name->text)
        return;
    enum kernel_class class = kernel_class_of(runs->rules, name->text)->class;
    bool copies = region[0] == 'g' && !runs->wide && kernel_class_group(class) != KERNEL_MEMORY;
    class = !copies ? class : strncmp(region, "gpu_memset", 10) == 0 ? CLASS_FILL : CLASS_COPY;
    name->class = class;
    name->group = kernel_class_group(class);
}

static struct device *device_of(struct similarity_runs *runs, int64_t process)
{
    int64_t pid = trace_process_info(runs->reader, process)->pid;
    for (size_t i = 0; i < runs->device_count; i++)
        if (runs->devices[i].pid == pid)
            return &runs->devices[i];
    const struct device device = {pid, {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    return VECTOR_ADD(runs->devices, runs->device_count, runs->device_room, device)
               ? &runs->devices[runs->device_count - 1]
               : NULL;
}

static void unite(struct similarity_runs *runs, struct device *device, int which, int64_t begin, int64_t end)
{
    int64_t *until = &device->until[which];
    begin = begin > *until ? begin : *until;
    if (end <= begin)
        return;
    runs->sums[which] += end - begin;
    *until = end;
}

/* Counts the step from the kernel before on the stream. */
static bool follow(struct similarity_runs *runs, const struct trace_event *event)
{
    size_t process = event->process > 0 ? (size_t)event->process : 0;
    if (!VECTOR_ROOM_ZEROED(runs->before, runs->before_room, process + 1))
        return false;
    int64_t before = runs->before[process];
    runs->before[process] = event->call;
    if (before == 0)
        return true;
    int64_t *place = hash_map_place(&runs->pairs, (uint64_t)before << 32 | (uint64_t)(uint32_t)event->call);
    if (place)
        ++*place;
    return place != NULL;
}

int similarity_runs_take(struct similarity_runs *runs, const struct trace_event *event)
{
    if (event->call <= 0 || event->call > UINT32_MAX || event->latency_ns < 0 || runs->failed)
        return -1;
    runs->failed = !VECTOR_ROOM_ZEROED(runs->names, runs->names_room, (size_t)event->call + 1);
    if (runs->failed)
        return -1;
    struct name *name = &runs->names[event->call];
    if (!name->known)
        learn(runs, name, trace_call_name(runs->reader, event->call));
    struct device *device = name->text ? device_of(runs, event->process) : NULL;
    if (!name->text)
        return -1;
    runs->failed = !device || !follow(runs, event);
    if (runs->failed)
        return -1;
    int64_t end = event->start_ns + event->latency_ns;
    name->count++;
    name->ns += event->latency_ns;
    runs->ops++;
    if (name->group == KERNEL_COMPUTE)
        unite(runs, device, COMPUTE, event->start_ns, end);
    if (name->group == KERNEL_COMMUNICATION)
        unite(runs, device, COMMUNICATION, event->start_ns, end);
    if (name->group != KERNEL_MEMORY)
        unite(runs, device, EITHER, event->start_ns, end);
    unite(runs, device, ANY, event->start_ns, end);
    return (int)name->class;
}

void similarity_kernels_release(struct similarity_kernels *kernels)
{
    free(kernels->kernels);
    free(kernels->pairs);
    arena_release(&kernels->names);
}

static int by_name(const void *a, const void *b)
{
    const struct similarity_kernel *first = a, *second = b;
    return strcmp(first->name, second->name);
}

static int by_pair(const void *a, const void *b)
{
    const struct similarity_step *first = a, *second = b;
    return (first->pair > second->pair) - (first->pair < second->pair);
}

static uint64_t hash_of(const struct similarity_runs *runs, int64_t call)
{
    const char *text = runs->names[call].text;
    return hash_bytes(0, text, strlen(text));
}

static bool keep_kernels(const struct similarity_runs *runs, struct similarity_kernels *kernels)
{
    size_t room = runs->names_room + 1;
    kernels->kernels = calloc(room, sizeof *kernels->kernels);
    kernels->pairs = calloc(runs->pairs.count + 1, sizeof *kernels->pairs);
    if (!kernels->kernels || !kernels->pairs)
        return false;
    for (size_t i = 0; i < runs->names_room; i++) {
        const struct name *name = &runs->names[i];
        if (!name->text || name->count == 0)
            continue;
        const char *text = arena_string(&kernels->names, name->text);
        if (!text)
            return false;
        kernels->kernels[kernels->kernel_count++] =
            (struct similarity_kernel){text, name->class, name->count, (double)name->ns / 1e9};
    }
    for (size_t i = 0; i < runs->pairs.capacity; i++) {
        uint64_t key = runs->pairs.places[i].key;
        if (key == 0)
            continue;
        uint64_t hash[2] = {hash_of(runs, (int64_t)(key >> 32)), hash_of(runs, (int64_t)(key & UINT32_MAX))};
        kernels->pairs[kernels->pair_count++] =
            (struct similarity_step){hash_bytes(0, hash, sizeof hash), runs->pairs.places[i].value};
    }
    qsort(kernels->kernels, kernels->kernel_count, sizeof *kernels->kernels, by_name);
    qsort(kernels->pairs, kernels->pair_count, sizeof *kernels->pairs, by_pair);
    return true;
}

bool similarity_runs_end(struct similarity_runs *runs, int64_t span, struct similarity_kernels *kernels,
                         struct error *err)
{
    const int64_t *sums = runs->sums;
    int64_t devices = runs->device_count > 0 ? (int64_t)runs->device_count : 1, idle;
    if (__builtin_mul_overflow(span, devices, &idle))
        idle = span;
    kernels->ops = runs->ops;
    kernels->busy = (struct similarity_busy){sums[COMPUTE], sums[COMMUNICATION],
                                             sums[COMPUTE] + sums[COMMUNICATION] - sums[EITHER],
                                             idle > sums[ANY] ? idle - sums[ANY] : 0};
    return (!runs->failed && keep_kernels(runs, kernels)) || error_memory(err);
}

double similarity_common_kernels(const struct similarity_kernels *a, const struct similarity_kernels *b)
{
    double min = 0, max = 0;
    for (size_t i = 0, j = 0; i < a->kernel_count || j < b->kernel_count;) {
        int order = i == a->kernel_count   ? 1
                    : j == b->kernel_count ? -1
                                           : strcmp(a->kernels[i].name, b->kernels[j].name);
        double x = order <= 0 ? (double)a->kernels[i].count : 0,
               y = order >= 0 ? (double)b->kernels[j].count : 0;
        min += x < y ? x : y;
        max += x < y ? y : x;
        i += order <= 0;
        j += order >= 0;
    }
    return max > 0 ? min / max : 1;
}

double similarity_common_pairs(const struct similarity_kernels *a, const struct similarity_kernels *b)
{
    double min = 0, max = 0;
    for (size_t i = 0, j = 0; i < a->pair_count || j < b->pair_count;) {
        int order = i == a->pair_count ? 1 : j == b->pair_count ? -1 : by_pair(&a->pairs[i], &b->pairs[j]);
        double x = order <= 0 ? (double)a->pairs[i].count : 0, y = order >= 0 ? (double)b->pairs[j].count : 0;
        min += x < y ? x : y;
        max += x < y ? y : x;
        i += order <= 0;
        j += order >= 0;
    }
    return max > 0 ? min / max : 1;
}
