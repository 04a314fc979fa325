/* Reads options from a shell script without a shell: words, assignments, and variables set in the script. */
#include "launch/megatron.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VARIABLES 1000
#define MAX_NUMBER    INT64_C(1000000000)

struct variable {
    const char *name, *value;
};

struct scanner {
    const char *path, *at, *end;
    int line;
    struct megatron_arguments *arguments;
    struct error *err;
    int variable_count;
    struct variable variables[MAX_VARIABLES];
};

/* Variables of MLPerf's configurations of Megatron and NeMo (config_*.sh of the submissions to MLPerf Training). */
static const struct {
    const char *variable;
    enum megatron_option option;
} mlperf[] = {
    {"TENSOR_MODEL_PARALLEL", MEGATRON_TENSOR},   {"PIPELINE_MODEL_PARALLEL", MEGATRON_PIPELINE},
    {"INTERLEAVED_PIPELINE", MEGATRON_CHUNKS},    {"CONTEXT_PARALLEL", MEGATRON_CONTEXT},
    {"EXPERT_MODEL_PARALLEL", MEGATRON_EXPERT},   {"MICRO_BATCH_SIZE", MEGATRON_MICROBATCH},
    {"SEQ_PARALLEL", MEGATRON_SEQUENCE_PARALLEL},
};

/* ---- words ---- */

static bool is_line_end(const struct scanner *s, const char *at)
{
    return at + 1 < s->end && at[0] == '\\' &&
           (at[1] == '\n' || (at[1] == '\r' && at + 2 < s->end && at[2] == '\n'));
}

static bool is_blank(const struct scanner *s, const char *at)
{
    return strchr(" \t\r\n;", *at) != NULL || is_line_end(s, at);
}

static void skip_blanks(struct scanner *s)
{
    for (; s->at < s->end && (is_blank(s, s->at) || *s->at == '#'); s->at++) {
        if (*s->at == '#')
            while (s->at + 1 < s->end && s->at[1] != '\n')
                s->at++;
        s->line += *s->at == '\n';
    }
}

static void drop(char *text, size_t count)
{
    memmove(text, text + count, strlen(text + count) + 1);
}

/* Removes closing brackets of an array that was not opened in the word. */
static void trim_brackets(char *text)
{
    int open = 0;
    for (const char *c = text; *c; c++)
        open += (*c == '(') - (*c == ')');
    for (size_t length = strlen(text); open < 0 && length > 0 && text[length - 1] == ')'; open++)
        text[--length] = '\0';
}

/* Returns the next word without quotes; quotes may hold several words, and options in quotes count. NULL: the end
 * (err->text is empty), or out of memory. */
static char *next_word(struct scanner *s, int *line)
{
    s->err->text[0] = '\0';
    skip_blanks(s);
    *line = s->line;
    if (s->at == s->end)
        return NULL;
    const char *start = s->at;
    while (s->at < s->end && !is_blank(s, s->at))
        s->at++;
    char *word = arena_copy(&s->arguments->arena, start, (size_t)(s->at - start));
    if (!word) {
        error_memory(s->err);
        return NULL;
    }
    size_t length = 0;
    for (const char *c = word; *c; c++)
        if (!strchr("\"'`\\", *c))
            word[length++] = *c;
    word[length] = '\0';
    trim_brackets(word);
    return word;
}

static const char *peek_word(struct scanner *s, int *line)
{
    struct scanner before = {.at = s->at, .line = s->line};
    const char *word = next_word(s, line);
    s->at = before.at;
    s->line = before.line;
    return word;
}

/* ---- variables ---- */

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    return length > 0 && !isdigit((unsigned char)text[0]) ? length : 0;
}

static const char *variable(const struct scanner *s, const char *name, size_t length)
{
    for (int i = s->variable_count - 1; i >= 0; i--)
        if (strncmp(s->variables[i].name, name, length) == 0 && s->variables[i].name[length] == '\0')
            return s->variables[i].value;
    return NULL;
}

/* Returns the value, or the default, of "$NAME", "${NAME}" or "${NAME:-8}", and any other text itself. */
static const char *resolved(struct scanner *s, char *text)
{
    if (text[0] != '$')
        return text;
    char *name = text + (text[1] == '{' ? 2 : 1);
    size_t length = strspn(name, "0123456789") > 0 ? strspn(name, "0123456789") : name_length(name);
    char *rest = name + length;
    const char *known = length > 0 ? variable(s, name, length) : NULL;
    size_t tail = strlen(rest);
    if (known && (*rest == '\0' || (text[1] == '{' && rest[tail - 1] == '}')))
        return known;
    size_t mark = rest[0] == ':' ? 1 : 0;
    if (text[1] != '{' || tail < mark + 2 || !strchr("-=", rest[mark]) || rest[tail - 1] != '}')
        return text;
    rest[tail - 1] = '\0';
    return rest + mark + 1;
}

static bool set_variable(struct scanner *s, char *name, size_t length, const char *value)
{
    if (s->variable_count == MAX_VARIABLES)
        return error_set(s->err, ERROR_INPUT, "%s:%d: more than %d variables", s->path, s->line,
                         MAX_VARIABLES);
    const char *copy = arena_copy(&s->arguments->arena, name, length);
    if (!copy)
        return error_memory(s->err);
    s->variables[s->variable_count++] = (struct variable){copy, value};
    return true;
}

