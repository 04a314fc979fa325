#include "feed/result/steps.h"

#include "core/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not every file system can make one without a name. */
static int open_unnamed(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char *path;
    if (asprintf(&path, "%s/.steps.XXXXXX", folder) < 0)
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    free(path);
    return fd;
}

bool result_steps_init(struct result_steps *steps, const char *folder, int first, int count,
                       struct error *err)
{
    *steps = (struct result_steps){.fd = -1, .first = first, .count = count};
    steps->tracks = calloc((size_t)count, sizeof *steps->tracks);
    if (!steps->tracks)
        return error_memory(err);
    steps->fd = open_unnamed(folder);
    if (steps->fd >= 0)
        return true;
    free(steps->tracks);
    steps->tracks = NULL;
    return error_set(err, ERROR_FAILED, "%s: cannot make a file for step times: %s", folder, strerror(errno));
}

void result_steps_release(struct result_steps *steps)
{
    for (int i = 0; steps->tracks && i < steps->count; i++)
        free(steps->tracks[i].chunks);
    free(steps->tracks);
    steps->tracks = NULL;
    if (steps->fd >= 0)
        close(steps->fd);
    steps->fd = -1;
}

static bool write_chunk(int fd, const char *data, size_t length, int64_t offset, struct error *err)
{
    while (length > 0) {
        ssize_t written = pwrite(fd, data, length, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set(err, ERROR_FAILED, "cannot store step times: %s", strerror(errno));
        data += written;
        offset += written;
        length -= (size_t)written;
    }
    return true;
}

static bool flush(struct result_steps *steps, struct result_track *track, struct error *err)
{
    size_t chunk = (size_t)(track->count / RESULT_STEPS_CHUNK) - 1;
    if (!VECTOR_ROOM(track->chunks, track->capacity, chunk + 1))
        return error_memory(err);
    track->chunks[chunk] = atomic_fetch_add(&steps->end, (int64_t)sizeof track->last);
    return write_chunk(steps->fd, (const char *)track->last, sizeof track->last, track->chunks[chunk], err);
}

bool result_steps_add(struct result_steps *steps, int accelerator, const struct metrics_step *step,
                      struct error *err)
{
    struct result_track *track = &steps->tracks[accelerator - steps->first];
    track->last[track->count % RESULT_STEPS_CHUNK] = (struct result_step){
        .start = step->start,
        .load = step->load,
        .process = step->load + step->copy + step->compute,
        .compute = step->compute,
        .barrier = step->barrier,
    };
    track->count++;
    return track->count % RESULT_STEPS_CHUNK != 0 || flush(steps, track, err);
}

int64_t result_steps_count(const struct result_steps *steps, int accelerator)
{
    return steps->tracks[accelerator - steps->first].count;
}

/* At most those that lie in one chunk; how many is the result, negative when they cannot be read. */
static int64_t read_some(const struct result_steps *steps, const struct result_track *track, int64_t index,
                         int64_t count, struct result_step *to)
{
    int64_t chunk = index / RESULT_STEPS_CHUNK, place = index % RESULT_STEPS_CHUNK;
    int64_t some = RESULT_STEPS_CHUNK - place < count ? RESULT_STEPS_CHUNK - place : count;
    size_t length = (size_t)some * sizeof *to;
    if (chunk == track->count / RESULT_STEPS_CHUNK) {
        memcpy(to, track->last + place, length);
        return some;
    }
    ssize_t got;
    do
        got = pread(steps->fd, to, length, track->chunks[chunk] + place * (int64_t)sizeof *to);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)length ? some : -1;
}

bool result_steps_read(const struct result_steps *steps, int accelerator, int64_t index, int64_t count,
                       struct result_step *to, struct error *err)
{
    const struct result_track *track = &steps->tracks[accelerator - steps->first];
    if (index < 0 || count < 0 || index > track->count - count)
        return error_set(err, ERROR_FAILED, "steps %lld to %lld of accelerator %d were not kept",
                         (long long)index, (long long)(index + count - 1), accelerator);
    for (int64_t done = 0; done < count;) {
        int64_t some = read_some(steps, track, index + done, count - done, to + done);
        if (some < 0)
            return error_set(err, ERROR_FAILED, "cannot read back step times: %s", strerror(errno));
        done += some;
    }
    return true;
}
