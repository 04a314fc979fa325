/* Arithmetic and conditions of shell scripts. */
#include "launch/shell/parts.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATTERN 128  /* bytes of a regular expression */
#define MAX_MATCHED 1024 /* and of what it is compared with */

/* ---- arithmetic ---- */

struct sum {
    struct shell_run *run;
    const char *at;
    int unknown; /* -1: none */
    bool bad;
    int depth;
};

static int64_t compute(struct sum *s, int level);

static void skip(struct sum *s)
{
    while (isspace((unsigned char)*s->at))
        s->at++;
}

static bool take(struct sum *s, const char *what)
{
    skip(s);
    if (strncmp(s->at, what, strlen(what)) != 0)
        return false;
    s->at += strlen(what);
    return true;
}

static int64_t named(struct sum *s)
{
    size_t length = shell_name_length(s->at, s->at + strlen(s->at));
    char name[128];
    if (length == 0 || length >= sizeof name) {
        s->bad = true;
        return 0;
    }
    memcpy(name, s->at, length);
    name[length] = '\0';
    s->at += length;
    struct shell_variable *variable =
        (struct shell_variable *)(void *)(uintptr_t)shell_find(s->run->shell, name);
    if (!variable || variable->values.count == 0) {
        s->unknown = shell_add_unknown(s->run, name, length, NULL);
        return 0;
    }
    variable->is_used = true;
    const char *text = variable->values.items[0].text;
    int mark = shell_mark_in(text);
    int64_t value = 0;
    if (mark >= 0)
        s->unknown = mark;
    else if (!text_whole(text, " \t", &value))
        s->bad |= text[strspn(text, " \t")] != '\0'; /* an empty one is 0 */
    return value;
}

static int64_t primary(struct sum *s)
{
    skip(s);
    if (++s->depth > SHELL_MAX_DEPTH) {
        s->bad = true;
        return 0;
    }
    int64_t value = 0;
    if (take(s, "(")) {
        value = compute(s, 0);
        s->bad |= !take(s, ")");
    } else if (*s->at == '!' && s->at[1] != '=') {
        s->at++;
        value = !primary(s);
    } else if (take(s, "-"))
        value = (int64_t)(0 - (uint64_t)primary(s));
    else if (take(s, "+"))
        value = primary(s);
    else if (*s->at == SHELL_MARK) {
        s->unknown = shell_mark_in(s->at);
        const char *end = strchr(s->at, SHELL_END);
        s->at = end ? end + 1 : s->at + strlen(s->at);
    } else if (isdigit((unsigned char)*s->at)) {
        char *end;
        value = strtoll(s->at, &end, 10);
        s->at = end;
    } else
        value = named(s);
    s->depth--;
    return value;
}

static int64_t applied(struct sum *s, const char *operator, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (*operator) {
    case '+':
        return (int64_t)(x + y);
    case '-':
        return (int64_t)(x - y);
    case '*':
        return (int64_t)(x * y);
    case '/':
    case '%':
        if (b == 0 || (a == INT64_MIN && b == -1)) {
            s->bad |= s->unknown < 0;
            return 0;
        }
        return *operator== '/' ? a / b : a % b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return operator[1] ? a <= b : a<b;
    case '>':
        return operator[1] ? a >= b : a> b;
    case '&':
        return a && b;
    default:
        return a || b;
    }
}

static int64_t compute(struct sum *s, int level)
{
    static const char *const levels[][5] = {{"||"},     {"&&"},         {"==", "!="}, {"<=", ">=", "<", ">"},
                                            {"+", "-"}, {"*", "/", "%"}};
    if (level == 6)
        return primary(s);
    int64_t value = compute(s, level + 1);
    for (bool found = true; found && !s->bad;) {
        found = false;
        for (int i = 0; !found && i < 5 && levels[level][i]; i++)
            if (take(s, levels[level][i])) {
                value = applied(s, levels[level][i], value, compute(s, level + 1));
                found = true;
            }
    }
    if (level == 0 && !s->bad && take(s, "?")) {
        if (++s->depth > SHELL_MAX_DEPTH)
            s->bad = true;
        int64_t yes = s->bad ? 0 : compute(s, 0);
        s->bad |= !take(s, ":");
        int64_t no = s->bad ? 0 : compute(s, 0);
        s->depth--;
        value = value ? yes : no;
    }
    return value;
}

bool shell_compute(struct shell_run *run, const char *text, int64_t *value, int *unknown)
{
    struct sum sum = {.run = run, .at = text, .unknown = -1};
    *value = compute(&sum, 0);
    skip(&sum);
    if (!run->state->failed && sum.unknown < 0 && (sum.bad || *sum.at)) {
        const char *copy = arena_format(&run->shell->arena, "$((%s))", text);
        sum.unknown = copy ? shell_add_unknown(run, NULL, 0, copy) : -1;
        if (sum.unknown < 0)
            shell_no_memory(run);
    }
    *unknown = sum.unknown;
    return sum.unknown < 0 && !run->state->failed;
}

/* ---- conditions ---- */

struct condition {
    struct shell_run *run;
    const struct shell_words *words;
    int at, end, depth;
    bool bad;
};

static struct shell_answer either(struct condition *c);

static struct shell_answer yes_or_no(bool yes)
{
    return (struct shell_answer){yes ? SHELL_TRUE : SHELL_FALSE, -1};
}

