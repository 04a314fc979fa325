#include "sim/chakra/write.h"
#include "core/file_output.h"
#include "core/vector.h"
#include "sim/chakra/chakra.h"
#include "sim/chakra/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool wire_varint(const char **at, const char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        uint64_t byte = (unsigned char)*(*at)++;
        *value |= (byte & 127) << shift;
        if (byte < 128)
            return shift < 63 || byte < 2; /* 64 bits are nine times seven, and one */
    }
    return false;
}

static bool take_fixed(const char **at, const char *end, int size, uint64_t *value)
{
    *value = 0;
    if (end - *at < size)
        return false;
    for (int i = 0; i < size; i++)
        *value |= (uint64_t)(unsigned char)*(*at)++ << (8 * i);
    return true;
}

bool wire_next(const char **at, const char *end, struct wire_field *field)
{
    uint64_t key, length;
    if (!wire_varint(at, end, &key) || key >> 3 == 0 || key >> 3 > 536870911)
        return false;
    *field = (struct wire_field){.number = (uint32_t)(key >> 3), .type = (enum wire_type)(key & 7)};
    switch (key & 7) {
    case WIRE_VARINT:
        return wire_varint(at, end, &field->value);
    case WIRE_FIXED64:
        return take_fixed(at, end, 8, &field->value);
    case WIRE_FIXED32:
        return take_fixed(at, end, 4, &field->value);
    case WIRE_BYTES:
        if (!wire_varint(at, end, &length) || length > (uint64_t)(end - *at))
            return false;
        field->bytes = *at;
        field->length = (size_t)length;
        *at += length;
        return true;
    default:
        return false; /* groups, which no version of the format has */
    }
}

/* Append fields; text_format and the like never see their bytes. */
static void wire_add_varint(struct text *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    for (; value >= 128; value >>= 7)
        bytes[count++] = (char)(value | 128);
    bytes[count++] = (char)value;
    text_add_bytes(out, bytes, count);
}

static void wire_add_number(struct text *out, uint32_t number, uint64_t value)
{
    wire_add_varint(out, (uint64_t)number << 3 | WIRE_VARINT);
    wire_add_varint(out, value);
}

static void wire_add_bytes(struct text *out, uint32_t number, const char *bytes, size_t length)
{
    wire_add_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
    wire_add_varint(out, length);
    text_add_bytes(out, bytes, length);
}

#define VERSION     "0.0.4"
#define MAX_FILES   1024
#define FLUSH_BYTES 65536

/* --- messages ------------------------------------------------------------------------------------------- */

static void add_message(struct text *out, const struct text *message)
{
    wire_add_varint(out, message->length);
    text_add_bytes(out, text_within(message, out), message->length);
}

/* Field 10 of a node: an attribute with a number, in a field of AttributeProto. */
static void add_attribute(struct text *message, const char *name, uint32_t field, int64_t value)
{
    struct text attribute = {0};
    wire_add_bytes(&attribute, 1, name, strlen(name));
    wire_add_number(&attribute, field, (uint64_t)value);
    wire_add_bytes(message, 10, text_within(&attribute, message), attribute.length);
    text_release(&attribute);
}

static void add_ids(struct text *message, uint32_t field, const uint64_t *ids, uint32_t count)
{
    struct text list = {0};
    for (uint32_t i = 0; i < count; i++)
        wire_add_varint(&list, ids[i]);
    if (count > 0)
        wire_add_bytes(message, field, text_within(&list, message), list.length);
    text_release(&list);
}

void chakra_add_head(struct text *out, const char *version)
{
    struct text message = {0};
    wire_add_bytes(&message, 1, version, strlen(version));
    add_message(out, &message);
    text_release(&message);
}

void chakra_add_node(struct text *out, const struct chakra_node *node, const uint64_t *deps)
{
    enum { INT32 = 7, INT64 = 9, BOOL = 27 };
    struct text message = {0};
    wire_add_number(&message, 1, node->id);
    wire_add_bytes(&message, 2, node->name, strlen(node->name));
    wire_add_number(&message, 3, node->type);
    add_ids(&message, 4, deps + node->data_count, node->control_count);
    add_ids(&message, 5, deps, node->data_count);
    if (node->start > 0)
        wire_add_number(&message, 6, (uint64_t)node->start);
    if (node->duration > 0)
        wire_add_number(&message, 7, (uint64_t)node->duration);
    add_attribute(&message, "is_cpu_op", BOOL, node->host);
    if (node->host && node->thread != 0)
        add_attribute(&message, "tid", INT64, node->thread);
    if (node->collective >= 0)
        add_attribute(&message, "comm_type", INT64, node->collective);
    bool exchange =
        node->type == CHAKRA_SEND || node->type == CHAKRA_RECEIVE || node->type == CHAKRA_COLLECTIVE;
    if (node->bytes > 0 || exchange) /* readers insist on the size, also where none is known */
        add_attribute(&message, "comm_size", INT64, node->bytes);
    if (node->from >= 0)
        add_attribute(&message, "comm_src", INT32, node->from);
    if (node->to >= 0)
        add_attribute(&message, "comm_dst", INT32, node->to);
    if (node->tag >= 0)
        add_attribute(&message, "comm_tag", INT64, node->tag);
    add_message(out, &message);
    text_release(&message);
}

