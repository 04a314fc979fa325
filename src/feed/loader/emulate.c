#include "feed/loader/emulate.h"

#include "core/clock.h"
#include "core/vector.h"
#include "feed/loader/internal.h"
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#define BUFFER ((int64_t)4096) /* of Python's and libc's readers on a file system of such blocks */

enum kind {
    OPEN,
    CLOSE,
    STAT,
    LSTAT,
    LOCK,
    TERMINAL,
    COPY,
    UNCOPY,
    FLAGS,
    TELL,
    SEEK,
    BACK,
    READ,
    PREAD,
    SAMPLE,
    GET,
    GETS,
    REWIND,
    MAP,
    FIRST,
    WORK,
    PAUSE,
    KINDS
};
enum base { NUMBER, SIZE, REST };

static const char *const kinds[KINDS] = {
    "open", "close", "stat",  "lstat",  "flock", "terminal", "copy",   "uncopy", "flags", "tell", "seek",
    "back", "read",  "pread", "sample", "get",   "gets",     "rewind", "map",    "first", "work", "~"};

/* ---- The table ---- */

static const struct {
    enum workload_emulate framework;
    const char *format, *words;
} table[] = {ROWS_framework_read};

const char *emulate_words(enum workload_emulate framework, const char *format)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].framework == framework && strcmp(table[i].format, format) == 0)
            return table[i].words;
    return NULL;
}

void emulate_formats(enum workload_emulate framework, struct text *text)
{
    bool any = false;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].framework != framework)
            continue;
        text_format(text, "%s%s", any ? ", " : "", table[i].format);
        any = true;
    }
}

/* "4096", "size-124", "rest", "all" */
static bool take_number(struct emulate_call *call, const char **at)
{
    static const char *const bases[] = {[SIZE] = "size", [REST] = "rest"};
    for (int base = SIZE; base <= REST; base++) {
        if (text_starts_with(*at, bases[base])) {
            call->base = base;
            *at += strlen(bases[base]);
            if (**at != '-')
                return true;
        }
    }
    if (text_starts_with(*at, "all")) {
        call->number = INT64_MAX;
        *at += strlen("all");
        return true;
    }
    char *end;
    errno = 0;
    call->number = strtoll(*at, &end, 10);
    bool any = end > *at && errno == 0;
    *at = end;
    return any;
}

static bool take_call(struct emulate_call *call, const char **at)
{
    size_t length = **at == '~' ? 1 : strcspn(*at, ": ");
    for (call->kind = 0; call->kind < KINDS; call->kind++)
        if (strlen(kinds[call->kind]) == length && strncmp(*at, kinds[call->kind], length) == 0)
            break;
    *at += length;
    if (call->kind == PAUSE) { /* microseconds, with one decimal */
        char *end;
        call->number = 1000 * strtoll(*at, &end, 10);
        if (*end == '.' && isdigit((unsigned char)end[1])) {
            call->number += (int64_t)100 * (end[1] - '0');
            end += 2;
        }
        if (end == *at)
            return false;
        *at = end;
    }
    if (call->kind == KINDS || (**at == ':' && (++*at, !take_number(call, at))))
        return false;
    if (call->kind == PREAD) {
        char *end;
        if (**at != '@')
            return false;
        call->at = strtoll(*at + 1, &end, 10);
        *at = end;
    }
    call->tells = **at == '+';
    *at += call->tells;
    return **at == ' ' || !**at;
}

bool emulate_parse(struct emulate *emulate, const char *words, struct error *err)
{
    *emulate = (struct emulate){0};
    for (const char *at = words; *at; at += strspn(at, " ")) {
        const char *word = at;
        if (emulate->count == EMULATE_MAX_CALLS || !take_call(&emulate->calls[emulate->count++], &at))
            return error_set(err, ERROR_FAILED, "names.yaml: framework_read: cannot read '%.32s'", word);
    }
    return true;
}

/* ---- Playing ---- */

