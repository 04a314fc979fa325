/* Files that were damaged in every place: whoever decodes refuses what numpy, h5py and PIL refuse, and whoever verifies also
 * what they read as something else. */
#include "dataset/io.h"
#include "dataset/sample.h"
#include "support/sanitizer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/wait.h>

/* Read by the leak sanitizer. libhdf5 1.10 does not free all that it has read of a damaged header, and complains of it at its
 * end; what we forget is still found. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

#define RECORD 384
#define BLOCK  64

/* A file of a format, and its parts. */
struct subject {
    struct dataset_layout layout;
    struct dataset_file file;
    struct blob parts[DATASET_MAX_PARTS];
    int count;
};

struct mutants {
    struct blob *items;
    char (*names)[64];
    size_t count, capacity;
};

static void subject_init(struct subject *s, const char *format, enum dataset_element element,
                         enum dataset_compression compression, int samples)
{
    struct error err = {0};
    dataset_layout_init(&s->layout);
    s->layout.format = dataset_format_find(format);
    assert_non_null(s->layout.format);
    s->layout.record_bytes = strcmp(format, "jpeg") == 0 ? 1100 : RECORD;
    s->layout.samples_per_file = samples;
    s->layout.files_train = 1;
    s->layout.element = element;
    s->layout.compression = compression;
    s->layout.compression_level = 4;
    if (!dataset_layout_check(&s->layout, &err))
        fail_msg("%s: %s", format, err.text);
    dataset_file_init(&s->file, &s->layout, 0);
    s->count = dataset_file_parts(&s->file);
    for (int i = 0; i < s->count; i++)
        s->parts[i] = blob_of(&s->file, i, NULL);
}

static void subject_release(struct subject *s)
{
    for (int i = 0; i < s->count; i++)
        free(s->parts[i].bytes);
    dataset_layout_release(&s->layout);
}

/* ---- as `feed --decode` and `--verify` read it, and `dataset verify` ---- */

/* As many bytes as the source has, and no more: what is asked for beyond is an error, not a read. */
static bool bounded_read(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct blob *blob = context;
    if (offset < 0 || n > blob->length || (size_t)offset > blob->length - n)
        return error_set(err, ERROR_INPUT, "the file ends");
    memcpy(to, blob->bytes + offset, n);
    return true;
}

static bool read_one(const struct subject *s, const struct dataset_index *index, int64_t sample,
                     struct blob *parts, bool verify, struct dataset_expected *expected)
{
    struct dataset_extent *extents = calloc((size_t)index->per_sample, sizeof *extents);
    unsigned char *raw = malloc((size_t)dataset_index_length(index, sample) + 1);
    unsigned char *decoded = malloc((size_t)index->sample_bytes + 1);
    struct dataset_difference difference;
    struct error err = {0};
    size_t n = 0, length;
    assert_true(extents && raw && decoded);
    int64_t count = dataset_index_extents(index, sample, extents);
    bool read = true;
    for (int64_t i = 0; i < count && read; n += (size_t)extents[i++].length)
        read = bounded_read(&parts[extents[i].part], extents[i].offset, raw + n, (size_t)extents[i].length,
                            &err);
    read = read && s->layout.format->decode(index, sample, raw, n, decoded, (size_t)index->sample_bytes,
                                            &length, &err);
    if (read && verify)
        read =
            dataset_sample_compare(expected, &s->file, index, sample, decoded, length, &difference, &err) &&
            !difference.differs;
    free(extents);
    free(raw);
    free(decoded);
    return read;
}

static bool is_read(const struct subject *s, const struct blob *damaged, bool verify)
{
    struct blob parts[DATASET_MAX_PARTS];
    struct dataset_source sources[DATASET_MAX_PARTS];
    const struct dataset_source *pointers[DATASET_MAX_PARTS] = {0};
    struct dataset_expected expected = {0};
    struct dataset_index index;
    struct error err = {0};
    memcpy(parts, s->parts, sizeof parts);
    parts[0] = *damaged;
    for (int i = 0; i < s->count; i++) {
        sources[i] = (struct dataset_source){&parts[i], (int64_t)parts[i].length, bounded_read};
        pointers[i] = &sources[i];
    }
    if (!dataset_open(&s->file, &index, "damaged", pointers, &err))
        return false;
    bool read = index.samples >= s->file.samples &&
                (!verify || dataset_index_check(&index, &s->file, "damaged", &err));
    for (int64_t i = 0; i < s->file.samples && read; i++)
        read = read_one(s, &index, i, parts, verify, &expected);
    dataset_expected_release(&expected);
    dataset_index_release(&index);
    return read;
}

/* ---- every way of damage ---- */

