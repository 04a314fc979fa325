/* Two forms. That of ASTRA-sim's feeder: {"workload_graph": [{"Id": …, "Name": …, "NodeType": 4, "ctrlDeps": [], "data_deps": [],
 * "runtime": microseconds, "is_cpu_op": true, "comm_size": …, …}, …], …}.
 * PyTorch's: {"schema": "1.0.2-chakra…", "nodes": [{"id": …, "name": …, "ctrl_deps": …, "attrs": [{"name": …,
 * "value": …}, …]}, …]}. `ctrl_deps` is a number or a list; a node without `data_deps` has none. */
#include "core/doc/stream.h"
#include "sim/chakra/parts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct reader {
    struct chakra *chakra;
    struct json_stream json;
};

static bool take_id(const struct reader *reader, uint64_t *id, struct error *err)
{
    char *end;
    const char *text = reader->json.text;
    *id = strtoull(text, &end, 10);
    bool whole = *text != '-' && *end == '\0';
    return whole ||
           json_stream_error(&reader->json, err, "an id has to be a whole number, found '%.40s'", text);
}

/* Reads one id or a list of them. */
static bool read_deps(struct reader *reader, uint32_t *count, struct error *err)
{
    enum json_piece piece;
    uint64_t id;
    if (!json_stream_next(&reader->json, &piece, err))
        return false;
    bool list = piece == JSON_OPEN_LIST;
    if (list && !json_stream_next(&reader->json, &piece, err))
        return false;
    for (; !list || piece != JSON_CLOSE; ++*count) {
        if (piece != JSON_NUMBER)
            return json_stream_error(&reader->json, err, "dependencies have to be ids");
        if (!take_id(reader, &id, err) || !chakra_keep_dep(reader->chakra, id, err))
            return false;
        if (!list) {
            ++*count;
            break;
        }
        if (!json_stream_next(&reader->json, &piece, err))
            return false;
    }
    return true;
}

static int32_t small(int64_t value)
{
    return value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
}

static void take_attribute(struct chakra_node *node, const char *name, const char *value)
{
    int64_t number = -1; /* none: "true", names */
    (void)text_whole(value, "", &number);
    if (strcmp(name, "tid") == 0)
        node->thread = number;
    else if (strcmp(name, "comm_size") == 0)
        node->bytes = number > 0 ? number : 0;
    else if (strcmp(name, "comm_type") == 0)
        node->collective = number >= 0 && number < 1000 ? (int32_t)number : -1;
    else if (strcmp(name, "is_cpu_op") == 0)
        node->host = number > 0 || strcmp(value, "true") == 0;
    else if (strcmp(name, "comm_src") == 0)
        node->from = small(number);
    else if (strcmp(name, "comm_dst") == 0)
        node->to = small(number);
    else if (strcmp(name, "comm_tag") == 0)
        node->tag = number >= 0 ? number : -1;
}

/* Reads {"name": …, "type": …, "value": …}, whose bracket has been read. */
static bool read_attribute(struct reader *reader, struct chakra_node *node, struct error *err)
{
    enum json_piece piece;
    char name[32] = "", value[64] = "";
    while (json_stream_next(&reader->json, &piece, err)) {
        if (piece == JSON_CLOSE) {
            take_attribute(node, name, value);
            return true;
        }
        char *to = strcmp(reader->json.text, "name") == 0    ? name
                   : strcmp(reader->json.text, "value") == 0 ? value
                                                             : NULL;
        size_t room = to == name ? sizeof name : sizeof value;
        if (!json_stream_next(&reader->json, &piece, err) || !json_stream_skip(&reader->json, piece, err))
            return false;
        if (to && piece >= JSON_TEXT && reader->json.length < room)
            memcpy(to, reader->json.text, reader->json.length + 1);
    }
    return false;
}

