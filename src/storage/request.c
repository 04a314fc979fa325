/* Cuts extents into reads of the system.
 *
 * Without O_DIRECT (alignment 1) every byte goes straight to where it is wanted. With it, a read is of whole
 * blocks into memory that is aligned like them. So an extent is read in place where its memory is aligned and
 * has room for the blocks around it; else its whole blocks are, where memory and file are aligned alike, and
 * its ends pass through a block buffer; else all of it does. */
#include "storage/method.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static int64_t down(int64_t value, int64_t alignment)
{
    return value - value % alignment;
}

static int64_t up(int64_t value, int64_t alignment)
{
    return down(value + alignment - 1, alignment);
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t end_of(const struct storage_extent *extent)
{
    return extent->offset + extent->length;
}

/* Returns whether byte `offset` of the file would lie on a boundary of memory, too. */
static bool aligned_at(const struct storage_cut *cut, const struct storage_extent *extent, int64_t offset)
{
    uintptr_t place = (uintptr_t)extent->to + (uintptr_t)(offset - extent->offset);
    return place % (uintptr_t)cut->alignment == 0;
}

/* Returns whether all of it is read in place, with the blocks around it. */
static bool in_place(const struct storage_cut *cut, const struct storage_extent *extent)
{
    if (cut->alignment == 1)
        return true;
    int64_t blocks = up(end_of(extent), cut->alignment) - down(extent->offset, cut->alignment);
    int64_t room = extent->room > 0 ? extent->room : extent->length;
    return (uintptr_t)extent->to % (uintptr_t)cut->alignment == 0 && room >= blocks;
}

/* Returns whether whole blocks begin here that can be read in place. */
static bool body(const struct storage_cut *cut, const struct storage_extent *extent)
{
    return cut->next % cut->alignment == 0 && end_of(extent) - cut->next >= cut->alignment &&
           aligned_at(cut, extent, cut->next);
}

/* Goes to the first byte of the next extent that has any. */
static void enter(struct storage_cut *cut)
{
    while (cut->index < cut->count && cut->extents[cut->index].length == 0)
        cut->index++;
    if (cut->index == cut->count)
        return;
    struct storage_extent *extent = &cut->extents[cut->index];
    cut->next = extent->offset;
    if (extent->to && in_place(cut, extent))
        extent->at = extent->to + extent->offset % cut->alignment;
}

struct storage_cut storage_cut_start(struct storage_extent *extents, int count, int64_t alignment,
                                     int64_t in_place_bytes, int64_t passing)
{
    struct storage_cut cut = {
        .extents = extents,
        .count = count,
        .alignment = alignment,
        .in_place = up(in_place_bytes, alignment),
        .passing = up(passing, alignment),
    };
    enter(&cut);
    return cut;
}

bool storage_cut_more(struct storage_cut *cut)
{
    return cut->index < cut->count;
}

bool storage_cut_passes(const struct storage_cut *cut)
{
    const struct storage_extent *extent = &cut->extents[cut->index];
    return !extent->to || (!in_place(cut, extent) && !body(cut, extent));
}

struct storage_request storage_cut_next(struct storage_cut *cut, char *memory)
{
    struct storage_extent *extent = &cut->extents[cut->index];
    int64_t alignment = cut->alignment, end = end_of(extent);
    struct storage_request request = {.offset = down(cut->next, alignment), .passing = memory != NULL};
    int64_t stop = up(end, alignment);
    if (request.passing) {
        request.target = memory;
        stop = min(stop, request.offset + cut->passing);
        if (extent->to && request.offset < cut->next && aligned_at(cut, extent, request.offset + alignment))
            stop = request.offset + alignment; /* whole blocks follow */
    } else {
        if (!in_place(cut, extent))
            stop = down(end, alignment);
        stop = min(stop, request.offset + cut->in_place);
        request.target = extent->at + (request.offset - extent->offset);
    }
    int64_t last = min(end, stop);
    request.length = stop - request.offset;
    request.need = last - request.offset;
    if (request.passing && extent->to) {
        request.copy_to = extent->to + (cut->next - extent->offset);
        request.copy_from = cut->next - request.offset;
        request.copy_length = last - cut->next;
    }
    cut->next = last;
    if (last == end) {
        cut->index++;
        enter(cut);
    }
    return request;
}

static void finish(struct storage_request *request, struct storage_reader *reader)
{
    request->done = request->need;
    if (!request->copy_to)
        return;
    memcpy(request->copy_to, request->target + request->copy_from, (size_t)request->copy_length);
    reader->counts.copied += request->copy_length;
}

bool storage_request_got(struct storage_request *request, struct storage_reader *reader,
                         const struct storage_file *file, int64_t got, struct error *err)
{
    reader->counts.requests++;
    if (got == -EINTR)
        return true;
    int64_t before = request->done;
    if (got < 0)
        return error_set(err, ERROR_FAILED, "%s: cannot read %" PRId64 " bytes at byte %" PRId64 ": %s",
                         file->path, request->length - before, request->offset + before, strerror((int)-got));
    reader->counts.read += got;
    request->done += got;
    if (request->done >= request->need) {
        finish(request, reader);
        return true;
    }
    /* A direct read goes on at a block; one that ended within its first block has met the end of the file. */
    int64_t there = request->done;
    request->done = down(there, file->alignment);
    if (request->done > before)
        return true;
    return error_set(err, ERROR_INPUT,
                     "%s: truncated: expected %" PRId64 " bytes at byte %" PRId64 ", found %" PRId64,
                     file->path, request->need, request->offset, there);
}
