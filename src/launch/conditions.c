/* What other software refuses at its start: a table of conditions on its arguments (data/software/NAME-rules.yaml), for
 * settings of which no job tells. What a job tells is plan/split/rule.c's.
 *
 *     of: Megatron-LM                    the reader whose arguments are judged
 *     unless: [deepspeed]                arguments of another version or program: nothing is judged
 *     defaults: {cp-comm-type: p2p}      of arguments that are not given
 *     names: {tp: tensor-model-parallel-size}
 *     choices: {ckpt-format: torch torch_dist}
 *     rules:
 *       - {if: overlap-param-gather, needs: overlap-grad-reduce, says: …, at: "arguments.py:958", in: …, out: …}
 *
 * `if` may be left out. `says` is the error; {NAME} in it is a value. `in` and `out` are arguments just inside and
 * outside of the rule, which tests add to those of `base`.
 *
 * A condition has, from weak to strong: a ? b : c; or; and; not; = != < <= > >= has in within; + -; * / %; and names of
 * arguments or of `names`, numbers, 'words', parentheses, `given NAME` (whatever the default), `count NAME` and
 * `product NAME` (of a list), and `blocks NAME` ("[0]*3+[1]*5": 8; a number: itself; neither: 0). A list `has` a word,
 * a word is `in` a list, each word of a list is `within` another. `devices` is the number of devices; `whole` is true
 * of a command of pretrain_gpt.py that shows all its arguments. What is not known (a variable of a shell, a
 * number that is not given) makes a condition neither true nor false, and breaks no rule. */
#include "launch/read/read.h"

#include "core/once.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH  24
#define SEPARATORS " ,[]'\"" /* of lists: "mlp moe_act", "[mlp, moe_act]" */

extern const char software_megatron_lm_rules[];
extern const size_t software_megatron_lm_rules_size;

static struct doc table;

static bool read_table(struct error *err)
{
    return doc_parse(&table, DOC_JSON, "megatron-lm-rules.yaml", software_megatron_lm_rules,
                     software_megatron_lm_rules_size, err);
}

/* ---- values ---- */

enum kind { ABSENT, UNKNOWN, NUMBER, TEXT };

struct value {
    enum kind kind;
    double number;
    const char *text; /* of TEXT, `length` bytes; a number has its text, too */
    size_t length;
};

enum truth { FALSE, TRUE, OPEN };

struct state {
    const struct launch_options *options;
    int64_t devices;
    const char *at; /* of the expression that is read */
    const struct launch_argument *first;
    int depth;
};

static struct value number_of(double number)
{
    return (struct value){.kind = isfinite(number) ? NUMBER : UNKNOWN, .number = number};
}

static struct value value_of(const char *text, size_t length)
{
    char digits[64];
    struct value value = {.kind = TEXT, .text = text, .length = length};
    if (memchr(text, SHELL_MARK, length))
        return (struct value){.kind = UNKNOWN};
    if (length == 0 || length >= sizeof digits || isalpha((unsigned char)text[0]))
        return value;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (text_real(digits, &value.number))
        value.kind = NUMBER;
    return value;
}

static enum truth truth_of(const struct value *value)
{
    bool off = value->kind == TEXT && ((value->length == 5 && strncasecmp(value->text, "false", 5) == 0) ||
                                       (value->length == 4 && strncasecmp(value->text, "none", 4) == 0));
    return value->kind == UNKNOWN                        ? OPEN
           : value->kind == ABSENT || off                ? FALSE
           : value->kind == NUMBER && value->number == 0 ? FALSE
                                                         : TRUE;
}

static struct value of_truth(enum truth truth)
{
    return truth == OPEN ? (struct value){.kind = UNKNOWN} : number_of(truth == TRUE);
}

static bool is_word(const struct value *value, const char *word, size_t length)
{
    return value->length == length && strncmp(value->text, word, length) == 0;
}