static struct blob *add(struct mutants *m, const struct blob *from, size_t length, const char *name,
                        size_t at)
{
    if (m->count == m->capacity) {
        m->capacity = 2 * m->capacity + 256;
        m->items = realloc(m->items, m->capacity * sizeof *m->items);
        m->names = realloc(m->names, m->capacity * sizeof *m->names);
        assert_true(m->items && m->names);
    }
    struct blob *blob = &m->items[m->count];
    *blob = (struct blob){.bytes = calloc(1, length + 1), .length = length};
    assert_non_null(blob->bytes);
    memcpy(blob->bytes, from->bytes, length < from->length ? length : from->length);
    snprintf(m->names[m->count++], sizeof *m->names, "%s %zu", name, at);
    return blob;
}

static void flip(struct mutants *m, const struct blob *whole, size_t at)
{
    static const unsigned char masks[] = {0x01, 0x20, 0x80};
    add(m, whole, whole->length, "flipped", at)->bytes[at] ^= masks[at % sizeof masks];
    if (whole->bytes[at] != 0)
        add(m, whole, whole->length, "zero", at)->bytes[at] = 0;
    else
        add(m, whole, whole->length, "ones", at)->bytes[at] = 0xff;
}

/* Single bytes: all of the first and last 1 KiB (64 B below sanitizers, which are slow), every 7th between; then
 * blocks, ends, and other content. */
static void damage(struct mutants *m, const struct blob *whole)
{
    const bool slow = ADDRESS_SANITIZER || THREAD_SANITIZER;
    const size_t all = slow ? 64 : 1024, step = slow ? 101 : 7;
    static const char *const others[] = {"npz", "npy", "csv", "tfrecord", "raw", "png", "jpeg", "hdf5"};
    size_t n = whole->length;
    add(m, whole, n, "whole", 0);
    for (size_t at = 0; at < n; at++)
        if (at < all || n - at < all || at % step == 0)
            flip(m, whole, at);
    for (size_t at = 0; at < n; at += BLOCK)
        memset(add(m, whole, n, "zeroed", at)->bytes + at, 0, n - at < BLOCK ? n - at : BLOCK);
    memset(add(m, whole, n, "zeroed to", 2048)->bytes, 0, n < 2048 ? n : 2048);
    memset(add(m, whole, n, "zeroed to", n / 2)->bytes, 0, n / 2);
    memset(add(m, whole, n, "zeroed from", n / 2)->bytes + n / 2, 0, n - n / 2);
    for (size_t length = 0; length < n; length += length < 32 || n - length < 32 ? 1 : 13)
        add(m, whole, length, "cut", length);
    add(m, whole, n + 1, "longer by", 1);
    add(m, whole, n + BLOCK, "longer by", BLOCK);
    add(m, whole, 2 * n, "longer by", n);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct subject other;
        if (dataset_format_find(others[i])->missing)
            continue;
        subject_init(&other, others[i], DATASET_UINT8, DATASET_NONE, 1);
        add(m, &other.parts[0], other.parts[0].length, others[i], 0);
        add(m, &other.parts[0], n, others[i], n); /* of the size that is expected */
        subject_release(&other);
    }
}

static void mutants_release(struct mutants *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->items[i].bytes);
    free(m->items);
    free(m->names);
}

/* ---- what others make of it ---- */

static void write_frames(const struct mutants *m, const char *path)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    for (size_t i = 0; i < m->count; i++) {
        uint32_t n = (uint32_t)m->items[i].length;
        const unsigned char head[4] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                                       (unsigned char)(n >> 24)};
        assert_int_equal(fwrite(head, 1, 4, out), 4);
        assert_int_equal(fwrite(m->items[i].bytes, 1, n, out), n);
    }
    assert_int_equal(fclose(out), 0);
}

/* One answer for each; the caller frees them. Skips the test where a module is missing. */
static unsigned char *ask(const struct mutants *m, const char *reader)
{
    const char *source = getenv("REHEARSE_SOURCE_ROOT");
    char *root = folder_make(), path[256], command[1024];
    unsigned char *answers = calloc(m->count + 1, 1);
    assert_non_null(answers);
    snprintf(path, sizeof path, "%s/frames", root);
    write_frames(m, path);
    snprintf(command, sizeof command, "python3 '%s/tests/dataset/damage.py' %s <'%s'", source ? source : ".",
             reader, path);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    size_t got = fread(answers, 1, m->count + 1, in);
    int status = pclose(in);
    folder_remove(root);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("# skipped: %.*s", (int)got, answers);
        free(answers);
        skip();
    }
    assert_int_equal(status, 0);
    assert_int_equal(got, m->count);
    return answers;
}