/* ---- options ---- */

static bool add_unknown(struct scanner *s, const char *name, int line)
{
    struct megatron_arguments *arguments = s->arguments;
    if (arguments->unknown_count == LAUNCH_MAX_UNKNOWN)
        return error_set(s->err, ERROR_INPUT, "%s:%d: more than %d options that are not understood", s->path,
                         line, LAUNCH_MAX_UNKNOWN);
    arguments->unknown[arguments->unknown_count++] = (struct launch_unknown){name, line};
    return true;
}

static bool read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *number = value;
    return end != text && *end == '\0' && errno == 0 && value >= 1 && value <= MAX_NUMBER;
}

static bool set_option(struct scanner *s, enum megatron_option option, const char *name, int line,
                       const char *value)
{
    struct megatron_value read = {.given = true, .line = line, .number = 1, .word = value};
    if (value[0] == '$')
        return error_set(s->err, ERROR_INPUT, "%s:%d: %s: the script does not set '%s': write its value",
                         s->path, line, name, value);
    if (megatron_kind(option) == MEGATRON_NUMBER && !read_number(value, &read.number))
        return error_set(s->err, ERROR_INPUT,
                         "%s:%d: %s: expected a whole number from 1 to %" PRId64 ", found '%s'", s->path,
                         line, name, MAX_NUMBER, value);
    s->arguments->values[option] = read;
    return true;
}

/* "--name value" or "--name=value" */
static bool read_option(struct scanner *s, char *name, int line)
{
    enum megatron_option option;
    char *value = strchr(name, '=');
    if (value)
        *value++ = '\0';
    if (!megatron_find(name, &option))
        return add_unknown(s, name, line);
    if (megatron_kind(option) == MEGATRON_FLAG && value)
        return error_set(s->err, ERROR_INPUT, "%s:%d: %s takes no value, found '%s'", s->path, line, name,
                         value);
    if (megatron_kind(option) == MEGATRON_FLAG)
        return set_option(s, option, name, line, "");
    int value_line = line;
    const char *next = value ? value : peek_word(s, &value_line);
    if (!next && s->err->text[0])
        return false;
    if (!next || !*next || strncmp(next, "--", 2) == 0)
        return error_set(s->err, ERROR_INPUT, "%s:%d: %s: expected a value", s->path, line, name);
    if (!value)
        value = next_word(s, &value_line);
    return value && set_option(s, option, name, value_line, resolved(s, value));
}

/* Reads a variable of MLPerf's. Variables that are switched off ("0", "null", "False") or computed are ignored. */
static bool read_mlperf(struct scanner *s, const char *name, size_t length, const char *value, int line)
{
    static const char *const off[] = {"", "0", "null", "None", "False", "false"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (strcmp(value, off[i]) == 0)
            return true;
    if (length == strlen("MINIBS") && strncmp(name, "MINIBS", length) == 0) {
        struct launch_value *batch = &s->arguments->rank_batch;
        batch->given = read_number(value, &batch->value);
        batch->line = line;
        return true;
    }
    for (size_t i = 0; i < sizeof mlperf / sizeof *mlperf; i++)
        if (strlen(mlperf[i].variable) == length && strncmp(name, mlperf[i].variable, length) == 0)
            return value[0] == '$' || set_option(s, mlperf[i].option, mlperf[i].variable, line, value);
    return true;
}

/* Reads "NAME=value", or "${NAME:=value}" behind a colon; the value may be a list that begins with an option. */
static bool read_assignment(struct scanner *s, char *word, int line)
{
    if (strncmp(word, "${", 2) == 0)
        drop(word, 2);
    size_t length = name_length(word);
    char *value = word + length + (length > 0 && word[length] == ':');
    if (length == 0 || *value != '=')
        return true;
    size_t size = strlen(value);
    if (value > word + length && value[size - 1] == '}')
        value[size - 1] = '\0';
    value++;
    if (*value == '(')
        drop(value, 1);
    trim_brackets(value);
    if (strncmp(value, "--", 2) == 0)
        return read_option(s, value, line);
    const char *known = resolved(s, value);
    return set_variable(s, word, length, known) && read_mlperf(s, word, length, known, line);
}

static bool scan(struct scanner *s)
{
    int line;
    for (char *word; (word = next_word(s, &line));) {
        bool option = strncmp(word, "--", 2) == 0 && word[2];
        if (!(option ? read_option(s, word, line) : read_assignment(s, word, line)))
            return false;
    }
    return !s->err->text[0];
}

bool megatron_scan(const char *path, const char *data, size_t length, struct megatron_arguments *arguments,
                   struct error *err)
{
    if (length > LAUNCH_MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: more than %zu bytes", path, LAUNCH_MAX_BYTES);
    if (length > 0 && memchr(data, 0, length))
        return error_set(err, ERROR_INPUT, "%s: is no text: it holds a NUL", path);
    struct arena arena = {0};
    struct scanner *s = ARENA_NEW(&arena, struct scanner);
    memset(arguments, 0, sizeof *arguments);
    if (!s)
        return error_memory(err);
    *s = (struct scanner){
        .path = path, .at = data, .end = data + length, .line = 1, .arguments = arguments, .err = err};
    bool ok = scan(s);
    arena_release(&arena);
    if (!ok)
        arena_release(&arguments->arena);
    return ok;
}
