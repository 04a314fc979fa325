#include "core/vector.h"
#include "run/launch/launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_UNREAD ((size_t)1 << 20)
#define AT_ONCE    ((size_t)PIPE_BUF) /* a pipe that can be written has room for so much */

void launch_said_init(struct launch_said *said, int file)
{
    *said = (struct launch_said){.file = file};
}

void launch_said_add(struct launch_said *said, const char *bytes, size_t length)
{
    if (said->first > said->count / 2) {
        memmove(said->bytes, said->bytes + said->first, said->count - said->first);
        said->count -= said->first;
        said->first = 0;
    }
    if (said->failed != 0 || length == 0)
        return;
    if (!VECTOR_ROOM(said->bytes, said->capacity, said->count + length)) {
        said->failed = ENOMEM;
        return;
    }
    memcpy(said->bytes + said->count, bytes, length);
    said->count += length;
}

bool launch_said_full(const struct launch_said *said)
{
    return said->count - said->first > MAX_UNREAD;
}

struct pollfd launch_said_wish(const struct launch_said *said)
{
    return (struct pollfd){.fd = said->count > said->first ? said->file : -1, .events = POLLOUT};
}

void launch_said_push(struct launch_said *said)
{
    size_t left = said->count - said->first;
    ssize_t count =
        left > 0 ? write(said->file, said->bytes + said->first, left < AT_ONCE ? left : AT_ONCE) : 0;
    if (count > 0)
        said->first += (size_t)count;
    if (count >= 0 || errno == EINTR || errno == EAGAIN)
        return;
    said->failed = errno;
    said->first = said->count = 0;
}

bool launch_said_end(struct launch_said *said, bool ok, struct error *err)
{
    while (said->count > said->first) {
        struct pollfd polled = launch_said_wish(said);
        if (poll(&polled, 1, -1) > 0)
            launch_said_push(said);
    }
    free(said->bytes);
    return said->failed == 0 || !ok || said->file != STDOUT_FILENO ||
           error_set(err, ERROR_FAILED, "cannot write to standard output: %s", strerror(said->failed));
}
