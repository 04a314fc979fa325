/* What making and verifying data takes of a processor, format by format: MB (10^6 bytes of file) per CPU-second, beside a plain
 * write() of as many bytes and what the generators of DLIO (main e1919d7) and of the VLDB study were measured to take (one process on a Xeon; their own
 * processor, so an indication). Medians; page cache included, the disk is not waited for. */
#include "core/clock.h"
#include "measure.h"

#include "dataset/generate.h"
#include "dataset/verify.h"
#include "dataset/writer.h"
#include "feed/place.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNS  3
#define BYTES 268435456.0

static const struct {
    const char *name, *label;
    double record_bytes;
    int samples, files;
    enum dataset_compression compression;
    double dlio; /* MB per CPU-second; 0: not measured */
} cases[] = {
    {"npz", "npz (UNET3D)", 134217728, 1, 2, DATASET_NONE, 88},
    {"npz", "npz, deflated", 16777216, 1, 4, DATASET_ZIP, 0},
    {"npy", "npy", 134217728, 1, 2, DATASET_NONE, 0},
    {"csv", "csv", 65536, 256, 2, DATASET_NONE, 0},
    {"tfrecord", "tfrecord (ResNet-50)", 114660, 1171, 2, DATASET_NONE, 0},
    {"tfrecord", "tfrecord (BERT)", 2500, 53687, 2, DATASET_NONE, 0},
    {"indexed_binary", "indexed binary (DLRM)", 655360, 205, 2, DATASET_NONE, 156},
    {"raw", "raw", 134217728, 1, 2, DATASET_NONE, 0},
    {"hdf5", "hdf5 (CosmoFlow)", 2828486, 1, 95, DATASET_NONE, 84},
    {"hdf5", "hdf5, deflated", 2828486, 1, 10, DATASET_GZIP, 0},
    {"png", "png (ResNet-50)", 114660, 1, 1171, DATASET_NONE, 0},
    {"jpeg", "jpeg (ResNet-50)", 114660, 1, 1171, DATASET_NONE, 29},
    {"unet3d_npy", "unet3d_npy", 65536, 1, 2, DATASET_NONE, 114},
    {"bert_tfrecord", "bert_tfrecord", 65536, 50000, 2, DATASET_NONE, 2.4},
    {"dlrm_binary", "dlrm_binary", 65536, 1677722, 1, DATASET_NONE, 99},
    {"criteo_text", "criteo_text", 65536, 500000, 2, DATASET_NONE, 0},
};

static int remove_one(const char *path, const struct stat *state, int type, struct FTW *walk)
{
    (void)state;
    (void)type;
    return walk->level > 0 ? remove(path) : 0; /* all but the folder itself */
}

static bool swallow(void *context, const void *from, size_t n, struct error *err)
{
    (void)from;
    (void)err;
    *(int64_t *)context += (int64_t)n;
    return true;
}

static void die(const struct error *err)
{
    fprintf(stderr, "bench_dataset: %s\n", err->text);
    exit(1);
}

/* The bytes alone, without a file. */
static double make_only(const struct dataset_layout *layout)
{
    int64_t bytes = 0;
    struct error err = {0};
    const struct dataset_sink sink = {.context = &bytes, .write = swallow};
    double started = clock_processor();
    for (int64_t i = 0; i < dataset_files(layout); i++) {
        struct dataset_file file;
        dataset_file_init(&file, layout, i);
        for (int part = 0; part < dataset_file_parts(&file); part++)
            if (!dataset_write(&file, part, NULL, &sink, &err))
                die(&err);
    }
    return (double)bytes / 1e6 / (clock_processor() - started);
}

static double make_files(const struct dataset_layout *layout, struct storage *folder, double *verify)
{
    struct feed_place at = {.storage = folder};
    struct dataset_place place = feed_place_of(&at);
    struct dataset_work work = {.ranks = 1};
    struct dataset_generated generated;
    struct dataset_verified verified;
    struct error err = {0};
    double started = clock_processor();
    if (!dataset_generate(layout, &place, &work, &generated, &err))
        die(&err);
    double made = clock_processor();
    if (!dataset_verify(layout, &place, &work, true, &verified, &err))
        die(&err);
    double seconds = clock_processor() - made;
    if (verified.fault_count > 0) {
        fprintf(stderr, "bench_dataset: %s\n", verified.faults[0].text);
        exit(1);
    }
    *verify = (double)verified.bytes / 1e6 / seconds;
    dataset_verified_release(&verified);
    nftw(storage_options(folder)->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return (double)generated.bytes_written / 1e6 / (made - started);
}

static double write_plain(const struct storage *folder)
{
    static char buffer[262144];
    char path[4096];
    snprintf(path, sizeof path, "%s/plain", storage_options(folder)->root);
    memset(buffer, 1, sizeof buffer);
    double started = clock_processor(), bytes = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (ssize_t n = 1; fd >= 0 && bytes < BYTES && n > 0; bytes += (double)n)
        n = write(fd, buffer, sizeof buffer);
    if (fd < 0 || close(fd) != 0 || bytes < BYTES) {
        fprintf(stderr, "bench_dataset: cannot write '%s'\n", path);
        exit(1);
    }
    double seconds = clock_processor() - started;
    unlink(path);
    return bytes / 1e6 / seconds;
}

static void run_case(size_t i, struct storage *folder)
{
    struct dataset_layout layout;
    struct error err = {0};
    double only[RUNS], files[RUNS], verified[RUNS], plain[RUNS];
    dataset_layout_init(&layout);
    layout.format = dataset_format_find(cases[i].name);
    layout.record_bytes = cases[i].record_bytes;
    layout.samples_per_file = cases[i].samples;
    layout.files_train = cases[i].files;
    layout.compression = cases[i].compression;
    if (!dataset_layout_check(&layout, &err))
        die(&err);
    for (int run = 0; run < RUNS; run++) {
        only[run] = make_only(&layout);
        plain[run] = write_plain(folder);
        files[run] = make_files(&layout, folder, &verified[run]);
    }
    double made = measure_median(files, RUNS), bare = measure_median(plain, RUNS);
    printf("%-22s %8.0f %8.0f %8.0f %8.0f %7.2f ", cases[i].label, measure_median(only, RUNS), made,
           measure_median(verified, RUNS), bare, made / bare);
    if (cases[i].dlio > 0)
        printf("%8.0f %6.1f\n", cases[i].dlio, made / cases[i].dlio);
    else
        printf("%8s %6s\n", "-", "-");
    fflush(stdout);
    dataset_layout_release(&layout);
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    char root[4096];
    struct error err;
    snprintf(root, sizeof root, "%s/rehearse-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(root)) {
        fprintf(stderr, "bench_dataset: cannot make a folder in '%s'\n", base ? base : "/tmp");
        return 1;
    }
    struct storage *folder = storage_new(&(struct storage_options){.root = root}, &err);
    if (!folder)
        die(&err);
    printf("MB per CPU-second      %8s %8s %8s %8s %7s %8s %6s\n", "bytes", "files", "verify", "write()",
           "files", "DLIO", "times");
    printf("%-22s %8s %8s %8s %8s %7s %8s %6s\n", "", "alone", "", "", "", "/write", "", "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(i, folder);
    storage_free(folder);
    return rmdir(root) == 0 ? 0 : 1;
}
