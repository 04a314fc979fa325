/* Words, unknowns and variables of a script, and where raw words end. */
#include "core/hash.h"
#include "launch/shell/parts.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool shell_error(struct shell_run *run, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    run->state->failed = true;
    return error_set(run->state->err, ERROR_INPUT, "%s:%d: %s", run->path, run->line, message);
}

bool shell_no_memory(struct shell_run *run)
{
    bool said = run->state->failed;
    run->state->failed = true;
    return said ? false : error_memory(run->state->err);
}

/* ---- words ---- */

bool shell_add_word(struct arena *arena, struct shell_words *words, const char *text, const char *path,
                    int line)
{
    struct shell_word *items =
        arena_grow(arena, words->items, words->count, &words->room, sizeof *words->items);
    if (!items || !text)
        return false;
    words->items = items;
    words->items[words->count++] = (struct shell_word){text, path, line};
    return true;
}

/* Returns the line of a mark of a line, and sets *at behind it. */
static int marked_line(const char **at)
{
    char *end;
    long line = strtol(*at + 1, &end, 10);
    *at = *end == SHELL_END ? end + 1 : end;
    return (int)line;
}

const char *shell_plain(struct arena *arena, const char *text)
{
    if (!strchr(text, SHELL_LINE))
        return text;
    char *copy = arena_string(arena, text);
    char *to = copy;
    for (const char *at = text; copy && *at;)
        if (*at == SHELL_LINE)
            marked_line(&at);
        else
            *to++ = *at++;
    if (copy)
        *to = '\0';
    return copy;
}

bool shell_split(struct arena *arena, const struct shell_word *word, struct shell_words *words)
{
    int line = word->line;
    const char *at = word->text;
    while (*at) {
        if (*at == SHELL_LINE) {
            line = marked_line(&at);
            continue;
        }
        if (isspace((unsigned char)*at)) {
            at++;
            continue;
        }
        char *copy = arena_string(arena, at), *to = copy, quote = 0;
        int first = line;
        if (!copy)
            return false;
        while (*at && (quote || !isspace((unsigned char)*at))) {
            if (*at == SHELL_LINE) {
                const char *mark = at;
                line = marked_line(&at);
                if (quote) /* the words inside have lines of their own */
                    while (mark < at)
                        *to++ = *mark++;
            } else if (*at == quote || (!quote && (*at == '\'' || *at == '"')))
                quote = quote ? 0 : *at, at++;
            else
                *to++ = *at++;
        }
        *to = '\0';
        if (!shell_add_word(arena, words, copy, word->path, first))
            return false;
    }
    return true;
}

/* ---- unknowns ---- */

const char *shell_mark(struct shell *shell, int unknown)
{
    return arena_format(&shell->arena, "%c%d%c", SHELL_MARK, unknown, SHELL_END);
}

int shell_mark_in(const char *text)
{
    const char *mark = strchr(text, SHELL_MARK);
    int64_t number;
    return mark && text_whole(mark + 1, (const char[]){SHELL_END, 0}, &number) ? (int)number : -1;
}

struct shell_unknown *shell_unknown_in(const struct shell *shell, const char *text)
{
    int unknown = shell_mark_in(text);
    return unknown >= 0 && unknown < shell->unknown_count ? &shell->unknowns[unknown] : NULL;
}

int shell_add_unknown(struct shell_run *run, const char *name, size_t length, const char *text)
{
    struct shell *shell = run->shell;
    if (!shell_spend(run, shell->unknown_count / 128))
        return -1;
    for (int i = 0; name && i < shell->unknown_count; i++)
        if (shell->unknowns[i].name && !shell->unknowns[i].text &&
            strncmp(shell->unknowns[i].name, name, length) == 0 && !shell->unknowns[i].name[length])
            return i;
    if (shell->unknown_count >= SHELL_MAX_NAMES) {
        shell_error(run, "more than %d unknown variables and outputs of commands", SHELL_MAX_NAMES);
        return -1;
    }
    struct shell_unknown *items = arena_grow(&shell->arena, shell->unknowns, shell->unknown_count,
                                             &shell->unknown_room, sizeof *shell->unknowns);
    const char *copy = name ? arena_copy(&shell->arena, name, length) : NULL;
    if (!items || (name && !copy)) {
        shell_no_memory(run);
        return -1;
    }
    shell->unknowns = items;
    items[shell->unknown_count] =
        (struct shell_unknown){.name = copy, .text = text, .path = run->path, .line = run->line};
    return shell->unknown_count++;
}