/* `lossy`: whoever verifies allows for some difference. */
static void check(struct subject *s, const char *reader, bool lossy)
{
    struct mutants mutants = {0};
    size_t refused = 0, other = 0, wrong = 0;
    damage(&mutants, &s->parts[0]);
    unsigned char *answers = ask(&mutants, reader);
    assert_int_equal(answers[0], 1);
    assert_true(is_read(s, &s->parts[0], false) && is_read(s, &s->parts[0], true));
    for (size_t i = 0; i < mutants.count; i++) {
        bool decoded = is_read(s, &mutants.items[i], false), verified = is_read(s, &mutants.items[i], true);
        bool bad = (answers[i] == 0 && (decoded || verified)) || (answers[i] == 2 && verified && !lossy) ||
                   (verified && !decoded);
        refused += answers[i] == 0;
        other += answers[i] == 2;
        wrong += bad;
        if (bad && wrong <= 20)
            print_message("# %s: %s: %s, but decoded %d, verified %d\n", reader, mutants.names[i],
                          answers[i] == 0 ? "refused by others" : "read as something else", decoded,
                          verified);
    }
    print_message("# %s: %zu damaged files, %zu refused by others, %zu read as something else\n", reader,
                  mutants.count - 1, refused, other);
    free(answers);
    mutants_release(&mutants);
    subject_release(s);
    assert_true(refused > 0);
    assert_int_equal(wrong, 0);
}

static void of(const char *format, enum dataset_element element, enum dataset_compression compression,
               int samples, bool lossy)
{
    struct subject s;
    const struct dataset_format *known = dataset_format_find(format);
    if (known->missing) {
        print_message("# skipped: this build is without %s\n", known->missing);
        skip();
    }
    subject_init(&s, format, element, compression, samples);
    check(&s, format, lossy);
}

static void npy_is_read_as_numpy_reads_it(void **state)
{
    (void)state;
    of("npy", DATASET_FLOAT32, DATASET_NONE, 3, false);
}

static void npz_is_read_as_numpy_reads_it(void **state)
{
    (void)state;
    of("npz", DATASET_UINT8, DATASET_NONE, 1, false);
    of("npz", DATASET_INT16, DATASET_NONE, 3, false);
}

static void compressed_npz_is_read_as_numpy_reads_it(void **state)
{
    (void)state;
    of("npz", DATASET_UINT8, DATASET_ZIP, 2, false);
}

static void hdf5_is_read_as_h5py_reads_it(void **state)
{
    (void)state;
    of("hdf5", DATASET_UINT8, DATASET_NONE, 2, false);
}

static void compressed_hdf5_is_read_as_h5py_reads_it(void **state)
{
    (void)state;
    of("hdf5", DATASET_FLOAT32, DATASET_GZIP, 2, false);
}

static void csv_is_read_as_numpy_reads_it(void **state)
{
    (void)state;
    of("csv", DATASET_UINT8, DATASET_NONE, 3, false);
}

static void records_are_read_by_their_sums(void **state)
{
    (void)state;
    of("tfrecord", DATASET_UINT8, DATASET_NONE, 2, false);
}

static void pictures_are_read_as_pil_reads_them(void **state)
{
    (void)state;
    of("png", DATASET_UINT8, DATASET_NONE, 1, false);
    of("jpeg", DATASET_UINT8, DATASET_NONE, 1, true);
}

/* Nothing in a file of theirs tells, but every byte is a sample's. */
static void what_has_no_container_is_compared(void **state)
{
    static const char *const formats[] = {"raw", "indexed_binary", "mmap_indexed_binary"};
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        struct subject s;
        struct mutants mutants = {0};
        subject_init(&s, formats[f], DATASET_UINT8, DATASET_NONE, strcmp(formats[f], "raw") == 0 ? 1 : 4);
        damage(&mutants, &s.parts[0]);
        for (size_t i = 1; i < mutants.count; i++) {
            const struct blob *blob = &mutants.items[i];
            bool same = blob->length >= s.parts[0].length &&
                        memcmp(blob->bytes, s.parts[0].bytes, s.parts[0].length) == 0;
            if (is_read(&s, blob, true) && !same)
                fail_msg("%s: %s is taken for whole", formats[f], mutants.names[i]);
        }
        mutants_release(&mutants);
        subject_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_is_read_as_numpy_reads_it),
        cmocka_unit_test(npz_is_read_as_numpy_reads_it),
        cmocka_unit_test(compressed_npz_is_read_as_numpy_reads_it),
        cmocka_unit_test(hdf5_is_read_as_h5py_reads_it),
        cmocka_unit_test(compressed_hdf5_is_read_as_h5py_reads_it),
        cmocka_unit_test(csv_is_read_as_numpy_reads_it),
        cmocka_unit_test(records_are_read_by_their_sums),
        cmocka_unit_test(pictures_are_read_as_pil_reads_them),
        cmocka_unit_test(what_has_no_container_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
