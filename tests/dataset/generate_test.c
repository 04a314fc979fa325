#include "dataset/fixture.h"
#include "dataset/generate.h"

#include "dataset/pack.h"
#include "dataset/sum.h"
#include "dataset/verify.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void verify(struct fixture *f, const struct dataset_layout *layout, struct dataset_verified *verified)
{
    struct error err = {0};
    if (!dataset_verify(layout, &f->place, &f->work, true, verified, &err))
        fail_msg("%s", err.text);
}

static void flip_byte(const struct fixture *f, const char *path, long offset)
{
    char *joined = path_in(f, path);
    FILE *file = fopen(joined, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    int c = fgetc(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    fputc(c ^ 1, file);
    fclose(file);
    free(joined);
}

/* What DLIO's main.py finds in a folder (initialize, for train and valid): it lists it, which fails where there is none; what is
 * in the first entry says whether there are subfolders, which must be as many as the workload has. Returns files. */
static int dlio_lists(const struct fixture *f, const char *kind, int subfolders, const char *extension)
{
    char *folder = path_in(f, kind);
    DIR *open = opendir(folder);
    int files = 0, folders = 0;
    if (!open)
        fail_msg("DLIO cannot list '%s'", folder);
    for (const struct dirent *entry; (entry = readdir(open));) {
        const char *dot = strrchr(entry->d_name, '.');
        char below[512];
        if (entry->d_name[0] == '.')
            continue;
        if (entry->d_type == DT_DIR) {
            folders++;
            snprintf(below, sizeof below, "%s/%s", kind, entry->d_name);
            files += dlio_lists(f, below, 0, extension);
        } else if (dot && strcmp(dot + 1, extension) == 0) {
            files++;
        }
    }
    closedir(open);
    free(folder);
    if (files > 0)
        assert_int_equal(folders, subfolders);
    return files;
}

static void dlio_finds_all_files(void **state)
{
    static const int evals[] = {0, 1, 4}, subfolders[] = {0, 2};
    (void)state;
    for (size_t e = 0; e < 3; e++) {
        for (size_t s = 0; s < 2; s++) {
            struct fixture f;
            struct dataset_layout layout;
            fixture_init(&f, 1);
            layout_make(&layout, "npz", 1000, 1);
            layout.files_train = 5;
            layout.files_eval = evals[e];
            layout.subfolders_train = subfolders[s];
            generate(&f, &layout);
            assert_int_equal(dlio_lists(&f, "train", subfolders[s], "npz"), 5);
            assert_int_equal(dlio_lists(&f, "valid", 0, "npz"), evals[e]);
            fixture_release(&f);
        }
    }
}

static const char *const names[] = {
    "npz", "npy", "csv", "tfrecord", "indexed_binary", "mmap_indexed_binary", "raw", "synthetic"};
#define NAMES (sizeof names / sizeof *names)

static void every_format_is_made_and_verified(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES; n++) {
        struct fixture f;
        struct dataset_layout layout;
        struct dataset_verified verified;
        fixture_init(&f, 2);
        layout_some(&layout, names[n]);
        struct dataset_generated generated = generate(&f, &layout);
        assert_int_equal(generated.files_written, 8 * layout.format->parts);
        assert_int_equal(generated.bytes_written, dataset_layout_bytes(&layout));
        verify(&f, &layout, &verified);
        assert_int_equal(verified.fault_count, 0);
        assert_int_equal(verified.bytes, dataset_layout_bytes(&layout));
        dataset_verified_release(&verified);
        fixture_release(&f);
    }
}

/* The sum of all files, in the order of their numbers. */
static uint32_t sum_of(struct fixture *f, const struct dataset_layout *layout)
{
    uint32_t sum = 0;
    struct text path = {0};
    for (int64_t i = 0; i < dataset_files(layout); i++) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        for (int part = 0; part < dataset_file_parts(&file); part++) {
            assert_true(dataset_file_path(&file, part, &path));
            char *joined = path_in(f, path.data);
            struct blob blob = blob_load(joined);
            sum = dataset_crc32(sum, blob.bytes, blob.length);
            free(blob.bytes);
            free(joined);
        }
    }
    text_release(&path);
    return sum;
}

static void threads_and_ranks_make_the_same(void **state)
{
    struct fixture one, four;
    struct dataset_layout layout;
    (void)state;
    layout_some(&layout, "npz");
    fixture_init(&one, 1);
    fixture_init(&four, 4);
    generate(&one, &layout);
    four.work.ranks = 3;
    for (four.work.rank = 0; four.work.rank < 3; four.work.rank++)
        generate(&four, &layout);
    assert_int_equal(sum_of(&one, &layout), sum_of(&four, &layout));
    fixture_release(&one);
    fixture_release(&four);
}

