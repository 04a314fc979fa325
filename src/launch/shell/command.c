/* Commands of a script: their words, redirections and here documents, and what some of them do. */
#include "launch/shell/parts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of NAME in "NAME=", "NAME+=" or "NAME[1]=", 0: it is none. */
static size_t assigned_name(const char *at, const char *end, bool *adds, const char **value)
{
    size_t length = shell_name_length(at, end);
    const char *next = at + length;
    if (length == 0 || next >= end)
        return 0;
    *adds = *next == '+' && next + 1 < end && next[1] == '=';
    next += *adds;
    if (*next != '=')
        return 0;
    *value = next + 1;
    return length;
}

/* Reads NAME=( ... ). */
static bool read_array(struct shell_run *run, const char *name, size_t length, bool adds)
{
    struct shell_words values = {0};
    struct shell_state *state = run->state;
    run->at++;
    for (;;) {
        shell_skip_blanks(run);
        if (run->at == run->end)
            return shell_error(run, "the list of '%.*s' has no end", (int)length, name);
        if (*run->at == '#') {
            shell_skip_comment(run);
        } else if (*run->at == '\n') {
            run->at++;
            run->line++;
        } else if (*run->at == ')') {
            run->at++;
            return shell_assign(run, name, length, &values, true, adds);
        } else {
            const char *start = run->at, *end = shell_word_end(start, run->end);
            if (end == start)
                return shell_error(run, "unexpected '%c' in the list of '%.*s'", *start, (int)length, name);
            if (state->passive == 0 && !shell_expand(run, start, (size_t)(end - start), false, &values))
                return false;
            shell_pass(run, end);
        }
    }
}

/* NAME=<path to the data>: what is to be written there, up to the end of the line. */
static bool is_placeholder(const struct shell_run *run)
{
    if (run->end - run->at < 3 || run->at[0] != '<' || strchr("<(&", run->at[1]))
        return false;
    const char *end = memchr(run->at, '\n', (size_t)(run->end - run->at));
    end = end ? end : run->end;
    while (end > run->at && isspace((unsigned char)end[-1]))
        end--;
    return end - run->at > 2 && end[-1] == '>';
}

/* A variable with a placeholder is not set. */
static bool assign_placeholder(struct shell_run *run, const char *name, size_t length)
{
    struct shell_words one = {0};
    int unknown = run->state->passive > 0 ? 0 : shell_add_unknown(run, name, length, NULL);
    const char *mark = unknown < 0 ? NULL : shell_mark(run->shell, unknown);
    bool ok = mark && shell_add_word(&run->shell->arena, &one, mark, run->path, run->line) &&
              shell_assign(run, name, length, &one, false, false);
    while (run->at < run->end && *run->at != '\n')
        run->at++;
    return ok || (!run->state->failed && shell_no_memory(run));
}

/* Reads NAME=value. */
static bool read_assignment(struct shell_run *run, const char *name, size_t length, bool adds,
                            const char *value)
{
    shell_pass(run, value);
    if (run->at < run->end && *run->at == '(')
        return read_array(run, name, length, adds);
    if (is_placeholder(run))
        return assign_placeholder(run, name, length);
    struct shell_words values = {0};
    const char *end = shell_word_end(run->at, run->end);
    bool ok = run->state->passive > 0 || shell_expand(run, run->at, (size_t)(end - run->at), true, &values);
    ok = ok && shell_assign(run, name, length, &values, false, adds);
    shell_pass(run, end);
    return ok;
}

/* Reads "> file", "2>&1", "<<EOF" and "<<< word". */
bool shell_read_redirection(struct shell_run *run, struct shell_command *command)
{
    bool here = run->end - run->at > 1 && run->at[0] == '<' && run->at[1] == '<';
    bool text = here && run->end - run->at > 2 && run->at[2] == '<';
    while (run->at < run->end && strchr("<>&|-", *run->at))
        run->at++;
    shell_skip_blanks(run);
    const char *start = run->at, *end = shell_word_end(start, run->end);
    if (start < run->end && *start == '(' && strchr("<>", start[-1])) /* cat <(...) */
        end = shell_piece_end(start - 1, run->end);
    else if (end == start && end < run->end && strchr("<>", *end)) /* < <(...) */
        end = shell_piece_end(start, run->end);
    if (here && !text) {
        command->delimiter_quoted =
            memchr(start, '\'', (size_t)(end - start)) || memchr(start, '"', (size_t)(end - start));
        size_t quotes = command->delimiter_quoted;
        if ((size_t)(end - start) < 2 * quotes + 1)
            return shell_error(run, "a here document without a name");
        command->delimiter =
            arena_copy(&run->shell->arena, start + quotes, (size_t)(end - start) - 2 * quotes);
        if (!command->delimiter)
            return shell_no_memory(run);
    }
    shell_pass(run, end);
    return true;
}

