#include "dataset/scale.h"

#include "dataset/crew.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE      ((size_t)1 << 20)
#define MAX_DIGITS 15

struct scale_run {
    const struct dataset_place *from, *to;
    const struct dataset_item *items;
    int64_t count, span;
    struct dataset_scaled *scaled;
};

/* Finds the first number in the name of a file, that is, behind the last slash. */
static bool find_number(const char *path, const char **begin, int *digits, int64_t *value)
{
    const char *at = basename(path);
    while (*at && !isdigit((unsigned char)*at))
        at++;
    *begin = at;
    *value = 0;
    for (*digits = 0; *digits < MAX_DIGITS && isdigit((unsigned char)at[*digits]); ++*digits)
        *value = 10 * *value + (at[*digits] - '0');
    return *digits > 0 && !isdigit((unsigned char)at[*digits]);
}

void dataset_scale_path(const char *path, int64_t copy, int64_t span, struct text *text)
{
    const char *begin;
    int digits;
    int64_t value;
    if (copy == 0) {
        text_add(text, path);
        return;
    }
    if (find_number(path, &begin, &digits, &value)) {
        text_add_bytes(text, path, (size_t)(begin - path));
        text_format(text, "%0*" PRId64 "%s", digits, value + copy * span, begin + digits);
        return;
    }
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    text_add_bytes(text, path, stem);
    text_format(text, ".copy%" PRId64 "%s", copy, path + stem);
}

/* Returns the step between copies with which no copy takes the number of another item. */
static int64_t span_of(const struct dataset_item *items, int64_t count)
{
    int64_t min = INT64_MAX, max = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int part = 0; part < items[i].count; part++) {
            const char *begin;
            int digits;
            int64_t value;
            if (!find_number(items[i].paths[part], &begin, &digits, &value))
                continue;
            min = value < min ? value : min;
            max = value > max ? value : max;
        }
    }
    return min <= max ? max - min + 1 : 1;
}

static bool copy_bytes(const struct dataset_source *source, const struct dataset_sink *sink,
                       struct error *err)
{
    unsigned char *buffer = malloc(PIECE);
    bool copied = buffer != NULL || error_memory(err);
    for (int64_t at = 0; at < source->size && copied; at += (int64_t)PIECE) {
        size_t now = source->size - at < (int64_t)PIECE ? (size_t)(source->size - at) : PIECE;
        copied = source->read(source->context, at, buffer, now, err) &&
                 sink->write(sink->context, buffer, now, err);
    }
    free(buffer);
    return copied;
}

static bool copy_file(struct dataset_crew *crew, const struct dataset_source *source, const char *path,
                      struct error *err)
{
    const struct scale_run *scaling = crew->context;
    const struct dataset_place *to = scaling->to;
    struct dataset_watched watched = {.crew = crew};
    int64_t there;
    if (!to->size(to->context, path, &there, err))
        return false;
    bool kept = there == source->size;
    if (!kept) {
        if (!to->create(to->context, path, source->size, &watched.to, err))
            return false;
        struct dataset_sink sink = dataset_crew_watch(&watched);
        if (!copy_bytes(source, &sink, err)) {
            to->discard(to->context, &watched.to);
            return false;
        }
        if (!to->commit(to->context, &watched.to, err))
            return false;
    }
    dataset_crew_done(crew, 1, source->size);
    pthread_mutex_lock(&crew->lock);
    scaling->scaled->bytes_kept += kept ? source->size : 0;
    pthread_mutex_unlock(&crew->lock);
    return true;
}

static bool copy_item(struct dataset_crew *crew, int64_t number, struct error *err)
{
    const struct scale_run *scaling = crew->context;
    const struct dataset_item *item = &scaling->items[number % scaling->count];
    struct text path = {0};
    bool copied = true;
    for (int part = 0; part < item->count && copied; part++) {
        struct dataset_source source;
        path.length = 0;
        dataset_scale_path(item->paths[part], number / scaling->count, scaling->span, &path);
        if (path.failed)
            copied = error_memory(err);
        else if ((copied = scaling->from->open(scaling->from->context, item->paths[part], &source, err))) {
            copied = copy_file(crew, &source, path.data, err);
            scaling->from->close(scaling->from->context, &source);
        }
    }
    text_release(&path);
    return copied;
}

static const char *name_of(const struct dataset_place *place)
{
    return place->name ? place->name : "folder";
}

static bool item_bytes(const struct dataset_place *from, const struct dataset_item *item, int64_t *bytes,
                       struct error *err)
{
    *bytes = 0;
    for (int part = 0; part < item->count; part++) {
        int64_t size;
        if (!from->size(from->context, item->paths[part], &size, err))
            return false;
        if (size < 0)
            return error_set(err, ERROR_INPUT, "%s: there is no such file to copy", item->paths[part]);
        *bytes += size;
    }
    return true;
}

/* Counts how many copies, in turn, have at least `bytes` bytes. */
static bool count_copies(const struct dataset_place *from, const struct dataset_item *items, int64_t count,
                         int64_t bytes, const atomic_bool *stop, int64_t *copies, struct error *err)
{
    int64_t sum = 0;
    int64_t *sizes = calloc((size_t)count, sizeof *sizes);
    if (!sizes)
        return error_memory(err);
    bool known = true;
    for (int64_t i = 0; i < count && known; i++) {
        known = stop && atomic_load(stop) ? error_set(err, ERROR_FAILED, "stopped")
                                          : item_bytes(from, &items[i], &sizes[i], err);
        sum += sizes[i];
    }
    if (known && sum <= 0)
        known = error_set(err, ERROR_INPUT, "%s: the files to copy are empty", name_of(from));
    if (known) {
        *copies = bytes / sum * count;
        for (int64_t left = bytes % sum; left > 0; ++*copies)
            left -= sizes[*copies % count];
    }
    free(sizes);
    return known;
}

bool dataset_scale(const struct dataset_place *from, const struct dataset_item *items, int64_t count,
                   const struct dataset_place *to, int64_t bytes, const struct dataset_work *work,
                   struct dataset_scaled *scaled, struct error *err)
{
    struct scale_run scaling = {from, to, items, count, span_of(items, count), scaled};
    struct dataset_crew crew = {.work = work, .body = copy_item, .context = &scaling};
    *scaled = (struct dataset_scaled){0};
    if (count < 1)
        return error_set(err, ERROR_INPUT, "%s: there are no files to copy", name_of(from));
    if (!count_copies(from, items, count, bytes, work->stop, &scaled->items, err))
        return false;
    bool done = dataset_crew_run(&crew, scaled->items, err);
    scaled->files = crew.files;
    scaled->bytes = crew.bytes;
    return done;
}
