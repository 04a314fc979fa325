/* Conditions, branches, loops and functions of a script. */
#include "launch/shell/parts.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* ---- [[ ]] and (( )) ---- */

/* ---- branches ---- */

/* After branches about which an unknown decides, all that they set is that unknown. */
bool shell_settle_open(struct shell_run *run, int unknown, int from)
{
    struct shell_state *state = run->state;
    const char *mark = shell_mark(run->shell, unknown);
    int until = state->touched.count;
    if (!mark)
        return shell_no_memory(run);
    for (int i = from; state->passive == 0 && i < until; i++) {
        struct shell_words one = {0};
        const char *name = state->touched.items[i].text;
        if (!shell_add_word(&run->shell->arena, &one, mark, run->path, run->line))
            return shell_no_memory(run);
        if (!shell_assign(run, name, strlen(name), &one, false, false))
            return false;
    }
    if (state->passive == 0)
        state->touched.count = from;
    return true;
}

/* Follows a list if `answer` says so; an open one touches what it would set. */
static bool run_branch(struct shell_run *run, struct shell_answer answer, const char *const *stops,
                       const char **stopped)
{
    struct shell_state *state = run->state;
    int open = state->open;
    state->passive += answer.is != SHELL_TRUE;
    if (answer.is == SHELL_OPEN && open < 0)
        state->open = answer.unknown;
    shell_run_list(run, stops, stopped);
    state->passive -= answer.is != SHELL_TRUE;
    state->open = open;
    return !state->failed;
}

bool shell_run_if(struct shell_run *run)
{
    static const char *const thens[] = {"then", NULL};
    static const char *const ends[] = {"elif", "else", "fi", NULL};
    static const char *const fi[] = {"fi", NULL};
    const char *stopped;
    int from = run->state->touched.count, open = -1;
    bool done = false;
    for (;;) {
        struct shell_answer answer = {SHELL_FALSE, -1};
        struct shell_state *state = run->state;
        state->passive += done || open >= 0;
        answer = shell_run_list(run, thens, &stopped);
        state->passive -= done || open >= 0;
        if (state->failed)
            return false;
        if (!stopped)
            return shell_error(run, "'if' without 'then'");
        if (open < 0 && !done && answer.is == SHELL_OPEN)
            open = answer.unknown;
        if (done)
            answer = shell_failed();
        else if (open >= 0)
            answer = (struct shell_answer){SHELL_OPEN, open};
        if (!run_branch(run, answer, ends, &stopped))
            return false;
        done |= answer.is == SHELL_TRUE;
        if (!stopped || strcmp(stopped, "elif") != 0)
            break;
    }
    if (stopped && strcmp(stopped, "else") == 0) {
        struct shell_answer answer = done        ? shell_failed()
                                     : open >= 0 ? (struct shell_answer){SHELL_OPEN, open}
                                                 : shell_yes;
        if (!run_branch(run, answer, fi, &stopped))
            return false;
    }
    if (!stopped)
        return shell_error(run, "'if' without 'fi'");
    return open < 0 || shell_settle_open(run, open, from);
}

static bool pattern_matches(struct shell_run *run, const char *at, const char *end, const char *value)
{
    while (at < end && (isspace((unsigned char)*at) || *at == '('))
        at++;
    while (at < end) {
        const char *stop = memchr(at, '|', (size_t)(end - at));
        const char *last = stop ? stop : end;
        while (at < last && isspace((unsigned char)*at))
            at++;
        const char *right = last;
        while (right > at && isspace((unsigned char)right[-1]))
            right--;
        const char *pattern = shell_expand_text(run, at, (size_t)(right - at));
        if (!pattern || (strlen(pattern) < 4096 && fnmatch(pattern, value, 0) == 0))
            return pattern != NULL;
        at = stop ? stop + 1 : end;
    }
    return false;
}