static struct shell_answer open_for(int unknown)
{
    return (struct shell_answer){SHELL_OPEN, unknown};
}

static const char *word_at(const struct condition *c, int at)
{
    return at < c->end ? c->words->items[at].text : "";
}

/* An unset variable is empty for a test that asks whether it is. */
static struct shell_answer is_empty(const struct condition *c, const char *text, bool wanted)
{
    const struct shell_unknown *unknown = shell_unknown_in(c->run->shell, text);
    bool only = *text == SHELL_MARK && strchr(text, SHELL_END) && !strchr(text, SHELL_END)[1];
    if (unknown && only && !unknown->text)
        return yes_or_no(wanted);
    if (unknown && only)
        return open_for(shell_mark_in(text));
    return yes_or_no((*text == '\0') == wanted);
}

static struct shell_answer compare_numbers(const struct condition *c, const char *operator, const char * a,
                                           const char *b)
{
    int64_t x, y;
    int unknown;
    if (!shell_compute(c->run, *a ? a : "0", &x, &unknown) ||
        !shell_compute(c->run, *b ? b : "0", &y, &unknown))
        return open_for(unknown);
    static const char *const names[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    const bool answers[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(operator, names[i]) == 0)
            return yes_or_no(answers[i]);
    return yes_or_no(false);
}

static bool is_number_operator(const char *text)
{
    static const char *const names[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

/* Expressions that repeat what was matched, or repeat by a count, can take any time: these are not answered. */
static struct shell_answer matches(struct condition *c, const char *text, const char *pattern)
{
    regex_t regex;
    if (strlen(pattern) > MAX_PATTERN || strlen(text) > MAX_MATCHED || strpbrk(pattern, "\\{") ||
        regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return open_for(shell_add_unknown(c->run, NULL, 0, "a regular expression"));
    bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return yes_or_no(found);
}

static struct shell_answer compare(struct condition *c, const char *a, const char *operator, const char * b)
{
    if (is_number_operator(operator))
        return compare_numbers(c, operator, a, b);
    int mark = shell_mark_in(a) >= 0 ? shell_mark_in(a) : shell_mark_in(b);
    if (mark >= 0)
        return open_for(mark);
    if (strcmp(operator, "<") == 0 || strcmp(operator, ">") == 0)
        return yes_or_no(*operator== '<' ? strcmp(a, b) < 0 : strcmp(a, b) > 0);
    if (strcmp(operator, "=~") == 0)
        return matches(c, a, b);
    bool same = strlen(b) < 4096 && fnmatch(b, a, 0) == 0;
    return yes_or_no(same == (operator[0] != '!'));
}

static struct shell_answer single(struct condition *c)
{
    const char *first = word_at(c, c->at), *second = word_at(c, c->at + 1);
    if (c->at >= c->end || ++c->depth > SHELL_MAX_DEPTH) {
        c->bad = true;
        return yes_or_no(false);
    }
    struct shell_answer answer;
    bool binary = strcmp(second, "=") == 0 || strcmp(second, "==") == 0 || strcmp(second, "!=") == 0 ||
                  strcmp(second, "=~") == 0 || strcmp(second, "<") == 0 || strcmp(second, ">") == 0 ||
                  is_number_operator(second);
    if (binary && c->at + 1 < c->end) {
        answer = compare(c, first, second, word_at(c, c->at + 2));
        c->at += 3;
    } else if (strcmp(first, "!") == 0) {
        c->at++;
        answer = single(c);
        if (answer.is != SHELL_OPEN)
            answer = yes_or_no(answer.is == SHELL_FALSE);
    } else if (strcmp(first, "(") == 0) {
        c->at++;
        answer = either(c);
        c->at++;
    } else if (first[0] == '-' && first[1] && !first[2] && c->at + 1 < c->end) {
        c->at += 2;
        answer = first[1] == 'z'   ? is_empty(c, second, true)
                 : first[1] == 'n' ? is_empty(c, second, false)
                 : first[1] == 'v' ? yes_or_no(shell_find(c->run->shell, second) != NULL)
                                   : yes_or_no(true);
    } else {
        c->at++;
        answer = is_empty(c, first, false);
    }
    c->depth--;
    return answer;
}

static struct shell_answer both(struct condition *c)
{
    struct shell_answer answer = single(c);
    while (strcmp(word_at(c, c->at), "&&") == 0 || strcmp(word_at(c, c->at), "-a") == 0) {
        c->at++;
        struct shell_answer other = single(c);
        if (answer.is == SHELL_TRUE || other.is == SHELL_FALSE)
            answer = other;
    }
    return answer;
}

static struct shell_answer either(struct condition *c)
{
    struct shell_answer answer = both(c);
    while (strcmp(word_at(c, c->at), "||") == 0 || strcmp(word_at(c, c->at), "-o") == 0) {
        c->at++;
        struct shell_answer other = both(c);
        if (answer.is == SHELL_FALSE || other.is == SHELL_TRUE)
            answer = other;
    }
    return answer;
}

struct shell_answer shell_test(struct shell_run *run, const struct shell_words *words)
{
    struct condition c = {.run = run, .words = words, .end = words->count};
    return words->count == 0 ? yes_or_no(false) : either(&c);
}
