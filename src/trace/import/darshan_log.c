/* Darshan's log: a header, then regions packed by zlib: the job, the names of its records, and one for each module.
 *
 * The header tells version, byte order and where each region lies; the version tells which modules it knows, in which order. A
 * region of a module is one stream of zlib for each process that wrote. Read are DXT_POSIX and DXT_MPIIO, which hold each
 * call, and without them the counters of POSIX and STDIO. Layout as darshan-log-format.h of Darshan 3.0 to 3.5 has it. */
#include "core/features.h"
#include "core/hash.h"
#include "core/vector.h"
#include "trace/import/darshan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>
#endif

#define MAGIC          INT64_C(6567223)
#define NEWEST_VERSION 341               /* of the log, as 100 * major + minor */
#define MAX_LOG        ((size_t)1 << 31) /* bytes */
#define MAX_REGION     ((size_t)1 << 33) /* bytes, unpacked */
#define MAX_RATIO      1100              /* of zlib's packing is 1032 */
#define OLD_MODULES    16                /* before version 3.41 */
#define NEW_MODULES    64
#define HOST_BYTES     64
#define JOB_TEXT       1024 /* metadata, before the command line */

struct bytes {
    char *data;
    size_t length, capacity;
};

struct log {
    struct import *import;
    struct bytes file;
    int version;
    bool swaps;
    struct darshan darshan;
    struct hash_map names; /* id of Darshan: id of the file in the store */
};

static int64_t integer_at(const struct log *log, const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return (int64_t)(log->swaps ? __builtin_bswap64(value) : value);
}

static uint32_t short_at(const struct log *log, const char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return log->swaps ? __builtin_bswap32(value) : value;
}

static double real_at(const struct log *log, const char *at)
{
    int64_t bits = integer_at(log, at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* "3.41" as 341; 0: no version */
static int version_of(const char *start)
{
    if (start[0] < '0' || start[0] > '9' || start[1] != '.' || start[2] < '0' || start[2] > '9' ||
        start[3] < '0' || start[3] > '9' || start[4])
        return 0;
    return (start[0] - '0') * 100 + (start[2] - '0') * 10 + start[3] - '0';
}

bool import_is_darshan(const char *start, size_t length)
{
    struct log log = {.swaps = false};
    if (length < 16 || version_of(start) == 0)
        return false;
    bool native = integer_at(&log, start + 8) == MAGIC;
    log.swaps = true;
    return native || integer_at(&log, start + 8) == MAGIC;
}

static bool cut_off(struct log *log, const char *what, struct error *err)
{
    return error_set(err, ERROR_INPUT, "%s: the log of Darshan is cut off or damaged: %s", log->import->name,
                     what);
}

static bool read_file(struct log *log, struct error *err)
{
    struct bytes *file = &log->file;
    const char *bytes;
    size_t length;
    do {
        if (!import_lines_raw(log->import->lines, &bytes, &length, err))
            return false;
        if (file->length + length > MAX_LOG)
            return error_set(err, ERROR_INPUT, "%s: a log of Darshan of more than %zu bytes",
                             log->import->name, MAX_LOG);
        if (length > 0 && !VECTOR_ROOM(file->data, file->capacity, file->length + length))
            return error_memory(err);
        if (length > 0)
            memcpy(file->data + file->length, bytes, length);
        file->length += length;
    } while (length > 0);
    return true;
}

#ifdef REHEARSE_HAVE_ZLIB
/* Unpacks the streams of one region, one behind the other. */
static bool inflate_streams(struct log *log, z_stream *z, struct bytes *to, const char *what,
                            struct error *err)
{
    size_t most = (size_t)z->avail_in * MAX_RATIO + 4096;
    int code = Z_OK;
    while (z->avail_in > 0 || code == Z_OK) {
        if (to->length > MAX_REGION || to->length > most)
            return cut_off(log, what, err);
        if (!VECTOR_ROOM(to->data, to->capacity, to->length + 65536))
            return error_memory(err);
        z->next_out = (Bytef *)to->data + to->length;
        z->avail_out = 65536;
        code = inflate(z, Z_NO_FLUSH);
        to->length += 65536 - z->avail_out;
        if (code == Z_MEM_ERROR)
            return error_memory(err);
        if (code == Z_STREAM_END && z->avail_in > 0)
            code = inflateReset(z);
        else if (code != Z_OK && code != Z_STREAM_END)
            return cut_off(log, what, err);
    }
    return true;
}

static bool inflate_all(struct log *log, const char *from, size_t length, struct bytes *to, const char *what,
                        struct error *err)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from, .avail_in = (uInt)length}; /* it only reads there */
    if (inflateInit(&z) != Z_OK)
        return error_memory(err);
    bool done = inflate_streams(log, &z, to, what, err);
    inflateEnd(&z);
    return done;
}
#else
static bool inflate_all(struct log *log, const char *from, size_t length, struct bytes *to, const char *what,
                        struct error *err)
{
    (void)from, (void)length, (void)to, (void)what;
    return error_set(err, ERROR_FAILED,
                     "%s: this program was built without zlib, which packed this log of Darshan",
                     log->import->name);
}
#endif

