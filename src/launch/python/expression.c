/* Expressions of Python: computed as far as they are known. */
#include "launch/python/python.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct python_value *unknown(struct python *p, const struct python_frame *f, const char *text)
{
    return python_make(p, f, PYTHON_UNKNOWN, text, 0);
}

int python_truth(const struct python_value *value)
{
    switch (value->kind) {
    case PYTHON_NONE:
        return 0;
    case PYTHON_BOOL:
    case PYTHON_NUMBER:
        return value->number != 0;
    case PYTHON_TEXT:
        return value->text[0] != '\0';
    case PYTHON_LIST:
        return value->fields != NULL;
    case PYTHON_OBJECT:
        return value->text ? 1 : -1;
    default:
        return -1;
    }
}

static bool is_known(const struct python_value *value)
{
    return value->kind != PYTHON_UNKNOWN && (value->kind != PYTHON_OBJECT || value->text);
}

/* 1: equal, 0: not, -1: not known. */
static int equal(const struct python_value *a, const struct python_value *b)
{
    bool numbers = (a->kind == PYTHON_NUMBER || a->kind == PYTHON_BOOL) &&
                   (b->kind == PYTHON_NUMBER || b->kind == PYTHON_BOOL);
    if (!is_known(a) || !is_known(b) || a->kind == PYTHON_LIST ||
        (a->kind == PYTHON_OBJECT && b->kind == PYTHON_OBJECT))
        return -1;
    if (numbers)
        return a->number == b->number;
    return a->kind == b->kind &&
           (a->kind == PYTHON_NONE || (a->kind == PYTHON_TEXT && strcmp(a->text, b->text) == 0));
}

static int contains(struct python *p, const struct python_value *list, const struct python_value *value)
{
    int found = 0;
    if (list->kind == PYTHON_TEXT && value->kind == PYTHON_TEXT)
        return strstr(list->text, value->text) != NULL;
    if (list->kind != PYTHON_LIST)
        return -1;
    for (const struct python_field *field = list->fields; field && python_spend(p, 1); field = field->next) {
        int same = equal(field->value, value);
        if (same == 1)
            return 1;
        found = same < 0 ? -1 : found;
    }
    return found;
}

/* ---- operators ---- */

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_COMPARE, LEVEL_BITS, LEVEL_SUM, LEVEL_PRODUCT, LEVEL_POWER };

struct operation {
    const char *text;
    int level;
};

