/* What a trace of Kineto tells of its run and machine beside the events: distributedInfo with the process groups,
 * deviceProperties, baseTimeNanoseconds. All else is passed over. */
#include "core/doc/stream.h"
#include "core/vector.h"
#include "sim/replay/parts.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BASE (INT64_C(1) << 62) /* ns: the year 2116 */

struct described {
    struct replay *replay;
    struct json_stream *json;
    struct replay_group group; /* that is being read */
    struct replay_device device;
};

/* Reads the value of a key that was read: a whole number where it is one, else nothing. */
static bool read_number(struct described *from, int64_t *value, struct error *err)
{
    enum json_piece piece;
    if (!json_stream_next(from->json, &piece, err) || !json_stream_skip(from->json, piece, err))
        return false;
    int64_t found;
    if (piece == JSON_NUMBER && text_whole(from->json->text, "", &found))
        *value = found;
    return true;
}

/* Reads the value of a key: a text, or nothing. */
static bool read_name(struct described *from, uint32_t *id, struct error *err)
{
    enum json_piece piece;
    if (!json_stream_next(from->json, &piece, err) || !json_stream_skip(from->json, piece, err))
        return false;
    return piece != JSON_TEXT || replay_add_text(from->replay, from->json->text, from->json->length, id, err);
}

static bool read_ranks(struct described *from, struct replay_group *group, struct error *err)
{
    enum json_piece piece;
    int64_t *ranks = NULL;
    size_t count = 0, capacity = 0;
    bool done = json_stream_next(from->json, &piece, err);
    if (done && piece != JSON_OPEN_LIST)
        return json_stream_skip(from->json, piece, err);
    while (done && (done = json_stream_next(from->json, &piece, err)) && piece != JSON_CLOSE) {
        int64_t rank;
        if (piece != JSON_NUMBER)
            done = json_stream_skip(from->json, piece, err);
        else if (text_whole(from->json->text, "", &rank))
            done = VECTOR_ADD(ranks, count, capacity, rank) || error_memory(err);
    }
    if (done && count > 0) {
        int64_t *kept = ARENA_ARRAY(&from->replay->arena, count, int64_t);
        done = kept || error_memory(err);
        if (kept)
            memcpy(kept, ranks, count * sizeof *ranks);
        group->ranks = kept;
        group->rank_count = count;
    }
    free(ranks);
    return done;
}

/* Reads a list of maps; `read` reads the value of a key. */
static bool read_maps(struct described *from, bool (*read)(struct described *, const char *, struct error *),
                      bool (*take)(struct described *, struct error *), struct error *err)
{
    enum json_piece piece;
    if (!json_stream_next(from->json, &piece, err))
        return false;
    if (piece != JSON_OPEN_LIST)
        return json_stream_skip(from->json, piece, err);
    while (json_stream_next(from->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        if (piece != JSON_OPEN_MAP) {
            if (!json_stream_skip(from->json, piece, err))
                return false;
            continue;
        }
        from->group = (struct replay_group){0};
        from->device = (struct replay_device){-1, -1, -1, 0};
        for (;;) {
            if (!json_stream_next(from->json, &piece, err))
                return false;
            if (piece == JSON_CLOSE)
                break;
            if (!read(from, from->json->text, err))
                return false;
        }
        if (!take(from, err))
            return false;
    }
    return false;
}

static bool read_value(struct described *from, struct error *err)
{
    enum json_piece piece;
    return json_stream_next(from->json, &piece, err) && json_stream_skip(from->json, piece, err);
}

static bool read_group(struct described *from, const char *key, struct error *err)
{
    if (strcmp(key, "pg_name") == 0)
        return read_name(from, &from->group.name, err);
    if (strcmp(key, "pg_desc") == 0)
        return read_name(from, &from->group.description, err);
    return strcmp(key, "ranks") == 0 ? read_ranks(from, &from->group, err) : read_value(from, err);
}

static bool take_group(struct described *from, struct error *err)
{
    struct replay *replay = from->replay;
    return replay->group_count == REPLAY_MAX_GROUPS ||
           VECTOR_ADD(replay->groups, replay->group_count, replay->group_capacity, from->group) ||
           error_memory(err);
}

static bool read_device(struct described *from, const char *key, struct error *err)
{
    if (strcmp(key, "name") == 0)
        return read_name(from, &from->device.name, err);
    int64_t *value = strcmp(key, "id") == 0               ? &from->device.id
                     : strcmp(key, "numSms") == 0         ? &from->device.multiprocessors
                     : strcmp(key, "totalGlobalMem") == 0 ? &from->device.memory
                                                          : NULL;
    return value ? read_number(from, value, err) : read_value(from, err);
}

static bool take_device(struct described *from, struct error *err)
{
    struct replay *replay = from->replay;
    return replay->device_count == REPLAY_MAX_STREAMS ||
           VECTOR_ADD(replay->devices, replay->device_count, replay->device_capacity, from->device) ||
           error_memory(err);
}

static bool read_distributed(struct described *from, struct error *err)
{
    enum json_piece piece;
    while (json_stream_next(from->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        if (strcmp(from->json->text, "pg_config") == 0) {
            if (!read_maps(from, read_group, take_group, err))
                return false;
            continue;
        }
        bool rank = strcmp(from->json->text, "rank") == 0,
             world = strcmp(from->json->text, "world_size") == 0;
        if (!json_stream_next(from->json, &piece, err) || !json_stream_skip(from->json, piece, err))
            return false;
        int64_t *value = rank ? &from->replay->rank : &from->replay->world;
        if ((rank || world) && piece == JSON_NUMBER && !text_whole(from->json->text, "", value))
            return json_stream_error(from->json, err, "expected a whole number, found %.40s",
                                     from->json->text);
    }
    return false;
}

bool replay_read_described(struct replay *replay, struct json_stream *json, struct error *err)
{
    struct described from = {.replay = replay, .json = json};
    enum json_piece piece;
    if (strcmp(json->text, "deviceProperties") == 0)
        return read_maps(&from, read_device, take_device, err);
    if (strcmp(json->text, "baseTimeNanoseconds") == 0) {
        int64_t base = 0;
        if (!read_number(&from, &base, err))
            return false;
        replay->base = base > 0 && base < MAX_BASE ? base : 0;
        return true;
    }
    bool distributed = strcmp(json->text, "distributedInfo") == 0;
    if (!json_stream_next(json, &piece, err))
        return false;
    return distributed && piece == JSON_OPEN_MAP ? read_distributed(&from, err)
                                                 : json_stream_skip(json, piece, err);
}
