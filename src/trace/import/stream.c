#include "trace/import/stream.h"

#include "trace/import/import.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BRACKETS 32 /* within each other, whose kind is remembered */

struct stream {
    struct import_lines *lines;
    import_take_object *take;
    void *context;
    char *text; /* of the present object */
    size_t length;
    char key[24]; /* the last text in the outermost object: the name of the next value */
    size_t key_length;
    bool in_list;                /* in the list of objects */
    char brackets[MAX_BRACKETS]; /* open ones, the object's own included */
    int64_t depth, object_depth; /* object_depth: of the present object; 0: none */
    bool string, escaped, line_start, began_line, too_long;
};

static bool end_object(struct stream *stream, struct error *err)
{
    stream->object_depth = 0;
    stream->text[stream->length] = '\0';
    if (stream->too_long)
        return stream->take(stream->context, NULL, "an overlong object", err);
    bool whole = strlen(stream->text) == stream->length;
    return stream->take(stream->context, whole ? stream->text : NULL, "not a JSON object", err);
}

static void keep(struct stream *stream, char c)
{
    if (stream->length == TRACE_IMPORT_LINE_BYTES)
        stream->too_long = true;
    else
        stream->text[stream->length++] = c;
}

static void open_bracket(struct stream *stream, char c)
{
    if (stream->depth < MAX_BRACKETS)
        stream->brackets[stream->depth] = c;
    if (stream->depth == 0)
        stream->in_list = c == '[';
    else if (stream->depth == 1 && stream->brackets[0] == '{')
        stream->in_list = c == '[' && strcmp(stream->key, "traceEvents") == 0;
    stream->depth++;
    if (c == '{' && !stream->object_depth && stream->in_list && stream->depth >= 2 &&
        stream->depth <= MAX_BRACKETS && stream->brackets[stream->depth - 2] == '[') {
        stream->object_depth = stream->depth;
        stream->began_line = stream->line_start;
        stream->length = 0;
        stream->too_long = false;
    }
}

/* Gives up the present object: it began a line, and so does the next one, within it. */
static bool cut_off(struct stream *stream, struct error *err)
{
    stream->depth = stream->object_depth - 1;
    stream->object_depth = 0;
    stream->string = stream->escaped = false;
    return stream->take(stream->context, NULL, "a truncated object", err);
}

/* Keeps the start of a key; one that is too long is unknown. */
static void keep_key(struct stream *stream, char c)
{
    size_t max = sizeof stream->key - 1;
    if (c != '"' && stream->key_length < max)
        stream->key[stream->key_length++] = c;
    stream->key[stream->key_length < max ? stream->key_length : 0] = '\0';
}

static bool take_byte(struct stream *stream, char c, struct error *err)
{
    bool ends = false;
    if (c == '{' && stream->line_start && stream->object_depth && stream->began_line && !cut_off(stream, err))
        return false;
    if (stream->string) {
        if (stream->depth == 1)
            keep_key(stream, c);
        stream->string = c != '"' || stream->escaped;
        stream->escaped = c == '\\' && !stream->escaped;
    } else if (c == '"') {
        stream->string = true;
        stream->key_length = 0;
    } else if (c == '{' || c == '[') {
        open_bracket(stream, c);
    } else if (stream->depth == 1 && c >= '0' && c <= '9' &&
               strcmp(stream->key, "baseTimeNanoseconds") == 0 &&
               stream->lines->base_ns < TRACE_MAX_TIME / 16) {
        stream->lines->base_ns = 10 * stream->lines->base_ns + (c - '0');
    } else if (c == '}' || c == ']') {
        ends = stream->object_depth && stream->depth == stream->object_depth;
        stream->depth -= stream->depth > 0;
    }
    if (stream->object_depth)
        keep(stream, c);
    stream->lines->line += c == '\n';
    stream->line_start = c == '\n';
    return !ends || end_object(stream, err);
}

/* Takes what neither ends a string nor stands in a key of the outermost object, in one step. Returns its length. */
static size_t take_plain(struct stream *stream, const char *bytes, size_t length)
{
    size_t room = TRACE_IMPORT_LINE_BYTES - stream->length, count = 0;
    if (!stream->object_depth || stream->depth == 1 || stream->escaped || stream->line_start)
        return 0;
    length = length < room ? length : room;
    if (stream->string)
        while (count < length && bytes[count] != '"' && bytes[count] != '\\' && bytes[count] != '\n')
            count++;
    else /* numbers, commas and blanks: no quote, bracket or line feed */
        while (count < length && bytes[count] >= ' ' && bytes[count] < '[' && bytes[count] != '"')
            count++;
    memcpy(stream->text + stream->length, bytes, count);
    stream->length += count;
    return count;
}

static bool take_bytes(struct stream *stream, struct error *err)
{
    const char *bytes;
    size_t length;
    do {
        if (!import_lines_raw(stream->lines, &bytes, &length, err))
            return false;
        for (size_t i = 0; i < length;) {
            i += take_plain(stream, bytes + i, length - i);
            if (i < length && !take_byte(stream, bytes[i++], err))
                return false;
        }
    } while (length > 0);
    return !stream->object_depth || cut_off(stream, err);
}

bool import_stream(struct import_lines *lines, import_take_object *take, void *context, struct error *err)
{
    struct stream stream = {.lines = lines, .take = take, .context = context, .line_start = true};
    stream.text = malloc(TRACE_IMPORT_LINE_BYTES + 1);
    bool done = stream.text ? take_bytes(&stream, err) : error_memory(err);
    free(stream.text);
    return done;
}