bool shell_run_case(struct shell_run *run)
{
    static const char *const ends[] = {";;", "esac", NULL};
    shell_skip_blanks(run);
    const char *start = run->at, *end = shell_word_end(start, run->end), *stopped = NULL;
    const char *value = run->state->passive > 0 ? "" : shell_expand_text(run, start, (size_t)(end - start));
    int from = run->state->touched.count;
    bool done = run->state->passive > 0;
    if (!value)
        return false;
    int open = shell_mark_in(value);
    shell_pass(run, end);
    if (!shell_expect(run, "in"))
        return false;
    while (shell_skip_lines(run) && !shell_take_word(run, "esac")) {
        const char *close = run->at;
        while (close < run->end && *close != ')')
            close++;
        if (close == run->end)
            return shell_error(run, "'case' without 'esac'");
        bool here = open < 0 && !done && pattern_matches(run, run->at, close, value);
        struct shell_answer answer = {here ? SHELL_TRUE : open >= 0 ? SHELL_OPEN : SHELL_FALSE, open};
        done |= here;
        shell_pass(run, close + 1);
        if (run->state->failed || !run_branch(run, answer, ends, &stopped))
            return false;
        if (stopped && strcmp(stopped, "esac") == 0)
            break;
        if (!stopped)
            return shell_error(run, "'case' without 'esac'");
    }
    return !run->state->failed && (open < 0 || shell_settle_open(run, open, from));
}

/* for ((NAME = A; B; C)): NAME becomes A. */
static bool begin_count(struct shell_run *run)
{
    const char *start = run->at + 2, *end;
    int depth = 0;
    for (end = run->at; end < run->end; end++) {
        depth += (*end == '(') - (*end == ')');
        if (depth == 0)
            break;
    }
    if (end == run->end || end < start + 1)
        return shell_error(run, "'((' has no end");
    const char *stop = memchr(start, ';', (size_t)(end - start));
    while (start < end && isspace((unsigned char)*start))
        start++;
    size_t length = shell_name_length(start, end);
    const char *equals = start + length;
    while (equals < end && isspace((unsigned char)*equals))
        equals++;
    int64_t value;
    int unknown;
    struct shell_words one = {0};
    bool counts = run->state->passive == 0 && length > 0 && stop && equals < stop && *equals == '=';
    const char *text = counts ? shell_expand_text(run, equals + 1, (size_t)(stop - equals - 1)) : NULL;
    if (counts && !text)
        return false;
    if (text && shell_compute(run, text, &value, &unknown)) {
        const char *number = arena_format(&run->shell->arena, "%lld", (long long)value);
        if (!number || !shell_add_word(&run->shell->arena, &one, number, run->path, run->line))
            return shell_no_memory(run);
        if (!shell_assign(run, start, length, &one, false, false))
            return false;
    }
    shell_pass(run, end + 1);
    return !run->state->failed;
}

/* for NAME in WORDS; do LIST; done: once, with the first word; for ((...)) likewise. while and until: not at all. */
bool shell_run_loop(struct shell_run *run, bool is_for)
{
    static const char *const done[] = {"done", NULL};
    struct shell_words words = {0}, one = {0};
    const char *name = NULL, *stopped;
    size_t length = 0;
    shell_skip_blanks(run);
    bool counts = is_for && run->end - run->at > 1 && run->at[0] == '(' && run->at[1] == '(';
    if (counts) {
        if (!begin_count(run))
            return false;
    } else if (is_for) {
        name = run->at;
        length = shell_name_length(name, run->end);
        run->at += length;
    }
    for (shell_skip_blanks(run); run->at < run->end && !strchr("\n;", *run->at); shell_skip_blanks(run)) {
        const char *start = run->at, *end = shell_word_end(start, run->end);
        end = end == start ? start + 1 : end;
        if (is_for && run->state->passive == 0 &&
            !shell_expand(run, start, (size_t)(end - start), false, &words))
            return false;
        shell_pass(run, end);
    }
    if (is_for && length > 0 && words.count > 1) { /* the word before is "in" */
        if (!shell_add_word(&run->shell->arena, &one, words.items[1].text, run->path, run->line))
            return shell_no_memory(run);
        if (!shell_assign(run, name, length, &one, false, false))
            return false;
    }
    struct shell_answer answer = counts || (is_for && words.count > 1) ? shell_yes : shell_failed();
    if (!shell_expect(run, "do") || !run_branch(run, answer, done, &stopped))
        return false;
    return stopped || shell_error(run, "'do' without 'done'");
}

/* ---- functions ---- */