/* Reads the lines of a here document, from the next line on. */
bool shell_read_document(struct shell_run *run, struct shell_command *command)
{
    struct shell *shell = run->shell;
    shell_skip_comment(run);
    if (run->at < run->end) {
        run->at++;
        run->line++;
    }
    const char *start = run->at, *stop = run->at;
    size_t length = strlen(command->delimiter);
    int line = run->line;
    for (; stop < run->end; stop++) {
        const char *at = stop;
        while (at < run->end && *at == '\t')
            at++;
        const char *next = memchr(stop, '\n', (size_t)(run->end - stop));
        const char *end = next ? next : run->end;
        if ((size_t)(end - at) == length && strncmp(at, command->delimiter, length) == 0)
            break;
        stop = end;
    }
    stop = stop < run->end ? stop : run->end;
    if (run->state->passive == 0) {
        struct shell_words body = {0};
        /* quotes are plain characters there */
        char *quoted = arena_format(&shell->arena, "\"%.*s\"", (int)(stop - start), start);
        if (!quoted)
            return shell_no_memory(run);
        struct text escaped = {0};
        text_add(&escaped, "\"");
        for (const char *to = quoted + 1; to[1]; to++) {
            text_add(&escaped, *to == '"' ? "\\" : "");
            text_add_bytes(&escaped, to, 1);
        }
        text_add(&escaped, "\"");
        const char *text = escaped.failed ? NULL : arena_string(&shell->arena, escaped.data);
        text_release(&escaped);
        if (!text)
            return shell_no_memory(run);
        if (command->delimiter_quoted)
            text = arena_copy(&shell->arena, start, (size_t)(stop - start));
        else if (!shell_expand(run, text, strlen(text), true, &body))
            return false;
        else
            text = body.items[0].text;
        struct shell_document *items = arena_grow(&shell->arena, shell->documents, shell->document_count,
                                                  &shell->document_room, sizeof *items);
        if (!items || !text || !shell_add_word(&shell->arena, &command->words, text, run->path, line))
            return shell_no_memory(run);
        shell->documents = items;
        items[shell->document_count++] = (struct shell_document){text, run->path, line};
    }
    shell_pass(run, stop);
    if (run->at < run->end)
        shell_skip_comment(run);
    return true;
}

static bool add_command(struct shell_run *run, const struct shell_words *words)
{
    struct shell *shell = run->shell;
    struct shell_words *items =
        arena_grow(&shell->arena, shell->commands, shell->command_count, &shell->command_room, sizeof *items);
    if (!items)
        return shell_no_memory(run);
    shell->commands = items;
    items[shell->command_count++] = *words;
    return true;
}

/* Reads a sourced file. Its folder is the script's where the script computes it. */
static bool source(struct shell_run *run, const char *name)
{
    struct shell *shell = run->shell;
    const char *slash = strrchr(run->path, '/');
    const char *tail = strrchr(name, SHELL_END);
    const char *path = name;
    if (tail)
        name = tail[1] == '/' ? tail + 2 : tail + 1;
    if (*name != '/' && slash && strncmp(name, run->path, (size_t)(slash - run->path + 1)) != 0)
        path = arena_format(&shell->arena, "%.*s%s", (int)(slash - run->path + 1), run->path, name);
    else
        path = arena_string(&shell->arena, name);
    if (!path)
        return shell_no_memory(run);
    struct error why;
    char *data;
    size_t length;
    int refused = shell->budget->refused_count;
    bool found = launch_budget_read(shell->budget, path, &data, &length, &why);
    if (!found && error_is_memory(&why))
        return shell_no_memory(run);
    if (!found && shell->budget->refused_count > refused)
        return true; /* it is named with the reason */
    if (!found)
        return shell_add_word(&shell->arena, &shell->absent, path, run->path, run->line) ||
               shell_no_memory(run);
    struct shell_run inner = {.shell = shell, .path = path, .line = 1, .state = run->state};
    bool ok =
        shell_add_word(&shell->arena, &shell->files, path, run->path, run->line) || shell_no_memory(run);
    if (++run->state->depth > SHELL_MAX_DEPTH)
        ok = shell_error(run, "files are sourced deeper than %d", SHELL_MAX_DEPTH);
    ok = ok && shell_run_file(&inner, data, length);
    run->state->depth--;
    free(data);
    return ok;
}

