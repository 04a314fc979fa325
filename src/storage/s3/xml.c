#include "storage/s3/xml.h"

#include "core/text.h"

#include <stdint.h>
#include <string.h>

struct reader {
    const char *at, *end;
    char path[S3_XML_MAX_PATH + 1];
    size_t path_length;
    bool rooted; /* the one outermost element has begun */
    struct text text;
    s3_xml_visit *visit;
    void *context;
};

static bool wrong(const char *what, struct error *err)
{
    return error_set(err, ERROR_INPUT, "not S3's XML: %s", what);
}

static bool starts(const struct reader *reader, const char *with)
{
    size_t length = strlen(with);
    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, with, length) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Moves behind the next `mark`; false if there is none. */
static bool skip_past(struct reader *reader, const char *mark)
{
    const char *found = memmem(reader->at, (size_t)(reader->end - reader->at), mark, strlen(mark));
    if (found)
        reader->at = found + strlen(mark);
    return found;
}

/* Returns the length of the name that begins here. */
static size_t name_length(const struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && !is_space(*at) && !strchr("/><=\"'&", *at))
        at++;
    return (size_t)(at - reader->at);
}

/* Moves to the '>' of a tag, past quoted ones. */
static bool skip_attributes(struct reader *reader)
{
    char quote = 0;
    for (; reader->at < reader->end; reader->at++) {
        char c = *reader->at;
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '<')
            return false;
        else if (c == '>')
            return true;
    }
    return false;
}

static bool end_element(struct reader *reader, struct error *err)
{
    if (reader->text.failed)
        return error_memory(err);
    if (!reader->visit(reader->context, reader->path, reader->text.data ? reader->text.data : "", err))
        return false;
    char *slash = strrchr(reader->path, '/');
    reader->path_length = slash ? (size_t)(slash - reader->path) : 0;
    reader->path[reader->path_length] = 0;
    reader->text.length = 0;
    if (reader->text.data)
        reader->text.data[0] = 0;
    return true;
}

static bool read_start(struct reader *reader, struct error *err)
{
    reader->at++;
    size_t length = name_length(reader);
    if (length == 0)
        return wrong("a tag without a name", err);
    if (reader->path_length == 0 && reader->rooted)
        return wrong("more than one outermost element", err);
    if (length + 1 > S3_XML_MAX_PATH - reader->path_length)
        return wrong("elements too deep", err);
    if (reader->path_length > 0)
        reader->path[reader->path_length++] = '/';
    memcpy(reader->path + reader->path_length, reader->at, length);
    reader->path_length += length;
    reader->path[reader->path_length] = 0;
    reader->rooted = true;
    reader->text.length = 0;
    if (reader->text.data)
        reader->text.data[0] = 0;
    reader->at += length;
    if (!skip_attributes(reader))
        return wrong("an unterminated tag", err);
    bool empty = reader->at[-1] == '/';
    reader->at++;
    return !empty || end_element(reader, err);
}

static bool read_end(struct reader *reader, struct error *err)
{
    reader->at += 2;
    size_t length = name_length(reader);
    const char *slash = strrchr(reader->path, '/');
    const char *open = slash ? slash + 1 : reader->path;
    if (length == 0 || strlen(open) != length || memcmp(open, reader->at, length) != 0)
        return wrong("a closing tag without its opening tag", err);
    reader->at += length;
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
    if (!starts(reader, ">"))
        return wrong("an unterminated tag", err);
    reader->at++;
    return end_element(reader, err);
}

/* Reads "#233;" or "#xe9;", behind the '&'. 0: it is neither. */
static uint32_t numbered(struct reader *reader)
{
    uint32_t base = starts(reader, "#x") ? 16 : 10, value = 0;
    reader->at += base == 16 ? 2 : 1;
    const char *first = reader->at;
    for (; reader->at < reader->end && *reader->at != ';'; reader->at++) {
        int digit = text_hex_digit(*reader->at);
        if (digit < 0 || (uint32_t)digit >= base || value > 0x10ffff)
            return 0;
        value = value * base + (uint32_t)digit;
    }
    bool character = value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
    if (!character || reader->at == first || !starts(reader, ";"))
        return 0;
    reader->at++;
    return value;
}

static bool read_entity(struct reader *reader, struct error *err)
{
    static const struct {
        const char *name;
        char value;
    } named[] = {{"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"quot;", '"'}, {"apos;", '\''}};
    reader->at++;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (starts(reader, named[i].name)) {
            reader->at += strlen(named[i].name);
            text_add_bytes(&reader->text, &named[i].value, 1);
            return true;
        }
    }
    uint32_t value = starts(reader, "#") ? numbered(reader) : 0;
    if (value == 0)
        return wrong("an unknown entity", err);
    char bytes[4];
    text_add_bytes(&reader->text, bytes, text_encode(bytes, value));
    return true;
}

static bool read_text(struct reader *reader, struct error *err)
{
    const char *start = reader->at;
    if (reader->path_length == 0 && !is_space(*start))
        return wrong("text outside of elements", err);
    if (*start == '&')
        return read_entity(reader, err);
    while (reader->at < reader->end && *reader->at != '<' && *reader->at != '&' &&
           (reader->path_length > 0 || is_space(*reader->at)))
        reader->at++;
    text_add_bytes(&reader->text, start, (size_t)(reader->at - start));
    return true;
}

static bool read_cdata(struct reader *reader, struct error *err)
{
    const char *start = reader->at + strlen("<![CDATA[");
    reader->at = start;
    if (reader->path_length == 0 || !skip_past(reader, "]]>"))
        return wrong("an unterminated CDATA section", err);
    text_add_bytes(&reader->text, start, (size_t)(reader->at - start) - strlen("]]>"));
    return true;
}

static bool read_next(struct reader *reader, struct error *err)
{
    if (*reader->at != '<')
        return read_text(reader, err);
    if (starts(reader, "</"))
        return read_end(reader, err);
    if (starts(reader, "<![CDATA["))
        return read_cdata(reader, err);
    if (starts(reader, "<!--"))
        return skip_past(reader, "-->") || wrong("an unterminated comment", err);
    if (starts(reader, "<?"))
        return skip_past(reader, "?>") || wrong("an unterminated processing instruction", err);
    if (starts(reader, "<!"))
        return wrong("a document type", err);
    return read_start(reader, err);
}

bool s3_xml_read(const char *data, size_t length, s3_xml_visit *visit, void *context, struct error *err)
{
    if (length == 0) /* then there may be no data either */
        return wrong("it is empty", err);
    struct reader reader = {.at = data, .end = data + length, .visit = visit, .context = context};
    if (memchr(data, 0, length) || text_valid_utf8(data, length) != length)
        return wrong("bytes that are not text", err);
    bool ok = true;
    while (ok && reader.at < reader.end)
        ok = read_next(&reader, err);
    text_release(&reader.text);
    if (ok && (reader.path_length > 0 || !reader.rooted))
        return wrong("it is truncated", err);
    return ok;
}