/* Goes through the words of a list. Returns the next one, NULL: there is none; *length: its length. */
static const char *next_word(const struct value *list, const char *at, size_t *length)
{
    const char *end = list->text + list->length;
    while (at < end && strchr(SEPARATORS, *at))
        at++;
    *length = 0;
    while (at + *length < end && !strchr(SEPARATORS, at[*length]))
        (*length)++;
    return *length > 0 ? at : NULL;
}

static bool has_word(const struct value *list, const struct value *word)
{
    size_t length;
    for (const char *at = list->text ? list->text : ""; list->text && (at = next_word(list, at, &length));
         at += length)
        if (is_word(word, at, length))
            return true;
    return false;
}

static bool has_words(const struct value *list, const struct value *words)
{
    bool has = true;
    struct value word = {.kind = TEXT};
    for (word.text = words->text ? words->text : "";
         has && words->text && (word.text = next_word(words, word.text, &word.length));
         word.text += word.length)
        has = has_word(list, &word);
    return has;
}

/* ---- expressions ---- */

static struct value choice(struct state *s);

static bool takes(struct state *s, const char *token)
{
    size_t length = strlen(token);
    const char *at = s->at + strspn(s->at, " ");
    bool word = isalpha((unsigned char)token[0]);
    if (strncmp(at, token, length) != 0 ||
        (word && (isalnum((unsigned char)at[length]) || at[length] == '-')))
        return false;
    s->at = at + length;
    return true;
}

static struct value of_text(struct state *s, const char *text)
{
    const char *after = s->at;
    s->at = text;
    struct value value = s->depth < MAX_DEPTH ? choice(s) : (struct value){.kind = UNKNOWN};
    s->at = after;
    return value;
}

static struct value named(struct state *s, const char *name, bool given)
{
    const struct doc_node *alias = doc_find(doc_find(table.root, "names"), name);
    if (strcmp(name, "devices") == 0)
        return s->devices > 0 ? number_of((double)s->devices) : (struct value){.kind = UNKNOWN};
    if (strcmp(name, "whole") == 0)
        return number_of(s->options->is_whole);
    bool is_stages = strcmp(name, "layout-stages") == 0;
    if (is_stages || strcmp(name, "layout-mtp") == 0)
        return s->options->stage_count > 0 && s->options->chunks.given
                   ? number_of((double)(is_stages ? s->options->stage_count * s->options->chunks.value
                                                  : s->options->stage_mtp))
                   : (struct value){.kind = ABSENT};
    if (alias)
        return of_text(s, alias->text);
    const struct launch_argument *argument = launch_argument(s->options, name);
    const struct doc_node *usual = doc_find(doc_find(table.root, "defaults"), name);
    if (argument) {
        s->first = s->first ? s->first : argument;
        return argument->value ? value_of(argument->value, strlen(argument->value)) : number_of(1.0);
    }
    return given || !usual ? (struct value){.kind = ABSENT} : value_of(usual->text, strlen(usual->text));
}

/* The blocks of a list of zeros and ones. */
static struct value count_blocks(const struct value *value)
{
    struct text list = {0}, blocks = {0};
    text_add_bytes(&list, value->text, value->length);
    size_t count = !list.failed && launch_pattern(list.data ? list.data : "", &blocks) ? blocks.length : 0;
    bool failed = list.failed || blocks.failed;
    text_release(&list);
    text_release(&blocks);
    return failed ? (struct value){.kind = UNKNOWN} : number_of((double)count);
}