/* The operator at the next token; "not in" and "is not" are two. */
static struct operation next_operation(const struct python_frame *f)
{
    static const struct operation all[] = {
        {"or", LEVEL_OR},      {"and", LEVEL_AND},     {"==", LEVEL_COMPARE}, {"!=", LEVEL_COMPARE},
        {"<", LEVEL_COMPARE},  {">", LEVEL_COMPARE},   {"<=", LEVEL_COMPARE}, {">=", LEVEL_COMPARE},
        {"in", LEVEL_COMPARE}, {"not", LEVEL_COMPARE}, {"is", LEVEL_COMPARE}, {"|", LEVEL_BITS},
        {"&", LEVEL_BITS},     {"^", LEVEL_BITS},      {"+", LEVEL_SUM},      {"-", LEVEL_SUM},
        {"*", LEVEL_PRODUCT},  {"/", LEVEL_PRODUCT},   {"//", LEVEL_PRODUCT}, {"%", LEVEL_PRODUCT},
        {"@", LEVEL_PRODUCT},  {"**", LEVEL_POWER},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (python_is(f, all[i].text))
            return all[i];
    return (struct operation){NULL, 0};
}

static struct python_value *answer(struct python *p, const struct python_frame *f, int truth,
                                   const struct python_value *of)
{
    return truth < 0 ? unknown(p, f, of->text ? of->text : "a condition")
                     : python_make(p, f, PYTHON_BOOL, NULL, truth);
}

static struct python_value *compare(struct python *p, const struct python_frame *f, const char *op,
                                    bool negated, const struct python_value *a, const struct python_value *b)
{
    int truth = -1;
    bool numbers = a->kind == PYTHON_NUMBER && b->kind == PYTHON_NUMBER;
    if (strcmp(op, "==") == 0 || strcmp(op, "!=") == 0 || strcmp(op, "is") == 0)
        truth = equal(a, b);
    else if (strcmp(op, "in") == 0)
        truth = contains(p, b, a);
    else if (numbers)
        truth = strcmp(op, "<") == 0    ? a->number < b->number
                : strcmp(op, ">") == 0  ? a->number > b->number
                : strcmp(op, "<=") == 0 ? a->number <= b->number
                                        : a->number >= b->number;
    if (truth >= 0 && (negated || strcmp(op, "!=") == 0))
        truth = !truth;
    return answer(p, f, truth, truth < 0 && is_known(a) ? b : a);
}

static struct python_value *compute(struct python *p, const struct python_frame *f, const char *op,
                                    struct python_value *a, struct python_value *b)
{
    if (strcmp(op, "or") == 0 || strcmp(op, "and") == 0) {
        int truth = python_truth(a);
        return truth < 0 ? unknown(p, f, a->text) : (truth == 1) == (op[0] == 'o') ? a : b;
    }
    if (a->kind == PYTHON_TEXT && b->kind == PYTHON_TEXT && strcmp(op, "+") == 0) {
        const char *text = strlen(a->text) + strlen(b->text) < 1000 && python_spend(p, 16)
                               ? arena_format(&p->arena, "%s%s", a->text, b->text)
                               : "";
        p->failed |= !text;
        return python_make(p, f, PYTHON_TEXT, text ? text : "", 0);
    }
    if (a->kind != PYTHON_NUMBER || b->kind != PYTHON_NUMBER)
        return unknown(p, f, a->kind == PYTHON_UNKNOWN ? a->text : b->kind == PYTHON_UNKNOWN ? b->text : op);
    double x = a->number, y = b->number, z = NAN;
    if (strcmp(op, "+") == 0)
        z = x + y;
    else if (strcmp(op, "-") == 0)
        z = x - y;
    else if (strcmp(op, "*") == 0)
        z = x * y;
    else if (strcmp(op, "**") == 0)
        z = pow(x, y);
    else if (y != 0)
        z = strcmp(op, "/") == 0    ? x / y
            : strcmp(op, "//") == 0 ? floor(x / y)
            : strcmp(op, "%") == 0  ? x - y * floor(x / y)
                                    : NAN;
    return isfinite(z) ? python_make(p, f, PYTHON_NUMBER, NULL, z) : unknown(p, f, op);
}

/* ---- brackets and calls ---- */

/* Passes over all up to the bracket that closes, or the end. */
static void skip_to_close(struct python_frame *f)
{
    for (int depth = 0, from = f->at; python_peek(f)->kind != PYTHON_END; f->at++) {
        if ((f->at - from) % PYTHON_SKIPPED == 0 && !python_spend(f->module->python, 1))
            f->at = f->module->count - 1;
        if (python_peek(f)->kind != PYTHON_SIGN)
            continue;
        bool closes = strchr(")]}", python_peek(f)->text[0]) != NULL;
        if (closes && depth == 0)
            return;
        depth += strchr("([{", python_peek(f)->text[0]) ? 1 : closes ? -1 : 0;
    }
}

static const char *place_name(struct python *p, int place)
{
    const char *name = arena_format(&p->arena, "%d", place);
    p->failed |= !name;
    return name ? name : "";
}

/* Takes over the fields of another object; of something unknown: one field "**". */
static void spread(struct python *p, struct python_frame *f, struct python_value *into,
                   struct python_value *from)
{
    if (from->kind != PYTHON_OBJECT)
        python_set(p, into, "**", from, f->module->path, python_peek(f)->line);
    for (const struct python_field *field = from->kind == PYTHON_OBJECT ? from->fields : NULL; field;
         field = field->next)
        python_set(p, into, field->name, field->value, field->path, field->line);
}

/* Reads the fields of a call, list or map up to `close`. */
static struct python_value *read_fields(struct python *p, struct python_frame *f, enum python_kind kind,
                                        const char *close)
{
    struct python_value *whole = python_make(p, f, kind, NULL, 0);
    for (int place = 0; whole && !p->failed && !python_is(f, close) && python_peek(f)->kind != PYTHON_END;) {
        int before = f->at, line = python_peek(f)->line;
        const char *name = NULL;
        if (python_take(f, "**") || python_take(f, "*")) {
            struct python_value *value = python_expression(p, f);
            if (value)
                spread(p, f, whole, value);
        } else {
            const struct python_token *after = &f->module->tokens[f->at + 1];
            if (python_peek(f)->kind == PYTHON_NAME && after->kind == PYTHON_SIGN &&
                strcmp(after->text, "=") == 0) {
                name = python_peek(f)->text;
                f->at += 2;
            }
            struct python_value *value = python_expression(p, f);
            if (value && python_take(f, ":")) { /* of a map */
                name = value->kind == PYTHON_TEXT ? value->text : "?";
                whole->kind = PYTHON_OBJECT;
                value = python_expression(p, f);
            }
            if (python_is(f, "for") || python_is(f, "async")) {
                skip_to_close(f);
                value = unknown(p, f, "a comprehension");
            }
            if (value)
                python_set(p, whole, name ? name : place_name(p, place++), value, f->module->path, line);
        }
        if (!python_take(f, ",") && !python_is(f, close))
            skip_to_close(f);
        if (f->at == before || (!python_is(f, close) && python_peek(f)->kind == PYTHON_SIGN &&
                                strchr(")]}", python_peek(f)->text[0])))
            break;
    }
    python_take(f, close);
    return whole;
}

static struct python_value *argument(const struct python_value *arguments, const char *name)
{
    const struct python_field *field = python_field(arguments, name);
    return field ? field->value : NULL;
}

/* isinstance(x, str): only of what is written here, which is of no class that a checkout defines. */
static int is_instance(const struct python_value *value, const char *type)
{
    static const struct {
        const char *type;
        enum python_kind kind;
    } all[] = {{"str", PYTHON_TEXT},
               {"bool", PYTHON_BOOL},
               {"int", PYTHON_NUMBER},
               {"float", PYTHON_NUMBER},
               {"list", PYTHON_LIST}};
    static const char *const wide[] = {"object",    "Sequence", "Iterable", "Collection",
                                       "Container", "Hashable", "Sized",    "Number",
                                       "Real",      "Integral", "Complex",  "Reversible"};
    if (!is_known(value) || value->kind == PYTHON_OBJECT || !type)
        return -1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].type, type) == 0)
            return value->kind == all[i].kind;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(wide[i], type) == 0)
            return -1;
    return 0;
}