struct play {
    struct loader_thread *thread;
    const char *path;
    int fd, copy;       /* -1: none */
    int64_t size;       /* of the file */
    int64_t first, end; /* of the sample */
    int64_t at;         /* of the descriptor */
    int64_t buffered;   /* bytes before `at` that are in the buffer, not yet wanted */
    int64_t reached;    /* bytes below have been read */
    int64_t work;       /* nanoseconds for each KiB that was got */
};

static bool cannot(const struct play *play, const char *what, struct error *err)
{
    return error_set(err, error_of_input(errno), "%s: cannot %s: %s", play->path, what, strerror(errno));
}

/* One read of the system, of the file's current place or of `offset`; *got: its bytes. */
static bool read_once(struct play *play, int64_t length, int64_t offset, int64_t *got, struct error *err)
{
    char *to = storage_reader_buffer(play->thread->reader, 0, length, err);
    if (!to)
        return false;
    int fd = play->copy >= 0 ? play->copy : play->fd;
    ssize_t count = offset < 0 ? read(fd, to, (size_t)length) : pread(fd, to, (size_t)length, offset);
    if (count < 0)
        return cannot(play, "read", err);
    int64_t from = offset < 0 ? play->at : offset;
    *got = count;
    if (offset < 0)
        play->at += count;
    /* What lies before the sample is read out of order. */
    if (from + count > play->reached && from <= (play->reached > play->first ? play->reached : play->first))
        play->reached = from + count;
    return true;
}

static bool tell(struct play *play, struct error *err)
{
    return lseek(play->copy >= 0 ? play->copy : play->fd, 0, SEEK_CUR) >= 0 || cannot(play, "seek", err);
}

static bool seek(struct play *play, int64_t offset, int whence, struct error *err)
{
    off_t at = lseek(play->copy >= 0 ? play->copy : play->fd, offset, whence);
    play->at = at;
    play->buffered = 0;
    return at >= 0 || cannot(play, "seek", err);
}

/* Takes bytes as a buffered reader does: those in the buffer, whole blocks at once, and a full buffer for the rest. */
static bool get(struct play *play, int64_t length, struct error *err)
{
    int64_t got = 1;
    int64_t taken = length < play->buffered ? length : play->buffered;
    play->buffered -= taken;
    for (length -= taken; length >= BUFFER && got > 0; length -= got)
        if (!read_once(play, length - length % BUFFER, -1, &got, err))
            return false;
    if (length <= 0 || got == 0)
        return true;
    if (!read_once(play, BUFFER, -1, &got, err))
        return false;
    play->buffered = got > length ? got - length : 0;
    return true;
}

/* Takes bytes of what the sample has left, once or until nothing is. */
static bool get_some(struct play *play, const struct emulate_call *call, struct error *err)
{
    /* A reader that does not tell does not know where the file ends. */
    bool blind = call->kind == GETS && !call->tells && call->number != INT64_MAX;
    for (int64_t left = play->end - (play->at - play->buffered), before = 0; left > 0 && left != before;) {
        if (!get(play, left < call->number && !blind ? left : call->number, err) ||
            (call->tells && !tell(play, err)))
            return false;
        before = call->kind == GET ? 0 : left;
        left = call->kind == GET ? 0 : play->end - (play->at - play->buffered);
        if (call->kind == GETS && play->work > 0)
            loader_sleep(play->thread, clock_nanoseconds() + (before - left) * play->work / 1024);
    }
    return true;
}

