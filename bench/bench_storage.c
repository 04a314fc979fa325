/* What reading files costs: processor seconds per GB and GB/s, of every method and of plain read() and fio on the
 * same files, one after the other in each round. Medians of the rounds; fio's where it is installed.
 *
 *     bench_storage [FOLDER] */
#include "core/clock.h"
#include "measure.h"

#include "storage/facts.h"
#include "storage/storage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILES  5
#define SIZE   ((int64_t)146600628) /* of UNET3D's samples */
#define ROUNDS 3
#define PATH   600

/* New files that are synced at their end, as ours are. */
#define FIO_WRITE                                                                                            \
    "--rw=write --filesize=146600628 --fallocate=none --create_on_open=1 --end_fsync=1 --unlink=1"

static char folder[PATH - 100];

struct cost {
    double wall, processor; /* seconds for all files */
};

struct row {
    const char *name;
    bool direct, let_go, write;
    int method;      /* of enum storage_kind; -1: plain read() */
    int64_t request; /* of plain read(): 0 is a whole file */
    const char *fio; /* its options */
    struct cost costs[ROUNDS];
};

static struct row rows[] = {
    {.name = "read(), 1 MiB", .method = -1, .request = 1 << 20},
    {.name = "read(), whole file", .method = -1},
    {.name = "posix", .method = STORAGE_POSIX},
    {.name = "posix, let go", .method = STORAGE_POSIX, .let_go = true},
    {.name = "uring", .method = STORAGE_URING},
    {.name = "uring, let go", .method = STORAGE_URING, .let_go = true},
    {.name = "mmap", .method = STORAGE_MMAP},
    {.name = "mmap, let go", .method = STORAGE_MMAP, .let_go = true},
    {.name = "fio psync, 1 MiB", .fio = "--ioengine=psync --bs=1M"},
    {.name = "read(), 1 MiB", .method = -1, .request = 1 << 20, .direct = true},
    {.name = "read(), whole file", .method = -1, .direct = true},
    {.name = "posix", .method = STORAGE_POSIX, .direct = true},
    {.name = "posix, let go", .method = STORAGE_POSIX, .direct = true, .let_go = true},
    {.name = "uring", .method = STORAGE_URING, .direct = true},
    {.name = "uring, let go", .method = STORAGE_URING, .direct = true, .let_go = true},
    {.name = "fio psync, 1 MiB", .fio = "--ioengine=psync --bs=1M", .direct = true},
    {.name = "fio io_uring, 16 x 1 MiB", .fio = "--ioengine=io_uring --iodepth=16 --bs=1M", .direct = true},
    {.name = "fio the same, registered",
     .fio = "--ioengine=io_uring --fixedbufs=1 --iodepth=16 --bs=1M",
     .direct = true},
    {.name = "write and fsync", .method = STORAGE_POSIX, .write = true},
    {.name = "fio the same, 1 MiB", .fio = "--ioengine=psync --bs=1M", .write = true},
    {.name = "write and fsync", .method = STORAGE_POSIX, .write = true, .direct = true},
    {.name = "fio the same, 8 MiB", .fio = "--ioengine=psync --bs=8M", .write = true, .direct = true},
};

static void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static void name_of(char path[PATH], int name, int i)
{
    snprintf(path, PATH, "%s/bench_storage_%d_%d", folder, name, i);
}

/* In the pieces that fio writes, too. */
static void write_file(struct storage *storage, const char *path, const char *from)
{
    struct error err;
    int64_t chunk = storage_options(storage)->direct ? 8 << 20 : 1 << 20;
    struct storage_writer *writer =
        storage_create(storage, path, &(struct storage_write_options){.sync = true}, &err);
    for (int64_t at = 0; writer && at < SIZE; at += chunk)
        if (!storage_write(writer, from + at, SIZE - at < chunk ? (size_t)(SIZE - at) : (size_t)chunk, &err))
            fail(err.text);
    if (!writer || !storage_commit(writer, NULL, &err))
        fail(err.text);
}

/* What is read: NAME 0. What is written and removed again: NAME 1. */
static void write_files(struct storage *storage, const char *from, int name)
{
    for (int i = 0; i < FILES; i++) {
        char path[PATH];
        name_of(path, name, i);
        write_file(storage, path, from);
    }
}

static void remove_files(int name)
{
    for (int i = 0; i < FILES; i++) {
        char path[PATH];
        name_of(path, name, i);
        unlink(path);
    }
}

static void plain(const struct row *row, char *to)
{
    size_t request = row->request ? (size_t)row->request : (size_t)(SIZE + STORAGE_SLACK) / 4096 * 4096;
    for (int i = 0; i < FILES; i++) {
        char path[PATH];
        name_of(path, 0, i);
        int fd = open(path, O_RDONLY | (row->direct ? O_DIRECT : 0));
        int64_t sum = 0;
        for (ssize_t got = 1; fd >= 0 && sum < SIZE && got > 0; sum += got > 0 ? got : 0)
            got = read(fd, to, request);
        if (sum != SIZE)
            fail("plain read() failed");
        close(fd);
    }
}

static void ours(const struct row *row, struct storage_reader *reader, char *to)
{
    struct error err;
    for (int i = 0; i < FILES; i++) {
        char path[PATH];
        name_of(path, 0, i);
        struct storage_file *file = storage_open(reader, path, &err);
        struct storage_extent all = {.length = SIZE};
        if (!row->let_go) {
            all.to = to;
            all.room = SIZE + STORAGE_SLACK;
        }
        if (!file || !storage_read(reader, file, &all, 1, &err))
            fail(err.text);
        storage_close(file);
    }
}