/* --- a timeline ----------------------------------------------------------------------------------------- */

struct device {
    struct file_output output;
    struct text text;
    int number;
    uint64_t last[STREAM_KINDS]; /* plus 1: the node before on each stream; 0: none */
};

/* A send whose receive has not come yet. */
struct pending {
    struct chakra_node node;
    uint64_t deps[2];
    int64_t cause;
    double begin;
    char name[96];
};

struct chakra_out {
    const char *prefix;
    struct device *devices;
    size_t count, capacity;
    struct hash_map places; /* device + 1 -> place in devices, plus 1 */
    struct pending *sends;
    size_t send_count, send_capacity;
    int64_t remembered[65536]; /* ids of the latest tasks, by id % 65536, plus 1; and their devices */
    int64_t devices_by_id[65536];
};

static struct device *device_at(struct chakra_out *out, int number, struct error *err)
{
    struct text path = {0};
    int64_t *place = hash_map_place(&out->places, (uint64_t)number + 1);
    if (place && *place > 0)
        return &out->devices[*place - 1];
    if (!place || !VECTOR_ROOM_ZEROED(out->devices, out->capacity, out->count + 1))
        return error_memory_null(err);
    if (out->count == MAX_FILES)
        return error_null(err, ERROR_USAGE, "--chakra writes a file for each device, of at most %d",
                          MAX_FILES);
    struct device *device = &out->devices[out->count];
    *device = (struct device){.number = number};
    text_format(&path, "%s.%d.et", out->prefix, number);
    bool opened = !path.failed ? file_output_open(&device->output, path.data, err) : error_memory(err);
    text_release(&path);
    if (!opened)
        return NULL;
    *place = (int64_t)++out->count;
    chakra_add_head(&device->text, VERSION);
    return device;
}

static bool flush(struct device *device, size_t limit, struct error *err)
{
    if (device->text.failed)
        return error_memory(err);
    if (device->text.length < limit)
        return true;
    fwrite(device->text.data, 1, device->text.length, device->output.out); /* checked when it is closed */
    device->text.length = 0;
    return true;
}

static uint8_t type_of(enum timeline_kind kind)
{
    switch (kind) {
    case TASK_SEND:
        return CHAKRA_SEND;
    case TASK_RECEIVE:
        return CHAKRA_RECEIVE;
    case TASK_COLLECTIVE:
        return CHAKRA_COLLECTIVE;
    case TASK_LOAD:
        return CHAKRA_LOAD;
    case TASK_SAVE:
        return CHAKRA_STORE;
    default:
        return CHAKRA_COMPUTE;
    }
}

/* The format's number of a collective, by the words of its name. */
static int32_t collective_of(const char *name)
{
    static const struct {
        const char *words;
        int32_t number;
    } kinds[] = {{"reduce-scatter", 7}, {"all-gather", 2}, {"gather", 2}, {"all-to-all", 6},
                 {"broadcast", 5},      {"barrier", 9},    {"scatter", 7}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(name, kinds[i].words))
            return kinds[i].number;
    return 0; /* all-reduce */
}

static int64_t microseconds(double seconds)
{
    double value = round(seconds * 1e6);
    return value < 1e15 ? (int64_t)value : INT64_C(1000000000000000);
}

static void remember(struct chakra_out *out, const struct timeline_task *task)
{
    out->remembered[task->id % 65536] = task->id + 1;
    out->devices_by_id[task->id % 65536] = task->device;
}

/* Returns the device of a task, -1: too long ago. */
static int64_t device_of_task(const struct chakra_out *out, int64_t id)
{
    return id >= 0 && out->remembered[id % 65536] == id + 1 ? out->devices_by_id[id % 65536] : -1;
}