static bool read_attributes(struct reader *reader, struct chakra_node *node, struct error *err)
{
    enum json_piece piece;
    if (!json_stream_next(&reader->json, &piece, err))
        return false;
    if (piece != JSON_OPEN_LIST)
        return json_stream_error(&reader->json, err, "'attrs' has to be a list");
    while (json_stream_next(&reader->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        if (piece == JSON_OPEN_MAP ? !read_attribute(reader, node, err)
                                   : !json_stream_skip(&reader->json, piece, err))
            return false;
    }
    return false;
}

/* Numbers of the feeder's form that stand beside the attributes of PyTorch's; of others, which may be texts, nothing. */
static void take_number(struct chakra_node *node, const char *key, enum json_piece piece, const char *value)
{
    int64_t number;
    if (strcmp(key, "NodeType") != 0) {
        take_attribute(node, key, value);
        return;
    }
    if (piece == JSON_NUMBER && text_whole(value, "", &number))
        node->type = number > 0 && number < CHAKRA_TYPES ? (uint8_t)number : CHAKRA_INVALID;
}

static bool read_scalar(struct reader *reader, const char *key, struct chakra_node *node, bool *has_id,
                        struct error *err)
{
    enum json_piece piece;
    bool id = strcasecmp(key, "id") == 0, name = strcasecmp(key, "name") == 0,
         duration = strcmp(key, "duration_micros") == 0 || strcmp(key, "runtime") == 0;
    if (!json_stream_next(&reader->json, &piece, err) || !json_stream_skip(&reader->json, piece, err))
        return false;
    if (id && piece == JSON_NUMBER) {
        *has_id = true;
        return take_id(reader, &node->id, err);
    }
    if (name && piece == JSON_TEXT)
        return chakra_keep_name(reader->chakra, reader->json.text, reader->json.length, &node->name, err);
    if (duration && piece == JSON_NUMBER) {
        double us;
        bool right = text_real(reader->json.text, &us) && us >= 0 && us <= (double)(INT64_MAX / 4000);
        node->duration = right ? (int64_t)us : 0;
        return right || json_stream_error(&reader->json, err, "a duration of %.40s us", reader->json.text);
    }
    if (piece >= JSON_TEXT)
        take_number(node, key, piece, reader->json.text);
    return true;
}

/* Moves the ids of data dependencies, which may come second, in front of those on control. */
static bool order_deps(struct reader *reader, const struct chakra_node *node, bool control_first,
                       struct error *err)
{
    uint64_t *deps = reader->chakra->deps + node->deps;
    size_t bytes = node->control_count * sizeof *deps;
    if (!control_first || node->data_count == 0 || bytes == 0)
        return true;
    uint64_t *control = malloc(bytes);
    if (!control)
        return error_memory(err);
    memcpy(control, deps, bytes);
    memmove(deps, deps + node->control_count, node->data_count * sizeof *deps);
    memcpy(deps + node->data_count, control, bytes);
    free(control);
    return true;
}

static bool read_node(struct reader *reader, struct error *err)
{
    enum json_piece piece;
    struct chakra_node node = {.name = "",
                               .type = CHAKRA_COMPUTE,
                               .host = true,
                               .collective = -1,
                               .from = -1,
                               .to = -1,
                               .tag = -1,
                               .deps = reader->chakra->dep_count};
    bool has_id = false, control_first = false;
    while (json_stream_next(&reader->json, &piece, err)) {
        const char *key = reader->json.text;
        if (piece == JSON_CLOSE) {
            if (!has_id)
                return json_stream_error(&reader->json, err, "node %zu has no 'id'", reader->chakra->count);
            return order_deps(reader, &node, control_first, err) &&
                   chakra_keep_node(reader->chakra, &node, err);
        }
        bool control = strcmp(key, "ctrl_deps") == 0 || strcmp(key, "ctrlDeps") == 0,
             data = strcmp(key, "data_deps") == 0;
        if ((control && node.control_count > 0) || (data && node.data_count > 0))
            return json_stream_error(&reader->json, err, "'%.20s' is listed twice", key);
        control_first |= control && node.data_count == 0;
        char kept[20];
        memcpy(kept, key, strnlen(key, sizeof kept - 1) + 1);
        kept[sizeof kept - 1] = '\0';
        if (control || data ? !read_deps(reader, control ? &node.control_count : &node.data_count, err)
            : strcmp(kept, "attrs") == 0 ? !read_attributes(reader, &node, err)
                                         : !read_scalar(reader, kept, &node, &has_id, err))
            return false;
    }
    return false;
}

static bool read_nodes(struct reader *reader, struct error *err)
{
    enum json_piece piece;
    while (json_stream_next(&reader->json, &piece, err)) {
        if (piece == JSON_CLOSE)
            return true;
        if (piece != JSON_OPEN_MAP)
            return json_stream_error(&reader->json, err, "a node has to be a map");
        if (!read_node(reader, err))
            return false;
    }
    return false;
}

static bool read_whole(struct reader *reader, struct error *err)
{
    struct json_stream *json = &reader->json;
    enum json_piece piece;
    bool found = false;
    if (!json_stream_next(json, &piece, err))
        return false;
    for (;;) {
        if (!json_stream_next(json, &piece, err))
            return false;
        if (piece == JSON_CLOSE)
            break;
        bool nodes = strcmp(json->text, "nodes") == 0 || strcmp(json->text, "workload_graph") == 0,
             schema = strcmp(json->text, "schema") == 0;
        if (nodes && found)
            return json_stream_error(json, err, "nodes are listed twice");
        if (!json_stream_next(json, &piece, err))
            return false;
        found |= nodes;
        if (nodes && piece != JSON_OPEN_LIST)
            return json_stream_error(json, err, "nodes have to be a list");
        if (schema && piece == JSON_TEXT &&
            !chakra_keep_name(reader->chakra, json->text, json->length, &reader->chakra->version, err))
            return false;
        if (nodes ? !read_nodes(reader, err) : !json_stream_skip(json, piece, err))
            return false;
    }
    if (!found)
        return json_stream_error(json, err, "an execution trace needs a list 'nodes', or 'workload_graph'");
    return json_stream_next(json, &piece, err); /* nothing behind it */
}

bool chakra_read_json(struct chakra *chakra, struct import_lines *lines, struct error *err)
{
    struct reader reader = {.chakra = chakra,
                            .json = {.path = chakra->path, .more = import_lines_whole, .context = lines}};
    bool read = read_whole(&reader, err);
    json_stream_release(&reader.json);
    return read;
}