/* ---- variables ---- */

static size_t place_of(const char *name, size_t length)
{
    return hash_bytes(0, name, length) % (sizeof((struct shell){0}.places) / sizeof(int));
}

static struct shell_variable *find(const struct shell *shell, const char *name, size_t length)
{
    for (int i = shell->places[place_of(name, length)]; i > 0; i = shell->variables[i - 1].next)
        if (strncmp(shell->variables[i - 1].name, name, length) == 0 && !shell->variables[i - 1].name[length])
            return &shell->variables[i - 1];
    return NULL;
}

const struct shell_variable *shell_find(const struct shell *shell, const char *name)
{
    return find(shell, name, strlen(name));
}

const char *shell_batch_value(const struct shell *shell, const char *name, const char *letter)
{
    const char *found = NULL;
    size_t length = strlen(name);
    for (int i = 0; i < shell->batch.count; i++) {
        const char *text = shell->batch.items[i].text;
        const char *next = i + 1 < shell->batch.count ? shell->batch.items[i + 1].text : NULL;
        if (strcmp(text, name) == 0 || (*letter && strcmp(text, letter) == 0))
            found = next;
        else if (strncmp(text, name, length) == 0 && text[length] == '=')
            found = text + length + 1;
        else if (*letter && strncmp(text, letter, 2) == 0 && isdigit((unsigned char)text[2]))
            found = text + 2;
    }
    return found;
}

struct shell_variable *shell_variable_of(struct shell *shell, const char *name, size_t length)
{
    struct shell_variable *known = find(shell, name, length);
    if (known)
        return known;
    if (shell->variable_count >= SHELL_MAX_NAMES)
        return NULL;
    struct shell_variable *items = arena_grow(&shell->arena, shell->variables, shell->variable_count,
                                              &shell->variable_room, sizeof *shell->variables);
    const char *copy = arena_copy(&shell->arena, name, length);
    if (!items || !copy)
        return NULL;
    shell->variables = items;
    int *place = &shell->places[place_of(name, length)];
    items[shell->variable_count] = (struct shell_variable){.name = copy, .next = *place};
    *place = ++shell->variable_count;
    return &items[*place - 1];
}

/* Notes through which variable an unknown goes on; a command's output is called as the first variable that holds it. */
static void name_unknowns(struct shell *shell, const struct shell_variable *variable,
                          const struct shell_words *values)
{
    for (int i = 0; i < values->count; i++)
        for (const char *at = values->items[i].text; (at = strchr(at, SHELL_MARK)) != NULL; at++) {
            struct shell_unknown *unknown = shell_unknown_in(shell, at);
            if (!unknown)
                continue;
            if (!unknown->name)
                unknown->name = variable->name;
            else if (!unknown->through && strcmp(unknown->name, variable->name) != 0)
                unknown->through = variable->name;
        }
}

static bool add_to_scalar(struct shell *shell, struct shell_variable *variable,
                          const struct shell_words *values)
{
    const char *before = variable->values.count > 0 ? variable->values.items[0].text : "";
    const char *more = values->count > 0 ? values->items[0].text : "";
    const char *both = arena_format(&shell->arena, "%s%s", before, more);
    variable->values.count = 0;
    return both && shell_add_word(&shell->arena, &variable->values, both, variable->path, variable->line);
}

