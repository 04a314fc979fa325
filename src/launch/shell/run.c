/* Follows the statements of a script. */
#include "launch/shell/parts.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* ---- places ---- */

void shell_skip_blanks(struct shell_run *run)
{
    while (run->at < run->end) {
        bool continued = *run->at == '\\' && run->at + 1 < run->end && run->at[1] == '\n';
        if (continued) {
            run->at += 2;
            run->line++;
        } else if (*run->at == ' ' || *run->at == '\t' || *run->at == '\r')
            run->at++;
        else
            return;
    }
}

void shell_skip_comment(struct shell_run *run)
{
    while (run->at < run->end && *run->at != '\n')
        run->at++;
}

/* A line "#SBATCH --nodes=128 --gres=gpu:4". */
static bool read_batch_line(struct shell_run *run)
{
    static const char mark[] = "#SBATCH";
    size_t length = sizeof mark - 1;
    if ((size_t)(run->end - run->at) < length || strncmp(run->at, mark, length) != 0)
        return true;
    const char *start = run->at + length, *end = start;
    while (end < run->end && *end != '\n' && *end != '#')
        end++;
    const char *copy = arena_copy(&run->shell->arena, start, (size_t)(end - start));
    const struct shell_word word = {copy, run->path, run->line};
    return (copy && shell_split(&run->shell->arena, &word, &run->shell->batch)) || shell_no_memory(run);
}

/* Skips what separates statements. */
bool shell_skip_lines(struct shell_run *run)
{
    for (;;) {
        shell_skip_blanks(run);
        if (run->at == run->end)
            return true;
        if (*run->at == '#') {
            if (!read_batch_line(run))
                return false;
            shell_skip_comment(run);
        } else if (*run->at == '\n' || *run->at == ';' || *run->at == '&') {
            run->line += *run->at == '\n';
            run->at++;
        } else
            return true;
    }
}

static bool shell_at_word(const struct shell_run *run, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(run->end - run->at) >= length && strncmp(run->at, word, length) == 0 &&
           (run->at + length == run->end || strchr(" \t\r\n;&|<>()", run->at[length]));
}

bool shell_take_word(struct shell_run *run, const char *word)
{
    if (!shell_at_word(run, word))
        return false;
    run->at += strlen(word);
    return true;
}

/* Counts the lines of a piece that was passed over. */
void shell_pass(struct shell_run *run, const char *to)
{
    for (; run->at < to; run->at++)
        run->line += *run->at == '\n';
}

bool shell_expect(struct shell_run *run, const char *word)
{
    return shell_skip_lines(run) && (shell_take_word(run, word) || shell_error(run, "expected '%s'", word));
}

/* ---- lists ---- */

bool shell_spend(struct shell_run *run, int64_t steps)
{
    struct launch_budget *budget = run->shell->budget;
    if (launch_budget_take(budget, steps))
        return true;
    if (!run->state->failed)
        *run->state->err = budget->why;
    run->state->failed = true;
    return false;
}

static struct shell_answer shell_run_test(struct shell_run *run)
{
    struct shell_words words = {0};
    run->at += 2;
    for (;;) {
        shell_skip_blanks(run);
        if (run->at == run->end)
            return shell_error(run, "'[[' has no end"), shell_failed();
        if (*run->at == '\n') {
            run->at++;
            run->line++;
            continue;
        }
        if (shell_at_word(run, "]]")) {
            run->at += 2;
            return run->state->passive > 0 ? shell_yes : shell_test(run, &words);
        }
        const char *start = run->at, *end = shell_word_end(start, run->end);
        if (end == start) {
            end = start + 1;
            end += end < run->end && *end == *start && strchr("&|", *start);
        }
        if (run->state->passive == 0 && !shell_expand(run, start, (size_t)(end - start), true, &words))
            return shell_failed();
        shell_pass(run, end);
    }
}