/* Functions of Python itself. NULL: none of these. */
static struct python_value *call_builtin(struct python *p, struct python_frame *f, const char *name,
                                         const struct python_value *arguments)
{
    static const char *const computed[] = {"len",   "range",  "sum",       "max",   "min",   "any",
                                           "all",   "sorted", "set",       "tuple", "list",  "type",
                                           "round", "zip",    "enumerate", "str",   "super", "abs"};
    struct python_value *first = argument(arguments, "0"), *second = argument(arguments, "1");
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    if (strcmp(name, "isinstance") == 0 && first && second)
        return answer(p, f, is_instance(first, second->text), first);
    if ((strcmp(name, "getattr") == 0 || strcmp(name, "hasattr") == 0) && first && second &&
        second->kind == PYTHON_TEXT) {
        struct python_value *there = argument(first, second->text);
        bool known = there && is_known(there);
        return !known           ? unknown(p, f, second->text)
               : name[0] == 'g' ? there
                                : python_make(p, f, PYTHON_BOOL, NULL, 1);
    }
    if (strcmp(last, "cast") == 0 && second)
        return second;
    if ((strcmp(last, "deepcopy") == 0 || strcmp(name, "int") == 0 || strcmp(name, "bool") == 0 ||
         strcmp(name, "float") == 0) &&
        first)
        return first;
    if (strcmp(last, "replace") == 0 && first && first->kind == PYTHON_OBJECT) {
        struct python_value *copy = python_make(p, f, PYTHON_OBJECT, first->text, 0);
        for (const struct python_field *field = first->fields; copy && field; field = field->next)
            python_set(p, copy, field->name, field->value, field->path, field->line);
        for (const struct python_field *field = arguments->fields; copy && field; field = field->next)
            if (field->name[0] < '0' || field->name[0] > '9')
                python_set(p, copy, field->name, field->value, field->path, field->line);
        return copy;
    }
    for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
        if (strcmp(name, computed[i]) == 0)
            return unknown(p, f, name);
    return NULL;
}