static struct value one(struct state *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    char name[96];
    if (takes(s, "(")) {
        struct value value = choice(s);
        takes(s, ")");
        return value;
    }
    bool given = takes(s, "given"), count = takes(s, "count"), product = takes(s, "product"),
         blocks = takes(s, "blocks");
    s->at += strspn(s->at, " ");
    if (*s->at == '\'') {
        const char *text = ++s->at;
        size_t length = strcspn(text, "'");
        s->at += length + (text[length] == '\'');
        return (struct value){.kind = TEXT, .text = text, .length = length};
    }
    size_t length = strspn(s->at, letters);
    if (isdigit((unsigned char)*s->at)) {
        char *end;
        double number = text_number(s->at, &end);
        s->at = end;
        return number_of(number);
    }
    snprintf(name, sizeof name, "%.*s", (int)length, s->at);
    s->at += length;
    struct value value = named(s, name, given);
    if (given)
        return number_of(value.kind != ABSENT);
    if (blocks && value.kind == TEXT)
        return count_blocks(&value);
    if (!count && !product)
        return value;
    double words = 0.0, all = 1.0;
    for (const char *at = value.text; value.text && (at = next_word(&value, at, &length)); at += length) {
        words++;
        all *= value_of(at, length).number;
    }
    return value.kind == UNKNOWN ? value : number_of(product ? all : words);
}

static struct value arithmetic(struct value a, char operation, struct value b)
{
    double x = a.number, y = b.number;
    if (a.kind != NUMBER || b.kind != NUMBER || ((operation == '/' || operation == '%') && y == 0.0))
        return (struct value){.kind = UNKNOWN};
    return number_of(operation == '*'   ? x * y
                     : operation == '/' ? floor(x / y)
                     : operation == '%' ? fmod(x, y)
                     : operation == '+' ? x + y
                                        : x - y);
}

static struct value factor(struct state *s)
{
    struct value value = one(s);
    for (;;) {
        char operation = takes(s, "*") ? '*' : takes(s, "/") ? '/' : takes(s, "%") ? '%' : '\0';
        if (!operation)
            return value;
        value = arithmetic(value, operation, one(s));
    }
}

static struct value sum(struct state *s)
{
    struct value value = factor(s);
    for (;;) {
        char operation = takes(s, "+") ? '+' : takes(s, "- ") ? '-' : '\0';
        if (!operation)
            return value;
        value = arithmetic(value, operation, factor(s));
    }
}

static struct value comparison(struct state *s)
{
    static const char *const operations[] = {"!=", "<=", ">=", "=", "<", ">", "has", "in", "within"};
    struct value a = sum(s), b;
    size_t o = 0;
    while (o < 9 && !takes(s, operations[o]))
        o++;
    if (o == 9)
        return a;
    b = sum(s);
    if (a.kind == UNKNOWN || b.kind == UNKNOWN)
        return (struct value){.kind = UNKNOWN};
    if (o >= 6)
        return number_of(o == 6 ? has_word(&a, &b) : o == 7 ? has_word(&b, &a) : has_words(&b, &a));
    if (o == 0 || o == 3) {
        bool numbers = a.kind == NUMBER && b.kind == NUMBER;
        bool same = numbers ? a.number == b.number
                            : a.text && b.text && a.kind != ABSENT && is_word(&a, b.text, b.length);
        return number_of(same == (o == 3));
    }
    if (a.kind != NUMBER || b.kind != NUMBER)
        return (struct value){.kind = UNKNOWN};
    double x = a.number, y = b.number;
    return number_of(o == 1 ? x <= y : o == 2 ? x >= y : o == 4 ? x < y : x > y);
}

static struct value negation(struct state *s)
{
    if (!takes(s, "not"))
        return comparison(s);
    struct value value = negation(s);
    enum truth truth = truth_of(&value);
    return of_truth(truth == OPEN ? OPEN : truth == TRUE ? FALSE : TRUE);
}

/* Of `and`, FALSE decides, of `or` TRUE. */
static struct value joined(struct value a, struct value b, enum truth decides)
{
    enum truth x = truth_of(&a), y = truth_of(&b);
    return of_truth(x == decides || y == decides ? decides : x == OPEN || y == OPEN ? OPEN : x);
}

static struct value conjunction(struct state *s)
{
    struct value value = negation(s);
    while (takes(s, "and"))
        value = joined(value, negation(s), FALSE);
    return value;
}

static struct value disjunction(struct state *s)
{
    struct value value = conjunction(s);
    while (takes(s, "or"))
        value = joined(value, conjunction(s), TRUE);
    return value;
}

