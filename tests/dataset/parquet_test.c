/* Parquet: what is written is found and decodes to what was generated, and pyarrow reads it; what pyarrow writes is
 * read; and a damaged file is an error that names it. */
#include "dataset/codec.h"
#include "dataset/io.h"
#include "dataset/sample.h"
#include "dataset/sum.h"

#include <inttypes.h>
#include <sys/wait.h>

static void layout_columns(struct dataset_layout *layout, int64_t samples, int64_t group,
                           enum dataset_compression compression)
{
    struct error err = {0};
    dataset_layout_init(layout);
    layout->format = dataset_format_find("parquet");
    layout->samples_per_file = samples;
    layout->row_group = group;
    layout->compression = compression;
    layout->compressibility = compression ? 0.5 : 0;
    layout->columns = calloc(DATASET_ELEMENTS + 2, sizeof *layout->columns);
    assert_non_null(layout->columns);
    for (int i = 0; i < DATASET_ELEMENTS; i++) {
        layout->columns[i] = (struct dataset_column){
            .element = (enum dataset_element)i, .size = i % 4 == 3 ? 9 : 1, .count = 1, .read = true};
        snprintf(layout->columns[i].name, sizeof layout->columns[i].name, "c%d", i);
    }
    layout->columns[DATASET_ELEMENTS] = (struct dataset_column){
        .name = "many", .element = DATASET_FLOAT32, .size = 3, .count = 2, .read = false};
    layout->columns[DATASET_ELEMENTS + 1] = (struct dataset_column){
        .name = "long", .element = DATASET_UINT8, .size = 40, .count = 1, .read = true};
    layout->column_count = DATASET_ELEMENTS + 2;
    if (!dataset_layout_check(layout, &err))
        fail_msg("%s", err.text);
}

struct made {
    struct dataset_layout layout;
    struct dataset_file file;
    struct blob blob;
    struct dataset_source source;
    const struct dataset_source *parts[DATASET_MAX_PARTS];
    int64_t values;
    struct text sums;
    int column;
    uint32_t sum;
    int64_t count;
};

static void make(struct made *made, int64_t samples, int64_t group, enum dataset_compression compression)
{
    *made = (struct made){.column = -1};
    layout_columns(&made->layout, samples, group, compression);
    dataset_file_init(&made->file, &made->layout, 3);
    made->blob = blob_of(&made->file, 0, NULL);
    made->source = blob_source(&made->blob);
    made->parts[0] = &made->source;
}

static void made_release(struct made *made)
{
    free(made->blob.bytes);
    text_release(&made->sums);
    dataset_layout_release(&made->layout);
}

static bool same_as_generated(void *context, const struct dataset_values *values, struct error *err)
{
    struct made *made = context;
    struct dataset_difference difference;
    if (!made->layout.format->compare(&made->file, values, &difference, err))
        return false;
    assert_false(difference.differs);
    made->values += values->count;
    return true;
}

static bool scan_all(struct made *made, const struct dataset_index *index,
                     bool (*take)(void *, const struct dataset_values *, struct error *), struct error *err)
{
    struct dataset_scan scan = {.path = "test", .source = &made->source, .context = made, .take = take};
    for (int64_t unit = 0; unit < index->units; unit++)
        if (!made->layout.format->scan(index, unit, &scan, err))
            return false;
    return true;
}

static void what_is_written_is_what_was_generated(void **state)
{
    const enum dataset_compression codecs[] = {DATASET_NONE, DATASET_GZIP, DATASET_SNAPPY, DATASET_ZSTD};
    const int64_t sizes[][2] = {{1, 1}, {7, 3}, {300, 100}, {1000, 4096}, {9000, 8192}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (size_t s = 0; s < 5; s++) {
            struct made made;
            struct dataset_index index;
            struct error err = {0};
            if (dataset_codec_missing(codecs[i]))
                continue;
            make(&made, sizes[s][0], sizes[s][1], codecs[i]);
            if (codecs[i] == DATASET_NONE)
                assert_int_equal(made.blob.length, dataset_file_bytes(&made.file, 0));
            if (!dataset_locate(made.layout.format, &index, "test", made.parts, &err) ||
                !scan_all(&made, &index, same_as_generated, &err))
                fail_msg("%s", err.text);
            assert_int_equal(index.samples, sizes[s][0]);
            assert_int_equal(made.values,
                             sizes[s][0] * (9 + 2 * 9 + 2 * 3 + 40)); /* two of eleven have 9 elements */
            dataset_index_release(&index);
            made_release(&made);
        }
    }
}

