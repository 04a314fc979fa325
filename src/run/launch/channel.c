#include "run/launch/channel.h"

#include "core/clock.h"
#include "core/vector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC   UINT32_C(0x52484c31) /* "RHL1" */
#define AT_ONCE ((size_t)1 << 16)

struct head {
    uint32_t magic, kind;
    int32_t rank;
    uint32_t length;
};

static void set_nonblocking(int file)
{
    int flags = fcntl(file, F_GETFL);
    if (flags >= 0)
        (void)fcntl(file, F_SETFL, flags | O_NONBLOCK);
}

void channel_init(struct channel *channel, int in, int out)
{
    *channel = (struct channel){.in = in, .out = out, .heard = clock_now(), .told = clock_now()};
    set_nonblocking(in);
    set_nonblocking(out);
}

void channel_release(struct channel *channel)
{
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0 && channel->out != channel->in)
        close(channel->out);
    free(channel->got);
    free(channel->queue);
    *channel = (struct channel){.in = -1, .out = -1, .ended = true};
}

bool channel_send(struct channel *channel, enum frame_kind kind, int rank, const void *bytes, size_t length,
                  struct error *err)
{
    const struct head head = {MAGIC, kind, rank, (uint32_t)length};
    if (channel->out < 0)
        return true;
    if (length > LAUNCH_MAX_FRAME)
        return error_set(err, ERROR_FAILED, "a frame of %zu bytes is too large", length);
    if (channel->queue_first > AT_ONCE) {
        channel->queue_count -= channel->queue_first;
        memmove(channel->queue, channel->queue + channel->queue_first, channel->queue_count);
        channel->queue_first = 0;
    }
    if (!VECTOR_ROOM(channel->queue, channel->queue_capacity, channel->queue_count + sizeof head + length))
        return error_memory(err);
    memcpy(channel->queue + channel->queue_count, &head, sizeof head);
    if (length > 0)
        memcpy(channel->queue + channel->queue_count + sizeof head, bytes, length);
    channel->queue_count += sizeof head + length;
    channel->told = clock_now();
    return channel_push(channel, err);
}

void channel_tell_failure(struct channel *channel, const struct error *why, struct error *err)
{
    char bytes[sizeof(int) + sizeof why->text];
    int kind = why->kind;
    size_t length = strlen(why->text);
    memcpy(bytes, &kind, sizeof kind);
    memcpy(bytes + sizeof kind, why->text, length);
    (void)channel_send(channel, FRAME_FAILED, -1, bytes, sizeof kind + length, err);
}

bool channel_push(struct channel *channel, struct error *err)
{
    while (channel->out >= 0 && channel->queue_first < channel->queue_count) {
        ssize_t done = write(channel->out, channel->queue + channel->queue_first,
                             channel->queue_count - channel->queue_first);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0 && errno == EAGAIN)
            return true;
        if (done < 0) {
            channel->queue_first = channel->queue_count = 0;
            return errno == EPIPE || errno == ECONNRESET ||
                   error_set(err, ERROR_FAILED, "cannot write to it: %s", strerror(errno));
        }
        channel->queue_first += (size_t)done;
    }
    channel->queue_first = channel->queue_count = 0;
    return true;
}

bool channel_pull(struct channel *channel, struct error *err)
{
    if (channel->got_first > 0) {
        channel->got_count -= channel->got_first;
        memmove(channel->got, channel->got + channel->got_first, channel->got_count);
        channel->got_first = 0;
    }
    if (!VECTOR_ROOM(channel->got, channel->got_capacity, channel->got_count + AT_ONCE))
        return error_memory(err);
    ssize_t count = read(channel->in, channel->got + channel->got_count, AT_ONCE);
    if (count > 0) {
        channel->got_count += (size_t)count;
        channel->heard = clock_now();
    } else if (count == 0 || errno == ECONNRESET) {
        channel->ended = true;
    } else if (errno != EAGAIN && errno != EINTR) {
        return error_set(err, ERROR_FAILED, "cannot read from it: %s", strerror(errno));
    }
    return true;
}

bool channel_next(struct channel *channel, struct frame *frame, bool *there, struct error *err)
{
    struct head head;
    size_t here = channel->got_count - channel->got_first;
    *there = false;
    if (here < sizeof head)
        return true;
    memcpy(&head, channel->got + channel->got_first, sizeof head);
    if (head.magic != MAGIC || head.kind == 0 || head.kind >= FRAME_KINDS || head.length > LAUNCH_MAX_FRAME)
        return error_set(err, ERROR_FAILED, "it sends data of another protocol");
    if (here < sizeof head + head.length)
        return true;
    *frame = (struct frame){(enum frame_kind)head.kind, head.rank,
                            channel->got + channel->got_first + sizeof head, head.length};
    channel->got_first += sizeof head + head.length;
    *there = true;
    return true;
}

bool channel_beat(struct channel *channel, double now)
{
    struct error ignored;
    if (now - channel->told > LAUNCH_BEAT && channel->queue_count == 0)
        (void)channel_send(channel, FRAME_BEAT, -1, NULL, 0, &ignored);
    return now - channel->heard < LAUNCH_SILENCE;
}