static struct value choice(struct state *s)
{
    s->depth++;
    struct value value = disjunction(s);
    if (takes(s, "?")) {
        struct value yes = choice(s);
        takes(s, ":");
        struct value no = choice(s);
        enum truth truth = truth_of(&value);
        value = truth == TRUE ? yes : truth == FALSE ? no : (struct value){.kind = UNKNOWN};
    }
    s->depth--;
    return value;
}

static enum truth judge(struct state *s, const struct doc_node *expression)
{
    struct value value = of_text(s, expression->text);
    return truth_of(&value);
}

/* ---- rules ---- */

/* Adds a text in which {NAME} stands for a value. */
static void add_said(struct state *s, const char *text, struct text *out)
{
    for (const char *at = text; *at;) {
        size_t plain = strcspn(at, "{");
        text_add_bytes(out, at, plain);
        at += plain;
        size_t length = strcspn(at, "}");
        if (*at != '{' || at[length] != '}')
            continue;
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)length - 1, at + 1);
        struct value value = of_text(s, name);
        if (value.text)
            text_add_bytes(out, value.text, value.length);
        else if (value.kind == NUMBER)
            text_format(out, "%g", value.number);
        else
            text_add(out, "none");
        at += length + 1;
    }
}

static bool refuse(struct state *s, const char *said, struct error *err)
{
    struct text text = {0};
    add_said(s, said, &text);
    if (s->first && s->first->line > 0)
        error_set(err, ERROR_INPUT, "%s:%d: %s", s->first->path, s->first->line, text.data ? text.data : "");
    else
        error_set(err, ERROR_INPUT, "%s: %s", s->options->path, text.data ? text.data : "");
    text_release(&text);
    return false;
}

static bool check_choices(struct state *s, struct error *err)
{
    for (const struct doc_node *node = doc_find(table.root, "choices")->first_child; node;
         node = node->next) {
        const struct launch_argument *argument = launch_argument(s->options, node->key);
        const struct launch_rule *end, *rule = launch_table_rule("megatron-lm", node->key, &end);
        bool is_list = rule && (rule->is_list || (rule->takes && rule->takes->is_list));
        struct value all = {.kind = TEXT, .text = node->text, .length = node->length}, value;
        size_t length;
        if (!argument || !argument->value)
            continue;
        value = value_of(argument->value, strlen(argument->value));
        for (const char *at = argument->value; value.kind != UNKNOWN; at += length) {
            struct value list = {.text = argument->value, .length = strlen(argument->value)};
            if (!(at = next_word(&list, at, &length)))
                break;
            struct value word = {.kind = TEXT, .text = at, .length = length};
            if (!has_word(&all, &word) || (!is_list && list.length > length + 2)) { /* 2: in quotes */
                s->first = argument;
                char said[512];
                snprintf(said, sizeof said, "--%s: expected one of %s; found '%.*s'", node->key, node->text,
                         (int)(length < 64 ? length : 64), at);
                return refuse(s, said, err);
            }
        }
    }
    return true;
}

bool launch_check(struct launch_options *options, int64_t devices, struct error *err)
{
    static struct once once = ONCE_INIT;
    if (!once_read(&once, read_table, err))
        return false;
    struct state s = {.options = options, .devices = devices};
    if (options->has_run || !options->reader ||
        strcmp(options->reader, doc_find(table.root, "of")->text) != 0)
        return true;
    for (const struct doc_node *node = doc_find(table.root, "unless")->first_child; node; node = node->next)
        if (launch_argument(options, node->text))
            return true;
    if (!check_choices(&s, err))
        return false;
    for (const struct doc_node *node = doc_find(table.root, "rules")->first_child; node; node = node->next) {
        const struct doc_node *when = doc_find(node, "if");
        s.first = NULL;
        if ((when && judge(&s, when) != TRUE) || judge(&s, doc_find(node, "needs")) != FALSE)
            continue;
        return refuse(&s, doc_find(node, "says")->text, err);
    }
    return true;
}
