#include "dataset/compare.h"

#include "dataset/writer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A sink that compares what is written with a source. */
struct comparison {
    const struct dataset_source *source;
    pthread_mutex_t lock;                  /* of what follows */
    struct dataset_difference *difference; /* the first */
    int64_t end;                           /* of what was compared */
};

/* Where the source has ended it differs: -1 is found there. */
static bool compare_at(void *context, int64_t offset, const void *from, size_t n, struct error *err)
{
    struct comparison *c = context;
    const unsigned char *expected = from;
    int64_t left = c->source->size - offset, end = offset + (int64_t)n;
    size_t there = left <= 0 ? 0 : (int64_t)n < left ? n : (size_t)left;
    unsigned char *found = malloc(there + 1);
    if (!found)
        return error_memory(err);
    bool read = there == 0 || c->source->read(c->source->context, offset, found, there, err);
    size_t at = read ? dataset_first_difference(expected, found, there, 0) : n;
    pthread_mutex_lock(&c->lock);
    if (at < n && (!c->difference->differs || offset + (int64_t)at < c->difference->offset))
        *c->difference = (struct dataset_difference){true, -1, offset + (int64_t)at, expected[at],
                                                     at < there ? found[at] : -1};
    c->end = end > c->end ? end : c->end;
    pthread_mutex_unlock(&c->lock);
    free(found);
    return read;
}

static bool compare_next(void *context, const void *from, size_t n, struct error *err)
{
    struct comparison *c = context;
    return !c->difference->differs && compare_at(c, c->end, from, n, err) && !c->difference->differs;
}

bool dataset_compare_bytes(const struct dataset_crew *crew, const struct dataset_file *file, int part,
                           const struct dataset_source *source, struct dataset_difference *difference,
                           struct error *err)
{
    struct comparison c = {.source = source, .difference = difference};
    struct dataset_watched watched = {.crew = crew,
                                      .to = {.context = &c, .write = compare_next, .write_at = compare_at}};
    const struct dataset_sink sink = dataset_crew_watch(&watched);
    *difference = (struct dataset_difference){0};
    pthread_mutex_init(&c.lock, NULL);
    bool written = dataset_write(file, part, NULL, &sink, err);
    pthread_mutex_destroy(&c.lock);
    if (written && !difference->differs && c.end < source->size)
        *difference = (struct dataset_difference){true, -1, c.end, -1, -1};
    return written || difference->differs;
}

struct samples {
    const struct dataset_file *file;
    struct dataset_index index;
    struct dataset_expected expected;
    unsigned char *raw, *decoded;
    struct dataset_extent *extents;
};

static bool read_sample(struct samples *s, int64_t sample, const char *path,
                        const struct dataset_source *const *parts, size_t *length, struct error *err)
{
    int64_t count = dataset_index_extents(&s->index, sample, s->extents);
    size_t raw_length = 0;
    for (int64_t i = 0; i < count; i++) {
        const struct dataset_extent *e = &s->extents[i];
        if (!dataset_read(parts[e->part], path, e->offset, s->raw + raw_length, (size_t)e->length, "a sample",
                          err))
            return false;
        raw_length += (size_t)e->length;
    }
    return s->file->layout->format->decode(&s->index, sample, s->raw, raw_length, s->decoded,
                                           (size_t)s->index.sample_bytes, length, err);
}

static bool compare_sample(struct samples *s, int64_t sample, const char *path,
                           const struct dataset_source *const *parts, struct dataset_difference *difference,
                           struct error *err)
{
    size_t length;
    return read_sample(s, sample, path, parts, &length, err) &&
           dataset_sample_compare(&s->expected, s->file, &s->index, sample, s->decoded, length, difference,
                                  err);
}

static bool make_buffers(struct samples *s, struct error *err)
{
    s->raw = malloc((size_t)dataset_index_longest(&s->index) + 1);
    s->decoded = malloc((size_t)s->index.sample_bytes + 1);
    s->extents = calloc((size_t)s->index.per_sample, sizeof *s->extents);
    return (s->raw && s->decoded && s->extents) || error_memory(err);
}

bool dataset_compare_samples(const struct dataset_crew *crew, const struct dataset_file *file,
                             const char *path, const struct dataset_source *const *parts,
                             struct dataset_difference *difference, struct error *err)
{
    struct samples s = {.file = file};
    *difference = (struct dataset_difference){0};
    if (!dataset_open(file, &s.index, path, parts, err))
        return false;
    bool done = dataset_index_check(&s.index, file, path, err) && make_buffers(&s, err);
    for (int64_t i = 0; i < file->samples && done && !difference->differs; i++)
        done = dataset_crew_go_on(crew, err) && compare_sample(&s, i, path, parts, difference, err);
    if (done && !difference->differs && file->layout->format->beside)
        done = file->layout->format->beside(file, path, parts, err);
    free(s.raw);
    free(s.decoded);
    dataset_expected_release(&s.expected);
    free(s.extents);
    dataset_index_release(&s.index);
    return done;
}