static bool is_word(const struct shell_words *words, int at, const char *text)
{
    return at < words->count && strcmp(words->items[at].text, text) == 0;
}

/* A single-quoted text that another shell is given expands there. */
static bool expand_inner(struct shell_run *run, struct shell_words *words)
{
    bool shell = false;
    for (int i = 0; i < words->count; i++)
        shell |= is_word(words, i, "-c") || is_word(words, i, "-lc");
    for (int i = 0; shell && i < words->count; i++)
        if (strchr(words->items[i].text, '$')) {
            struct shell_words inner = {0};
            const char *text = words->items[i].text;
            if (!shell_expand(run, text, strlen(text), true, &inner))
                return false;
            words->items[i].text = inner.items[0].text;
        }
    return true;
}

static bool end_script(struct shell_run *run, const struct shell_words *words)
{
    if (run->state->unsure > 0)
        return true;
    int64_t status = 0;
    if (words->count > 1 && !text_whole(words->items[1].text, "", &status))
        status =
            shell_mark_in(words->items[1].text) >= 0 ? 0 : 2; /* as a shell: "numeric argument required" */
    run->state->is_over = true;
    if (status == 0)
        return true;
    const char *said = run->state->said ? run->state->said : "";
    return shell_error(run, "the script stops here with exit %lld%s%.300s", (long long)status,
                       *said ? ": " : "", said);
}

static bool call(struct shell_run *run, const struct shell_function *function)
{
    struct shell_run inner = {.shell = run->shell,
                              .path = function->path,
                              .at = function->at,
                              .end = function->end,
                              .line = function->line,
                              .state = run->state};
    static const char *const stops[] = {"}", NULL};
    const char *stopped;
    if (++run->state->depth > SHELL_MAX_DEPTH)
        return shell_error(run, "functions are called deeper than %d", SHELL_MAX_DEPTH);
    shell_run_list(&inner, stops, &stopped);
    run->state->depth--;
    return !run->state->failed;
}

static bool unset(struct shell_run *run, const struct shell_words *words)
{
    for (int i = 1; i < words->count; i++) {
        struct shell_variable *variable =
            (struct shell_variable *)(void *)(uintptr_t)shell_find(run->shell, words->items[i].text);
        if (variable && !variable->is_given)
            variable->name = "";
    }
    return true;
}