static void the_layout_says_what_the_footer_says(void **state)
{
    struct made made;
    struct dataset_index expected, found;
    struct error err = {0};
    (void)state;
    make(&made, 1000, 300, DATASET_NONE);
    assert_true(made.layout.format->expect(&made.file, &expected));
    if (!dataset_locate(made.layout.format, &found, "test", made.parts, &err) ||
        !made.layout.format->choose(&found, &made.layout, "test", &err))
        fail_msg("%s", err.text);
    assert_int_equal(found.units, 4);
    assert_int_equal(expected.units, 4);
    assert_int_equal(expected.per_sample, found.per_sample);
    assert_int_equal(found.per_sample, 2); /* the columns that are not read lie in the middle */
    assert_memory_equal(expected.extents, found.extents, 4 * 2 * sizeof *found.extents);
    assert_memory_equal(expected.starts, found.starts, 5 * sizeof *found.starts);
    assert_int_equal(expected.open_count, found.open_count);
    assert_memory_equal(expected.open, found.open, (size_t)found.open_count * sizeof *found.open);
    dataset_index_release(&expected);
    dataset_index_release(&found);
    snprintf(made.layout.columns[4].name, sizeof made.layout.columns[4].name, "absent");
    assert_true(dataset_locate(made.layout.format, &found, "test", made.parts, &err));
    assert_false(made.layout.format->choose(&found, &made.layout, "test", &err));
    assert_non_null(strstr(err.text, "test: has no column 'absent'"));
    dataset_index_release(&found);
    made_release(&made);
}

/* ---- damage ---- */

/* Reads all; an error must name the file. */
static bool reads(struct made *made)
{
    struct dataset_index index;
    struct error err = {0};
    bool located = dataset_locate(made->layout.format, &index, "test", made->parts, &err);
    bool scanned = located && scan_all(made, &index, NULL, &err);
    if (located)
        dataset_index_release(&index);
    if (!scanned && !strstr(err.text, "test: "))
        fail_msg("no file in '%s'", err.text);
    return scanned;
}

static void a_file_cut_anywhere_is_an_error(void **state)
{
    struct made made;
    (void)state;
    make(&made, 7, 4, DATASET_NONE);
    assert_true(reads(&made));
    for (size_t length = 0; length < made.blob.length; length++) {
        made.source.size = (int64_t)length;
        assert_false(reads(&made));
    }
    made_release(&made);
}

static void a_changed_byte_is_survived(void **state)
{
    struct made made;
    (void)state;
    make(&made, 7, 4, dataset_codec_missing(DATASET_SNAPPY) ? DATASET_NONE : DATASET_SNAPPY);
    for (size_t at = 0; at < made.blob.length; at++) {
        unsigned char kept = made.blob.bytes[at];
        made.blob.bytes[at] ^= (unsigned char)(1 + at % 255);
        reads(&made);
        made.blob.bytes[at] = kept;
    }
    made_release(&made);
}

/* A footer of our own behind some bytes. */
static void footer_says(const char *footer, size_t length, const char *expected)
{
    struct made made = {.layout.format = dataset_format_find("parquet")};
    struct dataset_index index;
    struct error err = {0};
    unsigned char size[4];
    blob_write(&made.blob, "PAR1", 4, &err);
    blob_write(&made.blob, footer, length, &err);
    dataset_set_little(size, 4, length);
    blob_write(&made.blob, size, 4, &err);
    blob_write(&made.blob, "PAR1", 4, &err);
    made.source = blob_source(&made.blob);
    made.parts[0] = &made.source;
    assert_false(dataset_locate(made.layout.format, &index, "test", made.parts, &err));
    if (!strstr(err.text, expected))
        fail_msg("'%s' is not in '%s'", expected, err.text);
    free(made.blob.bytes);
}