static struct shell_answer shell_run_sum(struct shell_run *run)
{
    int64_t value;
    int unknown;
    const char *end, *start = run->at + 2;
    int depth = 0;
    for (end = run->at; end < run->end; end++) {
        depth += (*end == '(') - (*end == ')');
        if (depth == 0)
            break;
    }
    if (end >= run->end || end - start < 1)
        return shell_error(run, "'((' has no end"), shell_failed();
    const char *text =
        run->state->passive > 0 ? "0" : shell_expand_text(run, start, (size_t)(end - 1 - start));
    shell_pass(run, end + 1);
    if (!text)
        return shell_failed();
    if (run->state->passive > 0)
        return shell_yes;
    bool known = shell_compute(run, text, &value, &unknown);
    return known ? (struct shell_answer){value ? SHELL_TRUE : SHELL_FALSE, -1}
                 : (struct shell_answer){SHELL_OPEN, unknown};
}

/* NAME() { ... }; returns whether it is one. */
static bool shell_read_function(struct shell_run *run)
{
    static const char *const ends[] = {"}", NULL};
    const char *start = run->at, *at = start, *stopped;
    size_t length = 0;
    if (shell_at_word(run, "function")) {
        at += strlen("function");
        while (at < run->end && isspace((unsigned char)*at))
            at++;
    }
    const char *name = at;
    while (at < run->end && (isalnum((unsigned char)*at) || strchr("_-", *at)))
        at++;
    length = (size_t)(at - name);
    while (at < run->end && (*at == ' ' || *at == '\t'))
        at++;
    bool brackets = run->end - at > 1 && at[0] == '(' && at[1] == ')';
    if (length == 0 || (!brackets && start == name))
        return false;
    at += brackets ? 2 : 0;
    while (at < run->end && isspace((unsigned char)*at))
        at++;
    if (at == run->end || *at != '{')
        return false;
    shell_pass(run, at + 1);
    struct shell_state *state = run->state;
    struct shell_function *items = arena_grow(&run->shell->arena, state->functions, state->function_count,
                                              &state->function_room, sizeof *items);
    const char *copy = arena_copy(&run->shell->arena, name, length);
    if (!items || !copy)
        return shell_no_memory(run);
    state->functions = items;
    int line = run->line;
    const char *from = run->at;
    int open = state->open;
    state->passive++;
    state->open = -1;
    shell_run_list(run, ends, &stopped);
    state->passive--;
    state->open = open;
    if (state->failed)
        return true;
    if (!stopped)
        return shell_error(run, "a function without '}'"), true;
    if (state->passive > 0)
        return true;
    const char *body = arena_copy(&run->shell->arena, from, (size_t)(run->at - from));
    if (!body)
        return shell_no_memory(run), true;
    state->functions[state->function_count++] =
        (struct shell_function){copy, body, body + (run->at - from), run->path, line};
    return true;
}

static struct shell_answer run_one(struct shell_run *run)
{
    static const char *const brace[] = {"}", NULL};
    static const char *const bracket[] = {")", NULL};
    const char *stopped = "";
    struct shell_state *state = run->state;
    bool negated = shell_take_word(run, "!");
    struct shell_answer answer = shell_yes;
    shell_skip_blanks(run);
    if (!shell_spend(run, SHELL_STEP))
        return shell_failed();
    if (++state->depth > SHELL_MAX_DEPTH)
        return shell_error(run, "nested deeper than %d", SHELL_MAX_DEPTH), shell_failed();
    if (shell_take_word(run, "if"))
        shell_run_if(run);
    else if (shell_take_word(run, "case"))
        shell_run_case(run);
    else if (shell_take_word(run, "for"))
        shell_run_loop(run, true);
    else if (shell_take_word(run, "while") || shell_take_word(run, "until"))
        shell_run_loop(run, false);
    else if (shell_take_word(run, "{"))
        answer = shell_run_list(run, brace, &stopped);
    else if (run->end - run->at > 1 && run->at[0] == '(' && run->at[1] == '(')
        answer = shell_run_sum(run);
    else if (run->at < run->end && *run->at == '(') {
        run->at++;
        answer = shell_run_list(run, bracket, &stopped);
    } else if (shell_at_word(run, "[["))
        answer = shell_run_test(run);
    else if (!shell_read_function(run) && !state->failed)
        answer = shell_run_simple(run);
    state->depth--;
    if (!stopped && !state->failed)
        shell_error(run, "unbalanced bracket");
    if (negated && answer.is != SHELL_OPEN)
        answer.is = answer.is == SHELL_TRUE ? SHELL_FALSE : SHELL_TRUE;
    return answer;
}

