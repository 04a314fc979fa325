#include "trace/import/lines.h"

#include "core/features.h"
#include "core/stop.h"
#include "trace/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef REHEARSE_HAVE_ZLIB
#include <zlib.h>
#endif

static bool open_packed(struct import_lines *lines, struct error *err)
{
#ifdef REHEARSE_HAVE_ZLIB
    lines->gz = gzdopen(lines->fd, "rb");
    if (!lines->gz)
        return error_memory(err);
    lines->fd = -1; /* gzclose closes it */
    gzbuffer(lines->gz, 1 << 18);
    return true;
#else
    return error_set(err, ERROR_FAILED, "'%s' is compressed by gzip, but this program was built without zlib",
                     lines->path);
#endif
}

bool import_lines_open(struct import_lines *lines, const char *path, const char *text, size_t length,
                       struct error *err)
{
    struct stat state;
    unsigned char magic[2];
    *lines = (struct import_lines){.path = path, .fd = -1, .text = text, .text_left = length};
    lines->capacity = TRACE_IMPORT_LINE_BYTES;
    lines->buffer = malloc(lines->capacity + 1); /* for the NUL of a last line without line feed */
    if (!lines->buffer)
        return error_memory(err);
    if (text)
        return true;
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (lines->fd < 0 || fstat(lines->fd, &state) < 0)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(state.st_mode))
        return error_set(err, ERROR_INPUT, "cannot read '%s': %s", path, strerror(EISDIR));
    if (S_ISREG(state.st_mode) && pread(lines->fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b)
        return open_packed(lines, err);
    return true;
}

void import_lines_close(struct import_lines *lines)
{
#ifdef REHEARSE_HAVE_ZLIB
    if (lines->gz)
        gzclose(lines->gz);
#endif
    if (lines->fd >= 0)
        close(lines->fd);
    free(lines->buffer);
    lines->buffer = NULL;
}

/* Reads up to `room` bytes; 0 at the end, -1 on failure. A packed file that is cut off gives the data
 * before. */
static ssize_t read_some(struct import_lines *lines, char *to, size_t room)
{
    if (lines->text) {
        size_t n = room < lines->text_left ? room : lines->text_left;
        memcpy(to, lines->text, n);
        lines->text += n;
        lines->text_left -= n;
        return (ssize_t)n;
    }
#ifdef REHEARSE_HAVE_ZLIB
    if (lines->gz) {
        int n = gzread(lines->gz, to, (unsigned)room), code;
        gzerror(lines->gz, &code);
        if (n < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR)
            lines->truncated = true;
        return n < 0 ? 0 : n;
    }
#endif
    ssize_t n;
    do
        n = read(lines->fd, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Moves the remaining bytes to the front, and reads more. */
static bool fill(struct import_lines *lines, struct error *err)
{
    memmove(lines->buffer, lines->buffer + lines->at, lines->used - lines->at);
    lines->used -= lines->at;
    lines->at = 0;
    if (lines->ended || lines->used == lines->capacity)
        return true;
    ssize_t n = read_some(lines, lines->buffer + lines->used, lines->capacity - lines->used);
    if (n < 0)
        return error_set(err, ERROR_FAILED, "cannot read '%s': %s", lines->path, strerror(errno));
    lines->ended = n == 0;
    lines->used += (size_t)n;
    lines->bytes += n;
    return true;
}

static enum import_line_kind give(struct import_lines *lines, char *stop, const char **line, const char **end)
{
    *line = lines->buffer + lines->at;
    *end = stop > *line && stop[-1] == '\r' ? stop - 1 : stop;
    lines->at = (size_t)(stop - lines->buffer) + (stop < lines->buffer + lines->used);
    bool skipped = lines->skipping;
    lines->skipping = false;
    lines->line++;
    lines->buffer[*end - lines->buffer] = '\0';
    return skipped ? IMPORT_LINE_TOO_LONG : IMPORT_LINE;
}

enum import_line_kind import_lines_next(struct import_lines *lines, const char **line, const char **end,
                                        struct error *err)
{
    size_t searched = lines->at;
    if (stop_obeyed_at((size_t)lines->line, err))
        return IMPORT_LINE_ERROR;
    for (;;) {
        char *stop = memchr(lines->buffer + searched, '\n', lines->used - searched);
        if (stop)
            return give(lines, stop, line, end);
        if (lines->used - lines->at ==
            lines->capacity) { /* as long as the buffer: forget it, up to its end */
            lines->skipping = true;
            lines->at = lines->used;
        }
        searched = lines->used - lines->at; /* where the new bytes will be */
        if (!fill(lines, err))
            return IMPORT_LINE_ERROR;
        if (lines->ended) {
            if (lines->used == 0 && !lines->skipping)
                return IMPORT_LINE_END;
            return give(lines, lines->buffer + lines->used, line, end);
        }
    }
}

bool import_lines_raw(struct import_lines *lines, const char **bytes, size_t *length, struct error *err)
{
    if (lines->at == lines->used && !fill(lines, err))
        return false;
    *bytes = lines->buffer + lines->at;
    *length = lines->used - lines->at;
    lines->at = lines->used;
    return true;
}

bool import_lines_bytes(void *lines, const char **bytes, size_t *length, struct error *err)
{
    return import_lines_raw(lines, bytes, length, err);
}

bool import_lines_whole(void *lines, const char **bytes, size_t *length, struct error *err)
{
    const struct import_lines *from = lines;
    if (!import_lines_raw(lines, bytes, length, err))
        return false;
    return *length > 0 || !from->truncated ||
           error_set(err, ERROR_INPUT, "%s: damaged: the gzip file is truncated", from->path);
}

bool import_lines_peek(struct import_lines *lines, const char **bytes, size_t *length, struct error *err)
{
    while (lines->used - lines->at < 4096 && !lines->ended)
        if (!fill(lines, err))
            return false;
    *bytes = lines->buffer + lines->at;
    *length = lines->used - lines->at;
    lines->buffer[lines->used] = '\0';
    return true;
}