/* Gets the bytes of a region; the caller frees to->data. */
static bool unpack(struct log *log, int64_t offset, int64_t length, struct bytes *to, const char *what,
                   struct error *err)
{
    *to = (struct bytes){0};
    if (length == 0)
        return true;
    if (offset < 0 || length < 0 || (uint64_t)offset > log->file.length ||
        (uint64_t)length > log->file.length - (size_t)offset)
        return cut_off(log, what, err);
    if (log->file.data[16] == 2) { /* not packed */
        to->data = malloc((size_t)length);
        if (!to->data)
            return error_memory(err);
        memcpy(to->data, log->file.data + offset, (size_t)length);
        to->length = (size_t)length;
        return true;
    }
    return inflate_all(log, log->file.data + offset, (size_t)length, to, what, err);
}

/* uid, start, end, processes, job; since 3.41 nanoseconds behind start and end; metadata; the command line. */
static bool take_job(struct log *log, const struct bytes *job, struct error *err)
{
    bool is_new = log->version >= 341;
    size_t head = is_new ? 56 : 40;
    char command[256];
    if (job->length < head + JOB_TEXT)
        return cut_off(log, "its job", err);
    int64_t seconds = integer_at(log, job->data + 8), ns = is_new ? integer_at(log, job->data + 16) : 0;
    if (seconds < 0 || seconds > INT64_C(4294967296) || ns < 0 || ns >= SECOND_NS)
        return cut_off(log, "the time of its job", err);
    log->darshan.start_ns = seconds * SECOND_NS + ns;
    snprintf(command, sizeof command, "%.*s",
             (int)(job->length - head - JOB_TEXT < 255 ? job->length - head - JOB_TEXT : 255),
             job->data + head + JOB_TEXT);
    darshan_name(&log->darshan, command);
    return true;
}

/* A number and a name that ends in NUL, again and again. */
static bool take_names(struct log *log, const struct bytes *names, struct error *err)
{
    for (size_t at = 0; at < names->length;) {
        const char *name = names->data + at + 8,
                   *stop = names->length - at > 8 ? memchr(name, '\0', names->length - at - 8) : NULL;
        if (!stop)
            return cut_off(log, "its names", err);
        uint64_t id = (uint64_t)integer_at(log, names->data + at);
        int64_t file = trace_file(log->import->writer, TRACE_NONE, TRACE_NONE, name, (size_t)(stop - name));
        if (id != 0 && !hash_map_set(&log->names, id, file))
            return error_memory(err);
        at = (size_t)(stop + 1 - names->data);
    }
    return true;
}

static int64_t file_of(struct log *log, const char *record)
{
    char name[40];
    uint64_t id = (uint64_t)integer_at(log, record);
    const int64_t *found = id ? hash_map_find(&log->names, id) : NULL;
    if (found)
        return *found;
    snprintf(name, sizeof name, "record %" PRIu64, id);
    return trace_file(log->import->writer, TRACE_NONE, TRACE_NONE, name, strlen(name));
}