static void take_deps(const struct chakra_out *out, struct device *device, const struct timeline_task *task,
                      struct chakra_node *node, uint64_t *deps)
{
    int stream = task->stream >= 0 && task->stream < STREAM_KINDS ? task->stream : STREAM_COMPUTE;
    if (device->last[stream] > 0)
        deps[node->data_count++] = device->last[stream] - 1;
    bool here = device_of_task(out, task->cause) == task->device;
    if (here && (node->data_count == 0 || deps[0] != (uint64_t)task->cause))
        deps[node->data_count++] = (uint64_t)task->cause;
    device->last[stream] = (uint64_t)task->id + 1;
}

/* A receive is caused by its send, or begins with it, by the same cause. */
static bool belongs(const struct pending *send, const struct timeline_task *receive)
{
    return send->node.id == (uint64_t)receive->cause ||
           (send->cause == receive->cause && fabs(send->begin - receive->begin) < 1e-9);
}

/* Writes the send that a receive belongs to. A receive without one keeps its peer unknown. */
static bool match(struct chakra_out *out, const struct timeline_task *task, struct chakra_node *node,
                  struct error *err)
{
    for (size_t i = out->send_count; i-- > 0;) {
        struct pending *send = &out->sends[i];
        if (!belongs(send, task))
            continue;
        struct device *device = device_at(out, send->node.from, err);
        if (!device)
            return false;
        send->node.name = send->name;
        send->node.to = task->device;
        chakra_add_node(&device->text, &send->node, send->deps);
        node->from = send->node.from;
        node->tag = send->node.tag;
        out->sends[i] = out->sends[--out->send_count];
        return flush(device, FLUSH_BYTES, err);
    }
    return true;
}

static bool hold(struct chakra_out *out, const struct timeline_task *task, const struct chakra_node *node,
                 const uint64_t *deps, struct error *err)
{
    struct pending send = {
        .node = *node, .deps = {deps[0], deps[1]}, .cause = task->cause, .begin = task->begin};
    snprintf(send.name, sizeof send.name, "%s", node->name);
    return VECTOR_ADD(out->sends, out->send_count, out->send_capacity, send) || error_memory(err);
}

static bool take_task(void *context, const struct timeline_task *task, struct error *err)
{
    struct chakra_out *out = context;
    uint64_t deps[2] = {0};
    char name[96];
    struct device *device = device_at(out, task->device, err);
    if (!device)
        return false;
    const char *word = task->name ? task->name : timeline_kind_names[task->kind];
    if (task->microbatch >= 0)
        snprintf(name, sizeof name, "%.64s %lld", word, (long long)task->microbatch);
    else
        snprintf(name, sizeof name, "%.90s", word);
    struct chakra_node node = {.id = (uint64_t)task->id,
                               .name = name,
                               .type = type_of(task->kind),
                               .start = microseconds(task->begin),
                               .duration = microseconds(task->end - task->begin),
                               .bytes = task->bytes < 9e18 ? (int64_t)task->bytes : 0,
                               .collective = task->kind == TASK_COLLECTIVE ? collective_of(word) : -1,
                               .from = -1,
                               .to = -1,
                               .tag = -1};
    if (node.duration == 0 && task->end > task->begin)
        node.duration = 1;
    take_deps(out, device, task, &node, deps);
    remember(out, task);
    if (task->kind == TASK_SEND) {
        node.from = task->device;
        node.tag = task->id;
        return hold(out, task, &node, deps, err);
    }
    if (task->kind == TASK_RECEIVE) {
        node.to = task->device;
        if (!match(out, task, &node, err))
            return false;
    }
    chakra_add_node(&device->text, &node, deps);
    return flush(device, FLUSH_BYTES, err);
}

struct timeline_sink chakra_sink(struct chakra_out *out)
{
    return (struct timeline_sink){.context = out, .task = take_task};
}

struct chakra_out *chakra_open(const char *prefix, struct error *err)
{
    struct chakra_out *out = calloc(1, sizeof *out);
    if (out)
        out->prefix = prefix;
    else
        error_memory(err);
    return out;
}

/* Sends that nobody received are written as they are. */
static bool write_rest(struct chakra_out *out, struct error *err)
{
    for (size_t i = 0; i < out->send_count; i++) {
        struct pending *send = &out->sends[i];
        struct device *device = device_at(out, send->node.from, err);
        if (!device)
            return false;
        send->node.name = send->name;
        chakra_add_node(&device->text, &send->node, send->deps);
    }
    return true;
}

bool chakra_close(struct chakra_out *out, bool done, struct error *err)
{
    if (!out)
        return done;
    done = done && write_rest(out, err);
    for (size_t i = 0; i < out->count; i++) {
        done = done && flush(&out->devices[i], 0, err);
        text_release(&out->devices[i].text);
        done = file_output_close(&out->devices[i].output, done, err) && done;
    }
    free(out->devices);
    free(out->sends);
    hash_map_release(&out->places);
    free(out);
    return done;
}
