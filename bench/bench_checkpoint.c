/* What saving and restoring a checkpoint costs, beside dd and fio with as many bytes on the same disk: GB/s, processor
 * seconds per GB, and memory. Medians of the rounds; fio's where it is installed.
 *
 *     bench_checkpoint [FOLDER] */
#include "core/clock.h"
#include "measure.h"

#include "feed/checkpoint/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS  2
#define SIZE   ((int64_t)512 << 20) /* of each rank's file */
#define GB     (RANKS * (double)SIZE / 1e9)
#define ROUNDS 3

static char folder[256];

struct row {
    const char *name;
    const char *command; /* NULL: ours */
    bool load, direct, uring, sync, cold, verify;
    double wall[ROUNDS], processor[ROUNDS]; /* seconds */
};

/* Two jobs at once, as our two ranks. */
#define FIO                                                                                                  \
    "fio --name=peer --thread --numjobs=2 --bs=4M --size=512M --fallocate=none --minimal --group_reporting " \
    "--directory=%s "
#define DD(which) "dd bs=4M count=128 status=none " which

static struct row rows[] = {
    {.name = "save"},
    {.name = "dd from /dev/zero",
     .command = DD("if=/dev/zero of=%1$s/dd0") " & " DD("if=/dev/zero of=%1$s/dd1") "; wait"},
    {.name = "fio", .command = FIO "--rw=write --ioengine=psync"},
    {.name = "save, fsync", .sync = true},
    {.name = "dd, fsync",
     .command =
         DD("if=/dev/zero of=%1$s/dd0 conv=fsync") " & " DD("if=/dev/zero of=%1$s/dd1 conv=fsync") "; wait"},
    {.name = "fio, fsync", .command = FIO "--rw=write --ioengine=psync --end_fsync=1"},
    {.name = "save, direct, fsync", .direct = true, .sync = true},
    {.name = "fio, direct, fsync", .command = FIO "--rw=write --ioengine=psync --direct=1 --end_fsync=1"},
    {.name = "load, warm", .load = true},
    {.name = "load, warm, verified", .load = true, .verify = true},
    {.name = "dd, warm",
     .load = true,
     .command = DD("if=%1$s/dd0 of=/dev/null") " & " DD("if=%1$s/dd1 of=/dev/null") "; wait"},
    {.name = "fio, warm", .load = true, .command = FIO "--rw=read --ioengine=psync --invalidate=0"},
    {.name = "load, cold", .load = true, .cold = true},
    {.name = "fio, cold", .load = true, .command = FIO "--rw=read --ioengine=psync --invalidate=1"},
    {.name = "load, direct", .load = true, .direct = true},
    {.name = "load, io_uring, direct", .load = true, .direct = true, .uring = true},
    {.name = "fio, direct", .load = true, .command = FIO "--rw=read --ioengine=psync --direct=1"},
};

static void fail(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* The longest of the ranks' times: what lies before and after is not a checkpoint's. */
static double duration(const struct checkpoint *checkpoint)
{
    int64_t max = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        const struct checkpoint_part *part = &checkpoint->parts[rank];
        max = part->end - part->start > max ? part->end - part->start : max;
    }
    return 1e-9 * (double)max;
}

static void run_ours(struct row *row, int round)
{
    struct error err;
    struct checkpoint_moment moment = {.epoch = 1, .step = 1};
    struct storage *storage = storage_new(
        &(struct storage_options){
            .root = folder, .direct = row->direct, .method = row->uring ? STORAGE_URING : STORAGE_POSIX},
        &err);
    struct checkpoint_options options = {
        .storage = storage,
        .folder = "bench_checkpoint",
        .shards = {.ranks = RANKS,
                   .split.tensor = 1,
                   .split.pipeline = 1,
                   .split.data = RANKS,
                   .split.zero_stage = 1,
                   .ending = "pt"},
        .count = RANKS,
        .sync = row->sync,
        .cold = row->cold,
        .verify = row->verify,
    };
    options.shards.optimizer = SIZE;
    struct checkpoint *checkpoint = storage ? checkpoint_new(&options, &err) : NULL;
    if (!checkpoint)
        fail(err.text);
    double before = clock_processor();
    if (!(row->load ? checkpoint_load : checkpoint_save)(checkpoint, &moment, NULL, &err))
        fail(err.text);
    row->processor[round] = clock_processor() - before;
    row->wall[round] = duration(checkpoint);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* Bandwidth of fio's terse output, version 3, without its start: KiB/s in field 7 or, of writes, 48. */
static double fio_seconds(const char *output, int field)
{
    for (; output && field > 1; field--)
        output = strchr(output, ';') ? strchr(output, ';') + 1 : NULL;
    double bandwidth = output ? strtod(output, NULL) : 0;
    return bandwidth > 0 ? GB * 1e9 / 1024 / bandwidth : 0;
}

static void run_command(struct row *row, int round)
{
    char command[2048], output[8192] = "";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(command, sizeof command, row->command, folder);
#pragma GCC diagnostic pop
    double before = measure_cpu_children(), started = clock_now();
    FILE *pipe = popen(command, "r");
    if (!pipe || !fgets(output, sizeof output, pipe))
        output[0] = 0;
    bool ok = pipe && pclose(pipe) == 0;
    bool fio = strncmp(row->name, "fio", 3) == 0;
    row->wall[round] = !ok ? 0 : fio ? fio_seconds(output, row->load ? 7 : 48) : clock_now() - started;
    row->processor[round] = measure_cpu_children() - before;
}

/* What is to be warm is read once before. */
static void run_row(struct row *row, int round)
{
    if (strstr(row->name, "warm"))
        (row->command ? run_command : run_ours)(row, round);
    (row->command ? run_command : run_ours)(row, round);
}

int main(int argc, char **argv)
{
    char command[512];
    snprintf(folder, sizeof folder, "%s", argc > 1 ? argv[1] : "/tmp");
    /* Page cache that a virtual machine's host has to find first costs its first user much more. */
    run_ours(&rows[0], 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            run_row(&rows[i], round);
    }
    printf("%d ranks of %lld bytes, medians of %d rounds; most memory %.1f MiB\n\n", RANKS, (long long)SIZE,
           ROUNDS, measure_peak_mib());
    printf("%-24s %8s %10s\n", "", "GB/s", "CPU-s/GB");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double wall = measure_median(rows[i].wall, ROUNDS), cost = measure_median(rows[i].processor, ROUNDS);
        if (wall > 0)
            printf("%-24s %8.2f %10.4f\n", rows[i].name, GB / wall, cost / GB);
        else
            printf("%-24s %8s\n", rows[i].name, "absent");
    }
    snprintf(command, sizeof command, "cd '%s' && rm -rf bench_checkpoint dd0 dd1 peer.*.0", folder);
    return system(command) == 0 ? 0 : 1;
}
