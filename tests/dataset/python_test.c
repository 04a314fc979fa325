/* What is written is read by programs that others wrote: numpy, zipfile, csv, pandas, gzip, h5py, PIL, and an
 * independent reader of TFRecord. */
#include "dataset/io.h"
#include "dataset/pack.h"
#include "dataset/sum.h"
#include "dataset/verify.h"
#include "support/data_place.h"

#include <inttypes.h>
#include <sys/wait.h>

#define FILES 3

/* What the script should print: samples, bytes and sum of every file. */
static void expect(const struct dataset_layout *layout, struct text *expected)
{
    for (int64_t i = 0; i < layout->files_train; i++) {
        struct dataset_file file;
        struct dataset_content content;
        struct dataset_bytes bytes;
        dataset_file_init(&file, layout, i);
        size_t n = (size_t)file.payload_bytes;
        unsigned char *all = malloc(n + 1);
        assert_non_null(all);
        dataset_content_init(&content, &bytes, &file);
        content.fill(content.context, 0, all, n);
        text_format(expected, "%" PRId64 " %zu %08x\n", file.samples, n, dataset_crc32(0, all, n));
        free(all);
    }
}

static void command_of(const struct dataset_layout *layout, const char *reader, const char *root,
                       struct text *command)
{
    const char *source = getenv("REHEARSE_SOURCE_ROOT");
    struct text path = {0};
    text_format(command, "python3 '%s/tests/dataset/read_files.py' %s", source ? source : ".", reader);
    for (int64_t i = 0; i < layout->files_train; i++) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        assert_true(dataset_file_path(&file, 0, &path));
        text_format(command, " '%s/%s'", root, path.data);
    }
    text_release(&path);
}

/* `reader` is a function of the script. With `exact`, it finds what was generated; else it looks at what it reads by itself. */
static void check_with(struct dataset_layout *layout, const char *reader, bool exact)
{
    char *root = folder_make();
    struct feed_place folder;
    struct dataset_place place = data_place(&folder, root);
    struct dataset_work work = {.ranks = 1};
    struct dataset_generated generated;
    struct text command = {0}, expected = {0}, found = {0};
    struct error err = {0};
    char line[256];
    if (!dataset_layout_check(layout, &err) || !dataset_generate(layout, &place, &work, &generated, &err))
        fail_msg("%s", err.text);
    expect(layout, &expected);
    command_of(layout, reader, root, &command);
    FILE *out = popen(command.data, "r");
    assert_non_null(out);
    while (fgets(line, sizeof line, out))
        text_add(&found, line);
    int status = pclose(out);
    storage_free(folder.storage);
    folder_remove(root);
    text_release(&command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("# skipped: %s", WEXITSTATUS(status) == 77 ? found.data : "no python3\n");
        text_release(&found);
        text_release(&expected);
        skip();
    }
    assert_int_equal(status, 0);
    if (exact)
        assert_string_equal(found.data, expected.data);
    text_release(&found);
    text_release(&expected);
}

static void check(struct dataset_layout *layout)
{
    layout->files_train = FILES;
    check_with(layout, layout->format->name, true);
}

static void skip_unpacked(void)
{
    if (!dataset_pack_missing())
        return;
    print_message("# skipped: built without %s\n", dataset_pack_missing());
    skip();
}

static void plain(const char *format, enum dataset_element element)
{
    struct dataset_layout layout;
    layout_make(&layout, format, 4800, 3);
    layout.element = element;
    check(&layout);
}

static void numpy_reads_npy(void **state)
{
    (void)state;
    for (int element = 0; element < DATASET_ELEMENTS; element++)
        plain("npy", (enum dataset_element)element);
}

static void numpy_reads_npz(void **state)
{
    (void)state;
    plain("npz", DATASET_UINT8);
    plain("npz", DATASET_FLOAT32);
}

static void numpy_reads_compressed_npz(void **state)
{
    struct dataset_layout layout;
    (void)state;
    skip_unpacked();
    layout_make(&layout, "npz", 400000, 2);
    layout.compression = DATASET_ZIP;
    layout.compressibility = 0.5;
    check(&layout);
}

static void csv_is_read(const char *reader)
{
    struct dataset_layout layout;
    layout_make(&layout, "csv", 4800, 3);
    layout.files_train = FILES;
    check_with(&layout, reader, true);
}

