/* Expands words: quotes, variables with their operators, arithmetic, and commands whose output is known. */
#include "launch/shell/parts.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expansion {
    struct shell_run *run;
    struct shell_words *words;
    struct text field;
    bool begun; /* a field, which may be empty */
    bool whole; /* one field, whatever it holds */
    bool none;  /* "${NAME[@]}" of no values was last: no field, though it is in quotes */
    int line, field_line;
};

static bool expand_into(struct expansion *e, const char *at, const char *end, bool quoted);

static void put(struct expansion *e, const char *bytes, size_t length)
{
    if (!e->begun)
        e->field_line = e->line;
    e->begun = true;
    e->none = false;
    text_add_bytes(&e->field, bytes, length);
    e->run->state->expanded += length;
}

static bool end_field(struct expansion *e)
{
    struct shell *shell = e->run->shell;
    if (!e->begun || !shell_spend(e->run, 1))
        return !e->begun;
    const char *copy = e->field.failed
                           ? NULL
                           : arena_copy(&shell->arena, e->field.data ? e->field.data : "", e->field.length);
    bool ok = copy && shell_add_word(&shell->arena, e->words, copy, e->run->path, e->field_line);
    e->field.length = 0;
    if (e->field.data)
        e->field.data[0] = '\0';
    e->begun = false;
    return ok || shell_no_memory(e->run);
}

/* Adds the value of a variable, which is split at blanks unless it is quoted. */
static bool put_value(struct expansion *e, const char *value, bool quoted)
{
    if (e->run->state->expanded > SHELL_MAX_EXPANDED)
        return shell_error(e->run, "its variables expand to more than %zu bytes", SHELL_MAX_EXPANDED);
    if (quoted || e->whole) {
        put(e, value, strlen(value));
        return true;
    }
    for (const char *at = value; *at;) {
        size_t length = strcspn(at, " \t\n\003");
        if (length > 0)
            put(e, at, length);
        at += length;
        if (*at == SHELL_LINE) {
            char *end;
            e->line = (int)strtol(at + 1, &end, 10);
            at = *end == SHELL_END ? end + 1 : end;
        } else if (*at) {
            if (!end_field(e))
                return false;
            at++;
        }
    }
    return true;
}

/* ---- variables ---- */

