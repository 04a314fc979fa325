/* blkparse's text: "  8,0    3        1     0.000000000   697  D   W 223490 + 8 [kjournald]". Q: queued,
 * D: issued, C: complete; device and sector identify a request. Times count from the start of the trace,
 * whose moment is not in the text. */
#include "core/hash.h"
#include "core/vector.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES INT64_C(512)

struct request {
    int64_t queued_ns, issued_ns, process; /* times TRACE_NONE: not seen */
};

struct blkparse {
    struct hash_names names; /* of {device, sector} */
    struct request *requests;
    size_t capacity;
};

static struct request *request_of(struct blkparse *blkparse, int64_t device, int64_t sector)
{
    bool added;
    int64_t key[2] = {device, sector};
    uint32_t id = hash_names_id(&blkparse->names, key, sizeof key, &added);
    if (id == 0)
        return NULL;
    if (!VECTOR_ROOM(blkparse->requests, blkparse->capacity, (size_t)id + 1))
        return NULL;
    if (added)
        blkparse->requests[id] = (struct request){TRACE_NONE, TRACE_NONE, 0};
    return &blkparse->requests[id];
}

/* "RA", "WS", "FWFS", "D": reads, writes, discards, flushes. */
static enum trace_op op_of(const char *flags)
{
    if (*flags == 'D')
        return TRACE_OP_DISCARD;
    if (*flags == 'F' && flags[1] != 'W')
        return TRACE_OP_FLUSH;
    return strcspn(flags, " ") > strcspn(flags, "W") ? TRACE_OP_WRITE : TRACE_OP_READ;
}

static bool complete(struct import *import, struct request *request, struct trace_block *block,
                     int64_t time_ns, struct error *err)
{
    if (request->issued_ns == TRACE_NONE && request->queued_ns == TRACE_NONE)
        return import_malformed(import, "a completion without its request");
    int64_t issued = request->issued_ns == TRACE_NONE ? request->queued_ns : request->issued_ns;
    block->start_ns = request->queued_ns == TRACE_NONE ? issued : request->queued_ns;
    block->queue_ns = request->queued_ns == TRACE_NONE ? TRACE_NONE : issued - request->queued_ns;
    block->service_ns = time_ns - issued;
    block->process = request->process;
    *request = (struct request){TRACE_NONE, TRACE_NONE, 0};
    return import_block(import, block, err);
}

static bool take_line(struct import *import, const char *line, struct error *err)
{
    struct trace_block block = {.queue_ns = TRACE_NONE};
    const char *at = scan_blanks(line), *disk = at;
    int64_t major, minor, cpu, sequence, seconds, pid, blocks;
    if ((unsigned)(*at - '0') >= 10) /* the summary at the end */
        return true;
    if (!scan_digits(&at, &major) || !scan_char(&at, ',') || !scan_digits(&at, &minor))
        return import_malformed(import, line);
    size_t length = (size_t)(at - disk);
    if (!scan_number(&at, &cpu) || !scan_number(&at, &sequence) ||
        (at = scan_blanks(at), !scan_digits(&at, &seconds)) || *at != '.' || seconds < 0 ||
        seconds > 1000 * DAY_S)
        return import_malformed(import, line);
    int64_t time_ns = seconds * SECOND_NS + scan_fraction(&at);
    if (!scan_number(&at, &pid))
        return import_malformed(import, line);
    const char *action = scan_blanks(at), *flags = scan_blanks(scan_word(action));
    at = scan_word(flags);
    if (!strchr("QDC", *action) || !*action || !scan_is_end(action + 1))
        return true;                        /* merges, plugs, messages */
    bool is_bare = *scan_blanks(at) == '['; /* no sectors: a flush */
    if (!scan_number(&at, &block.sector) || (at = scan_blanks(at), !scan_char(&at, '+')) ||
        !scan_number(&at, &blocks) || blocks < 0 || blocks > INT64_MAX / SECTOR_BYTES)
        return (*action != 'C' && is_bare) || op_of(flags) == TRACE_OP_FLUSH ||
               import_malformed(import, line);
    struct request *request =
        request_of(import->state, (int64_t)((uint64_t)major << 32 | (uint32_t)minor), block.sector);
    if (!request)
        return error_memory(err);
    block.op = op_of(flags);
    block.bytes = blocks * SECTOR_BYTES;
    block.disk = trace_disk(import->writer, disk, length);
    if (*action == 'C')
        return complete(import, request, &block, time_ns, err);
    const char *name = strchr(at, '['), *stop = name ? strrchr(name, ']') : NULL;
    *(*action == 'Q' ? &request->queued_ns : &request->issued_ns) = time_ns;
    /* the process that queued it, not the one that ran when it was issued */
    if (*action == 'Q' || !request->process)
        request->process = stop ? import_process(import, pid, TRACE_NONE, name + 1, (size_t)(stop - name) - 1)
                                : import_process(import, pid, TRACE_NONE, "", 0);
    return true;
}

static bool read_blkparse(struct import *import, struct error *err)
{
    struct blkparse blkparse = {.capacity = 0};
    import->state = &blkparse;
    import_note(import, "times count from the start of the trace, not UTC");
    bool done = import_each_line(import, take_line, err);
    hash_names_release(&blkparse.names);
    free(blkparse.requests);
    return done;
}

const struct import_format import_blkparse = {.words = "blkparse", .read = read_blkparse};
