#include "run/launch/note.h"

#include "core/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC UINT32_C(0x52484e31)  /* "RHN1" */
#define WAIT  (CLOCK_SECOND / 1000) /* between two tries */

union file_space {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int note_send(int control, enum note_kind kind, int rank, const void *bytes, size_t length, int file,
              double deadline)
{
    struct note_head head = {MAGIC, kind, rank};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)(uintptr_t)bytes, length}};
    union file_space space = {
        .head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    const struct msghdr message = {.msg_iov = parts,
                                   .msg_iovlen = length > 0 ? 2 : 1,
                                   .msg_control = file >= 0 ? &space : NULL,
                                   .msg_controllen = file >= 0 ? sizeof space : 0};
    memcpy(CMSG_DATA(&space.head), &file, sizeof file);
    while (sendmsg(control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno != EINTR && errno != EAGAIN && errno != ETOOMANYREFS)
            return errno;
        if (clock_now() > deadline)
            return errno;
        clock_sleep(WAIT);
    }
    return 0;
}

/* Returns the file that came with a message; -1: none. */
static int file_of(struct msghdr *message)
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int file = -1;
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof file))
        memcpy(&file, CMSG_DATA(head), sizeof file);
    return file;
}

enum note_found note_take(int control, struct note *note)
{
    struct iovec parts[] = {{&note->head, sizeof note->head}, {note->bytes, sizeof note->bytes}};
    union file_space space = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = &space, .msg_controllen = sizeof space};
    ssize_t count;
    do
        count = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    if (count < 0 && errno == EAGAIN)
        return NOTE_NONE;
    if (count <= 0)
        return NOTE_ENDED;
    note->file = file_of(&message);
    note->length = count > (ssize_t)sizeof note->head ? (size_t)count - sizeof note->head : 0;
    bool right = count >= (ssize_t)sizeof note->head && note->head.magic == MAGIC && note->head.kind > 0 &&
                 note->head.kind < NOTE_KINDS && !(message.msg_flags & MSG_TRUNC);
    if (right && !(message.msg_flags & MSG_CTRUNC))
        return NOTE_THERE;
    if (note->file >= 0)
        close(note->file);
    errno = right ? EMFILE : EPROTO;
    return NOTE_BROKEN;
}