static struct shell_words *special(struct shell_run *run, const char *name, size_t length,
                                   struct shell_words *room)
{
    static const char *const empty[] = {"*", "-", "!", "_"};
    static const char *const zero[] = {"#", "?", "$"};
    static const char *const paths[] = {"0", "BASH_SOURCE"};
    static const char *const folders[] = {"PWD", "OLDPWD"};
    run->shell->is_open |= length == 1 && strchr("@*123456789", *name);
    if (length == 1 && *name == '@')
        return room;
    const char *value = NULL;
    const struct {
        const char *const *names;
        size_t count;
        const char *value;
    } kinds[] = {{empty, 4, ""}, {zero, 3, "0"}, {paths, 2, run->path}, {folders, 2, "."}};
    /* set by slurm from the lines at the beginning */
    static const char *const slurm[][3] = {{"SLURM_NNODES", "--nodes", "-N"},
                                           {"SLURM_JOB_NUM_NODES", "--nodes", "-N"},
                                           {"SLURM_NTASKS_PER_NODE", "--ntasks-per-node", ""},
                                           {"SLURM_GPUS_PER_NODE", "--gpus-per-node", ""},
                                           {"SLURM_NTASKS", "--ntasks", "-n"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t j = 0; j < kinds[i].count; j++)
            if (strlen(kinds[i].names[j]) == length && strncmp(kinds[i].names[j], name, length) == 0)
                value = kinds[i].value;
    for (size_t i = 0; i < sizeof slurm / sizeof *slurm; i++)
        if (strlen(slurm[i][0]) == length && strncmp(slurm[i][0], name, length) == 0)
            value = shell_batch_value(run->shell, slurm[i][1], slurm[i][2]);
    if (!value || !shell_add_word(&run->shell->arena, room, value, run->path, run->line))
        return NULL;
    return room;
}

/* Returns the values of a variable; NULL: it is not set. */
static struct shell_words *values_of(struct shell_run *run, const char *name, size_t length,
                                     struct shell_words *room)
{
    char copy[256];
    if (length >= sizeof copy)
        return NULL;
    memcpy(copy, name, length);
    copy[length] = '\0';
    struct shell_variable *variable =
        (struct shell_variable *)(void *)(uintptr_t)shell_find(run->shell, copy);
    if (!variable)
        return special(run, name, length, room);
    variable->is_used = true;
    return &variable->values;
}

static const char *joined(struct shell_run *run, const struct shell_words *values)
{
    struct text text = {0};
    for (int i = 0; i < values->count; i++) {
        if (i > 0)
            text_format(&text, "%c%d%c ", SHELL_LINE, values->items[i].line, SHELL_END);
        text_add(&text, values->items[i].text);
    }
    const char *copy = text.failed ? NULL : arena_string(&run->shell->arena, text.data ? text.data : "");
    text_release(&text);
    return copy;
}

static const char *in_case(struct shell_run *run, const char *value, bool upper, bool all)
{
    char *copy = arena_string(&run->shell->arena, value);
    for (size_t i = 0; copy && copy[i] && (all || i == 0); i++)
        copy[i] = (char)(upper ? toupper((unsigned char)copy[i]) : tolower((unsigned char)copy[i]));
    return copy;
}

/* Removes what matches from the front or the end, the minimum or the maximum of it. */
static const char *trimmed(struct shell_run *run, const char *value, const char *pattern, bool front,
                           bool longest)
{
    size_t length = strlen(value);
    char *copy = arena_string(&run->shell->arena, value);
    if (length > 4096)
        return value;
    for (size_t i = 0; copy && i <= length; i++) {
        size_t size = longest ? length - i : i;
        char *at = front ? copy : copy + length - size;
        char kept = at[size];
        at[size] = '\0';
        bool matches = fnmatch(pattern, at, 0) == 0;
        at[size] = kept;
        if (!matches)
            continue;
        if (front)
            return at + size;
        *at = '\0';
        return copy;
    }
    return copy;
}

static const char *replaced(struct shell_run *run, const char *value, const char *from, const char *to,
                            bool all)
{
    struct text text = {0};
    size_t length = strlen(from);
    while (length > 0 && *value) {
        const char *found = strstr(value, from);
        if (!found)
            break;
        text_add_bytes(&text, value, (size_t)(found - value));
        text_add(&text, to);
        value = found + length;
        if (!all || text.length > SHELL_MAX_BYTES)
            break;
    }
    text_add(&text, value);
    const char *copy = text.failed ? NULL : arena_string(&run->shell->arena, text.data ? text.data : "");
    text_release(&text);
    return copy;
}

static const char *part_of(struct shell_run *run, const char *value, const char *numbers)
{
    const char *colon = strchr(numbers, ':');
    int64_t length = (int64_t)strlen(value), from, count = length;
    int unknown = -1;
    const char *first =
        arena_copy(&run->shell->arena, numbers, colon ? (size_t)(colon - numbers) : strlen(numbers));
    if (!first || !shell_compute(run, first, &from, &unknown) ||
        (colon && !shell_compute(run, colon + 1, &count, &unknown)))
        return first && unknown >= 0 ? shell_mark(run->shell, unknown) : NULL;
    from = from < 0 ? length + from : from;
    if (from < 0 || from > length)
        return "";
    count = count < 0 ? length + count - from : count;
    count = count < 0 ? 0 : count > length - from ? length - from : count;
    return arena_copy(&run->shell->arena, value + from, (size_t)count);
}

static bool put_unset(struct expansion *e, const char *name, size_t length, bool required, bool quoted)
{
    for (int i = 0; !required && i < e->run->shell->skipped.count; i++) {
        const char *skipped = e->run->shell->skipped.items[i].text;
        if (strncmp(skipped, name, length) == 0 && !skipped[length])
            return true; /* empty for a shell, too */
    }
    int unknown = shell_add_unknown(e->run, name, length, NULL);
    const char *mark = unknown >= 0 ? shell_mark(e->run->shell, unknown) : NULL;
    if (!mark)
        return shell_no_memory(e->run);
    if (required)
        e->run->shell->unknowns[unknown].is_required = true;
    return put_value(e, mark, quoted);
}

/* ${NAME-word} and its like. */
static bool put_or_default(struct expansion *e, const char *name, size_t length,
                           const struct shell_words *values, const char *at, const char *end, bool quoted)
{
    bool or_empty = *at == ':';
    char operator= at[or_empty];
    const char *word = at + or_empty + 1;
    const char *value = values ? joined(e->run, values) : NULL;
    bool set = value && (!or_empty || *value);
    if (values && !value)
        return shell_no_memory(e->run);
    if (operator== '+')
        return !set || expand_into(e, word, end, quoted);
    if (set)
        return put_value(e, value, quoted);
    if (operator== '?')
        return put_unset(e, name, length, true, quoted);
    const char *otherwise = shell_expand_text(e->run, word, (size_t)(end - word));
    if (!otherwise)
        return false;
    if (operator== '=') {
        struct shell_words one = {0};
        if (!shell_add_word(&e->run->shell->arena, &one, otherwise, e->run->path, e->run->line))
            return shell_no_memory(e->run);
        if (!shell_assign(e->run, name, length, &one, false, false))
            return false;
    }
    if (quoted && !e->begun)
        put(e, "", 0);
    return put_value(e, otherwise, quoted);
}

static const char *changed(struct shell_run *run, const char *value, const char *at, const char *end)
{
    bool twice = at + 1 < end && at[1] == *at;
    const char *from = at + 1 + twice;
    if (strchr(value, SHELL_MARK))
        return value;
    const char *word = *at == '/' || *at == '#' || *at == '%' || *at == ':'
                           ? shell_expand_text(run, from, (size_t)(end - from))
                           : "";
    if (!word)
        return NULL;
    if (*at == '^' || *at == ',')
        return in_case(run, value, *at == '^', twice);
    if (*at == '#' || *at == '%')
        return trimmed(run, value, word, *at == '#', twice);
    if (*at == ':')
        return part_of(run, value, word);
    const char *slash = strchr(word, '/');
    const char *what = slash ? arena_copy(&run->shell->arena, word, (size_t)(slash - word)) : word;
    return what ? replaced(run, value, what, slash ? slash + 1 : "", twice) : NULL;
}

/* Adds each value of an array as a field of its own. */
static bool put_all(struct expansion *e, const struct shell_words *values, bool quoted)
{
    int line = e->line;
    e->none = values->count == 0;
    for (int i = 0; i < values->count; i++) {
        if (i > 0 && !end_field(e))
            return false;
        e->line = values->items[i].line;
        if (!put_value(e, values->items[i].text, quoted))
            return false;
    }
    e->line = line;
    return true;
}

/* The inside of ${...}. */
static bool put_braced(struct expansion *e, const char *at, const char *end, bool quoted)
{
    struct shell_run *run = e->run;
    struct shell_words room = {0};
    bool counts = *at == '#' && at + 1 < end, indirect = *at == '!';
    at += counts || indirect;
    size_t length = 0;
    while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_'))
        length++;
    if (length == 0 && at < end)
        length = 1; /* $@ and the like */
    const char *name = at, *rest = at + length;
    struct shell_words *values = values_of(run, name, length, &room);
    bool all = length == 1 && (*name == '@' || *name == '*');
    if (indirect && values && values->count == 1) {
        name = values->items[0].text;
        length = strlen(name);
        values = values_of(run, name, length, &room);
    }
    if (rest < end && *rest == '[') {
        const char *close = memchr(rest, ']', (size_t)(end - rest));
        all = rest + 1 < end && (rest[1] == '@' || rest[1] == '*');
        if (!all && values) {
            const char *index = shell_expand_text(run, rest + 1, close ? (size_t)(close - rest - 1) : 0);
            int64_t i = -1;
            int unknown = -1;
            struct shell_words one = {0};
            bool known = index && shell_compute(run, index, &i, &unknown);
            const char *text = !known && unknown >= 0        ? shell_mark(run->shell, unknown)
                               : i >= 0 && i < values->count ? values->items[i].text
                                                             : NULL;
            if (text ? !shell_add_word(&run->shell->arena, &one, text, run->path, run->line) : !known)
                return shell_no_memory(run);
            room = one;
            values = one.count > 0 ? &room : NULL;
        }
        rest = close ? close + 1 : end;
    }
    if (counts) {
        const char *size = arena_format(&run->shell->arena, "%zu",
                                        !values             ? 0
                                        : all               ? (size_t)values->count
                                        : values->count > 0 ? strlen(values->items[0].text)
                                                            : 0);
        return size ? put_value(e, size, quoted) : shell_no_memory(run);
    }
    if (rest < end && (strchr("-+=?", *rest) || (*rest == ':' && rest + 1 < end && strchr("-+=?", rest[1]))))
        return put_or_default(e, name, length, values, rest, end, quoted);
    if (!values)
        return put_unset(e, name, length, false, quoted);
    if (all && rest == end && !e->whole)
        return put_all(e, values, quoted);
    const char *value = all || values->count == 0 ? joined(run, values) : values->items[0].text;
    if (rest < end)
        value = value ? changed(run, value, rest, end) : NULL;
    return value ? put_value(e, value, quoted) : run->state->failed ? false : shell_no_memory(run);
}

/* ---- commands ---- */

/* Adds the words of a command inside $( ); "&&" is one of them, redirections are none. False: it is more than one
 * command that matters, or failed. */
static bool read_inner(struct shell_run *run, const char *at, const char *end, struct shell_words *words)
{
    bool redirected = false;
    while (at < end && words->count < 8) {
        const char *stop = shell_word_end(at, end);
        if (stop == at && end - at > 1 && at[0] == '&' && at[1] == '&') {
            if (!shell_add_word(&run->shell->arena, words, "&&", run->path, run->line))
                return shell_no_memory(run);
            at += 2;
        } else if (stop == at && (*at == '>' || *at == '&')) {
            redirected |= *at == '>';
            at++;
        } else if (stop == at) {
            if (strchr("|;<()", *at))
                return false;
            at++;
        } else {
            if (!redirected && !(stop < end && *stop == '>' && isdigit((unsigned char)*at)) &&
                !shell_expand(run, at, (size_t)(stop - at), true, words))
                return false;
            redirected = false;
            at = stop;
        }
    }
    return words->count > 0;
}

/* Returns the text of "cat <<EOF", which is a document's; NULL: it is another command. */
static const char *document(struct shell_run *run, const char *at, const char *end)
{
    struct shell_run inner = {
        .shell = run->shell, .path = run->path, .at = at, .end = end, .line = run->line, .state = run->state};
    struct shell_command command = {0};
    shell_skip_lines(&inner);
    bool reads = shell_take_word(&inner, "cat");
    shell_skip_blanks(&inner);
    reads = reads && end - inner.at > 2 && strncmp(inner.at, "<<", 2) == 0 && inner.at[2] != '<';
    return reads && shell_read_redirection(&inner, &command) && shell_read_document(&inner, &command) &&
                   command.words.count > 0
               ? command.words.items[0].text
               : NULL;
}

/* Returns the output of commands that only say where a script lies, or what a path is called; NULL: it is not known. */
static const char *known_output(struct shell_run *run, const char *at, const char *end)
{
    struct shell_words words = {0};
    const char *text = document(run, at, end);
    if (text || run->state->failed || !read_inner(run, at, end, &words))
        return text;
    int count = words.count;
    const char *first = words.items[0].text, *last = words.items[count - 1].text;
    if (strcmp(first, "cd") == 0 && count >= 4) { /* cd FOLDER && pwd */
        int behind = strcmp(last, "-P") == 0 ? count - 2 : count - 1;
        bool says = behind >= 3 && strcmp(words.items[behind].text, "pwd") == 0 &&
                    strcmp(words.items[behind - 1].text, "&&") == 0;
        const char *folder = words.items[behind - 2].text;
        return says && !strchr(folder, SHELL_MARK) ? folder : NULL;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(words.items[i].text, "&&") == 0)
            return NULL;
    if (strcmp(first, "pwd") == 0)
        return ".";
    if (strcmp(first, "echo") == 0 && count == 2 && !strchr(last, SHELL_MARK))
        return last;
    if (strcmp(first, "basename") == 0 && (count == 2 || count == 3)) {
        const char *path = words.items[1].text, *name = basename(path);
        bool cut = count == 3 && text_ends_with(name, last) && strlen(name) > strlen(last);
        if (strchr(path, SHELL_MARK) || strchr(last, SHELL_MARK))
            return NULL;
        return cut ? arena_copy(&run->shell->arena, name, strlen(name) - strlen(last)) : name;
    }
    if (count < 2 || strchr(last, SHELL_MARK))
        return NULL;
    if (strcmp(first, "dirname") == 0) {
        const char *slash = strrchr(last, '/');
        return slash ? arena_copy(&run->shell->arena, last, (size_t)(slash - last)) : ".";
    }
    bool same = strcmp(first, "readlink") == 0 || strcmp(first, "realpath") == 0;
    return same ? last : NULL;
}

static bool put_command(struct expansion *e, const char *at, const char *inner, const char *inner_end,
                        const char *end, bool quoted)
{
    struct shell_run *run = e->run;
    if (++run->state->depth > SHELL_MAX_DEPTH)
        return shell_error(run, "nested deeper than %d", SHELL_MAX_DEPTH);
    const char *output = known_output(run, inner, inner_end);
    run->state->depth--;
    if (run->state->failed)
        return false;
    if (output)
        return put_value(e, output, quoted);
    const char *text = arena_copy(&run->shell->arena, at, (size_t)(end - at));
    int unknown = text ? shell_add_unknown(run, NULL, 0, text) : -1;
    const char *mark = unknown >= 0 ? shell_mark(run->shell, unknown) : NULL;
    return mark ? put_value(e, mark, quoted) : shell_no_memory(run);
}

static bool put_arithmetic(struct expansion *e, const char *at, const char *end, bool quoted)
{
    struct shell_run *run = e->run;
    int64_t value;
    int unknown;
    const char *text = shell_expand_text(run, at, (size_t)(end - at));
    if (!text)
        return false;
    bool known = shell_compute(run, text, &value, &unknown);
    if (run->state->failed)
        return false;
    const char *result =
        known ? arena_format(&run->shell->arena, "%" PRId64, value) : shell_mark(run->shell, unknown);
    return result ? put_value(e, result, quoted) : shell_no_memory(run);
}

static bool put_dollar(struct expansion *e, const char **at, const char *end, bool quoted)
{
    struct shell_run *run = e->run;
    const char *start = *at, *piece = shell_piece_end(start, end);
    if (piece > start + 4 && start[1] == '(' && start[2] == '(' && piece[-2] == ')') {
        *at = piece;
        return put_arithmetic(e, start + 3, piece - 2, quoted);
    }
    if (piece > start + 2 && start[1] == '(') {
        *at = piece;
        return put_command(e, start, start + 2, piece - 1, piece, quoted);
    }
    if (piece > start + 2 && start[1] == '{') {
        *at = piece;
        return put_braced(e, start + 2, piece - 1, quoted);
    }
    size_t length = shell_name_length(start + 1, end);
    if (length == 0 && start + 1 < end && (isdigit((unsigned char)start[1]) || strchr("@*#?$!-", start[1])))
        length = 1;
    *at = start + 1 + length;
    if (length > 0)
        return put_braced(e, start + 1, start + 1 + length, quoted);
    put(e, "$", 1);
    return !run->state->failed;
}

static void put_line(struct expansion *e)
{
    char mark[24];
    int length = snprintf(mark, sizeof mark, "%c%d%c", SHELL_LINE, e->line, SHELL_END);
    put(e, mark, (size_t)length);
}

static bool put_escaped(struct expansion *e, const char **at, const char *end, bool quoted)
{
    const char *start = *at;
    *at = start + 1 < end ? start + 2 : end;
    if (start + 1 < end && start[1] == '\n') {
        e->line++;
        if (quoted)
            put_line(e);
        return true;
    }
    if (quoted && start + 1 < end && !strchr("$`\"\\", start[1]))
        put(e, start, 1);
    put(e, start + 1 < end ? start + 1 : start, 1);
    return true;
}

static bool expand_piece(struct expansion *e, const char **at, const char *end, bool quoted)
{
    const char *start = *at, *piece = shell_piece_end(start, end);
    if (*start == '\\')
        return put_escaped(e, at, end, quoted);
    if (*start == '$' && !quoted && start + 1 < end && (start[1] == '\'' || start[1] == '"')) {
        (*at)++;
        return true;
    }
    if (*start == '$')
        return put_dollar(e, at, end, quoted);
    if (*start == '`' && piece > start + 1) {
        *at = piece;
        return put_command(e, start, start + 1, piece - 1, piece, quoted);
    }
    *at = piece;
    if (*start == '\'' && !quoted) {
        size_t inner = (size_t)(piece - start) - (piece > start + 1 && piece[-1] == '\'' ? 2 : 1);
        put(e, start + 1, inner);
        for (size_t i = 0; i < inner; i++)
            e->line += start[1 + i] == '\n';
        return true;
    }
    if (*start == '"' && !quoted) {
        bool begun = e->begun;
        put(e, "", 0);
        if (!expand_into(e, start + 1, piece > start + 1 && piece[-1] == '"' ? piece - 1 : piece, true))
            return false;
        e->begun = begun || !e->none || e->field.length > 0;
        return true;
    }
    put(e, start, 1);
    *at = start + 1;
    if (*start == '\n') {
        e->line++;
        put_line(e);
    }
    return true;
}

static bool expand_into(struct expansion *e, const char *at, const char *end, bool quoted)
{
    if (++e->run->state->depth > SHELL_MAX_DEPTH)
        return shell_error(e->run, "nested deeper than %d", SHELL_MAX_DEPTH);
    bool ok = true;
    while (ok && at < end)
        ok = expand_piece(e, &at, end, quoted);
    e->run->state->depth--;
    return ok;
}

bool shell_expand(struct shell_run *run, const char *raw, size_t length, bool whole,
                  struct shell_words *words)
{
    struct expansion e = {.run = run, .words = words, .whole = whole, .line = run->line};
    e.begun = whole;
    e.field_line = run->line;
    bool ok = expand_into(&e, raw, raw + length, false) && end_field(&e);
    text_release(&e.field);
    return ok;
}

const char *shell_expand_text(struct shell_run *run, const char *raw, size_t length)
{
    struct shell_words words = {0};
    if (!shell_expand(run, raw, length, true, &words) || words.count == 0)
        return run->state->failed ? NULL : "";
    const char *plain = shell_plain(&run->shell->arena, words.items[0].text);
    if (!plain)
        shell_no_memory(run);
    return plain;
}