/* Passes over the rest of a pipe; its redirections too. */
static struct shell_answer run_pipe(struct shell_run *run)
{
    struct shell_answer answer = run_one(run);
    for (shell_skip_blanks(run); !run->state->failed && run->at < run->end; shell_skip_blanks(run)) {
        bool pipe = *run->at == '|' && !(run->at + 1 < run->end && run->at[1] == '|');
        if (pipe) {
            run->at++;
            shell_skip_lines(run);
            run_one(run);
        } else if (*run->at == '<' || *run->at == '>') {
            struct shell_command command = {0};
            if (!shell_read_redirection(run, &command) ||
                (command.delimiter && !shell_read_document(run, &command)))
                break;
        } else
            break;
    }
    return answer;
}

/* a && b || c */
static struct shell_answer run_chain(struct shell_run *run)
{
    struct shell_state *state = run->state;
    int from = state->touched.count, open = -1;
    struct shell_answer answer = run_pipe(run);
    for (shell_skip_blanks(run); !state->failed && run->end - run->at > 1; shell_skip_blanks(run)) {
        bool and = run->at[0] == '&' && run->at[1] == '&', or = run->at[0] == '|' && run->at[1] == '|';
        if (!and&&! or)
            break;
        run->at += 2;
        shell_skip_lines(run);
        bool skips = answer.is == (and? SHELL_FALSE : SHELL_TRUE);
        int before = state->open;
        if (answer.is == SHELL_OPEN && state->passive == 0)
            open = answer.unknown;
        bool opens = answer.is == SHELL_OPEN;
        /* conditions are answered even so; only what they would set is not */
        bool tests = shell_at_word(run, "[[") || shell_at_word(run, "[") || shell_at_word(run, "{") ||
                     shell_at_word(run, "!");
        state->passive += skips || (opens && !tests);
        state->unsure += opens && tests;
        if (opens && !tests && before < 0)
            state->open = answer.unknown;
        struct shell_answer next = run_pipe(run);
        state->passive -= skips || (opens && !tests);
        state->unsure -= opens && tests;
        state->open = before;
        if (skips)
            continue;
        if (!opens || (next.is == (and? SHELL_FALSE : SHELL_TRUE) && tests))
            answer = next;
    }
    if (open >= 0 && state->passive == 0 && state->touched.count > from && !state->failed)
        shell_settle_open(run, open, from);
    return answer;
}

static const char *at_stop(struct shell_run *run, const char *const *stops)
{
    for (; *stops; stops++) {
        bool sign = strcmp(*stops, ")") == 0 || strcmp(*stops, ";;") == 0;
        size_t length = strlen(*stops);
        if (sign ? (size_t)(run->end - run->at) >= length && strncmp(run->at, *stops, length) == 0
                 : shell_at_word(run, *stops)) {
            run->at += length;
            return *stops;
        }
    }
    return NULL;
}

/* Follows statements up to one of the words that end the list; *stopped is that word, NULL: the end of the text.
 * Answers as the last statement does. */
