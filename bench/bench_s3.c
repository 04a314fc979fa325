/* What objects of S3 cost: GB/s and processor seconds per GB of reading and writing them, beside curl that gets the
 * same object from the same server. Rows take turns; medians of the rounds.
 *
 *     REHEARSE_S3_SERVER=ceph scripts/s3-server BUILD/bench_s3
 *
 * Takes the server from AWS_ENDPOINT_URL and REHEARSE_S3_BUCKET, writes and removes "bench/object" there. */
#include "core/clock.h"
#include "measure.h"

#include "storage/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SIZE   ((int64_t)128 << 20)
#define MIB    ((int64_t)1 << 20)
#define ROUNDS 3

/* The SHA-256 of no bytes. curl 7.88 does not say it of itself, and is refused. */
#define CURL                                                                                                 \
    "curl -s -f --noproxy '*' -o /dev/null --user \"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY\" "            \
    "--aws-sigv4 \"aws:amz:${AWS_REGION:-us-east-1}:s3\" -H 'x-amz-content-sha256: "                         \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' "                                     \
    "\"$AWS_ENDPOINT_URL/$REHEARSE_S3_BUCKET/bench/object\""

struct cost {
    double wall, processor; /* s */
};

struct row {
    const char *name;
    const char *command; /* NULL: ours */
    bool write, let_go;
    int64_t request;
    int depth;
    struct cost costs[ROUNDS];
};

static struct row rows[] = {
    {.name = "get  curl, one connection", .command = CURL},
    {.name = "get  1 x 128 MiB, let go", .let_go = true, .request = 128 * MIB, .depth = 1},
    {.name = "get  1 x 8 MiB, let go", .let_go = true, .request = 8 * MIB, .depth = 1},
    {.name = "get  4 x 8 MiB, let go", .let_go = true, .request = 8 * MIB, .depth = 4},
    {.name = "get  4 x 8 MiB", .request = 8 * MIB, .depth = 4},
    {.name = "get  16 x 8 MiB", .request = 8 * MIB, .depth = 16},
    {.name = "get  16 x 1 MiB", .request = MIB, .depth = 16},
    {.name = "put  parts of 8 MiB, 1 at a time", .write = true, .request = 8 * MIB, .depth = 1},
    {.name = "put  parts of 8 MiB, 4 at a time", .write = true, .request = 8 * MIB, .depth = 4},
};

#define ROWS ((int)(sizeof rows / sizeof *rows))

static void check(bool ok, const struct error *err)
{
    if (!ok) {
        fprintf(stderr, "bench_s3: %s\n", err->text);
        exit(1);
    }
}

static struct storage *open_storage(int64_t request, int depth)
{
    static char root[200];
    struct error err;
    snprintf(root, sizeof root, "s3://%s/bench", getenv("REHEARSE_S3_BUCKET"));
    struct storage_options options = {
        .method = STORAGE_S3, .root = root, .request = request, .queue_depth = depth};
    struct storage *storage = storage_new(&options, &err);
    check(storage, &err);
    return storage;
}

static void write_object(struct storage *storage, const char *bytes)
{
    struct error err;
    struct storage_writer *writer = storage_create(storage, "object", NULL, &err);
    check(writer, &err);
    for (int64_t at = 0; at < SIZE; at += 8 * MIB)
        check(storage_write(writer, bytes, (size_t)(8 * MIB), &err), &err);
    check(storage_commit(writer, NULL, &err), &err);
}

static void read_object(struct storage *storage, char *to)
{
    struct error err;
    struct storage_reader *reader = storage_reader_new(storage, &err);
    check(reader, &err);
    struct storage_file *file = storage_open(reader, "object", &err);
    check(file, &err);
    struct storage_extent all = {.length = SIZE, .to = to};
    check(storage_read(reader, file, &all, 1, &err), &err);
    storage_close(file);
    storage_reader_free(reader);
}

static struct cost run(const struct row *row, char *buffer)
{
    struct error err = {.text = "curl fails"};
    double (*cpu)(void) = row->command ? measure_cpu_children : clock_processor;
    double start = clock_now(), used = cpu();
    if (row->command) {
        check(system(row->command) == 0, &err);
    } else {
        struct storage *storage = open_storage(row->request, row->depth);
        if (row->write)
            write_object(storage, buffer);
        else
            read_object(storage, row->let_go ? NULL : buffer);
        storage_free(storage);
    }
    return (struct cost){clock_now() - start, cpu() - used};
}

static struct cost median(const struct row *row)
{
    double walls[ROUNDS], processors[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        walls[i] = row->costs[i].wall;
        processors[i] = row->costs[i].processor;
    }
    return (struct cost){measure_median(walls, ROUNDS), measure_median(processors, ROUNDS)};
}

int main(void)
{
    struct error err;
    char *buffer = storage_buffer_new(SIZE, &err);
    check(buffer, &err);
    if (!getenv("REHEARSE_S3_BUCKET") || !getenv("AWS_ENDPOINT_URL")) {
        fprintf(stderr, "bench_s3: no server; run it by scripts/s3-server\n");
        return 1;
    }
    setenv("no_proxy", "*", 1);
    memset(buffer, 'x', (size_t)SIZE);
    struct storage *storage = open_storage(0, 0);
    write_object(storage, buffer);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < ROWS; i++)
            rows[i].costs[round] = run(&rows[i], buffer);
    check(storage_remove(storage, "object", &err), &err);
    storage_free(storage);
    printf("an object of %lld bytes, medians of %d rounds\n\n%-36s %6s %9s %11s\n", (long long)SIZE, ROUNDS,
           "", "GB/s", "CPU-s/GB", "CPU, ratio");
    for (int i = 0; i < ROWS; i++) {
        struct cost cost = median(&rows[i]), first = median(&rows[0]);
        double gigabytes = (double)SIZE / 1e9;
        printf("%-36s %6.2f %9.4f", rows[i].name, gigabytes / cost.wall, cost.processor / gigabytes);
        if (!rows[i].write)
            printf(" %11.2f", cost.processor / first.processor);
        printf("\n");
    }
    storage_buffer_free(buffer, SIZE);
    return 0;
}
