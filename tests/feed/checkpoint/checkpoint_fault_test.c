/* What is left of a checkpoint when something fails, and what a restore finds wrong. */
#include "feed/checkpoint/checkpoints.h"

/* Of what a save calls when nothing fails. */
static void count_calls(int *writes, int *syncs)
{
    struct storage *storage = new_storage(&faulty);
    struct checkpoint_options options = options_of(storage, small_shards());
    set_faults(0, 0, EIO);
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    *writes = faults.writes;
    *syncs = faults.syncs;
    checkpoint_free(checkpoint);
    storage_free(storage);
    folder_remove(&folder);
    folder_make(&folder);
}

static void fail_at(int write, int sync, int error)
{
    struct storage *storage = new_storage(&faulty);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct error err;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    set_faults(write, sync, error);
    assert_false(checkpoint_save(checkpoint, &first, NULL, &err));
    require_text(&err, strerror(error));
    require_text(&err, "global_epoch1_step1");
    assert_true(count_files("global_epoch1_step1") <= 0);
    set_faults(0, 0, EIO);
    require_save(checkpoint, 1);
    require_load(checkpoint, 1);
    checkpoint_free(checkpoint);
    storage_free(storage);
    folder_remove(&folder);
    folder_make(&folder);
}

static void a_full_disk_leaves_nothing(void **state)
{
    int writes, syncs;
    (void)state;
    count_calls(&writes, &syncs);
    assert_int_equal(writes, 12);
    for (int at = 1; at <= writes; at++)
        fail_at(at, 0, ENOSPC);
}

static void a_sync_that_fails_is_an_error(void **state)
{
    int writes, syncs;
    (void)state;
    count_calls(&writes, &syncs);
    assert_int_equal(syncs, 2 * 12);
    for (int at = 1; at <= syncs; at++)
        fail_at(0, at, EIO);
}

static void one_process_that_fails_ends_all(void **state)
{
    struct process processes[2] = {{.options = options_of(NULL, small_shards())},
                                   {.options = options_of(NULL, small_shards()), .calls = &faulty}};
    (void)state;
    set_faults(2, 0, ENOSPC);
    run_processes(processes);
    assert_false(processes[0].ok);
    assert_false(processes[1].ok);
    require_text(&processes[0].err, "another process");
    require_text(&processes[1].err, strerror(ENOSPC));
    assert_int_equal(count_files("global_epoch1_step1"), -1);
}

static void a_name_that_is_taken_is_an_error(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, flat_shards(1, 1000));
    struct error err;
    (void)state;
    folder_write(&folder, "saved/global_epoch1_step1/" FLAT "/mine", "mine");
    struct checkpoint *checkpoint = new_checkpoint(&options);
    assert_false(checkpoint_save(checkpoint, &first, NULL, &err));
    require_text(&err, FLAT);
    assert_int_equal(size_of("global_epoch1_step1/" FLAT "/mine"), 4);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* A child saves and is killed at a write, or at a sync. */