static void lies_of_a_footer_are_found(void **state)
{
    char deep[4096];
    (void)state;
    /* version 2; a schema of a root and one leaf int32 'a' */
#define SCHEMA "\x15\x04\x19\x2c\x48\x01s\x15\x02\x00\x15\x02\x25\x00\x18\x01\x61\x00"
    static const char no_rows[] = SCHEMA "\x16\x00\x19\x0c";
    static const char many_groups[] = SCHEMA "\x16\x02\x19\xfc\xff\xff\xff\xff\x0f\x00";
    static const char far[] =
        SCHEMA "\x16\x02\x19\x1c\x19\x1c\x3c\x15\x02\x38\x00\x15\x02\x26\x80\x80\x80\x80\x20"
               "\x26\x08\x00\x00";
    static const char many_rows[] = SCHEMA "\x16\x7e\x19\x1c\x26\x7c\x00";
    static const char two_roots[] =
        "\x15\x04\x19\x3c\x48\x01s\x15\x02\x00\x15\x02\x25\x00\x18\x01\x61\x00\x15\x02\x25\x00"
        "\x18\x01"
        "b\x00\x16\x02\x19\x0c\x00";
    footer_says("", 0, "no description of a file");
    footer_says(no_rows, sizeof no_rows, "has no rows");
    footer_says(many_groups, sizeof many_groups, "footer");
    footer_says(many_rows, sizeof many_rows, "row groups with other numbers of rows");
    footer_says(two_roots, sizeof two_roots, "its schema is no tree");
    footer_says(far, sizeof far, "footer");
    memset(deep, 0x1c, sizeof deep); /* a struct in a struct in a … */
    footer_says(deep, sizeof deep, "no description of a file");
    memset(deep, 0x19, sizeof deep); /* lists of lists */
    footer_says(deep, sizeof deep, "no description of a file");
}

/* ---- beyond 4 GiB ---- */

struct sparse {
    int64_t size;
    struct blob kept;
    int64_t kept_at; /* of what is kept: the last bytes that were written */
};

static bool sparse_write(void *context, const void *from, size_t n, struct error *err)
{
    struct sparse *sparse = context;
    sparse->size += (int64_t)n;
    return blob_write(&sparse->kept, from, n, err);
}

static bool sparse_fill(void *context, const struct dataset_content *content, int64_t offset, int64_t n,
                        struct error *err)
{
    struct sparse *sparse = context;
    (void)content, (void)offset, (void)err;
    sparse->size += n;
    sparse->kept.length = 0;
    sparse->kept_at = sparse->size;
    return true;
}

static bool sparse_read(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    struct sparse *sparse = context;
    assert_true(offset >= sparse->kept_at);
    return blob_read(&sparse->kept, offset - sparse->kept_at, to, n, err);
}

static void a_row_group_may_exceed_4_gib(void **state)
{
    struct sparse sparse = {0};
    struct dataset_sink sink = {.context = &sparse, .write = sparse_write, .fill = sparse_fill};
    struct dataset_layout layout;
    struct dataset_file file;
    struct dataset_index index;
    struct error err = {0};
    (void)state;
    dataset_layout_init(&layout);
    layout.format = dataset_format_find("parquet");
    layout.record_bytes = 64 << 20;
    layout.samples_per_file = 150;
    layout.row_group = 100;
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    layout.element = file.element = DATASET_FLOAT32; /* whose pages are what was generated */
    assert_true(dataset_layout_check(&layout, &err));
    dataset_file_init(&file, &layout, 0);
    assert_true(dataset_write(&file, 0, NULL, &sink, &err));
    assert_int_equal(sparse.size, dataset_file_bytes(&file, 0));
    struct dataset_source source = {&sparse, sparse.size, sparse_read};
    const struct dataset_source *parts[DATASET_MAX_PARTS] = {&source};
    if (!dataset_locate(layout.format, &index, "test", parts, &err))
        fail_msg("%s", err.text);
    assert_true(index.extents[0].length > INT64_C(100) << 26);
    assert_true(index.extents[1].offset == 4 + index.extents[0].length);
    dataset_index_release(&index);
    free(sparse.kept.bytes);
    dataset_layout_release(&layout);
}

/* ---- pyarrow ---- */

static bool add_sum(void *context, const struct dataset_values *values, struct error *err)
{
    struct made *made = context;
    (void)err;
    made->sum = dataset_crc32(values->column == made->column ? made->sum : 0, values->bytes, values->length);
    made->count = (values->column == made->column ? made->count : 0) + values->count;
    made->column = values->column;
    return true;
}

/* The folder of the sources, which is the working folder if nothing else is said. */
static const char *source_root(void)
{
    const char *source = getenv("REHEARSE_SOURCE_ROOT");
    if (!source && access("tests/dataset/parquet.py", R_OK) != 0)
        fail_msg("no tests/dataset/parquet.py here: run the test in the folder of the sources, or let "
                 "REHEARSE_SOURCE_ROOT name that");
    return source ? source : ".";
}

