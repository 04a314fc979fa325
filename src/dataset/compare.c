#include "dataset/compare.h"

#include "dataset/writer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct comparison {
    const struct dataset_crew *crew;
    const struct dataset_source *source;
    struct dataset_difference *difference;
    int64_t offset;
    unsigned char *buffer;
};

static bool compare_piece(struct comparison *c, const unsigned char *expected, size_t n, struct error *err)
{
    if (!c->source->read(c->source->context, c->offset, c->buffer, n, err))
        return false;
    size_t at = dataset_first_difference(expected, c->buffer, n, 0);
    if (at < n)
        *c->difference =
            (struct dataset_difference){true, -1, c->offset + (int64_t)at, expected[at], c->buffer[at]};
    c->offset += (int64_t)n;
    return at == n;
}

/* What a file has no bytes for differs from it: -1 is found there. */
static bool compare_write(void *context, const void *from, size_t n, struct error *err)
{
    struct comparison *c = context;
    const unsigned char *at = from;
    if (!dataset_crew_go_on(c->crew, err))
        return false;
    while (n > 0) {
        int64_t left = c->source->size - c->offset;
        size_t now = n < DATASET_BUFFER ? n : DATASET_BUFFER;
        now = (int64_t)now < left ? now : (size_t)left;
        if (now == 0) {
            *c->difference = (struct dataset_difference){true, -1, c->offset, *at, -1};
            return false;
        }
        if (!compare_piece(c, at, now, err))
            return false;
        at += now;
        n -= now;
    }
    return true;
}

static bool compare_go_on(void *context, struct error *err)
{
    const struct comparison *c = context;
    return dataset_crew_go_on(c->crew, err);
}

/* A large run of content is compared in pieces; of several differences the first counts. */
struct run {
    struct comparison *c;
    const struct dataset_content *content;
    int64_t offset;
    pthread_mutex_t lock;
};

static bool compare_run_piece(void *context, int64_t at, size_t n, unsigned char *expected, struct error *err)
{
    struct run *run = context;
    struct dataset_difference difference = {0};
    struct comparison c = {
        .source = run->c->source, .difference = &difference, .offset = run->c->offset + at};
    c.buffer = malloc(n);
    if (!c.buffer)
        return error_memory(err);
    run->content->fill(run->content->context, run->offset + at, expected, n);
    bool same = compare_piece(&c, expected, n, err);
    free(c.buffer);
    if (!same && !difference.differs)
        return false;
    pthread_mutex_lock(&run->lock);
    if (difference.differs &&
        (!run->c->difference->differs || difference.offset < run->c->difference->offset))
        *run->c->difference = difference;
    pthread_mutex_unlock(&run->lock);
    return true;
}

static bool compare_fill(void *context, const struct dataset_content *content, int64_t offset, int64_t n,
                         struct error *err)
{
    struct comparison *c = context;
    struct run run = {.c = c, .content = content, .offset = offset};
    int64_t left = c->source->size - c->offset, now = n < left ? n : left;
    pthread_mutex_init(&run.lock, NULL);
    bool compared = dataset_crew_pieces(c->crew, now, compare_run_piece, &run, err);
    pthread_mutex_destroy(&run.lock);
    c->offset += now;
    if (compared && now < n && !c->difference->differs)
        *c->difference = (struct dataset_difference){true, -1, c->offset, -1, -1};
    return compared && !c->difference->differs;
}

bool dataset_compare_bytes(const struct dataset_crew *crew, const struct dataset_file *file, int part,
                           const struct dataset_source *source, struct dataset_difference *difference,
                           struct error *err)
{
    struct comparison c = {.crew = crew, .source = source, .difference = difference};
    const struct dataset_sink sink = {
        .context = &c,
        .write = compare_write,
        .go_on = compare_go_on,
        .fill = crew->inner ? compare_fill : NULL,
    };
    *difference = (struct dataset_difference){0};
    c.buffer = malloc(DATASET_BUFFER);
    if (!c.buffer)
        return error_memory(err);
    bool written = dataset_write(file, part, NULL, &sink, err);
    if (written && c.offset < source->size)
        *difference = (struct dataset_difference){true, -1, c.offset, -1, -1};
    free(c.buffer);
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