static void kill_at(int write, int sync)
{
    pid_t child = fork();
    if (child == 0) {
        struct error err;
        set_faults(write, sync, 0);
        struct storage *storage =
            storage_new(&(struct storage_options){.root = folder.path, .calls = &faulty}, &err);
        struct checkpoint_options options = options_of(storage, small_shards());
        struct checkpoint *checkpoint = storage ? checkpoint_new(&options, &err) : NULL;
        if (checkpoint)
            checkpoint_save(checkpoint, &first, NULL, &err);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* A file that has its name is whole. */
static void require_no_half(void)
{
    struct checkpoint_shards shards = small_shards();
    struct checkpoint_shard shard;
    for (int rank = 0; rank < 4; rank++) {
        for (int i = 0; i < checkpoint_shards_count(&shards, rank); i++) {
            char name[160];
            checkpoint_shards_get(&shards, rank, i, &shard);
            snprintf(name, sizeof name, "global_epoch1_step1/%s", shard.name);
            assert_true(size_of(name) == -1 || size_of(name) == shard.bytes);
        }
    }
}

static void killed(int write, int sync, bool complete, bool clean)
{
    kill_at(write, sync); /* before there are threads here, which a child would not have */
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct checkpoint *checkpoint = new_checkpoint(&options);
    struct error err;
    require_no_half();
    if (complete)
        require_load(checkpoint, 1);
    else
        refuse_load(checkpoint, "incomplete checkpoint");
    if (clean) {
        assert_true(checkpoint_clean(checkpoint, &err));
        assert_true(count_files("global_epoch1_step1") <= (complete ? 11 : 1));
        assert_int_equal(size_of("global_epoch1_step1/" CHECKPOINT_UNFINISHED), -1);
    }
    require_save(checkpoint, 1);
    require_load(checkpoint, 1);
    assert_int_equal(count_files("global_epoch1_step1"), 11);
    checkpoint_free(checkpoint);
    storage_free(storage);
    folder_remove(&folder);
    folder_make(&folder);
}

static void a_killed_save_is_no_checkpoint(void **state)
{
    int writes, syncs;
    (void)state;
    count_calls(&writes, &syncs);
    for (int at = 1; at <= writes; at++)
        killed(at, 0, false, at % 2);
    for (int at = 1; at <= syncs; at++) /* the last one is of the folder, when the manifest has its name */
        killed(0, at, at == syncs, at % 2);
}

static void a_killed_replacement_is_no_checkpoint(void **state)
{
    (void)state;
    for (int at = 1; at <= 13; at += 3) {
        save_once(small_shards());
        kill_at(at, 0); /* write 1 is the list of what is to be removed; until then the old one is whole */
        if (at == 1)
            load_once(options_of(NULL, small_shards()), NULL);
        else
            load_once(options_of(NULL, small_shards()), "incomplete checkpoint");
    }
}

static void cleaning_keeps_what_is_not_ours(void **state)
{
    (void)state;
    kill_at(5, 0);
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct checkpoint *checkpoint = new_checkpoint(&options);
    struct error err;
    folder_write(&folder, "saved/global_epoch1_step1/notes.txt", "mine");
    folder_write(&folder, "saved/global_epoch2_step1/model_0_model_states.pt", "of another program");
    require_save(checkpoint, 2);
    assert_true(checkpoint_clean(checkpoint, &err));
    assert_int_equal(count_files("global_epoch1_step1"), 1);
    assert_int_equal(count_files("global_epoch2_step1"), 1);
    require_load(checkpoint, 2);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void there_may_be_nothing_to_clean(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct error err;
    (void)state;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    assert_true(checkpoint_clean(checkpoint, &err));
    assert_int_equal(count_files(""), -1);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void it_ends_when_it_is_told_to(void **state)
{
    static atomic_bool stop;
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct error err;
    (void)state;
    options.stop = &stop;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 2);
    atomic_store(&stop, true);
    assert_false(checkpoint_save(checkpoint, &first, NULL, &err));
    require_text(&err, "global_epoch1_step1: stopped");
    assert_int_equal(count_files("global_epoch1_step1"), -1);
    assert_false(
        checkpoint_run(checkpoint, &(struct checkpoint_loop){.writes = 1, .between = 60}, NULL, &err));
    require_text(&err, "stopped");
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* --- what a restore finds wrong ------------------------------------------------------------------------------- */

static void change_byte(const char *name, long offset)
{
    char path[512];
    path_of(path, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, offset, SEEK_SET);
    int byte = getc(file);
    fseek(file, offset, SEEK_SET);
    putc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

#define OPTIMIZER "zero_pp_rank_1_mp_rank_1_optim_states.pt"

static void a_wrong_byte_is_named(void **state)
{
    (void)state;
    save_once(small_shards());
    change_byte("global_epoch1_step1/" OPTIMIZER, 54321);
    change_byte("global_epoch1_step1/" OPTIMIZER, 54330);
    load_once(options_of(NULL, small_shards()), OPTIMIZER ": byte 54321 is not what was saved: expected 0x");
    load_once(options_of(NULL, flat_shards(3, 1340052 / 3)), OPTIMIZER ": byte 54321 ");
    struct checkpoint_options trusting = options_of(NULL, small_shards());
    trusting.verify = false;
    load_once(trusting, NULL);
}

static void files_of_another_size_are_named(void **state)
{
    char path[512];
    (void)state;
    save_once(small_shards());
    path_of(path, "global_epoch1_step1/" OPTIMIZER);
    assert_int_equal(truncate(path, 250003), 0);
    load_once(options_of(NULL, small_shards()),
              OPTIMIZER ": truncated: 250003 bytes, but checkpoint.json says 250004");
    assert_int_equal(truncate(path, 250005), 0);
    load_once(options_of(NULL, small_shards()), OPTIMIZER ": too long: 250005 bytes");
    assert_int_equal(unlink(path), 0);
    load_once(options_of(NULL, small_shards()), OPTIMIZER);
    load_once(options_of(NULL, small_shards()), strerror(ENOENT));
}

static const char good[] = "{\"format\": \"rehearse-checkpoint/1\", \"epoch\": 1, \"step\": 1, \"seed\": 7, "
                           "\"compressibility\": 0, \"layout\": \"raw\", \"ranks\": 1, \"tensor\": 1, "
                           "\"pipeline\": 1, \"data\": 1, \"zero_stage\": 1, \"bytes\": 8, \"shards\": ["
                           "{\"name\": \"a.pt\", \"kind\": \"model\", \"rank\": 0, \"bytes\": 8}]}";

/* The good one with a part replaced. */
static void refuse_manifest(const char *old, const char *new, const char *expected)
{
    char text[1024];
    const char *at = strstr(good, old);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old));
    folder_write(&folder, "saved/global_epoch1_step1/checkpoint.json", text);
    load_once(options_of(NULL, flat_shards(1, 8)), expected);
}

static void a_wrong_manifest_is_named(void **state)
{
    (void)state;
    refuse_manifest("a.pt", "a.pt", "/a.pt"); /* it is good, and there is no such file */
    refuse_manifest("checkpoint/1", "checkpoint/2", "checkpoint.json:1:");
    refuse_manifest("\"epoch\": 1", "\"epoch\": 2", "for epoch 2, step 1");
    refuse_manifest("a.pt", "../a.pt", "is not a shard name");
    refuse_manifest("a.pt", "checkpoint.json", "is not a shard name");
    refuse_manifest("\"rank\": 0", "\"rank\": 1", "rank 1, but there are 1 ranks");
    refuse_manifest("\"bytes\": 8}", "\"bytes\": 9}", "more than the 8 bytes");
    refuse_manifest("\"bytes\": 8}", "\"bytes\": 7}", "the shards have 7 bytes in all, expected 8");
    refuse_manifest("\"bytes\": 8}", "\"bytes\": -8}", "shards[0].bytes");
    refuse_manifest("\"model\"", "\"weights\"", "expected 'model' or 'optimizer'");
    refuse_manifest("\"seed\": 7, ", "", "seed");
    refuse_manifest("}]}", "", "checkpoint.json:1:");
}

static void wrong_options_are_refused(void **state)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, small_shards());
    struct error err;
    (void)state;
    options.first = 1; /* and four ranks from there */
    assert_null(checkpoint_new(&options, &err));
    require_text(&err, "ranks 1 to 4 of 4");
    options.first = 0;
    options.compressibility = 1.5;
    assert_null(checkpoint_new(&options, &err));
    require_text(&err, "compressibility");
    options.compressibility = 0;
    options.shift = -1;
    assert_null(checkpoint_new(&options, &err));
    require_text(&err, "shift");
    storage_free(storage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(a_full_disk_leaves_nothing),
        CHECKPOINT_TEST(a_sync_that_fails_is_an_error),
        CHECKPOINT_TEST(one_process_that_fails_ends_all),
        CHECKPOINT_TEST(a_name_that_is_taken_is_an_error),
        CHECKPOINT_TEST(a_killed_save_is_no_checkpoint),
        CHECKPOINT_TEST(a_killed_replacement_is_no_checkpoint),
        CHECKPOINT_TEST(cleaning_keeps_what_is_not_ours),
        CHECKPOINT_TEST(there_may_be_nothing_to_clean),
        CHECKPOINT_TEST(it_ends_when_it_is_told_to),
        CHECKPOINT_TEST(a_wrong_byte_is_named),
        CHECKPOINT_TEST(files_of_another_size_are_named),
        CHECKPOINT_TEST(a_wrong_manifest_is_named),
        CHECKPOINT_TEST(wrong_options_are_refused),
    };
    return cmocka_run_group_tests_name("feed: checkpoints that fail", tests, NULL, NULL);
}