/* Runs the script; false: skipped. */
static bool run_script(const char *task, const char *path, struct text *out)
{
    const char *source = source_root(), *python = getenv("REHEARSE_PYARROW");
    struct text command = {0};
    char line[256];
    text_format(&command, "%s '%s/tests/dataset/parquet.py' %s '%s'", python ? python : "python3", source,
                task, path);
    FILE *from = popen(command.data, "r");
    assert_non_null(from);
    while (fgets(line, sizeof line, from))
        text_add(out, line);
    int status = pclose(from);
    text_release(&command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("# skipped: %s", WEXITSTATUS(status) == 77 ? out->data : "no python3\n");
        return false;
    }
    assert_int_equal(status, 0);
    return true;
}

static void pyarrow_reads_what_is_written(void **state)
{
    const enum dataset_compression codecs[] = {DATASET_NONE, DATASET_GZIP, DATASET_SNAPPY, DATASET_ZSTD};
    char path[] = "/tmp/rehearse-parquet-XXXXXX";
    int file = mkstemp(path);
    bool ran = file >= 0;
    (void)state;
    assert_true(ran);
    for (size_t i = 0; i < 4 && ran; i++) {
        struct made made;
        struct dataset_index index;
        struct text found = {0}, line = {0};
        struct error err = {0};
        if (dataset_codec_missing(codecs[i]))
            continue;
        make(&made, 5000, 5000, codecs[i]);
        FILE *to = fopen(path, "w");
        assert_non_null(to);
        assert_int_equal(fwrite(made.blob.bytes, 1, made.blob.length, to), made.blob.length);
        fclose(to);
        ran = run_script("sums", path, &found);
        assert_true(dataset_locate(made.layout.format, &index, "test", made.parts, &err));
        struct dataset_scan scan = {
            .path = "test", .source = &made.source, .context = &made, .take = add_sum};
        for (int column = 0; column < 14 && ran; column++) { /* one by one, to add up pages */
            made.column = -1;
            for (int c = 0; c < made.layout.column_count; c++)
                made.layout.columns[c].read = column < 11 ? c == column : column < 13 ? c == 11 : c == 12;
            assert_true(made.layout.format->choose(&index, &made.layout, "test", &err));
            if (column == 11 || column == 12)
                continue; /* two columns of one entry */
            assert_true(made.layout.format->scan(&index, 0, &scan, &err));
            text_format(&line, "%s %" PRId64 " %08" PRIx32 "\n",
                        made.layout.columns[column < 11 ? column : 12].name, made.count, made.sum);
            if (!strstr(found.data, line.data))
                fail_msg("'%s' is not in '%s'", line.data, found.data);
            line.length = 0;
        }
        text_release(&line);
        text_release(&found);
        dataset_index_release(&index);
        made_release(&made);
    }
    close(file);
    unlink(path);
    if (!ran)
        skip();
}

/* The values that parquet.py writes into row i of the column; 0: null. */
static size_t value_of(const char *name, int64_t i, unsigned char *to)
{
    struct text text = {0};
    size_t length = 0;
    if (strcmp(name, "all_null") == 0 || (strstr(name, "_null") && i % 5 == 0))
        return 0;
    if (strncmp(name, "int32", 5) == 0) {
        length = 4;
        dataset_set_little(to, 4, (uint64_t)(7 * (i % 50)));
    } else if (strncmp(name, "int64", 5) == 0) {
        length = 8;
        dataset_set_little(to, 8, (uint64_t)(1000003 * i));
    } else if (strncmp(name, "float", 5) == 0) {
        length = 4;
        memcpy(to, &(float){(float)(i % 9) / 2}, 4);
    } else if (strncmp(name, "double", 6) == 0) {
        length = 8;
        memcpy(to, &(double){(double)i / 4}, 8);
    } else if (strncmp(name, "bytes", 5) == 0) {
        text_format(&text, "row %" PRId64, i % 30);
        length = 4 + text.length;
        dataset_set_little(to, 4, text.length);
        memcpy(to + 4, text.data, text.length);
        text_release(&text);
    } else if (strncmp(name, "fixed", 5) == 0) {
        length = 3;
        memcpy(to, (unsigned char[]){(unsigned char)i, (unsigned char)(i % 2), 3}, 3);
    } else if (strncmp(name, "bool", 4) == 0) {
        length = 1;
        to[0] = i % 3 == 0;
    } else {
        length = 8;
        dataset_set_little(to, 4, (uint64_t)i);
        dataset_set_little(to + 4, 4, (uint64_t)(i + 1));
    }
    return length;
}