/* Records of DXT: a head of fixed length, then writes, then reads. */
static bool take_dxt(struct log *log, const struct bytes *data, bool mpi, bool threads, struct error *err)
{
    const size_t head = 3 * 8 + HOST_BYTES + 2 * 8, each = threads ? 40 : 32;
    for (size_t at = 0; at < data->length;) {
        const char *record = data->data + at;
        if (data->length - at < head)
            return cut_off(log, "its calls (DXT)", err);
        int64_t writes = integer_at(log, record + 24 + HOST_BYTES),
                reads = integer_at(log, record + 32 + HOST_BYTES);
        size_t left = (data->length - at - head) / each;
        if (writes < 0 || reads < 0 || (uint64_t)writes > left || (uint64_t)reads > left - (size_t)writes)
            return cut_off(log, "its calls (DXT)", err);
        int64_t file = file_of(log, record);
        for (int64_t i = 0; i < writes + reads; i++) {
            const char *call = record + head + (size_t)i * each;
            struct darshan_segment segment = {
                .rank = integer_at(log, record + 8),
                .thread = threads ? integer_at(log, call + 32) : TRACE_NONE,
                .offset = integer_at(log, call),
                .length = integer_at(log, call + 8),
                .start = real_at(log, call + 16),
                .end = real_at(log, call + 24),
                .writes = i < writes,
                .mpi = mpi,
            };
            if (!trace_pid_fits(segment.thread)) /* an address, as pthread_self() gives it */
                segment.thread = segment.thread & (TRACE_MAX_PID - 1);
            if (!darshan_add_segment(log->import, &log->darshan, file, &segment, err))
                return false;
        }
        at += head + (size_t)(writes + reads) * each;
    }
    return true;
}

/* Where counters are in a record of POSIX or STDIO: integers, then reals; -1: there is none. */
struct layout {
    unsigned version;
    int integers, reals;
    struct {
        int count, bytes, from, to, busy;
    } calls[DARSHAN_KINDS];
};

static const struct layout posix_layouts[] = {
    {1, 68, 15, {{0, -1, 0, -1, -1}, {1, 13, 1, 3, 6}, {2, 14, 2, 4, 7}, {0, -1, 5, 5, -1}}},
    {2, 64, 15, {{0, -1, 0, -1, -1}, {1, 9, 1, 3, 6}, {2, 10, 2, 4, 7}, {0, -1, 5, 5, -1}}},
    {3, 64, 17, {{0, -1, 0, 4, -1}, {1, 9, 1, 5, 8}, {2, 10, 2, 6, 9}, {0, -1, 3, 7, -1}}},
    {4, 69, 17, {{0, -1, 0, 4, -1}, {3, 14, 1, 5, 8}, {4, 15, 2, 6, 9}, {0, -1, 3, 7, -1}}},
    {0},
};
static const struct layout stdio_layouts[] = {
    {1, 13, 15, {{0, -1, 3, 7, -1}, {1, 6, 6, 10, 2}, {2, 5, 5, 9, 1}, {0, -1, 4, 8, -1}}},
    {2, 14, 15, {{0, -1, 3, 7, -1}, {2, 7, 6, 10, 2}, {3, 6, 5, 9, 1}, {0, -1, 4, 8, -1}}},
    {0},
};

static bool take_counters(struct log *log, const struct bytes *data, const struct layout *layout, bool stdio,
                          struct error *err)
{
    size_t size = 16 + 8 * (size_t)(layout->integers + layout->reals);
    for (size_t at = 0; at < data->length; at += size) {
        if (data->length - at < size)
            return cut_off(log, "its counters", err);
        const char *integers = data->data + at + 16, *reals = integers + (ptrdiff_t)8 * layout->integers;
        struct darshan_record record = {.rank = integer_at(log, data->data + at + 8), .stdio = stdio};
        for (int kind = 0; kind < DARSHAN_KINDS; kind++) {
            struct darshan_calls *calls = &record.calls[kind];
            const int *in = &layout->calls[kind].count;
            calls->count = integer_at(log, integers + (ptrdiff_t)8 * in[0]);
            calls->bytes = in[1] < 0 ? 0 : integer_at(log, integers + (ptrdiff_t)8 * in[1]);
            calls->from = real_at(log, reals + (ptrdiff_t)8 * in[2]);
            calls->to = in[3] < 0 ? calls->from : real_at(log, reals + (ptrdiff_t)8 * in[3]);
            calls->busy = in[4] < 0 ? 0.0 : real_at(log, reals + (ptrdiff_t)8 * in[4]);
        }
        if (!darshan_add_record(log->import, &log->darshan, file_of(log, data->data + at), &record, err))
            return false;
    }
    return true;
}

