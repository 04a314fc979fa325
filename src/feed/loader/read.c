/* Reading one sample. */
#include "core/clock.h"
#include "feed/loader/emulate.h"
#include "feed/loader/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of a file with a smaller gap are read as one: a request costs more than reading the gap. */
#define NEAR ((int64_t)65536)

static void close_file(struct loader_file *file)
{
    for (int part = 0; part < DATASET_MAX_PARTS; part++)
        storage_close(file->parts[part]);
    dataset_index_release(&file->index);
    *file = (struct loader_file){0};
}

void loader_thread_release(struct loader_thread *thread)
{
    for (int i = 0; i < LOADER_OPEN_FILES; i++)
        close_file(&thread->files[i]);
    text_release(&thread->path);
    free(thread->extents);
    free(thread->reads);
    free(thread->decoded);
    emulate_unmap(thread);
    free(thread->maps);
    dataset_expected_release(&thread->expected);
    storage_reader_free(thread->reader);
}

/* ---- Opening ---- */

static bool open_part(struct loader_thread *thread, struct loader_file *file, int part, struct error *err)
{
    if (file->parts[part])
        return true;
    if (!dataset_file_path(&file->file, part, &thread->path))
        return error_memory(err);
    file->parts[part] = storage_open(thread->reader, thread->path.data, err);
    if (!file->parts[part])
        return false;
    thread->opened++;
    return storage_file_size(thread->reader, file->parts[part], &file->sizes[part], err);
}

/* Returns the path of a file for messages. */
static const char *shown(struct loader_thread *thread, const struct loader_file *file)
{
    struct error ignored;
    if (!dataset_file_path(&file->file, 0, &thread->path))
        return "a file of the data set";
    char *path = storage_path(thread->loader->options.storage, thread->path.data, &ignored);
    if (path) {
        thread->path.length = 0;
        text_add(&thread->path, path);
    }
    free(path);
    return thread->path.data;
}

struct source {
    struct loader_thread *thread;
    struct storage_file *file;
};

static bool read_source(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct source *source = context;
    struct storage_extent extent = {.offset = offset, .length = (int64_t)n, .to = to};
    return storage_read(source->thread->reader, source->file, &extent, 1, err);
}

/* Finds the samples by reading, as the framework does. */
static bool locate(struct loader_thread *thread, struct loader_file *file, struct error *err)
{
    struct source contexts[DATASET_MAX_PARTS];
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {0};
    for (int part = 0; part < dataset_file_parts(&file->file); part++) {
        struct error missing; /* an index that is not there: the format says whether it is needed */
        if (!open_part(thread, file, part, part == 0 ? err : &missing)) {
            if (part == 0)
                return false;
            continue;
        }
        contexts[part] = (struct source){thread, file->parts[part]};
        sources[part] = (struct dataset_source){&contexts[part], file->sizes[part], read_source};
        parts[part] = &sources[part];
    }
    file->read_open = file->located = true;
    const struct dataset_format *format = file->file.layout->format;
    const char *path = shown(thread, file);
    if (!dataset_locate(format, &file->index, path, parts, err) ||
        (format->choose && !format->choose(&file->index, file->file.layout, path, err)))
        return false;
    return !thread->loader->options.verify || dataset_index_check(&file->index, &file->file, path, err);
}

static bool wrong_size(struct loader_thread *thread, const struct loader_file *file, int64_t expected,
                       struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: %s%" PRId64 " bytes, expected %" PRId64, shown(thread, file),
                     file->sizes[0] < expected ? "truncated: " : "", file->sizes[0], expected);
}

/* Finds the places of the samples. In a file of the expected size they follow from the layout; it is read
 * only if its container must be decoded as well. */
static bool find_samples(struct loader_thread *thread, struct loader_file *file, struct error *err)
{
    const struct dataset_format *format = file->file.layout->format;
    int64_t expected = dataset_file_bytes(&file->file, 0);
    if (expected >= 0 && expected != file->sizes[0] && thread->loader->options.exact)
        return wrong_size(thread, file, expected, err);
    const struct loader_options *options = &thread->loader->options;
    bool parse = format->container && (options->decode || options->verify);
    if (!parse && expected == file->sizes[0] && format->expect && format->expect(&file->file, &file->index))
        return true;
    return locate(thread, file, err);
}

