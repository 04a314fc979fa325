/* Checkpoints saved and restored, by the same ranks and by others; their figures. */
#include "feed/result/metrics_figures.h"
#include "storage/facts.h"

#include "feed/checkpoint/checkpoints.h"
#include "support/expect.h"
#include "support/sanitizer.h"

/* --- what is saved -------------------------------------------------------------------------------------------- */

static void files_are_those_of_the_shards(void **state)
{
    struct checkpoint_shards shards = small_shards();
    struct checkpoint_shard shard;
    int count = 0;
    (void)state;
    save_once(shards);
    for (int rank = 0; rank < 4; rank++) {
        for (int i = 0; i < checkpoint_shards_count(&shards, rank); i++, count++) {
            char name[160];
            checkpoint_shards_get(&shards, rank, i, &shard);
            snprintf(name, sizeof name, "global_epoch1_step1/%s", shard.name);
            assert_int_equal(size_of(name), shard.bytes);
        }
    }
    assert_int_equal(count, 10);
    assert_int_equal(count_files("global_epoch1_step1"), count + 1);
    assert_true(size_of("global_epoch1_step1/" CHECKPOINT_MANIFEST) > 0);
}

static void restore_with(struct storage_options storage_options)
{
    struct error err;
    storage_options.root = folder.path;
    struct storage *storage = storage_new(&storage_options, &err);
    if (!storage) {
        print_message("without this way: %s\n", err.text);
        return;
    }
    struct checkpoint_options options = options_of(storage, small_shards());
    struct checkpoint *checkpoint = new_checkpoint(&options);
    if (checkpoint_save(checkpoint, &first, NULL, &err))
        require_load(checkpoint, 1);
    else
        require_text(&err, "O_DIRECT"); /* a file system that has none */
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void every_way_restores_what_it_saved(void **state)
{
    (void)state;
    restore_with((struct storage_options){.method = STORAGE_POSIX});
    restore_with((struct storage_options){.method = STORAGE_POSIX, .direct = true});
    restore_with((struct storage_options){.method = STORAGE_URING, .queue_depth = 4});
    restore_with((struct storage_options){.method = STORAGE_MMAP});
}

static void read_bytes(const char *name, char *to, size_t n)
{
    char path[512];
    path_of(path, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(to, 1, n, file), n);
    fclose(file);
}

static void each_checkpoint_has_bytes_of_its_own(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, flat_shards(1, 10000));
    char one[10000], two[10000], again[10000];
    (void)state;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    require_save(checkpoint, 2);
    read_bytes("global_epoch1_step1/" FLAT, one, sizeof one);
    read_bytes("global_epoch1_step2/" FLAT, two, sizeof two);
    assert_memory_not_equal(one, two, sizeof one);
    require_save(checkpoint, 1);
    read_bytes("global_epoch1_step1/" FLAT, again, sizeof again);
    assert_memory_equal(one, again, sizeof one);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void bytes_compress_as_asked(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, flat_shards(1, 8192));
    char bytes[8192], zeros[8192] = {0};
    (void)state;
    options.compressibility = 0.5;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    require_load(checkpoint, 1);
    read_bytes("global_epoch1_step1/" FLAT, bytes, sizeof bytes);
    assert_memory_equal(bytes + 2048, zeros, 2048);
    assert_memory_not_equal(bytes, zeros, 2048);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* --- restores by others --------------------------------------------------------------------------------------- */

static void a_shifted_rank_restores_what_another_saved(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_shards shards = small_shards();
    struct checkpoint_options options = options_of(storage, shards);
    (void)state;
    save_once(shards);
    options.shift = 3;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_load(checkpoint, 1);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(checkpoint->parts[rank].moved.bytes,
                         checkpoint_shards_rank_bytes(&shards, (rank + 3) % 4));
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* The ranks' parts are equal to the eight bytes that are not cut, and each byte is read once. */
static void another_number_of_ranks_shares_all_bytes(void **state)
{
    struct checkpoint_shards saved = small_shards();
    double all = checkpoint_shards_bytes(&saved);
    (void)state;
    save_once(saved);
    for (int ranks = 1; ranks <= 7; ranks += 2) {
        struct storage *storage = new_storage(NULL);
        struct checkpoint_options options = options_of(storage, flat_shards(ranks, (int64_t)all / ranks));
        struct checkpoint *checkpoint = new_checkpoint(&options);
        require_load(checkpoint, 1);
        double sum = 0;
        for (int rank = 0; rank < ranks; rank++) {
            double bytes = (double)checkpoint->parts[rank].moved.bytes;
            assert_true(bytes > all / ranks - 18 && bytes < all / ranks + 18);
            sum += bytes;
        }
        assert_true(sum == all);
        checkpoint_free(checkpoint);
        storage_free(storage);
    }
}

static void processes_save_and_restore_together(void **state)
{
    (void)state;
    for (int load = 0; load < 2; load++) {
        struct process processes[2] = {{.options = options_of(NULL, small_shards()), .load = load},
                                       {.options = options_of(NULL, small_shards()), .load = load}};
        run_processes(processes);
        for (int i = 0; i < 2; i++)
            if (!processes[i].ok)
                fail_msg("%s", processes[i].err.text);
    }
    load_once(options_of(NULL, small_shards()), NULL);
}

/* --- runs and figures ----------------------------------------------------------------------------------------- */

static struct metrics metrics_of(int ranks)
{
    struct metrics metrics;
    struct error err;
    struct metrics_options options = {.accelerators = ranks, .epochs = 1, .au_target = 0.9};
    if (!metrics_init(&metrics, &options, 0, ranks, &err))
        fail_msg("%s", err.text);
    return metrics;
}

static void a_run_is_counted(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_shards shards = small_shards();
    struct checkpoint_options options = options_of(storage, shards);
    struct metrics metrics = metrics_of(4);
    struct metrics_checkpoints figures;
    struct error err;
    (void)state;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    if (!checkpoint_run(checkpoint, &(struct checkpoint_loop){.writes = 2, .reads = 3, .between = 0.001},
                        &metrics, &err))
        fail_msg("%s", err.text);
    assert_int_equal(count_files(""), 2);
    assert_true(metrics_checkpoints(&metrics, METRICS_SAVE, &figures, &err));
    assert_int_equal(figures.count, 2);
    assert_int_equal(figures.bytes, checkpoint_shards_bytes(&shards));
    assert_true(figures.sync > 0 && figures.sync < 1);
    assert_true(metrics_checkpoints(&metrics, METRICS_LOAD, &figures, &err));
    assert_int_equal(figures.count, 3);
    assert_int_equal(figures.bytes, checkpoint_shards_bytes(&shards));
    assert_true(figures.sync == 0);
    metrics_release(&metrics);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* The figures are those of the slowest rank. */
static void metrics_are_those_of_the_parts(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct metrics metrics = metrics_of(4);
    struct metrics_checkpoints figures;
    struct error err;
    int64_t slowest = 0;
    (void)state;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    assert_true(checkpoint_save(checkpoint, &first, &metrics, &err));
    for (int rank = 0; rank < 4; rank++) {
        const struct checkpoint_part *part = &checkpoint->parts[rank];
        assert_int_equal(part->start, checkpoint->parts[0].start);
        assert_true(part->moved.sync > 0 && part->moved.rename > 0 && part->moved.sync_folder > 0 &&
                    part->moved.write > 0);
        slowest = part->end - part->start > slowest ? part->end - part->start : slowest;
    }
    assert_true(metrics_checkpoints(&metrics, METRICS_SAVE, &figures, &err));
    near(figures.duration_max, 1e-9 * (double)slowest);
    metrics_release(&metrics);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void nothing_is_synced_unless_it_is_asked_for(void **state)
{
    struct storage *storage = new_storage(&faulty);
    struct checkpoint_options options = options_of(storage, small_shards());
    (void)state;
    options.sync = false;
    set_faults(0, 0, EIO);
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    assert_int_equal(faults.syncs, 0);
    assert_true(checkpoint->parts[0].moved.sync == 0);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void a_cold_restore_finds_nothing_in_the_cache(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, flat_shards(2, 5000000));
    struct storage_facts facts;
    struct error err;
    (void)state;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    require_load(checkpoint, 1);
    assert_int_equal(checkpoint->origin.resident, 10000000);
    checkpoint_free(checkpoint);
    options.cold = true;
    checkpoint = new_checkpoint(&options);
    require_load(checkpoint, 1);
    if (storage_facts(folder.path, &facts, &err) && strcmp(facts.file_system, "tmpfs") != 0)
        assert_int_equal(checkpoint->origin.resident, 0);
    else
        print_message("skipped: this file system lives in memory\n");
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* --- memory --------------------------------------------------------------------------------------------------- */

/* Of /proc/self/status, kB. */
static long status_of(const char *key)
{
    char line[256];
    long value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/* The most that a child had in memory beyond what it began with, kB, saving and restoring two files of 96 MiB. */
static int peak_of_child(void)
{
    struct error err;
    struct storage *storage = storage_new(&(struct storage_options){.root = folder.path}, &err);
    struct checkpoint_options options = options_of(storage, flat_shards(2, (int64_t)96 << 20));
    options.sync = false;
    FILE *clear = fopen("/proc/self/clear_refs", "w");
    if (!clear || fputs("5", clear) < 0 || fclose(clear) != 0)
        return 77;
    long before = status_of("VmHWM:");
    struct checkpoint *checkpoint = checkpoint_new(&options, &err);
    if (!checkpoint || !checkpoint_save(checkpoint, &first, NULL, &err) ||
        !checkpoint_load(checkpoint, &first, NULL, &err))
        return 1;
    long grown = status_of("VmHWM:") - before;
    return grown < 32768
               ? 0
               : 2; /* two buffers of 4 MiB for each of two threads, and what a process has beside */
}

static void memory_does_not_grow_with_the_state(void **state)
{
    (void)state;
    if (THREAD_SANITIZER) {
        print_message("skipped: the thread sanitizer has memory of its own\n");
        skip();
    }
    pid_t child = fork();
    if (child == 0)
        _exit(peak_of_child());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(files_are_those_of_the_shards),
        CHECKPOINT_TEST(every_way_restores_what_it_saved),
        CHECKPOINT_TEST(each_checkpoint_has_bytes_of_its_own),
        CHECKPOINT_TEST(bytes_compress_as_asked),
        CHECKPOINT_TEST(a_shifted_rank_restores_what_another_saved),
        CHECKPOINT_TEST(another_number_of_ranks_shares_all_bytes),
        CHECKPOINT_TEST(processes_save_and_restore_together),
        CHECKPOINT_TEST(a_run_is_counted),
        CHECKPOINT_TEST(metrics_are_those_of_the_parts),
        CHECKPOINT_TEST(nothing_is_synced_unless_it_is_asked_for),
        CHECKPOINT_TEST(a_cold_restore_finds_nothing_in_the_cache),
        CHECKPOINT_TEST(memory_does_not_grow_with_the_state),
    };
    return cmocka_run_group_tests_name("feed: checkpoints", tests, NULL, NULL);
}