/* Does what a command does to what is read; others are kept. */
static struct shell_answer do_command(struct shell_run *run, struct shell_words *words)
{
    static const char *const without[] = {"set",   "mkdir",    "cd",      "true",   ":",      "sleep",
                                          "pushd", "popd",     "shopt",   "trap",   "ulimit", "module",
                                          "shift", "wait",     "date",    "return", "export", "declare",
                                          "local", "readonly", "typeset", "printf", "clear",  NULL};
    struct shell_state *state = run->state;
    const char *name = words->items[0].text;
    for (int i = 0; i < state->function_count; i++)
        if (strcmp(state->functions[i].name, name) == 0)
            return call(run, &state->functions[i]) ? shell_yes : shell_failed();
    if (strcmp(name, "false") == 0)
        return shell_failed();
    if (strcmp(name, "[") == 0 || strcmp(name, "test") == 0) {
        struct shell_words inside = {words->items + 1, words->count - 1, 0};
        if (*name == '[' && is_word(&inside, inside.count - 1, "]"))
            inside.count--;
        return shell_test(run, &inside);
    }
    if (strcmp(name, "source") == 0 || strcmp(name, ".") == 0)
        return words->count < 2 || source(run, words->items[1].text) ? shell_yes : shell_failed();
    if (strcmp(name, "exit") == 0)
        return end_script(run, words) ? shell_yes : shell_failed();
    if (strcmp(name, "unset") == 0)
        return unset(run, words) ? shell_yes : shell_failed();
    if (strcmp(name, "echo") == 0) {
        struct text said = {0};
        for (int i = 1; i < words->count; i++)
            text_format(&said, "%s%s", i > 1 ? " " : "", words->items[i].text);
        const char *copy = said.failed ? NULL : arena_string(&run->shell->arena, said.data ? said.data : "");
        text_release(&said);
        state->said = copy ? shell_plain(&run->shell->arena, copy) : NULL;
        return copy ? shell_yes : (shell_no_memory(run), shell_failed());
    }
    for (const char *const *other = without; *other; other++)
        if (strcmp(name, *other) == 0)
            return shell_yes;
    return expand_inner(run, words) && add_command(run, words) ? shell_yes : shell_failed();
}

static bool is_declaration(const struct shell_command *command)
{
    static const char *const names[] = {"export", "declare", "local", "readonly", "typeset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(&command->raw, 0, names[i]))
            return true;
    return false;
}

static bool read_word(struct shell_run *run, struct shell_command *command)
{
    struct shell_state *state = run->state;
    const char *start = run->at, *value, *end = shell_word_end(start, run->end);
    bool adds;
    size_t length = command->raw.count == 0 || is_declaration(command)
                        ? assigned_name(start, run->end, &adds, &value)
                        : 0;
    if (length > 0)
        return read_assignment(run, start, length, adds, value);
    bool words_of_test = is_word(&command->raw, 0, "[") || is_word(&command->raw, 0, "test");
    const char *raw = arena_copy(&run->shell->arena, start, (size_t)(end - start));
    if (!raw || !shell_add_word(&run->shell->arena, &command->raw, raw, run->path, run->line))
        return shell_no_memory(run);
    if (state->passive == 0 &&
        !shell_expand(run, start, (size_t)(end - start), words_of_test, &command->words))
        return false;
    shell_pass(run, end);
    return true;
}

/* A command that an open condition skips may be the one that matters. */
static bool keep_passive(struct shell_run *run, const struct shell_command *command)
{
    struct shell_state *state = run->state;
    struct shell_words words = {0};
    bool matters = false;
    for (int i = 0; i < command->raw.count; i++)
        matters |= strstr(command->raw.items[i].text, ".py") != NULL;
    if (state->open < 0 || !matters)
        return true;
    const char *mark = shell_mark(run->shell, state->open);
    return (mark && shell_add_word(&run->shell->arena, &words, mark, run->path, run->line) &&
            add_command(run, &words)) ||
           shell_no_memory(run);
}

struct shell_answer shell_run_simple(struct shell_run *run)
{
    struct shell_command command = {0};
    for (;;) {
        shell_skip_blanks(run);
        if (run->at == run->end || strchr("\n;&|)", *run->at) || *run->at == '#') {
            bool redirects = run->at + 1 < run->end && run->at[0] == '&' && run->at[1] == '>';
            if (!redirects)
                break;
        }
        const char *digits = run->at;
        while (digits < run->end && isdigit((unsigned char)*digits))
            digits++;
        bool ok;
        if (digits < run->end && strchr("<>", *digits)) {
            run->at = digits;
            ok = shell_read_redirection(run, &command);
        } else if (*run->at == '&' || *run->at == '<' || *run->at == '>')
            ok = shell_read_redirection(run, &command);
        else if (*run->at == '(')
            ok = shell_error(run, "'(' is not supported here");
        else
            ok = read_word(run, &command);
        if (!ok)
            return shell_failed();
    }
    if (command.delimiter && !shell_read_document(run, &command))
        return shell_failed();
    if (run->state->passive > 0)
        return keep_passive(run, &command) ? shell_yes : shell_failed();
    return command.words.count > 0 ? do_command(run, &command.words) : shell_yes;
}
