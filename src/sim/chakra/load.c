#include "core/vector.h"
#include "sim/chakra/parts.h"
#include "sim/chakra/wire.h"

#include <stdlib.h>
#include <string.h>

/* --- keeping -------------------------------------------------------------------------------------------- */

bool chakra_keep_name(struct chakra *chakra, const char *text, size_t length, const char **kept,
                      struct error *err)
{
    bool added;
    *kept = "";
    if (length == 0)
        return true;
    uint32_t id = hash_names_id(&chakra->names, text, length, &added);
    if (id == 0)
        return error_memory(err);
    if (added) {
        const char *copy = arena_copy(&chakra->arena, text, length);
        if (!copy || !VECTOR_ADD(chakra->texts, chakra->text_count, chakra->text_capacity, copy))
            return error_memory(err);
    }
    *kept = chakra->texts[id - 1];
    return true;
}

bool chakra_keep_node(struct chakra *chakra, const struct chakra_node *node, struct error *err)
{
    if (chakra->count == CHAKRA_MAX_NODES)
        return error_set(err, ERROR_INPUT, "%s: more than %zu nodes", chakra->path, CHAKRA_MAX_NODES);
    return VECTOR_ADD(chakra->nodes, chakra->count, chakra->capacity, *node) || error_memory(err);
}

bool chakra_keep_dep(struct chakra *chakra, uint64_t id, struct error *err)
{
    if (chakra->dep_count == CHAKRA_MAX_DEPS)
        return error_set(err, ERROR_INPUT, "%s: more than %zu dependencies", chakra->path, CHAKRA_MAX_DEPS);
    return VECTOR_ADD(chakra->deps, chakra->dep_count, chakra->dep_capacity, id) || error_memory(err);
}

/* --- ids ------------------------------------------------------------------------------------------------ */

/* Keys of the map are not 0: an id gets its complement, which is 0 only for the one id that is refused. */
bool chakra_ids_make(struct chakra_ids *ids, const struct chakra *chakra, struct error *err)
{
    *ids = (struct chakra_ids){.map = {.count = 0}};
    for (size_t i = 0; i < chakra->count; i++) {
        uint64_t id = chakra->nodes[i].id;
        int64_t *place = id == UINT64_MAX ? NULL : hash_map_place(&ids->map, ~id);
        if (place && *place == 0) {
            *place = (int64_t)i + 1;
            continue;
        }
        if (id == UINT64_MAX)
            error_set(err, ERROR_INPUT, "%s: node %zu: no node has the id 2^64 - 1", chakra->path, i);
        else if (place)
            error_set(err, ERROR_INPUT, "%s: node %zu: id %llu is that of node %lld, too", chakra->path, i,
                      (unsigned long long)id, (long long)*place - 1);
        else
            error_memory(err);
        chakra_ids_release(ids);
        return false;
    }
    return true;
}

int64_t chakra_ids_find(const struct chakra_ids *ids, uint64_t id)
{
    const int64_t *place = id == UINT64_MAX ? NULL : hash_map_find(&ids->map, ~id);
    return place ? *place - 1 : -1;
}

void chakra_ids_release(struct chakra_ids *ids)
{
    hash_map_release(&ids->map);
}

/* --- a file --------------------------------------------------------------------------------------------- */

void chakra_release(struct chakra *chakra)
{
    free(chakra->nodes);
    free(chakra->deps);
    free((void *)chakra->texts);
    hash_names_release(&chakra->names);
    arena_release(&chakra->arena);
    *chakra = (struct chakra){0};
}

/* Returns whether bytes begin with the message GlobalMetadata. One of 123 bytes begins as JSON does, with '{'. */
static bool is_wire(const char *bytes, size_t length)
{
    const char *at = bytes, *end = bytes + length;
    struct wire_field field;
    uint64_t message;
    if (!wire_varint(&at, end, &message) || message > (uint64_t)(end - at))
        return false;
    end = at + message;
    while (at < end)
        if (!wire_next(&at, end, &field) || field.number < 1 || field.number > 2 || field.type != WIRE_BYTES)
            return false;
    return true;
}

static bool read_file(struct chakra *chakra, struct import_lines *lines, struct error *err)
{
    const char *bytes;
    size_t length;
    if (!import_lines_peek(lines, &bytes, &length, err))
        return false;
    if (length == 0)
        return error_set(err, ERROR_INPUT, "%s: the file is empty", chakra->path);
    if (!VECTOR_ROOM(chakra->deps, chakra->dep_capacity,
                     1)) /* never NULL: a list of none begins somewhere, too */
        return error_memory(err);
    bool json = bytes[strspn(bytes, " \t\r\n")] == '{' && !is_wire(bytes, length);
    if (!(json ? chakra_read_json : chakra_read_wire)(chakra, lines, err))
        return false;
    return chakra->count > 0 || error_set(err, ERROR_INPUT, "%s: there is no node in it", chakra->path);
}

bool chakra_load(struct chakra *chakra, const char *path, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    *chakra = (struct chakra){.version = ""};
    chakra->path = arena_string(&chakra->arena, path);
    bool opened = import_lines_open(&lines, path, text, length, err);
    bool read = chakra->path ? opened && read_file(chakra, &lines, err) : error_memory(err);
    import_lines_close(&lines);
    if (!read)
        chakra_release(chakra);
    return read;
}