#define THEIR_ROWS  200
#define THEIR_GROUP 80

static bool is_theirs(void *context, const struct dataset_values *values, struct error *err)
{
    struct made *made = context;
    unsigned char expected[64];
    size_t at = 0;
    int64_t end = (values->unit + 1) * THEIR_GROUP;
    (void)err;
    assert_int_equal(values->first, 0); /* so small a chunk is one page */
    for (int64_t i = values->unit * THEIR_GROUP; i < (end < THEIR_ROWS ? end : THEIR_ROWS); i++) {
        size_t n = value_of(values->name, i, expected);
        assert_true(at + n <= values->length);
        if (memcmp(values->bytes + at, expected, n) != 0)
            fail_msg("%s: row %d", values->name, (int)i);
        at += n;
    }
    assert_int_equal(at, values->length);
    made->count++;
    return true;
}

/* Reads a file that pyarrow made; false: this build lacks the library of its codec. */
static void read_theirs(const char *path, size_t skipped)
{
    struct made made = {.layout.format = dataset_format_find("parquet")};
    struct dataset_index index;
    struct error err = {0};
    unsigned char bytes[65536];
    FILE *from = fopen(path, "r");
    if (!from)
        fail_msg("no %s", path);
    size_t n = fread(bytes, 1, sizeof bytes, from);
    fclose(from);
    assert_in_range(n, skipped + 100, sizeof bytes - 1);
    blob_write(&made.blob, bytes + skipped, n - skipped, &err);
    made.source = blob_source(&made.blob);
    made.parts[0] = &made.source;
    bool missing = (strstr(path, "snappy") && dataset_codec_missing(DATASET_SNAPPY)) ||
                   (strstr(path, "zstd") && dataset_codec_missing(DATASET_ZSTD)) ||
                   (strstr(path, "gzip") && dataset_codec_missing(DATASET_GZIP));
    if (!dataset_locate(made.layout.format, &index, path, made.parts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(index.samples, THEIR_ROWS);
    assert_int_equal(index.units, 3);
    bool read = scan_all(&made, &index, is_theirs, &err);
    if (missing) {
        assert_false(read);
        assert_non_null(strstr(err.text, "install lib"));
    } else if (!read) {
        fail_msg("%s: %s", path, err.text);
    } else {
        assert_int_equal(made.count, 3 * 16); /* columns with values */
    }
    dataset_index_release(&index);
    free(made.blob.bytes);
}

static void what_pyarrow_writes_is_read(void **state)
{
    static const char *const codecs[] = {"none", "snappy", "zstd", "gzip"};
    char folder[] = "/tmp/rehearse-parquet-XXXXXX";
    struct text out = {0}, path = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    bool ran = run_script("write", folder, &out);
    for (int i = 0; i < 16 && ran; i++) {
        path.length = 0;
        text_format(&path, "%s/parquet_%s_%s_%d.parquet", folder, codecs[i / 4],
                    i & 1 ? "dictionary" : "plain", 1 + (i >> 1 & 1));
        read_theirs(path.data, 0);
        unlink(path.data);
    }
    rmdir(folder);
    text_release(&out);
    text_release(&path);
    if (!ran)
        skip();
}

/* Some of these files lie among those of the fuzz target, behind its two bytes. */
static void what_pyarrow_wrote_is_read(void **state)
{
    static const char *const names[] = {"none_dictionary_1", "snappy_plain_2", "zstd_dictionary_2",
                                        "gzip_plain_1"};
    const char *source = source_root();
    struct text path = {0};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        path.length = 0;
        text_format(&path, "%s/fuzz/corpus/dataset/parquet_%s", source, names[i]);
        read_theirs(path.data, 2);
    }
    text_release(&path);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_what_was_generated),
        cmocka_unit_test(the_layout_says_what_the_footer_says),
        cmocka_unit_test(a_file_cut_anywhere_is_an_error),
        cmocka_unit_test(a_changed_byte_is_survived),
        cmocka_unit_test(lies_of_a_footer_are_found),
        cmocka_unit_test(a_row_group_may_exceed_4_gib),
        cmocka_unit_test(pyarrow_reads_what_is_written),
        cmocka_unit_test(what_pyarrow_writes_is_read),
        cmocka_unit_test(what_pyarrow_wrote_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
