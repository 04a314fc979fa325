/* What the tests of checkpoints share: a folder to save in, small checkpoints, threads that stand for processes, and faults. */
#ifndef REHEARSE_TESTS_FEED_CHECKPOINTS_H
#define REHEARSE_TESTS_FEED_CHECKPOINTS_H

#include "feed/checkpoint/internal.h"

#include "model/folder.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct folder folder;

static inline int make_folder(void **state)
{
    (void)state;
    folder_make(&folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

/* Four ranks in two stages and two replicas, ZeRO 1: six files of layers and four of the optimizer, of several sizes. */
static inline struct checkpoint_shards small_shards(void)
{
    return (struct checkpoint_shards){
        .ranks = 4,
        .split.tensor = 1,
        .split.pipeline = 2,
        .split.data = 2,
        .split.zero_stage = 1,
        .layers = 3,
        .embedding = 40001,
        .head = 40001,
        .block = 30003,
        .norm = 7,
        .model_element = 2,
        .optimizer = 250004,
        .ending = "pt",
    };
}

/* `ranks` ranks with one file each. */
static inline struct checkpoint_shards flat_shards(int ranks, int64_t bytes)
{
    struct checkpoint_shards shards = {
        .ranks = ranks, .split.tensor = 1, .split.pipeline = 1, .split.data = ranks};
    shards.split.zero_stage = 1;
    shards.optimizer = bytes;
    shards.ending = "pt";
    return shards;
}

static inline struct checkpoint_options options_of(struct storage *storage, struct checkpoint_shards shards)
{
    return (struct checkpoint_options){
        .storage = storage,
        .folder = "saved",
        .shards = shards,
        .count = (int)shards.ranks,
        .seed = 7,
        .sync = true,
        .verify = true,
    };
}

static const struct checkpoint_moment first = {.epoch = 1, .step = 1, .block = 1};

static inline struct storage *new_storage(const struct storage_calls *calls)
{
    struct error err;
    struct storage *storage =
        storage_new(&(struct storage_options){.root = folder.path, .calls = calls}, &err);
    if (!storage)
        fail_msg("%s", err.text);
    return storage;
}

static inline struct checkpoint *new_checkpoint(const struct checkpoint_options *options)
{
    struct error err;
    struct checkpoint *checkpoint = checkpoint_new(options, &err);
    if (!checkpoint)
        fail_msg("%s", err.text);
    return checkpoint;
}

static inline void require_save(struct checkpoint *checkpoint, int64_t step)
{
    struct error err;
    if (!checkpoint_save(checkpoint, &(struct checkpoint_moment){.epoch = 1, .step = step}, NULL, &err))
        fail_msg("%s", err.text);
}

static inline void require_load(struct checkpoint *checkpoint, int64_t step)
{
    struct error err;
    if (!checkpoint_load(checkpoint, &(struct checkpoint_moment){.epoch = 1, .step = step}, NULL, &err))
        fail_msg("%s", err.text);
}

static inline void require_text(const struct error *err, const char *expected)
{
    if (!strstr(err->text, expected))
        fail_msg("%s; expected: %s", err->text, expected);
}

static inline void refuse_load(struct checkpoint *checkpoint, const char *expected)
{
    struct error err;
    assert_false(checkpoint_load(checkpoint, &first, NULL, &err));
    require_text(&err, expected);
}

static inline void path_of(char path[512], const char *name)
{
    snprintf(path, 512, "%s/saved/%s", folder.path, name);
}

static inline int64_t size_of(const char *name)
{
    char path[512];
    struct stat info;
    path_of(path, name);
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* Files in a folder, hidden ones and *.part too; -1: there is no such folder. */
static inline int count_files(const char *name)
{
    char path[512];
    path_of(path, name);
    DIR *all = opendir(path);
    int count = 0;
    for (const struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all))
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (all)
        closedir(all);
    return all ? count : -1;
}

static inline void save_once(struct checkpoint_shards shards)
{
    struct storage *storage = new_storage(NULL);
    struct checkpoint_options options = options_of(storage, shards);
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

/* Loads with these options what save_once has saved; NULL: it succeeds. */
static inline void load_once(struct checkpoint_options options, const char *expected)
{
    struct storage *storage = new_storage(NULL);
    options.storage = storage;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    if (expected)
        refuse_load(checkpoint, expected);
    else
        require_load(checkpoint, 1);
    checkpoint_free(checkpoint);
    storage_free(storage);
}

#define FLAT "zero_pp_rank_0_mp_rank_0_optim_states.pt" /* of flat_shards, rank 0 */

/* --- several processes ---------------------------------------------------------------------------------------- */

/* Threads stand for processes. */
struct group {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    int members, arrived;
    bool all, last;
};

static inline bool agree(void *context, bool ok, const char *what, struct error *err)
{
    struct group *group = context;
    pthread_mutex_lock(&group->lock);
    group->all = (group->arrived++ == 0 || group->all) && ok;
    if (group->arrived == group->members) {
        group->last = group->all;
        group->arrived = 0;
    }
    pthread_mutex_unlock(&group->lock);
    pthread_barrier_wait(&group->barrier);
    bool all = group->last;
    pthread_barrier_wait(&group->barrier);
    return all || (ok && error_set(err, ERROR_FAILED, "another process failed before %s", what));
}

struct process {
    struct checkpoint_options options;
    const struct storage_calls *calls;
    bool load, ok;
    struct error err;
};

static inline void *run_process(void *context)
{
    struct process *process = context;
    struct storage *storage =
        storage_new(&(struct storage_options){.root = folder.path, .calls = process->calls}, &process->err);
    process->options.storage = storage;
    struct checkpoint *checkpoint = checkpoint_new(&process->options, &process->err);
    process->ok =
        (process->load ? checkpoint_load : checkpoint_save)(checkpoint, &first, NULL, &process->err);
    checkpoint_free(checkpoint);
    storage_free(storage);
    return NULL;
}

static inline void run_processes(struct process processes[2])
{
    struct group group = {.members = 2, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[2];
    pthread_barrier_init(&group.barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        processes[i].options.first = 2 * i;
        processes[i].options.count = 2;
        processes[i].options.peers = (struct checkpoint_peers){&group, agree};
        assert_int_equal(pthread_create(&threads[i], NULL, run_process, &processes[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&group.barrier);
}

/* --- faults --------------------------------------------------------------------------------------------------- */

struct faults {
    pthread_mutex_t lock;
    int writes, syncs;         /* so far */
    int fail_write, fail_sync; /* at this one, from 1; 0: never */
    int error;                 /* 0: the program is killed */
};

static inline int fault(struct faults *faults, int *count, int at)
{
    pthread_mutex_lock(&faults->lock);
    bool fails = ++*count == at;
    pthread_mutex_unlock(&faults->lock);
    if (fails && faults->error == 0)
        raise(SIGKILL);
    return fails ? faults->error : 0;
}

static inline ssize_t faulty_pwrite(void *context, int fd, const void *from, size_t length, off_t offset)
{
    struct faults *faults = context;
    errno = fault(faults, &faults->writes, faults->fail_write);
    return errno ? -1 : pwrite(fd, from, length, offset);
}

static inline int faulty_fsync(void *context, int fd)
{
    struct faults *faults = context;
    errno = fault(faults, &faults->syncs, faults->fail_sync);
    return errno ? -1 : fsync(fd);
}

static struct faults faults;
static const struct storage_calls faulty = {
    .context = &faults, .pwrite = faulty_pwrite, .fsync = faulty_fsync};

static inline void set_faults(int write, int sync, int error)
{
    faults = (struct faults){
        .lock = PTHREAD_MUTEX_INITIALIZER, .fail_write = write, .fail_sync = sync, .error = error};
}

#define CHECKPOINT_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

#endif