bool shell_assign(struct shell_run *run, const char *name, size_t length, const struct shell_words *values,
                  bool is_array, bool adds)
{
    struct shell *shell = run->shell;
    struct shell_state *state = run->state;
    if (state->passive > 0) {
        struct shell_words *list = state->open < 0 ? &shell->skipped : &state->touched;
        for (int i = list->count - 1; i >= 0; i--)
            if (strncmp(list->items[i].text, name, length) == 0 && !list->items[i].text[length])
                return true;
        if (list->count >= SHELL_MAX_NAMES)
            return shell_error(run, "more than %d variables", SHELL_MAX_NAMES);
        const char *copy = arena_copy(&shell->arena, name, length);
        return (copy && shell_add_word(&shell->arena, list, copy, run->path, run->line)) ||
               shell_no_memory(run);
    }
    if (!shell_spend(run, SHELL_STEP / 2))
        return false;
    struct shell_variable *variable = shell_variable_of(shell, name, length);
    if (!variable && shell->variable_count >= SHELL_MAX_NAMES)
        return shell_error(run, "more than %d variables", SHELL_MAX_NAMES);
    if (!variable)
        return shell_no_memory(run);
    if (variable->is_given)
        return true;
    name_unknowns(shell, variable, values);
    if (!adds || variable->line == 0) {
        variable->path = run->path;
        variable->line = run->line;
    }
    if (adds && !is_array && !variable->is_array)
        return add_to_scalar(shell, variable, values) || shell_no_memory(run);
    if (!adds)
        variable->values = (struct shell_words){0};
    variable->is_array = is_array || (adds && variable->is_array);
    for (int i = 0; i < values->count; i++)
        if (!shell_add_word(&shell->arena, &variable->values, values->items[i].text, values->items[i].path,
                            values->items[i].line))
            return shell_no_memory(run);
    return true;
}

size_t shell_name_length(const char *at, const char *end)
{
    size_t length = 0;
    while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_'))
        length++;
    return length > 0 && isdigit((unsigned char)*at) ? 0 : length;
}

/* ---- raw words ---- */

#define MAX_PIECES 100 /* one inside another */

static const char *piece_end(const char *at, const char *end, int depth);

/* Returns the end of a bracketed piece; quotes inside are skipped. */
static const char *brackets_end(const char *at, const char *end, char open, char close, int depth)
{
    int brackets = 0;
    while (at < end) {
        if (*at == close && --brackets == 0)
            return at + 1;
        brackets += *at == open;
        /* "${X:-it's}" has one quote only */
        bool quote = *at == '"' || *at == '`' || (*at == '\'' && open != '{');
        at = quote || *at == '\\' ? piece_end(at, end, depth) : at + 1;
    }
    return end;
}

/* Pieces that lie too deep inside others reach to the end. */
static const char *piece_end(const char *at, const char *end, int depth)
{
    char first = *at;
    if (depth > MAX_PIECES)
        return end;
    if (first == '$' && at + 1 < end && (at[1] == '(' || at[1] == '{'))
        return brackets_end(at + 1, end, at[1], at[1] == '(' ? ')' : '}', depth + 1);
    if ((first == '<' || first == '>') && at + 1 < end && at[1] == '(')
        return brackets_end(at + 1, end, '(', ')', depth + 1);
    if (first == '\\')
        return at + 1 < end ? at + 2 : end;
    if (first != '\'' && first != '"' && first != '`')
        return at + 1;
    for (at++; at < end && *at != first;) {
        bool opens = first == '"' && *at == '$' && at + 1 < end && (at[1] == '(' || at[1] == '{');
        at = opens || (first != '\'' && *at == '\\') ? piece_end(at, end, depth + 1) : at + 1;
    }
    return at < end ? at + 1 : end;
}

const char *shell_piece_end(const char *at, const char *end)
{
    return piece_end(at, end, 0);
}

const char *shell_word_end(const char *at, const char *end)
{
    while (at < end && !strchr(" \t\r\n;&|<>()", *at))
        at = shell_piece_end(at, end);
    return at < end ? at : end;
}