static void compressed_csv_is_read(const char *reader, double bytes)
{
    struct dataset_layout layout;
    skip_unpacked();
    layout_make(&layout, "csv", bytes, 2);
    layout.files_train = FILES;
    layout.compression = DATASET_GZIP;
    check_with(&layout, reader, true);
}

static void the_csv_module_reads_csv(void **state)
{
    (void)state;
    csv_is_read("csv");
}

static void gzip_reads_compressed_csv(void **state)
{
    (void)state;
    compressed_csv_is_read("csv", 100000);
}

static void pandas_reads_csv(void **state)
{
    (void)state;
    csv_is_read("pandas");
}

static void pandas_reads_compressed_csv(void **state)
{
    (void)state;
    compressed_csv_is_read("pandas", 3000); /* a column for each byte takes its time */
}

static void another_reader_reads_tfrecord(void **state)
{
    (void)state;
    plain("tfrecord", DATASET_UINT8);
}

static void numpy_reads_the_index_of_indexed_binary(void **state)
{
    (void)state;
    plain("indexed_binary", DATASET_UINT8);
}

static bool missing(const char *format)
{
    const char *library = dataset_format_find(format)->missing;
    if (library)
        print_message("# skipped: built without %s\n", library);
    return library != NULL;
}

static void h5py_reads_hdf5(void **state)
{
    (void)state;
    if (missing("hdf5"))
        skip();
    plain("hdf5", DATASET_UINT8);
    plain("hdf5", DATASET_FLOAT64);
}

static void h5py_reads_hdf5_of_many_data_sets_in_chunks(void **state)
{
    const int64_t dims[] = {4, 10, 6}, chunk[] = {2, 1, 4, 6};
    struct dataset_layout layout;
    (void)state;
    if (missing("hdf5"))
        skip();
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed && dataset_pack_missing())
            continue;
        layout_make(&layout, "hdf5", 4800, 3);
        layout.dims_count = 3;
        memcpy(layout.dims, dims, sizeof dims);
        layout.chunk_dims_count = 4;
        memcpy(layout.chunk_dims, chunk, sizeof chunk);
        layout.records_per_sample = 2;
        layout.element = DATASET_INT32;
        layout.compression = compressed ? DATASET_GZIP : DATASET_NONE;
        check(&layout);
    }
}

static void pil_reads_png(void **state)
{
    (void)state;
    struct dataset_layout layout;
    if (missing("png"))
        skip();
    layout_make(&layout, "png", 30000, 1);
    check(&layout);
}

static void pil_reads_jpeg(void **state)
{
    struct dataset_layout layout;
    (void)state;
    if (missing("jpeg"))
        skip();
    layout_make(&layout, "jpeg", 30000, 1);
    check_with(&layout, layout.format->name, false);
}

static void the_studys_files_are_read(void **state)
{
    const struct {
        const char *name;
        int64_t total;
    } cases[] = {
        {"unet3d_npy", 200000}, {"bert_tfrecord", 60000}, {"dlrm_binary", 160000}, {"criteo_text", 99999}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct dataset_layout layout;
        dataset_layout_init(&layout);
        layout.format = dataset_format_find(cases[i].name);
        layout.files_train = 1;
        layout.total_bytes = cases[i].total;
        check_with(&layout, layout.format->name, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numpy_reads_npy),
        cmocka_unit_test(numpy_reads_npz),
        cmocka_unit_test(numpy_reads_compressed_npz),
        cmocka_unit_test(the_csv_module_reads_csv),
        cmocka_unit_test(gzip_reads_compressed_csv),
        cmocka_unit_test(pandas_reads_csv),
        cmocka_unit_test(pandas_reads_compressed_csv),
        cmocka_unit_test(another_reader_reads_tfrecord),
        cmocka_unit_test(numpy_reads_the_index_of_indexed_binary),
        cmocka_unit_test(h5py_reads_hdf5),
        cmocka_unit_test(h5py_reads_hdf5_of_many_data_sets_in_chunks),
        cmocka_unit_test(pil_reads_png),
        cmocka_unit_test(pil_reads_jpeg),
        cmocka_unit_test(the_studys_files_are_read),
    };
    return cmocka_run_group_tests_name("dataset python", tests, NULL, NULL);
}