static bool open_it(struct play *play, struct error *err)
{
    play->fd = open(play->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of this name must not hold us */
    play->thread->opened++;
    return play->fd >= 0 || cannot(play, "open", err);
}

/* Maps the file until its batch is complete (emulate_batch). */
static bool map(struct play *play, struct error *err)
{
    struct loader_thread *thread = play->thread;
    if (!VECTOR_ROOM(thread->maps, thread->map_room, (size_t)thread->map_count + 1))
        return error_memory(err);
    char *at = mmap(NULL, (size_t)play->size, PROT_READ, MAP_PRIVATE, play->fd, 0);
    if (at == MAP_FAILED)
        return cannot(play, "map", err);
    char *path = strdup(play->path);
    thread->maps[thread->map_count++] = (struct loader_map){at, play->size, path};
    play->reached = play->size; /* as look() has seen it */
    return path || error_memory(err);
}

/* Copies from a mapping by the kernel's hand, which writes the buffer and takes the same page faults in the mapping as a
 * copy of our own: where the file was cut meanwhile there is an error and not the signal SIGBUS. */
static bool copy_mapped(struct loader_thread *thread, const struct loader_map *map, int64_t length,
                        struct error *err)
{
    char *to = storage_reader_buffer(thread->reader, 0, length, err);
    for (int64_t done = 0; to && done < length;) {
        struct iovec from = {map->at + done, (size_t)(length - done)}, into = {to + done, from.iov_len};
        ssize_t count = process_vm_writev(getpid(), &from, 1, &into, 1, 0);
        if (count < 0 && (errno == ENOSYS || errno == EPERM)) { /* a container forbids the call */
            memcpy(into.iov_base, from.iov_base, from.iov_len);
            return true;
        }
        if (count <= 0)
            return error_set(err, ERROR_INPUT,
                             "%s: cannot read its mapping at byte %" PRId64 " of %" PRId64
                             ": it was cut while it was read, or its storage fails: let nothing write to the "
                             "data during a run, and see rehearse dataset verify",
                             map->path, done, map->size);
        done += count;
    }
    return to != NULL;
}

void emulate_unmap(struct loader_thread *thread)
{
    for (int i = 0; i < thread->map_count; i++) {
        munmap(thread->maps[i].at, (size_t)thread->maps[i].size);
        free(thread->maps[i].path);
    }
    thread->map_count = 0;
}

bool emulate_batch(struct loader_thread *thread, struct error *err)
{
    bool copied = true;
    for (int i = 0; copied && i < thread->map_count; i++)
        copied = copy_mapped(thread, &thread->maps[i], thread->maps[i].size, err);
    emulate_unmap(thread);
    return copied;
}

static void close_all(struct play *play)
{
    if (play->copy >= 0)
        close(play->copy);
    if (play->fd >= 0)
        close(play->fd);
    play->copy = play->fd = -1;
}

/* A file of another size than the layout's is its own sample where samples are whole files. */
static bool look(struct play *play, struct error *err)
{
    struct stat state;
    if (fstat(play->fd, &state) != 0)
        return cannot(play, "stat", err);
    if (!S_ISREG(state.st_mode))
        return error_set(err, ERROR_INPUT, "%s: not a regular file", play->path);
    bool whole = play->first == 0 && play->end == play->size && !play->thread->loader->options.exact;
    if (state.st_size != play->size && !whole)
        return error_set(err, ERROR_INPUT, "%s: %s%" PRId64 " bytes, expected %" PRId64, play->path,
                         state.st_size < play->size ? "truncated: " : "", (int64_t)state.st_size, play->size);
    play->end = whole ? state.st_size : play->end;
    play->size = state.st_size;
    return true;
}

static bool play_call(struct play *play, const struct emulate_call *call, struct error *err)
{
    struct stat state;
    struct termios terminal;
    int64_t got, bases[] = {[NUMBER] = 0, [SIZE] = play->size, [REST] = play->size - play->at + 1};
    int64_t number = call->number == INT64_MAX ? INT64_MAX : bases[call->base] + call->number;
    int fd = play->copy >= 0 ? play->copy : play->fd;
    switch ((enum kind)call->kind) {
    case OPEN:
        return open_it(play, err);
    case CLOSE:
        close_all(play);
        return true;
    case STAT:
        return look(play, err);
    case LSTAT:
        return lstat(play->path, &state) == 0 || cannot(play, "stat", err);
    case LOCK:
        (void)flock(fd, LOCK_SH | LOCK_NB);
        return true; /* HDF5 reads on without one, too */
    case TERMINAL:
        (void)ioctl(fd, TCGETS, &terminal);
        return true;
    case COPY:
        play->copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        return play->copy >= 0 || cannot(play, "open", err);
    case UNCOPY:
        close(play->copy);
        play->copy = -1;
        return true;
    case FLAGS:
        return fcntl(fd, F_GETFL) >= 0 || cannot(play, "open", err);
    case TELL:
        return tell(play, err);
    case SEEK:
        return seek(play, number, SEEK_SET, err);
    case BACK:
        return seek(play, -number, SEEK_END, err);
    case READ:
        return read_once(play, number, -1, &got, err);
    case PREAD:
        return read_once(play, number, call->at, &got, err);
    case SAMPLE:
        return read_once(play, play->end - play->first, play->first, &got, err);
    case GET:
    case GETS:
        return get_some(play, call, err);
    case REWIND:
        play->buffered = play->at;
        return true;
    case MAP:
        return map(play, err);
    case FIRST:
        return copy_mapped(play->thread, &play->thread->maps[play->thread->map_count - 1], 1, err);
    case WORK:
        play->work = number;
        return true;
    case PAUSE:
        loader_sleep(play->thread, clock_nanoseconds() + number);
        return true;
    case KINDS:
        break;
    }
    return false;
}

/* Plays the calls of a sample whose place in the file is known. */
static bool play_all(struct play *play, struct error *err)
{
    const struct emulate *emulate = play->thread->loader->emulate;
    bool ok = true;
    for (int i = 0; i < emulate->count && ok; i++)
        ok = play_call(play, &emulate->calls[i], err);
    close_all(play);
    if (!ok)
        return false;
    return play->reached >= play->end ||
           error_set(err, ERROR_INPUT, "%s: truncated: expected %" PRId64 " bytes, found %" PRId64,
                     play->path, play->end, play->reached);
}

/* Plays the sample of an index that follows from the layout. */
static bool play_sample(struct loader_thread *thread, const struct dataset_file *file,
                        const struct dataset_index *index, int64_t sample, int64_t busy, int64_t *bytes,
                        struct error *err)
{
    struct play play = {.thread = thread, .fd = -1, .copy = -1, .size = dataset_file_bytes(file, 0)};
    struct dataset_extent piece = {0};
    dataset_index_extents(index, sample, &piece);
    play.first = piece.offset;
    play.end = piece.offset + piece.length;
    char *path = dataset_file_path(file, 0, &thread->path)
                     ? storage_path(thread->loader->options.storage, thread->path.data, err)
                     : (error_memory(err), NULL);
    play.path = path;
    bool ok = path && play_all(&play, err);
    loader_sleep(thread, clock_nanoseconds() + busy);
    free(path);
    *bytes = play.end - play.first;
    return ok;
}

bool emulate_read(struct loader_thread *thread, const struct order_place *place, int64_t busy, int64_t *bytes,
                  struct error *err)
{
    const struct dataset_layout *layout = thread->loader->options.layout;
    struct dataset_file file;
    struct dataset_index index = {0};
    dataset_file_init(&file, layout, place->file + (thread->loader->pass.eval ? layout->files_train : 0));
    bool known = layout->format->expect && layout->format->expect(&file, &index);
    if (!known || index.per_sample > 1 || index.units > 0) {
        dataset_index_release(&index);
        return error_set(
            err, ERROR_INPUT,
            "reader.emulate: the places of samples in these %s files do not follow from the workload "
            "(compressed or in chunks): use reader.emulate: none",
            layout->format->name);
    }
    bool ok = place->sample < index.samples
                  ? play_sample(thread, &file, &index, place->sample, busy, bytes, err)
                  : error_set(err, ERROR_INPUT, "sample %" PRId64 " of %" PRId64 " in a file", place->sample,
                              index.samples);
    dataset_index_release(&index);
    thread->samples++;
    thread->bytes += ok ? *bytes : 0;
    return ok;
}
