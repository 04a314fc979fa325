/* The room for the checkpoints of a run. */
#include "feed/space.h"
#include "feed/checkpoint/internal.h"

#include <math.h>
#include <stdlib.h>

/* Counts the part of a checkpoint that this process writes. */
static void count(const struct checkpoint *checkpoint, double *bytes, double *files)
{
    const struct checkpoint_options *options = &checkpoint->options;
    *bytes = *files = 0;
    for (int rank = options->first; rank < options->first + options->count; rank++) {
        *bytes += checkpoint_shards_rank_bytes(&options->shards, rank);
        *files += checkpoint_shards_count(&options->shards, rank);
    }
}

bool checkpoint_fits(const struct checkpoint *checkpoint, struct comm *comm, int64_t saves,
                     checkpoint_replaces *replaces, const void *context, struct error *err)
{
    const struct checkpoint_options *options = &checkpoint->options;
    if (storage_options(options->storage)->method == STORAGE_S3 || saves <= 0)
        return true;
    double one = checkpoint_shards_bytes(&options->shards), bytes, files;
    int64_t max = (int64_t)fmin(one, 0x1p62), replaced = 0;
    count(checkpoint, &bytes, &files);
    char *path = storage_path(options->storage, options->folder, err);
    bool ok = path && (!checkpoint_leads(checkpoint) ||
                       checkpoint_replaced(checkpoint, replaces, context, max, &replaced, err));
    const struct space_need need = {
        .path = path,
        .bytes = (int64_t)fmin(bytes * (double)saves, 0x1p62) - replaced,
        .files = (int64_t)fmin(files * (double)saves, 0x1p62),
    };
    ok = checkpoint_together(checkpoint, ok, "a look at the checkpoints", err) &&
         space_fits(comm, &need, options->stop, err);
    free(path);
    return ok;
}