/* DLIO's ranks write such a file together, in pieces that overlap its end: 3,487,074,768 bytes instead of 2,680,754,176. */
static void ranks_that_share_a_file_write_its_size(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct fixture f;
        struct dataset_layout layout;
        struct dataset_verified verified;
        int64_t written = 0;
        layout_make(&layout, "indexed_binary", 6543, 409);
        layout.files_train = 1;
        fixture_init(&f, 2);
        f.work.ranks = ranks;
        for (f.work.rank = 0; f.work.rank < ranks; f.work.rank++)
            written += generate(&f, &layout).bytes_written;
        assert_int_equal(written, dataset_layout_bytes(&layout));
        char *path = path_in(&f, "train/img_0_of_1.indexed_binary");
        struct stat status;
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_size, 409 * 6543);
        free(path);
        f.work.rank = 0;
        f.work.ranks = 1;
        verify(&f, &layout, &verified);
        assert_int_equal(verified.fault_count, 0);
        dataset_verified_release(&verified);
        fixture_release(&f);
    }
}

/* With fewer files than threads, these make and compare pieces of each. */
static void threads_share_a_large_file(void **state)
{
    const char *const large[] = {"npz", "npy", "indexed_binary", "raw"};
    (void)state;
    for (int n = 0; n < 4; n++) {
        struct fixture one, four;
        struct dataset_layout layout;
        struct dataset_verified verified;
        struct dataset_file file;
        struct text path = {0};
        layout_make(&layout, large[n], 20000003, 1);
        layout.files_train = 1;
        fixture_init(&one, 1);
        fixture_init(&four, 4);
        generate(&one, &layout);
        generate(&four, &layout);
        assert_int_equal(sum_of(&one, &layout), sum_of(&four, &layout));
        dataset_file_init(&file, &layout, 0);
        assert_true(dataset_file_path(&file, 0, &path));
        verify(&four, &layout, &verified);
        assert_int_equal(verified.fault_count, 0);
        dataset_verified_release(&verified);
        flip_byte(&four, path.data, 19000000);
        flip_byte(&four, path.data, 12000000);
        verify(&four, &layout, &verified);
        assert_int_equal(verified.fault_count, 1);
        assert_int_equal(verified.faults[0].kind, DATASET_WRONG_CONTENT);
        assert_int_equal(verified.faults[0].offset, 12000000);
        dataset_verified_release(&verified);
        text_release(&path);
        fixture_release(&one);
        fixture_release(&four);
    }
}

static void a_second_run_writes_what_is_missing(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    (void)state;
    fixture_init(&f, 2);
    layout_some(&layout, "tfrecord");
    generate(&f, &layout);
    uint32_t sum = sum_of(&f, &layout);
    char *gone = path_in(&f, "train/1/img_3_of_6.tfrecord"), *cut = path_in(&f, "valid/img_0_of_2.tfrecord");
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(truncate(cut, 100), 0);
    struct dataset_generated generated = generate(&f, &layout);
    assert_int_equal(generated.files_written, 2);
    assert_int_equal(generated.files_kept, 14);
    assert_int_equal(sum_of(&f, &layout), sum);
    free(gone);
    free(cut);
    fixture_release(&f);
}

/* A place whose 40th write is the last thing the process does. */
struct deadly {
    struct dataset_place to;
    struct dataset_sink sink;
    int writes;
};

static bool deadly_write(void *context, const void *from, size_t n, struct error *err)
{
    struct deadly *deadly = context;
    if (++deadly->writes == 40)
        raise(SIGKILL);
    return deadly->sink.write(deadly->sink.context, from, n, err);
}

static bool deadly_create(void *context, const char *path, int64_t bytes, struct dataset_sink *sink,
                          struct error *err)
{
    struct deadly *deadly = context;
    *sink = (struct dataset_sink){.context = deadly, .write = deadly_write};
    return deadly->to.create(deadly->to.context, path, bytes, &deadly->sink, err);
}

static bool deadly_commit(void *context, struct dataset_sink *sink, struct error *err)
{
    struct deadly *deadly = context;
    (void)sink;
    return deadly->to.commit(deadly->to.context, &deadly->sink, err);
}

static bool deadly_size(void *context, const char *path, int64_t *bytes, struct error *err)
{
    const struct deadly *deadly = context;
    return deadly->to.size(deadly->to.context, path, bytes, err);
}