static struct python_value *call(struct python *p, struct python_frame *f, struct python_value *callee,
                                 struct python_value *self)
{
    int line = python_peek(f)->line;
    struct python_value *arguments = read_fields(p, f, PYTHON_OBJECT, ")");
    const char *name = callee->kind == PYTHON_UNKNOWN && callee->text ? callee->text : "?";
    if (!arguments)
        return NULL;
    struct python_value *value = self ? NULL : call_builtin(p, f, name, arguments);
    if (!value && !self && !p->failed)
        value = python_invoke(p, f->module, name, arguments);
    if (value || p->failed)
        return value;
    /* run.Config(Class, …), functools.partial(function, …): the first is made, later */
    const char *dot = strrchr(name, '.');
    const struct python_value *made = argument(arguments, "0");
    if (made && made->kind == PYTHON_UNKNOWN && made->text && dot &&
        (strcmp(name, "run.Config") == 0 || strcmp(name, "run.Partial") == 0 ||
         strcmp(dot, ".partial") == 0)) {
        name = made->text;
        arguments->fields = arguments->fields->next;
        arguments->index = NULL; /* made again when a field is added */
    }
    arguments->text = name;
    arguments->line = line;
    if (self)
        python_set(p, arguments, "of", self, f->module->path, line);
    return arguments;
}