/* Bandwidth and processor time of fio's terse output, version 3: KiB/s in field 7 or, of writes, 48; % in 88, 89. */
static struct cost parse_fio(char *output, int bandwidth)
{
    struct cost cost = {0};
    double part = 0;
    int field = 1;
    char *rest = NULL;
    for (char *text = strtok_r(output, ";", &rest); text; text = strtok_r(NULL, ";", &rest), field++) {
        if (field == bandwidth)
            cost.wall = (double)FILES * SIZE / (1024 * strtod(text, NULL));
        if (field == 88 || field == 89)
            part += strtod(text, NULL) / 100;
    }
    cost.processor = part * cost.wall;
    return cost;
}

static struct cost fio(const struct row *row)
{
    char command[8 * PATH], output[8192];
    int length =
        snprintf(command, sizeof command,
                 "fio --name=b --thread --invalidate=0 --file_service_type=sequential --direct=%d --minimal "
                 "%s %s --filename=",
                 row->direct, row->write ? FIO_WRITE : "--rw=read", row->fio);
    for (int i = 0; i < FILES; i++) {
        char path[PATH];
        name_of(path, row->write, i);
        length += snprintf(command + length, sizeof command - (size_t)length, "%s%s", i ? ":" : "", path);
    }
    FILE *pipe = popen(command, "r");
    struct cost cost = {0};
    if (pipe && fgets(output, sizeof output, pipe))
        cost = parse_fio(output, row->write ? 48 : 7);
    if (pipe)
        pclose(pipe);
    return cost;
}

static struct cost median_cost(const struct row *row)
{
    double wall[ROUNDS], processor[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        wall[i] = row->costs[i].wall;
        processor[i] = row->costs[i].processor;
    }
    return (struct cost){measure_median(wall, ROUNDS), measure_median(processor, ROUNDS)};
}

static void run_row(struct row *row, int round)
{
    struct error err;
    struct storage *storage = NULL;
    struct storage_reader *reader = NULL;
    remove_files(1);
    if (row->fio) {
        row->costs[round] = fio(row);
        return;
    }
    if (row->method >= 0) {
        storage = storage_new(
            &(struct storage_options){.method = (enum storage_kind)row->method, .direct = row->direct}, &err);
        reader = storage ? storage_reader_new(storage, &err) : NULL;
        if (!reader)
            fail(err.text);
    }
    int64_t size = SIZE + STORAGE_SLACK;
    char *own = reader ? NULL : storage_buffer_new(size, &err);
    char *to = reader ? storage_reader_buffer(reader, 0, size, &err) : own;
    if (!to)
        fail(err.text);
    /* Touched before the clock starts, as a reader's buffers are in their second use. */
    memset(to, 1, (size_t)size);
    /* And so is the page cache: memory that a virtual machine's host has taken back costs its first user much more. */
    if (row->write && !row->direct) {
        write_files(storage, to, 1);
        remove_files(1);
    }
    double wall = clock_now(), processor = clock_processor();
    if (row->write)
        write_files(storage, to, 1);
    else if (reader)
        ours(row, reader, to);
    else
        plain(row, to);
    row->costs[round].processor = clock_processor() - processor;
    row->costs[round].wall = clock_now() - wall;
    storage_buffer_free(own, size);
    storage_reader_free(reader);
    storage_free(storage);
}

/* Against the first row of its kind: read() of 1 MiB at a time, or our own writing. */
static const struct row *peer_of(const struct row *row)
{
    const struct row *peer = rows;
    while (peer->direct != row->direct || peer->write != row->write)
        peer++;
    return peer;
}

static void print_rows(void)
{
    double gb = (double)FILES * SIZE / 1e9;
    printf("%d files of %" PRId64 " bytes, medians of %d rounds\n\n", FILES, SIZE, ROUNDS);
    printf("%-10s %-26s %8s %10s %14s %10s\n", "", "", "GB/s", "CPU-s/GB", "GB/s per core", "CPU, ratio");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cost cost = median_cost(&rows[i]);
        const char *group = rows[i].direct ? "direct" : "page cache";
        if (cost.wall > 0)
            printf("%-10s %-26s %8.2f %10.4f %14.1f %10.2f\n", group, rows[i].name, gb / cost.wall,
                   cost.processor / gb, gb / cost.processor,
                   cost.processor / median_cost(peer_of(&rows[i])).processor);
        else
            printf("%-10s %-26s %8s\n", group, rows[i].name, "absent");
    }
}

int main(int argc, char **argv)
{
    struct error err;
    snprintf(folder, sizeof folder, "%s", argc > 1 ? argv[1] : "/tmp");
    struct storage *storage = storage_new(&(struct storage_options){.method = STORAGE_POSIX}, &err);
    char *bytes = storage_buffer_new(SIZE, &err);
    if (!storage || !bytes)
        fail(err.text);
    for (int64_t i = 0; i < SIZE; i++)
        bytes[i] = (char)((uint64_t)i * 2654435761U >> 13);
    write_files(storage, bytes, 0);
    storage_buffer_free(bytes, SIZE);
    storage_free(storage);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            run_row(&rows[i], round);
    }
    remove_files(1);
    print_rows();
    remove_files(0);
    return 0;
}
