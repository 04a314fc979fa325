#include "api/trace/compare_kernels.h"

#include "core/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KERNELS 10 /* in the table for people */

/* Time of a class of kernels, or of those of one name, in both traces. */
struct kernel_times {
    const char *name, *class;
    double a, b; /* seconds */
    int64_t a_count, b_count;
};

static int by_difference(const void *left, const void *right)
{
    const struct kernel_times *x = left, *y = right;
    double of_x = fabs(x->b - x->a), of_y = fabs(y->b - y->a);
    return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : strcmp(x->name, y->name);
}

static size_t list_classes(const struct similarity_trace *a_trace, const struct similarity_trace *b_trace,
                           struct kernel_times *times)
{
    size_t count = 0;
    for (int i = 0; i < KERNEL_CLASSES; i++) {
        const struct similarity_stream *a = &a_trace->streams[SIMILARITY_KERNELS + i];
        const struct similarity_stream *b = &b_trace->streams[SIMILARITY_KERNELS + i];
        if (a->ops + b->ops > 0)
            times[count++] = (struct kernel_times){
                kernel_class_names[i], kernel_class_names[i], a->seconds, b->seconds, a->ops, b->ops};
    }
    qsort(times, count, sizeof *times, by_difference);
    return count;
}

/* The names of both traces, which are sorted. */
static size_t list_kernels(const struct similarity_trace *a_trace, const struct similarity_trace *b_trace,
                           struct kernel_times *times)
{
    const struct similarity_kernels *a = &a_trace->kernels, *b = &b_trace->kernels;
    size_t count = 0;
    for (size_t i = 0, j = 0; i < a->kernel_count || j < b->kernel_count; count++) {
        int order = i == a->kernel_count   ? 1
                    : j == b->kernel_count ? -1
                                           : strcmp(a->kernels[i].name, b->kernels[j].name);
        const struct similarity_kernel none = {0}, *x = order <= 0 ? &a->kernels[i++] : &none,
                                       *y = order >= 0 ? &b->kernels[j++] : &none;
        const struct similarity_kernel *known = x->name ? x : y;
        times[count] = (struct kernel_times){
            known->name, kernel_class_names[known->class], x->seconds, y->seconds, x->count, y->count};
    }
    if (count > 0)
        qsort(times, count, sizeof *times, by_difference);
    return count;
}

static struct kernel_times *kernel_room(const struct similarity_trace *a_trace,
                                        const struct similarity_trace *b_trace)
{
    return calloc(a_trace->kernels.kernel_count + b_trace->kernels.kernel_count + KERNEL_CLASSES,
                  sizeof(struct kernel_times));
}

static void print_times(const struct kernel_times *times, size_t count, const char *what, struct text *out)
{
    text_format(out, "\n%11s  %11s  %11s  %7s  %s\n", "a (ms)", "b (ms)", "b - a (ms)", "b / a", what);
    for (size_t i = 0; i < count && i < MAX_KERNELS; i++) {
        char ratio[24] = "-";
        if (times[i].a > 0)
            snprintf(ratio, sizeof ratio, "%.3f", times[i].b / times[i].a);
        text_format(out, "%11.3f  %11.3f  %+11.3f  %7s  %.70s\n", 1e3 * times[i].a, 1e3 * times[i].b,
                    1e3 * (times[i].b - times[i].a), ratio, times[i].name);
    }
    if (count > MAX_KERNELS)
        text_format(out, "... and %zu more (--json)\n", count - MAX_KERNELS);
}

void compare_print_kernels(const struct similarity_trace *a_trace, const struct similarity_trace *b_trace,
                           struct text *out)
{
    struct kernel_times *times = kernel_room(a_trace, b_trace);
    out->failed |= !times;
    if (times && a_trace->kernels.ops + b_trace->kernels.ops > 0) {
        print_times(times, list_classes(a_trace, b_trace, times), "class of kernels, by the difference", out);
        print_times(times, list_kernels(a_trace, b_trace, times), "kernel, by the difference", out);
    }
    free(times);
}

static const struct field times_fields[] = {
    FIELD_OUT(struct kernel_times, "name", name, FIELD_TEXT),
    FIELD_OUT(struct kernel_times, "class", class, FIELD_TEXT),
    FIELD_OUT(struct kernel_times, "a", a, FIELD_DOUBLE),
    FIELD_OUT(struct kernel_times, "b", b, FIELD_DOUBLE),
    FIELD_OUT(struct kernel_times, "a_count", a_count, FIELD_INT64),
    FIELD_OUT(struct kernel_times, "b_count", b_count, FIELD_INT64),
};

void compare_add_kernels(const struct similarity_trace *a_trace, const struct similarity_trace *b_trace,
                         struct json *json)
{
    struct kernel_times *times = kernel_room(a_trace, b_trace);
    json->out->failed |= !times;
    if (times && a_trace->kernels.ops + b_trace->kernels.ops > 0) {
        size_t count = list_classes(a_trace, b_trace, times);
        FIELDS_LIST(times, count, times_fields, json, "classes");
        count = list_kernels(a_trace, b_trace, times);
        FIELDS_LIST(times, count, times_fields, json, "kernels");
    }
    free(times);
}
