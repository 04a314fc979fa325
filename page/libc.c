/* The planner in a page, compiled to WebAssembly: what its C library and the browser have not. */
#include "core/doc/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Calls of Linux: the files of a page are in its memory, and whoever asks takes "not supported" for an answer. */
#define ABSENT(answer, function, ...)                                                                        \
    answer function(__VA_ARGS__);                                                                            \
    answer function(__VA_ARGS__)                                                                             \
    {                                                                                                        \
        errno = ENOSYS;                                                                                      \
        return -1;                                                                                           \
    }
ABSENT(int, renameat2, int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
ABSENT(ssize_t, listxattr, const char *path, char *list, size_t size)
ABSENT(ssize_t, getxattr, const char *path, const char *name, void *value, size_t size)
ABSENT(int, fsetxattr, int file, const char *name, const void *value, size_t size, int flags)
ABSENT(ssize_t, getrandom, void *to, size_t size, unsigned flags)

/* libyaml is not compiled in: the built-in tables are JSON, and so are the files that people drop. */
bool doc_read_yaml(struct doc_builder *builder, const char *text, size_t length)
{
    (void)text;
    (void)length;
    return doc_syntax_error(builder, (struct doc_place){1, 1},
                            "the planner in a page reads no YAML: give it JSON");
}

typedef int comparison(const void *a, const void *b, void *context);

static void merge_sort(char *items, char *room, size_t count, size_t size, comparison *compare, void *context)
{
    if (count < 2)
        return;
    size_t half = count / 2;
    char *second = items + half * size, *end = items + count * size, *to = room;
    merge_sort(items, room, half, size, compare, context);
    merge_sort(second, room, count - half, size, compare, context);
    memcpy(room, items, half * size);
    char *first = room, *middle = room + half * size;
    for (to = items; first < middle; to += size) {
        bool later = second < end && compare(first, second, context) > 0;
        memcpy(to, later ? second : first, size);
        *(later ? &second : &first) += size;
    }
}

/* Both keep the order of equal items, as those of glibc do: its own qsort would not, and a plan could differ from the
 * command's. Without memory the page's instance ends, which it says. */
void qsort_r(void *items, size_t count, size_t size, comparison *compare, void *context)
{
    char *room = malloc(count * size + 1);
    if (!room)
        abort();
    merge_sort(items, room, count, size, compare, context);
    free(room);
}

struct plain {
    int (*compare)(const void *a, const void *b);
};

static int compare_plainly(const void *a, const void *b, void *context)
{
    return ((const struct plain *)context)->compare(a, b);
}

void qsort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
    struct plain plain = {compare};
    qsort_r(items, count, size, compare_plainly, &plain);
}

/* A page in the page: the planner's answers have the form, and nobody asks for it. */
const char page_style[] = "", page_script[] = "", page_script_digest[] = "", page_verdicts[] = "{}",
           page_meanings[] = "", planner_glue[] = "", planner_glue_digest[] = "", planner_engine[] = "";
const size_t page_style_size, page_script_size, page_verdicts_size = 2, planner_glue_size,
                                                planner_engine_size;