/* Kills a child in the middle of a file: none under a final name is anything but whole. */
static void a_killed_run_goes_on(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_verified verified;
    int status;
    (void)state;
    fixture_init(&f, 1);
    layout_make(&layout, "npy", 4000000, 1);
    layout.files_train = 6;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct deadly deadly = {.to = f.place};
        const struct dataset_place place = {
            .context = &deadly,
            .create = deadly_create,
            .commit = deadly_commit,
            .size = deadly_size,
        };
        struct dataset_generated generated;
        struct error err;
        struct dataset_work work = {.ranks = 1};
        dataset_generate(&layout, &place, &work, &generated, &err);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct error err;
    assert_true(dataset_verify(&layout, &f.place, &f.work, true, &verified, &err));
    assert_in_range(verified.fault_count, 1, 5);
    for (int i = 0; i < verified.listed; i++)
        assert_int_equal(verified.faults[i].kind, DATASET_MISSING);
    dataset_verified_release(&verified);
    generate(&f, &layout);
    verify(&f, &layout, &verified);
    assert_int_equal(verified.fault_count, 0);
    dataset_verified_release(&verified);
    fixture_release(&f);
}

static void one_flipped_byte_is_found(void **state)
{
    (void)state;
    for (size_t n = 0; n < NAMES - 1; n++) {
        struct fixture f;
        struct dataset_layout layout;
        struct dataset_verified verified;
        struct text path = {0};
        struct dataset_file file;
        fixture_init(&f, 2);
        layout_some(&layout, names[n]);
        generate(&f, &layout);
        dataset_file_init(&file, &layout, 4);
        assert_true(dataset_file_path(&file, 0, &path));
        flip_byte(&f, path.data, 12345);
        verify(&f, &layout, &verified);
        assert_int_equal(verified.fault_count, 1);
        assert_int_equal(verified.faults[0].kind, DATASET_WRONG_CONTENT);
        assert_int_equal(verified.faults[0].number, 4);
        assert_int_equal(verified.faults[0].offset, 12345);
        assert_string_equal(verified.faults[0].path, path.data);
        assert_int_equal(verified.faults[0].expected ^ verified.faults[0].found, 1);
        assert_non_null(strstr(verified.faults[0].text, "byte 12345 is"));
        dataset_verified_release(&verified);
        text_release(&path);
        fixture_release(&f);
    }
}

static void what_is_missing_or_cut_is_named(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_verified verified;
    (void)state;
    fixture_init(&f, 2);
    layout_some(&layout, "indexed_binary");
    generate(&f, &layout);
    char *gone = path_in(&f, "train/1/img_3_of_6.indexed_binary.sz.idx");
    char *cut = path_in(&f, "valid/img_1_of_2.indexed_binary");
    assert_int_equal(unlink(gone), 0);
    assert_int_equal(truncate(cut, 100), 0);
    verify(&f, &layout, &verified);
    assert_int_equal(verified.fault_count, 2);
    assert_int_equal(verified.faults[0].kind, DATASET_MISSING);
    assert_string_equal(verified.faults[0].text, "train/1/img_3_of_6.indexed_binary.sz.idx: missing");
    assert_int_equal(verified.faults[1].kind, DATASET_WRONG_SIZE);
    assert_string_equal(verified.faults[1].text,
                        "valid/img_1_of_2.indexed_binary: 100 bytes, expected 150000");
    dataset_verified_release(&verified);
    free(gone);
    free(cut);
    fixture_release(&f);
}

static void all_faults_are_counted_and_the_first_listed(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_verified verified;
    (void)state;
    fixture_init(&f, 4);
    layout_make(&layout, "raw", 10, 1);
    layout.files_train = 1000;
    verify(&f, &layout, &verified);
    assert_int_equal(verified.fault_count, 1000);
    assert_int_equal(verified.listed, DATASET_MAX_FAULTS);
    for (int i = 0; i < DATASET_MAX_FAULTS; i++)
        assert_int_equal(verified.faults[i].number, i);
    dataset_verified_release(&verified);
    fixture_release(&f);
}

/* Packed with another level, the same samples are other bytes. */
static void another_compressor_is_no_fault(void **state)
{
    const struct {
        const char *name;
        enum dataset_compression compression;
    } cases[] = {{"npz", DATASET_ZIP}, {"csv", DATASET_GZIP}};
    (void)state;
    if (dataset_pack_missing()) {
        print_message("# skipped: built without %s\n", dataset_pack_missing());
        skip();
    }
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        struct dataset_layout layout;
        struct dataset_verified verified;
        fixture_init(&f, 2);
        layout_some(&layout, cases[i].name);
        layout.compression = cases[i].compression;
        layout.compressibility = 0.5;
        layout.compression_level = 9;
        generate(&f, &layout);
        layout.compression_level = 1;
        verify(&f, &layout, &verified);
        assert_int_equal(verified.fault_count, 0);
        dataset_verified_release(&verified);
        layout.seed++;
        verify(&f, &layout, &verified);
        assert_int_equal(verified.fault_count, 8);
        assert_non_null(strstr(verified.faults[0].text, "sample 0, byte"));
        dataset_verified_release(&verified);
        fixture_release(&f);
    }
}