static struct loader_file *slot_for(struct loader_thread *thread, int64_t number)
{
    struct loader_file *oldest = &thread->files[0];
    for (int i = 0; i < LOADER_OPEN_FILES; i++) {
        struct loader_file *file = &thread->files[i];
        if (file->open && file->file.number == number)
            return file;
        if (file->used < oldest->used)
            oldest = file;
    }
    return oldest;
}

static struct loader_file *open_file(struct loader_thread *thread, int64_t number, struct error *err)
{
    struct loader_file *file = slot_for(thread, number);
    bool same = file->open && file->file.number == number;
    if (!same || thread->loader->options.reopen) {
        close_file(file);
        dataset_file_init(&file->file, thread->loader->options.layout, number);
        if (!open_part(thread, file, 0, err) || !find_samples(thread, file, err)) {
            close_file(file);
            return NULL;
        }
        file->open = true;
    }
    file->used = ++thread->clock;
    return file;
}

/* ---- Reading ---- */

static bool make_room(struct loader_thread *thread, int64_t extents, struct error *err)
{
    if (extents <= thread->room)
        return true;
    free(thread->extents);
    free(thread->reads);
    thread->room = 0;
    thread->extents = malloc((size_t)extents * sizeof *thread->extents);
    thread->reads = malloc((size_t)extents * sizeof *thread->reads);
    if (!thread->extents || !thread->reads)
        return error_memory(err);
    thread->room = extents;
    return true;
}

