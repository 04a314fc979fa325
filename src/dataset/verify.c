#include "dataset/verify.h"
#include "core/text.h"
#include "dataset/crew.h"
#include "dataset/sample.h"
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

/* Compares bytes: makes the part again, into a comparing sink. False: it cannot be read or made. */
static bool dataset_compare_bytes(const struct dataset_crew *crew, const struct dataset_file *file, int part,
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

struct scanned {
    const struct dataset_crew *crew;
    const struct dataset_file *file;
    struct dataset_difference *difference;
};

static bool compare_values(void *context, const struct dataset_values *values, struct error *err)
{
    const struct scanned *s = context;
    return dataset_crew_go_on(s->crew, err) &&
           s->file->layout->format->compare(s->file, values, s->difference, err) && !s->difference->differs;
}

/* Compares the samples of row groups, column by column. */
static bool compare_units(const struct dataset_crew *crew, const struct dataset_file *file,
                          const struct dataset_index *index, const char *path,
                          const struct dataset_source *source, struct dataset_difference *difference,
                          struct error *err)
{
    struct scanned scanned = {crew, file, difference};
    struct dataset_scan scan = {.path = path, .source = source, .context = &scanned, .take = compare_values};
    for (int64_t unit = 0; unit < index->units; unit++)
        if (!file->layout->format->scan(index, unit, &scan, err))
            return difference->differs;
    return true;
}

/* Compares decoded samples. False: the file cannot be read in its format. */
static bool dataset_compare_samples(const struct dataset_crew *crew, const struct dataset_file *file,
                                    const char *path, const struct dataset_source *const *parts,
                                    struct dataset_difference *difference, struct error *err)
{
    struct samples s = {.file = file};
    *difference = (struct dataset_difference){0};
    if (!dataset_open(file, &s.index, path, parts, err))
        return false;
    bool done = dataset_index_check(&s.index, file, path, err) && make_buffers(&s, err);
    if (done && s.index.units > 0)
        done = compare_units(crew, file, &s.index, path, parts[0], difference, err);
    for (int64_t i = 0; i < file->samples && s.index.units == 0 && done && !difference->differs; i++)
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

struct verification {
    const struct dataset_layout *layout;
    const struct dataset_place *place;
    bool content;
    struct dataset_verified *verified;
};

/* Adds a fault to the list, in the order of files, then parts, and takes its texts. A fault that no longer
 * fits is only counted. */
static void list_fault(struct dataset_verified *verified, const struct dataset_fault *fault)
{
    int at = verified->listed;
    while (at > 0 && verified->faults[at - 1].number > fault->number)
        at--;
    verified->fault_count++;
    if (at == DATASET_MAX_FAULTS) {
        free(fault->path);
        free(fault->text);
        return;
    }
    if (verified->listed == DATASET_MAX_FAULTS) {
        free(verified->faults[DATASET_MAX_FAULTS - 1].path);
        free(verified->faults[DATASET_MAX_FAULTS - 1].text);
        verified->listed--;
    }
    memmove(&verified->faults[at + 1], &verified->faults[at],
            (size_t)(verified->listed - at) * sizeof *verified->faults);
    verified->faults[at] = *fault;
    verified->listed++;
}

static bool add_fault(struct dataset_crew *crew, struct dataset_fault fault, const char *path,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

static bool add_fault(struct dataset_crew *crew, struct dataset_fault fault, const char *path,
                      const char *format, ...)
{
    const struct verification *verification = crew->context;
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_format(&text, "%s: ", path);
    text_vformat(&text, format, args);
    va_end(args);
    fault.path = strdup(path);
    fault.text = text.data;
    if (fault.kind != DATASET_WRONG_CONTENT)
        fault.offset = -1;
    if (text.failed || !fault.path) {
        free(fault.path);
        text_release(&text);
        return false;
    }
    pthread_mutex_lock(&crew->lock);
    list_fault(verification->verified, &fault);
    pthread_mutex_unlock(&crew->lock);
    return true;
}

static bool report(struct dataset_crew *crew, const struct dataset_file *file, const char *path,
                   const struct dataset_difference *d)
{
    struct dataset_fault fault = {
        .kind = DATASET_WRONG_CONTENT,
        .number = file->number,
        .offset = d->offset,
        .expected = d->expected,
        .found = d->found,
    };
    if (d->found < 0 || d->expected < 0)
        return add_fault(crew, fault, path,
                         d->sample < 0 ? "wrong end of the file: found or expected at byte %" PRId64
                                       : "wrong end of a sample: found or expected at byte %" PRId64,
                         d->offset);
    if (d->sample >= 0)
        return add_fault(crew, fault, path, "sample %" PRId64 ", byte %" PRId64 " is %d, expected %d",
                         d->sample, d->offset, d->found, d->expected);
    return add_fault(crew, fault, path, "byte %" PRId64 " is %d, expected %d", d->offset, d->found,
                     d->expected);
}

/* Opens the sources of all parts, for a format that reads one with the other. */
static bool open_parts(const struct dataset_place *place, const struct dataset_file *file,
                       struct dataset_source *sources, const struct dataset_source **parts, struct error *err)
{
    struct text path = {0};
    bool opened = true;
    for (int part = 0; part < dataset_file_parts(file) && opened; part++) {
        opened = dataset_file_path(file, part, &path)
                     ? place->open(place->context, path.data, &sources[part], err)
                     : error_memory(err);
        if (opened)
            parts[part] = &sources[part];
    }
    text_release(&path);
    return opened;
}

static bool compare_samples(struct dataset_crew *crew, const struct dataset_file *file, const char *path,
                            struct dataset_difference *difference, struct error *err)
{
    const struct verification *verification = crew->context;
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
    bool compared = open_parts(verification->place, file, sources, parts, err) &&
                    dataset_compare_samples(crew, file, path, parts, difference, err);
    for (int part = 0; part < DATASET_MAX_PARTS; part++)
        if (parts[part])
            verification->place->close(verification->place->context, &sources[part]);
    return compared;
}

/* Files of another version of a library may differ in bytes and hold the same samples. */
static bool compare(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                    struct dataset_difference *difference, struct error *err)
{
    const struct verification *verification = crew->context;
    const struct dataset_place *place = verification->place;
    const struct dataset_layout *layout = verification->layout;
    struct dataset_source source;
    if (!place->open(place->context, path, &source, err))
        return false;
    bool compared = dataset_compare_bytes(crew, file, part, &source, difference, err);
    place->close(place->context, &source);
    if (!compared || !difference->differs || part > 0 ||
        (layout->format->exact && layout->compression == DATASET_NONE))
        return compared;
    return compare_samples(crew, file, path, difference, err);
}

static bool check_content(struct dataset_crew *crew, const struct dataset_file *file, int part,
                          const char *path, struct error *err)
{
    struct dataset_difference difference;
    struct dataset_fault unreadable = {.kind = DATASET_UNREADABLE, .number = file->number};
    if (!compare(crew, file, part, path, &difference, err)) {
        size_t length = strlen(path); /* with which most errors begin */
        bool named = strncmp(err->text, path, length) == 0 && strncmp(err->text + length, ": ", 2) == 0;
        return !error_is_memory(err) &&
               (dataset_crew_stopped(crew) ||
                add_fault(crew, unreadable, path, "%s", err->text + (named ? length + 2 : 0)));
    }
    return !difference.differs || report(crew, file, path, &difference);
}

static bool check_part(struct dataset_crew *crew, const struct dataset_file *file, int part, const char *path,
                       struct error *err)
{
    const struct verification *verification = crew->context;
    int64_t there, bytes = dataset_file_bytes(file, part);
    bool listed = true;
    if (!verification->place->size(verification->place->context, path, &there, err))
        return false;
    struct dataset_fault fault = {.number = file->number, .expected = bytes, .found = there};
    if (there < 0) {
        fault.kind = DATASET_MISSING;
        listed = add_fault(crew, fault, path, "missing");
    } else if (bytes >= 0 && there != bytes) {
        fault.kind = DATASET_WRONG_SIZE;
        listed = add_fault(crew, fault, path, "%" PRId64 " bytes, expected %" PRId64, there, bytes);
    } else if (verification->content) {
        listed = check_content(crew, file, part, path, err);
    }
    dataset_crew_done(crew, 1, there < 0 ? 0 : there);
    return listed ? true : error_memory(err);
}

static bool check_file(struct dataset_crew *crew, int64_t number, struct error *err)
{
    const struct verification *verification = crew->context;
    return dataset_crew_parts(crew, verification->layout, number, check_part, err);
}

bool dataset_verify(const struct dataset_layout *layout, const struct dataset_place *place,
                    const struct dataset_work *work, bool content, struct dataset_verified *verified,
                    struct error *err)
{
    struct verification verification = {layout, place, content, verified};
    struct dataset_crew crew = {.work = work, .body = check_file, .context = &verification};
    *verified = (struct dataset_verified){0};
    bool done = dataset_crew_run(&crew, dataset_files(layout), err);
    verified->files = crew.files;
    verified->bytes = crew.bytes;
    return done;
}

void dataset_verified_release(struct dataset_verified *verified)
{
    for (int i = 0; i < verified->listed; i++) {
        free(verified->faults[i].path);
        free(verified->faults[i].text);
    }
    *verified = (struct dataset_verified){0};
}