/* A module's region, by its number in the header. */
static bool take_module(struct log *log, const char *maps, int modules, int which, const char *name,
                        const struct layout *layouts, unsigned threads_since, bool *any, struct error *err)
{
    struct bytes data;
    unsigned version = short_at(log, maps + (ptrdiff_t)16 * modules + (ptrdiff_t)4 * which);
    int64_t length = integer_at(log, maps + (ptrdiff_t)16 * which + 8);
    if (length == 0)
        return true;
    while (layouts && layouts->version != version && layouts->version)
        layouts++;
    if (layouts ? layouts->version == 0 : version == 0 || version > threads_since)
        return error_set(
            err, ERROR_INPUT,
            "%s: %s of version %u in the log of Darshan, which is newer than what is read: give the text of "
            "darshan-dxt-parser or darshan-parser",
            log->import->name, name, version);
    bool done = unpack(log, integer_at(log, maps + (ptrdiff_t)16 * which), length, &data, name, err);
    if (done && layouts)
        done =
            take_counters(log, &data, layouts, layouts == stdio_layouts || layouts == stdio_layouts + 1, err);
    else if (done)
        done = take_dxt(log, &data, threads_since == 3, version >= threads_since, err);
    *any |= data.length > 0;
    free(data.data);
    return done;
}

static bool take_regions(struct log *log, struct error *err)
{
    const char *file = log->file.data;
    bool is_new = log->version >= 341, any = false;
    int modules = is_new ? NEW_MODULES : OLD_MODULES, dxt = log->version < 320 ? 8 : is_new ? 10 : 9;
    size_t names = is_new ? 32 : 24, header = names + 16 + (size_t)modules * 20;
    struct bytes region;
    if (log->file.length < header)
        return cut_off(log, "its header", err);
    header = (header + 7) / 8 * 8;
    const char *maps = file + names + 16;
    int64_t job_end = integer_at(log, file + names),
            partial = is_new ? integer_at(log, file + 24) : short_at(log, file + 20);
    for (int i = 0; i < modules && job_end == 0; i++)
        job_end = integer_at(log, maps + (ptrdiff_t)16 * i);
    if (job_end == 0)
        job_end = (int64_t)log->file.length;
    bool done = unpack(log, (int64_t)header, job_end - (int64_t)header, &region, "its job", err) &&
                take_job(log, &region, err);
    free(region.data);
    if (!done)
        return false;
    done = unpack(log, integer_at(log, file + names), integer_at(log, file + names + 8), &region, "its names",
                  err) &&
           take_names(log, &region, err);
    free(region.data);
    if (!done)
        return false;
    if (partial)
        import_note(log->import, "Darshan's memory was full: it has not recorded all files or calls");
    done = done && take_module(log, maps, modules, dxt, "DXT_POSIX", NULL, 2, &any, err) &&
           take_module(log, maps, modules, dxt + 1, "DXT_MPIIO", NULL, 3, &any, err);
    if (!done || any)
        return done;
    darshan_note_counters(log->import);
    return take_module(log, maps, modules, 1, "POSIX", posix_layouts, 0, &any, err) &&
           take_module(log, maps, modules, dxt - 1, "STDIO", stdio_layouts, 0, &any, err);
}

static bool read_log(struct import *import, struct error *err)
{
    struct log log = {.import = import};
    bool done = read_file(&log, err) && (log.file.length >= 24 || cut_off(&log, "its header", err));
    if (done) {
        log.version = version_of(log.file.data);
        log.swaps = integer_at(&log, log.file.data + 8) != MAGIC;
        if (log.version < 300 || log.version > NEWEST_VERSION)
            done = error_set(
                err, ERROR_INPUT,
                "%s: a log of Darshan of version %.4s; versions 3.00 to %d.%d are read: give the text of "
                "darshan-dxt-parser or darshan-parser",
                import->name, log.file.data, NEWEST_VERSION / 100, NEWEST_VERSION % 100);
        else if (log.file.data[16] != 0 && log.file.data[16] != 2)
            done = error_set(err, ERROR_INPUT,
                             "%s: a log of Darshan that bzip2 packed: give the text of darshan-dxt-parser or "
                             "darshan-parser",
                             import->name);
        else
            done = take_regions(&log, err);
    }
    hash_map_release(&log.names);
    free(log.file.data);
    return done;
}

const struct import_format import_darshan = {.words = "log of Darshan", .read = read_log};