static void another_set_is_not_mixed_in(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_generated generated;
    struct error err = {0};
    (void)state;
    fixture_init(&f, 1);
    layout_some(&layout, "npy");
    generate(&f, &layout);
    layout.seed++;
    assert_false(dataset_generate(&layout, &f.place, &f.work, &generated, &err));
    assert_non_null(strstr(err.text, "another data set"));
    fixture_release(&f);
}

static void the_manifest_is_all_that_verify_needs(void **state)
{
    struct fixture f;
    struct dataset_layout layout, read;
    struct dataset_verified verified;
    struct error err = {0};
    (void)state;
    fixture_init(&f, 2);
    layout_some(&layout, "npz");
    layout.seed = 99;
    generate(&f, &layout);
    assert_true(dataset_manifest_read(&read, &f.place, &err));
    verify(&f, &read, &verified);
    assert_int_equal(verified.files, 8);
    assert_int_equal(verified.fault_count, 0);
    dataset_verified_release(&verified);
    dataset_layout_release(&read);
    fixture_release(&f);
}

static void stop_soon(void *context, int64_t files, int64_t bytes)
{
    (void)bytes;
    if (files >= 3)
        atomic_store((atomic_bool *)context, true);
}

static void a_stopped_run_leaves_whole_files(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_generated generated;
    struct dataset_verified verified;
    atomic_bool stop = false;
    struct error err = {0};
    (void)state;
    fixture_init(&f, 2);
    layout_some(&layout, "npy");
    f.work.stop = &stop;
    f.work.progress = stop_soon;
    f.work.progress_context = &stop;
    assert_false(dataset_generate(&layout, &f.place, &f.work, &generated, &err));
    assert_non_null(strstr(err.text, "stopped"));
    assert_in_range(generated.files_written, 3, 5);
    f.work = (struct dataset_work){.pool = f.work.pool, .ranks = 1};
    verify(&f, &layout, &verified);
    assert_int_equal(verified.fault_count, 8 - generated.files_written);
    dataset_verified_release(&verified);
    fixture_release(&f);
}

/* A limit on the size of files stands for a disk that is full: nothing half written is left. */
static void a_file_that_cannot_be_written_is_named(void **state)
{
    struct fixture f;
    struct dataset_layout layout;
    struct dataset_generated generated;
    struct error err = {0};
    struct rlimit limit, small;
    (void)state;
    fixture_init(&f, 1);
    layout_some(&layout, "npy");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = limit;
    small.rlim_cur = 100000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool made = dataset_generate(&layout, &f.place, &f.work, &generated, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_false(made);
    assert_non_null(strstr(err.text, "train/0/img_0_of_6.npy: cannot write: File too large"));
    char *part = path_in(&f, "train/0/img_0_of_6.npy.part");
    assert_int_equal(access(part, F_OK), -1);
    free(part);
    fixture_release(&f);
}

static void two_writers_of_a_file_are_one_too_many(void **state)
{
    struct fixture f;
    struct dataset_sink first, second;
    struct error err = {0};
    (void)state;
    fixture_init(&f, 1);
    const struct dataset_place *place = &f.place;
    assert_true(place->create(place->context, "train/a.npz", 3, &first, &err));
    assert_false(place->create(place->context, "train/a.npz", 3, &second, &err));
    assert_non_null(strstr(err.text, "train/a.npz: cannot write: another program is writing it"));
    assert_true(first.write(first.context, "abc", 3, &err));
    assert_true(place->commit(place->context, &first, &err));
    assert_true(place->create(place->context, "train/a.npz", 3, &second, &err));
    place->discard(place->context, &second);
    int64_t bytes;
    assert_true(place->size(place->context, "train/a.npz", &bytes, &err));
    assert_int_equal(bytes, 3);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlio_finds_all_files),
        cmocka_unit_test(every_format_is_made_and_verified),
        cmocka_unit_test(threads_and_ranks_make_the_same),
        cmocka_unit_test(ranks_that_share_a_file_write_its_size),
        cmocka_unit_test(threads_share_a_large_file),
        cmocka_unit_test(a_second_run_writes_what_is_missing),
        cmocka_unit_test(a_killed_run_goes_on),
        cmocka_unit_test(one_flipped_byte_is_found),
        cmocka_unit_test(what_is_missing_or_cut_is_named),
        cmocka_unit_test(all_faults_are_counted_and_the_first_listed),
        cmocka_unit_test(another_compressor_is_no_fault),
        cmocka_unit_test(another_set_is_not_mixed_in),
        cmocka_unit_test(the_manifest_is_all_that_verify_needs),
        cmocka_unit_test(a_stopped_run_leaves_whole_files),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(two_writers_of_a_file_are_one_too_many),
    };
    return cmocka_run_group_tests_name("dataset generate", tests, NULL, NULL);
}