static int compare_extents(const void *a, const void *b)
{
    const struct dataset_extent *x = a, *y = b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Joins sorted extents that are near each other, and returns their number. */
static int64_t join(struct dataset_extent *extents, int64_t count)
{
    int64_t last = 0;
    for (int64_t i = 1; i < count; i++) {
        int64_t end = extents[last].offset + extents[last].length,
                next = extents[i].offset + extents[i].length;
        if (extents[i].part == extents[last].part && extents[i].offset <= end + NEAR)
            extents[last].length = (next > end ? next : end) - extents[last].offset;
        else
            extents[++last] = extents[i];
    }
    return count > 0 ? last + 1 : 0;
}

/* Reads all extents of each part in one call; they are sorted by part. */
static bool read_parts(struct loader_thread *thread, struct loader_file *file, int64_t count,
                       struct error *err)
{
    for (int64_t first = 0, end; first < count; first = end) {
        int part = thread->extents[first].part;
        for (end = first; end < count && thread->extents[end].part == part; end++)
            ;
        if (!open_part(thread, file, part, err) ||
            !storage_read(thread->reader, file->parts[part], thread->reads + first, (int)(end - first), err))
            return false;
    }
    return true;
}

/* Adds the extents that opening reads, unless they have been read; returns their number. */
static int64_t add_open(struct loader_thread *thread, struct loader_file *file)
{
    if (file->read_open)
        return 0;
    file->read_open = true;
    memcpy(thread->extents, file->index.open, (size_t)file->index.open_count * sizeof *thread->extents);
    return file->index.open_count;
}

/* Reads a sample, or a unit of the index. */
static bool let_go(struct loader_thread *thread, struct loader_file *file, int64_t sample, struct error *err)
{
    int64_t count = add_open(thread, file);
    bool shared = !file->index.extents && file->index.stride == 0 && file->index.samples > 1;
    if (!shared || !file->read_whole)
        count += dataset_index_extents(&file->index, sample, thread->extents + count);
    file->read_whole = true;
    while (file->index.units > 0 && count > 0 && thread->extents[count - 1].length == 0)
        count--; /* a unit may have fewer extents than another */
    if (count > 1)
        qsort(thread->extents, (size_t)count, sizeof *thread->extents, compare_extents);
    count = join(thread->extents, count);
    for (int64_t i = 0; i < count; i++)
        thread->reads[i] =
            (struct storage_extent){.offset = thread->extents[i].offset, .length = thread->extents[i].length};
    return read_parts(thread, file, count, err);
}

/* Reads a sample into memory, joined, at *at. */
static bool keep(struct loader_thread *thread, struct loader_file *file, int64_t sample, char **at,
                 int64_t *length, struct error *err)
{
    *length = dataset_index_length(&file->index, sample);
    char *to = storage_reader_buffer(thread->reader, 0, *length + STORAGE_SLACK, err);
    if (!to)
        return false;
    int64_t opening = add_open(thread, file), offset = 0;
    for (int64_t i = 0; i < opening; i++)
        thread->reads[i] =
            (struct storage_extent){.offset = thread->extents[i].offset, .length = thread->extents[i].length};
    if (!read_parts(thread, file, opening, err))
        return false;
    int64_t count = dataset_index_extents(&file->index, sample, thread->extents);
    for (int64_t i = 0; i < count; i++) {
        const struct dataset_extent *extent = &thread->extents[i];
        thread->reads[i] =
            (struct storage_extent){.offset = extent->offset, .length = extent->length, .to = to + offset};
        offset += extent->length;
    }
    if (count == 1)
        thread->reads[0].room = *length + STORAGE_SLACK;
    if (!read_parts(thread, file, count, err))
        return false;
    *at = count == 1 && thread->reads[0].at ? thread->reads[0].at : to;
    return true;
}

/* ---- Decoding and verifying ---- */

static bool grow(unsigned char **memory, size_t *size, int64_t wanted, struct error *err)
{
    if (*size >= (size_t)wanted && *memory)
        return true;
    free(*memory);
    *size = 0;
    *memory = malloc((size_t)wanted + 1);
    if (!*memory)
        return error_memory(err);
    *size = (size_t)wanted;
    return true;
}

static bool verify(struct loader_thread *thread, const struct loader_file *file, int64_t sample,
                   size_t length, struct error *err)
{
    struct dataset_difference d;
    if (!dataset_sample_compare(&thread->expected, &file->file, &file->index, sample, thread->decoded, length,
                                &d, err))
        return false;
    if (!d.differs)
        return true;
    if (d.found < 0)
        return error_set(err, ERROR_INPUT,
                         "%s: sample %" PRId64 ": wrong end, found or expected at byte %" PRId64,
                         shown(thread, file), sample, d.offset);
    return error_set(err, ERROR_INPUT, "%s: sample %" PRId64 ": byte %" PRId64 " is %d, expected %d",
                     shown(thread, file), sample, d.offset, d.found, d.expected);
}

/* Adds the name of the file, which decoders do not know. */
static bool decode_failed(struct loader_thread *thread, const struct loader_file *file, int64_t sample,
                          struct error *err)
{
    const struct error why = *err;
    return error_set(err, why.kind, "%s: sample %" PRId64 ": %s", shown(thread, file), sample, why.text);
}

static bool decode(struct loader_thread *thread, struct loader_file *file, int64_t sample, const char *raw,
                   int64_t raw_length, struct error *err)
{
    size_t length;
    int64_t start = clock_read(CLOCK_THREAD_CPUTIME_ID);
    bool ok = grow(&thread->decoded, &thread->decoded_size, file->index.sample_bytes, err) &&
              file->file.layout->format->decode(&file->index, sample, (const unsigned char *)raw,
                                                (size_t)raw_length, thread->decoded, thread->decoded_size,
                                                &length, err);
    int64_t decoded = clock_read(CLOCK_THREAD_CPUTIME_ID);
    thread->decode_cpu += decoded - start;
    if (!ok)
        return decode_failed(thread, file, sample, err);
    if (thread->loader->options.verify) {
        ok = verify(thread, file, sample, length, err);
        thread->verify_cpu += clock_read(CLOCK_THREAD_CPUTIME_ID) - decoded;
    }
    return ok;
}

/* ---- Row groups ---- */

struct scanned {
    struct loader_thread *thread;
    struct loader_file *file;
};

static bool verify_values(void *context, const struct dataset_values *values, struct error *err)
{
    const struct scanned *scanned = context;
    struct loader_thread *thread = scanned->thread;
    const struct dataset_file *file = &scanned->file->file;
    struct dataset_difference d;
    int64_t start = clock_read(CLOCK_THREAD_CPUTIME_ID);
    bool compared = file->layout->format->compare(file, values, &d, err);
    thread->verify_cpu += clock_read(CLOCK_THREAD_CPUTIME_ID) - start;
    if (!compared)
        return decode_failed(thread, scanned->file, scanned->file->index.starts[values->unit], err);
    return !d.differs ||
           error_set(err, ERROR_INPUT,
                     "%s: column '%s', sample %" PRId64 ": byte %" PRId64 " is %d, expected %d",
                     shown(thread, scanned->file), values->name, d.sample, d.offset, d.found, d.expected);
}

static bool scan_unit(struct loader_thread *thread, struct loader_file *file, int64_t unit, struct error *err)
{
    const struct loader_options *options = &thread->loader->options;
    struct scanned scanned = {thread, file};
    struct source context = {thread, file->parts[0]};
    const struct dataset_source source = {&context, file->sizes[0], read_source};
    struct text path = {0};
    text_add(&path, shown(thread, file));
    struct dataset_scan scan = {.path = path.failed ? "a file of the data set" : path.data,
                                .source = &source,
                                .context = &scanned,
                                .take = options->verify ? verify_values : NULL};
    bool done = file->file.layout->format->scan(&file->index, unit, &scan, err);
    thread->decode_cpu += scan.cpu;
    text_release(&path);
    return done;
}

/* Reads the units that begin with one of the samples [first, first + count). As in DLIO the footer is read once per
 * pass, with the first of them. */
static bool read_units(struct loader_thread *thread, struct loader_file *file, int64_t first, int64_t count,
                       struct error *err)
{
    const struct loader_options *options = &thread->loader->options;
    const struct dataset_index *index = &file->index;
    int64_t low = 0, high = index->units;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (index->starts[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    file->read_open = first > 0 || file->located;
    for (int64_t unit = low; unit < index->units && index->starts[unit] - first < count; unit++)
        if (!(options->decode || options->verify ? scan_unit(thread, file, unit, err)
                                                 : let_go(thread, file, unit, err)))
            return false;
    return true;
}

/* Returns true if the sample was read before, and marks it as read. */
static bool read_before(struct loader *loader, int64_t number)
{
    if (!loader->once)
        return false;
    uint64_t bit = UINT64_C(1) << (number % 64);
    return atomic_fetch_or(&loader->once[number / 64], bit) & bit;
}

static int64_t delivered(const struct loader_thread *thread)
{
    return storage_reader_counts(thread->reader).bytes;
}

bool loader_read_sample(struct loader_thread *thread, const struct order_place *place, int64_t *bytes,
                        struct error *err)
{
    const struct loader_options *options = &thread->loader->options;
    int64_t number = place->file + (thread->loader->pass.eval ? options->layout->files_train : 0);
    int64_t before = delivered(thread);
    const struct dataset_format *format = options->layout->format;
    int64_t together = format->together ? format->together(options->layout) : 1;
    *bytes = 0;
    if (read_before(thread->loader, number * loader_numbers_per_file(options->layout) + place->sample))
        return true;
    if (place->sample % together > 0) {
        thread->samples++;
        return true;
    }
    struct loader_file *file = open_file(thread, number, err);
    if (!file)
        return false;
    int64_t rest = file->file.samples - place->sample,
            needed = place->sample + (together < rest ? together : rest) - 1;
    if (needed >= file->index.samples)
        return error_set(err, ERROR_INPUT, "%s: has %" PRId64 " samples, but sample %" PRId64 " is needed",
                         shown(thread, file), file->index.samples, needed);
    if (!make_room(thread, DATASET_MAX_OPEN + file->index.per_sample, err))
        return false;
    bool ok;
    if (file->index.units > 0) {
        ok = read_units(thread, file, place->sample, together, err);
    } else if (options->decode || options->verify) {
        char *at;
        int64_t length;
        ok = keep(thread, file, place->sample, &at, &length, err) &&
             decode(thread, file, place->sample, at, length, err);
    } else {
        ok = let_go(thread, file, place->sample, err);
    }
    *bytes = delivered(thread) - before;
    thread->samples++;
    thread->bytes += *bytes;
    if (options->reopen && ok)
        close_file(file);
    return ok;
}