struct shell_answer shell_run_list(struct shell_run *run, const char *const *stops, const char **stopped)
{
    struct shell_answer answer = shell_yes;
    *stopped = NULL;
    while (!run->state->failed) {
        shell_skip_blanks(run);
        /* ";;" is looked for before ";" is skipped */
        if (run->at < run->end && *run->at == ';' && (*stopped = at_stop(run, stops)) != NULL)
            return answer;
        if (run->at < run->end && (*run->at == ';' || *run->at == '\n' || *run->at == '&')) {
            run->line += *run->at == '\n';
            run->at++;
            continue;
        }
        if (run->at < run->end && *run->at == '#') { /* no further: ";;" may follow */
            if (!read_batch_line(run))
                return shell_failed();
            shell_skip_comment(run);
            continue;
        }
        if (run->at == run->end || (*stopped = at_stop(run, stops)) != NULL)
            return answer;
        bool over = run->state->is_over;
        if (over) /* the rest is passed over */
            run->state->passive++;
        const char *before = run->at;
        struct shell_answer next = run_chain(run);
        answer = next;
        if (over)
            run->state->passive--;
        if (run->at == before && !run->state->failed)
            shell_error(run, "'%c' is not supported here", *run->at);
    }
    return shell_failed();
}

/* Does a text name a variable? A parameter by its number: behind a sign. */
static bool names(const char *text, const char *name)
{
    size_t length = strlen(name);
    bool parameter = isdigit((unsigned char)*name);
    if (parameter && (strstr(text, "$@") || strstr(text, "$*")))
        return true;
    for (const char *at = text; length > 0 && (at = strstr(at, name)) != NULL; at++) {
        char before = at > text ? at[-1] : ' ', behind = at[length];
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)behind) &&
            behind != '_' && (!parameter || before == '$' || before == '{'))
            return true;
    }
    return false;
}

static void ask(struct shell *shell, const char *text)
{
    for (int i = 0; i < shell->variable_count; i++) {
        struct shell_variable *variable = &shell->variables[i];
        if (variable->is_given && !variable->is_asked)
            variable->is_asked = names(text, variable->name);
    }
}

/* Follows a whole file: without a byte order mark, and with any line ends. */
bool shell_run_file(struct shell_run *run, const char *data, size_t length)
{
    static const char *const none[] = {NULL};
    const char *stopped;
    char *copy = arena_alloc(&run->shell->arena, length + 1, 1), *to = copy;
    if (!copy)
        return shell_no_memory(run);
    if (length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
        data += 3;
        length -= 3;
    }
    for (size_t i = 0; i < length; i++)
        if (data[i] != '\r' || i + 1 == length || data[i + 1] != '\n')
            *to++ = data[i] > 0 && data[i] < 4 ? '?' : data[i]; /* bytes that are marks here */
    run->at = copy;
    run->end = to;
    *to = '\0';
    ask(run->shell, copy);
    shell_run_list(run, none, &stopped);
    return !run->state->failed;
}

static bool set_given(struct shell_run *run)
{
    for (const char *const *given = run->shell->given; given && *given; given++) {
        const char *equals = strchr(*given, '=');
        struct shell_words one = {0};
        size_t length = equals ? (size_t)(equals - *given) : 0;
        if (length == 0)
            return error_set(run->state->err, ERROR_USAGE, "--set: expected NAME=VALUE, found '%s'", *given);
        if (!shell_add_word(&run->shell->arena, &one, equals + 1, "--set", 0) ||
            !shell_assign(run, *given, length, &one, false, false))
            return shell_no_memory(run);
        shell_variable_of(run->shell, *given, length)->is_given = true;
    }
    return true;
}

bool shell_read(struct shell *shell, const char *path, const char *data, size_t length,
                const char *const *given, struct launch_budget *budget, struct error *err)
{
    struct shell_state state = {.err = err, .open = -1};
    struct shell_run run = {.shell = shell, .path = path, .line = 1, .state = &state};
    *shell = (struct shell){.given = given, .budget = budget};
    if (length > SHELL_MAX_BYTES)
        return error_set(err, ERROR_INPUT, "%s: more than %zu bytes", path, SHELL_MAX_BYTES);
    if (length > 0 && memchr(data, 0, length))
        return error_set(err, ERROR_INPUT, "%s: binary, not a script", path);
    bool ok = set_given(&run) && shell_run_file(&run, data, length);
    if (!ok)
        shell_release(shell);
    return ok;
}

void shell_release(struct shell *shell)
{
    arena_release(&shell->arena);
    *shell = (struct shell){0};
}