/* "Lora".lower(); other methods of plain values are not known. */
static struct python_value *call_plain(struct python *p, struct python_frame *f,
                                       const struct python_value *of, const char *name)
{
    if (!read_fields(p, f, PYTHON_OBJECT, ")"))
        return NULL;
    char *text = of->kind == PYTHON_TEXT && strcmp(name, "lower") == 0
                     ? arena_copy(&p->arena, of->text, strlen(of->text))
                     : NULL;
    for (char *at = text; at && *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return text ? python_make(p, f, PYTHON_TEXT, text, 0) : unknown(p, f, name);
}

static struct python_value *attribute(struct python *p, struct python_frame *f, struct python_value *of)
{
    const char *name = python_peek(f)->text;
    int line = python_peek(f)->line;
    f->at++;
    if (of->kind != PYTHON_UNKNOWN && of->kind != PYTHON_OBJECT && python_take(f, "("))
        return call_plain(p, f, of, name);
    if (of->kind == PYTHON_OBJECT && python_take(f, "(")) {
        struct python_value *method = unknown(p, f, name);
        return method ? call(p, f, method, of) : NULL;
    }
    if (of->kind == PYTHON_OBJECT) {
        const struct python_field *field = python_field(of, name);
        struct python_value *value = field ? field->value : python_make(p, f, PYTHON_OBJECT, NULL, 0);
        return !value || field || python_set(p, of, name, value, f->module->path, line) ? value : NULL;
    }
    const char *text = of->kind == PYTHON_UNKNOWN && of->text && strlen(of->text) < 200 && python_spend(p, 4)
                           ? arena_format(&p->arena, "%s.%s", of->text, name)
                           : name;
    p->failed |= !text;
    return unknown(p, f, text);
}

static struct python_value *subscript(struct python *p, struct python_frame *f, struct python_value *of)
{
    const struct python_value *place = read_fields(p, f, PYTHON_LIST, "]");
    const struct python_value *key = place ? argument(place, "0") : NULL;
    char name[24] = "";
    if (!place)
        return NULL;
    if (key && key->kind == PYTHON_NUMBER && of->kind == PYTHON_LIST && key->number >= 0)
        snprintf(name, sizeof name, "%.0f", key->number);
    const char *wanted = key && key->kind == PYTHON_TEXT && of->kind == PYTHON_OBJECT ? key->text : name;
    struct python_value *value = *wanted ? argument(of, wanted) : NULL;
    return value ? value : unknown(p, f, of->text ? of->text : "a part of a list");
}

/* ---- values ---- */

static struct python_value *read_number(struct python *p, struct python_frame *f)
{
    char digits[64];
    size_t length = 0;
    for (const char *at = python_peek(f)->text; *at && length < sizeof digits - 1; at++)
        if (*at != '_')
            digits[length++] = *at;
    digits[length] = '\0';
    char *end;
    double number = strtod(digits, &end);
    struct python_value *value = *end || !isfinite(number)
                                     ? unknown(p, f, python_peek(f)->text)
                                     : python_make(p, f, PYTHON_NUMBER, python_peek(f)->text, number);
    f->at++;
    return value;
}

static struct python_value *read_texts(struct python *p, struct python_frame *f)
{
    struct python_value *value = python_make(p, f, PYTHON_TEXT, python_peek(f)->text, 0);
    bool open = false;
    for (bool first = true; value && python_peek(f)->kind == PYTHON_STRING; f->at++, first = false) {
        open |= python_peek(f)->is_open;
        if (!first && strlen(value->text) < 1000 && python_spend(p, 16))
            value->text = arena_format(&p->arena, "%s%s", value->text, python_peek(f)->text);
        p->failed |= !value->text;
        if (!value->text)
            return NULL;
    }
    if (value && open)
        value->kind = PYTHON_UNKNOWN;
    return value;
}

static struct python_value *python_variable(struct python *p, struct python_module *module, const char *name)
{
    struct python_module *home;
    struct python_name *found = python_look_up(p, module, name, &home);
    if (!found || found->params > 0 || p->failed)
        return NULL;
    struct python_value none = {.kind = PYTHON_OBJECT};
    struct python_frame frame = {.module = home, .locals = &none, .at = found->body};
    if (!found->value) {
        found->params = 1; /* not in itself */
        found->value = python_expression(p, &frame);
        found->params = 0;
    }
    return found->value;
}

static struct python_value *read_atom(struct python *p, struct python_frame *f)
{
    const struct python_token *token = python_peek(f);
    if (token->kind == PYTHON_DIGITS)
        return read_number(p, f);
    if (token->kind == PYTHON_STRING)
        return read_texts(p, f);
    if (python_take(f, "(")) {
        struct python_value *list = read_fields(p, f, PYTHON_LIST, ")");
        bool single = list && list->kind == PYTHON_LIST && list->fields && !list->fields->next &&
                      strcmp(f->module->tokens[f->at - 2].text, ",") != 0;
        return single ? list->fields->value : list;
    }
    if (python_take(f, "["))
        return read_fields(p, f, PYTHON_LIST, "]");
    if (python_take(f, "{"))
        return read_fields(p, f, PYTHON_OBJECT, "}");
    if (token->kind != PYTHON_NAME) {
        f->at += token->kind == PYTHON_SIGN && !strchr(")]},:=", token->text[0]);
        return unknown(p, f, token->text);
    }
    f->at++;
    if (strcmp(token->text, "None") == 0)
        return python_make(p, f, PYTHON_NONE, NULL, 0);
    if (strcmp(token->text, "True") == 0 || strcmp(token->text, "False") == 0)
        return python_make(p, f, PYTHON_BOOL, NULL, token->text[0] == 'T');
    const struct python_field *local = python_field(f->locals, token->text);
    struct python_value *value = local ? local->value : python_variable(p, f->module, token->text);
    return value || p->failed ? value : unknown(p, f, token->text);
}

static struct python_value *read_operand(struct python *p, struct python_frame *f)
{
    struct python_value *value;
    if (python_is(f, "-") || python_is(f, "+")) {
        bool minus = python_is(f, "-");
        while (python_is(f, "-") || python_is(f, "+"))
            f->at++;
        value = read_operand(p, f);
        return value && value->kind == PYTHON_NUMBER && minus
                   ? python_make(p, f, PYTHON_NUMBER, NULL, -value->number)
                   : value;
    }
    while (python_is(f, "await") || python_is(f, "~"))
        f->at++;
    value = read_atom(p, f);
    while (value && !p->failed) {
        if (python_is(f, ".") && f->module->tokens[f->at + 1].kind == PYTHON_NAME) {
            f->at++;
            value = attribute(p, f, value);
        } else if (python_take(f, "("))
            value = call(p, f, value, NULL);
        else if (python_take(f, "["))
            value = subscript(p, f, value);
        else
            break;
    }
    return value;
}

static struct python_value *read_inner(struct python *p, struct python_frame *f, int level);

static struct python_value *read_level(struct python *p, struct python_frame *f, int level)
{
    struct python_value *left;
    if (++p->depth > 2 * PYTHON_MAX_DEPTH) {
        p->depth--;
        return unknown(p, f, "deep nesting");
    }
    left = read_inner(p, f, level);
    p->depth--;
    return left;
}

static struct python_value *read_inner(struct python *p, struct python_frame *f, int level)
{
    struct python_value *left;
    if (level <= LEVEL_COMPARE && python_take(f, "not")) {
        const struct python_value *of = read_level(p, f, LEVEL_COMPARE);
        int truth = of ? python_truth(of) : -1;
        left = of ? answer(p, f, truth < 0 ? -1 : !truth, of) : NULL;
    } else
        left = read_operand(p, f);
    struct operation op;
    for (bool compared = false; left && (op = next_operation(f)).text && op.level >= level;) {
        f->at++;
        bool negated = strcmp(op.text, "not") == 0;
        if (negated && !python_take(f, "in"))
            return unknown(p, f, "not");
        if (strcmp(op.text, "is") == 0)
            negated = python_take(f, "not");
        struct python_value *right = read_level(p, f, op.level == LEVEL_POWER ? op.level : op.level + 1);
        if (!right)
            return NULL;
        if (op.level != LEVEL_COMPARE)
            left = compute(p, f, op.text, left, right);
        else if (compared) /* a < b < c */
            left = unknown(p, f, op.text);
        else
            left = compare(p, f, strcmp(op.text, "not") == 0 ? "in" : op.text, negated, left, right);
        compared |= op.level == LEVEL_COMPARE;
    }
    return left;
}

static struct python_value *read_choice(struct python *p, struct python_frame *f)
{
    struct python_value *value = read_level(p, f, LEVEL_OR), *condition, *other;
    if (!value || !python_take(f, "if"))
        return value;
    if (!(condition = read_level(p, f, LEVEL_OR)) || !python_take(f, "else") ||
        !(other = python_expression(p, f)))
        return p->failed ? NULL : unknown(p, f, "if");
    int truth = python_truth(condition);
    return truth < 0 ? unknown(p, f, condition->text) : truth ? value : other;
}

struct python_value *python_expression(struct python *p, struct python_frame *f)
{
    if (p->depth >= PYTHON_MAX_DEPTH || !python_spend(p, 1) || python_is(f, "lambda")) {
        while (python_peek(f)->kind != PYTHON_LINE && python_peek(f)->kind != PYTHON_END &&
               !python_is(f, ",") && !python_is(f, ")") && !python_is(f, "]") && !python_is(f, "}")) {
            bool opens = python_peek(f)->kind == PYTHON_SIGN && strchr("([{", python_peek(f)->text[0]);
            f->at++;
            if (opens)
                skip_to_close(f);
        }
        return unknown(p, f, "unsupported syntax");
    }
    p->depth++;
    struct python_value *value = read_choice(p, f);
    p->depth--;
    return value;
}
