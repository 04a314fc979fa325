#include "feed/space.h"

#include "core/vector.h"
#include "storage/space.h"
#include "storage/storage.h"

#include <stdlib.h>
#include <string.h>

/* The message of one process. */
struct share {
    struct storage_space space;
    int64_t bytes, files;
};

struct sums {
    struct share *shares; /* one of each file system */
    size_t count, capacity;
};

/* Adds without overflow; a share is negative if more is removed than written. */
static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool add_share(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    struct sums *sums = context;
    struct share share;
    (void)rank;
    if (length != sizeof share)
        return error_set(err, ERROR_FAILED, "another host runs another version of rehearse");
    memcpy(&share, bytes, sizeof share);
    for (size_t i = 0; i < sums->count; i++) {
        struct share *sum = &sums->shares[i];
        if (sum->space.system != share.space.system)
            continue;
        sum->bytes = add(sum->bytes, share.bytes);
        sum->files = add(sum->files, share.files);
        sum->space.bytes = lesser(sum->space.bytes, share.space.bytes);
        sum->space.files = lesser(sum->space.files, share.space.files);
        return true;
    }
    return VECTOR_ADD(sums->shares, sums->count, sums->capacity, share) || error_memory(err);
}

static bool check(const struct sums *sums, const char *path, struct error *err)
{
    struct error why;
    for (size_t i = 0; i < sums->count; i++) {
        const struct share *sum = &sums->shares[i];
        if (!storage_space_check(&sum->space, sum->bytes, sum->files, &why))
            return error_set(err, why.kind, "%s: %s", path, why.text);
    }
    return true;
}

static bool fits(struct comm *comm, const struct share *mine, const char *path, struct error *err)
{
    struct sums sums = {0};
    bool fit = comm_gather(comm, mine, sizeof *mine, add_share, &sums, "the free space", err);
    fit = comm_agree(comm, fit && check(&sums, path, err), "the free space", err);
    free(sums.shares);
    return fit;
}

bool space_fits(struct comm *comm, const struct space_need *need, const atomic_bool *stop, struct error *err)
{
    struct share mine = {.bytes = need->bytes, .files = need->files};
    struct error why = {0};
    int64_t bytes, files;
    if (storage_is_s3(need->path))
        return true;
    if (!comm_agree(comm, storage_space(need->path, &mine.space, err), "a look at the free space", err))
        return false;
    if (!need->resumes)
        return fits(comm, &mine, need->path, err);
    if (fits(comm, &mine, need->path, &why))
        return true;
    bool looked = storage_space_used(need->path, stop, &bytes, &files, err);
    mine.bytes -= bytes / comm_size(comm);
    mine.files -= files / comm_size(comm);
    return comm_agree(comm, looked, "a look at what is there", err) && fits(comm, &mine, need->path, err);
}

bool space_for_layout(struct comm *comm, const struct dataset_layout *layout, const char *root,
                      const struct dataset_work *work, struct error *err)
{
    const struct dataset_need files = dataset_need(layout, work);
    const struct space_need need = {root, files.bytes, files.files, true};
    return space_fits(comm, &need, work->stop, err);
}
