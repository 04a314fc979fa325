/* Statements, functions and modules of Python. */
#include "launch/python/python.h"

#include <stdio.h>
#include <string.h>

static bool ends(const struct python_frame *f)
{
    return python_peek(f)->kind == PYTHON_LINE || python_peek(f)->kind == PYTHON_END || python_is(f, ";");
}

/* Passes over tokens up to a sign outside of brackets, or the end of the line. */
static void skip_to(struct python_frame *f, const char *sign)
{
    for (int depth = 0, from = f->at;
         python_peek(f)->kind != PYTHON_END && python_peek(f)->kind != PYTHON_LINE; f->at++) {
        if ((f->at - from) % PYTHON_SKIPPED == 0 && !python_spend(f->module->python, 1)) {
            f->at = f->module->count - 1; /* it is over */
            return;
        }
        if (depth <= 0 && sign && python_is(f, sign))
            return;
        if (python_peek(f)->kind == PYTHON_SIGN)
            depth += strchr("([{", python_peek(f)->text[0])   ? 1
                     : strchr(")]}", python_peek(f)->text[0]) ? -1
                                                              : 0;
    }
}

static void skip_line(struct python_frame *f)
{
    skip_to(f, NULL);
    f->at += python_peek(f)->kind == PYTHON_LINE;
}

/* Passes over what stands behind a colon. */
static void skip_block(struct python_frame *f)
{
    python_take(f, ":");
    if (python_peek(f)->kind != PYTHON_LINE) {
        skip_line(f);
        return;
    }
    f->at++;
    if (python_peek(f)->kind != PYTHON_INDENT)
        return;
    int depth = 0, from = f->at;
    do {
        if ((f->at - from) % PYTHON_SKIPPED == 0 && !python_spend(f->module->python, 1))
            f->at = f->module->count - 1;
        depth += python_peek(f)->kind == PYTHON_INDENT ? 1 : python_peek(f)->kind == PYTHON_DEDENT ? -1 : 0;
        f->at += python_peek(f)->kind != PYTHON_END;
    } while (depth > 0 && python_peek(f)->kind != PYTHON_END);
}

/* ---- modules ---- */

static struct python_name *add_name(struct python *p, struct python_module *module, const char *name)
{
    struct python_name *added = ARENA_NEW(&p->arena, struct python_name);
    p->failed |= !added;
    if (!added)
        return NULL;
    *added = (struct python_name){.name = name};
    *module->last = added;
    module->last = &added->next;
    return python_index_add(p, &module->index, added) ? added : NULL;
}

/* import a.b as c; from ..a.b import (c, d as e) */
static void read_import(struct python *p, struct python_frame *f)
{
    char from[256] = "";
    bool named = python_take(f, "from");
    f->at += !named;
    for (; !ends(f) && !python_is(f, "import") && !python_is(f, "as") && !python_is(f, ","); f->at++)
        if (strlen(from) + strlen(python_peek(f)->text) + 1 < sizeof from)
            strcat(from, python_peek(f)->text);
    if (!named || !python_take(f, "import")) {
        skip_line(f);
        return;
    }
    const char *module = arena_copy(&p->arena, from, strlen(from));
    p->failed |= !module;
    for (python_take(f, "("); !p->failed && !ends(f) && !python_is(f, ")"); python_take(f, ",")) {
        const char *own = python_peek(f)->text;
        f->at++;
        const char *name = python_take(f, "as") ? python_peek(f)->text : own;
        f->at += name != own;
        struct python_name *added = add_name(p, f->module, name);
        if (added) {
            added->from = module;
            added->own = own;
        }
        if (added && strcmp(own, "*") == 0) {
            added->next_star = f->module->stars; /* the last one counts */
            f->module->stars = added;
        }
    }
    skip_line(f);
}

/* Finds functions, imports and variables at the outer level. */
static void scan_module(struct python *p, struct python_module *module)
{
    struct python_frame f = {.module = module};
    while (python_peek(&f)->kind != PYTHON_END && !p->failed) {
        if (python_peek(&f)->kind == PYTHON_LINE || python_peek(&f)->kind == PYTHON_INDENT ||
            python_peek(&f)->kind == PYTHON_DEDENT) {
            f.at++;
        } else if (python_take(&f, "def")) {
            struct python_name *name = add_name(p, module, python_peek(&f)->text);
            f.at += python_peek(&f)->kind == PYTHON_NAME;
            if (name && python_is(&f, "("))
                name->params = f.at + 1;
            skip_to(&f, ":");
            if (name)
                name->body = f.at;
            skip_block(&f);
        } else if (python_is(&f, "from") || python_is(&f, "import")) {
            read_import(p, &f);
        } else if (python_is(&f, "if") || python_is(&f, "try") || python_is(&f, "else") ||
                   python_is(&f, "except") || python_is(&f, "class") || python_is(&f, "for") ||
                   python_is(&f, "with") || python_is(&f, "while") || python_is(&f, "finally") ||
                   python_is(&f, "async")) {
            skip_to(&f, ":");
            skip_block(&f);
        } else {
            const char *text = python_peek(&f)->kind == PYTHON_NAME ? python_peek(&f)->text : NULL;
            int start = f.at++;
            if (text && python_is(&f, ":"))
                skip_to(&f, "=");
            if (text && python_take(&f, "=")) {
                struct python_name *name = add_name(p, module, text);
                if (name)
                    name->body = f.at; /* of a variable: no parameters */
            } else
                f.at = start;
            skip_line(&f);
        }
    }
}

struct python_module *python_add_module(struct python *p, const char *path, const char *data, size_t length,
                                        struct error *err)
{
    struct python_module *module = ARENA_NEW(&p->arena, struct python_module);
    if (!module || !(module->path = arena_copy(&p->arena, path, strlen(path)))) {
        p->failed = true;
        return error_memory_null(err);
    }
    module->python = p;
    module->last = &module->names;
    if (!python_tokens(p, module, data, length, err))
        return NULL;
    module->next = p->modules;
    p->modules = module;
    p->module_count++;
    scan_module(p, module);
    return module;
}

/* ---- statements ---- */

static void run_block(struct python *p, struct python_frame *f);

/* Sets a name or an attribute. */
static void assign(struct python *p, struct python_frame *f, int target, struct python_value *value)
{
    const struct python_token *at = &f->module->tokens[target];
    struct python_value *object = f->locals;
    int line = at->line;
    if (at->kind != PYTHON_NAME)
        return;
    while (at[1].kind == PYTHON_SIGN && strcmp(at[1].text, ".") == 0 && at[2].kind == PYTHON_NAME) {
        const struct python_field *field = python_field(object, at->text);
        struct python_value *inner = field ? field->value : NULL;
        if (!inner || (inner->kind != PYTHON_OBJECT && inner->kind != PYTHON_LIST)) {
            inner = python_make(p, f, PYTHON_OBJECT,
                                inner && inner->kind == PYTHON_UNKNOWN ? inner->text : NULL, 0);
            if (!inner || !python_set(p, object, at->text, inner, f->module->path, line))
                return;
        }
        object = inner;
        at += 2;
    }
    if (at[1].kind == PYTHON_SIGN && strcmp(at[1].text, "[") == 0)
        return;
    if (p->doubt && !(value = python_make(p, f, PYTHON_UNKNOWN, p->doubt, 0)))
        return;
    python_set(p, object, at->text, value, f->module->path, line);
}

/* Reads "a, b" as a list. */
static struct python_value *read_values(struct python *p, struct python_frame *f)
{
    struct python_value *value = python_expression(p, f);
    if (!value || !python_is(f, ","))
        return value;
    struct python_value *list = python_make(p, f, PYTHON_LIST, NULL, 0);
    for (int place = 0; list && value; place++) {
        const char *name = arena_format(&p->arena, "%d", place);
        p->failed |= !name;
        if (!name || !python_set(p, list, name, value, f->module->path, python_peek(f)->line))
            return NULL;
        if (!python_take(f, ",") || ends(f))
            break;
        value = python_expression(p, f);
    }
    return value ? list : NULL;
}

/* "a, b.c": each takes its part of a list; else what they take is not known. */
static void assign_all(struct python *p, struct python_frame *f, int target, struct python_value *value)
{
    struct python_frame at = {.module = f->module, .at = target};
    skip_to(&at, ",");
    if (!python_is(&at, ",") || at.at > f->at) {
        assign(p, f, target, value);
        return;
    }
    for (int place = 0; value; place++) {
        char name[16];
        snprintf(name, sizeof name, "%d", place);
        const struct python_field *part = value->kind == PYTHON_LIST ? python_field(value, name) : NULL;
        struct python_value *one =
            part ? part->value : python_make(p, f, PYTHON_UNKNOWN, "several values", 0);
        if (one)
            assign(p, f, target, one);
        bool more = python_take(&at, ",");
        target = at.at;
        if (!more || !one || python_is(&at, "="))
            break;
        while (!ends(&at) && !python_is(&at, ",") && !python_is(&at, "="))
            at.at++;
    }
}

/* A line: "a.b = c.d = value", "a += 1", or an expression, which may change what it is given. */
static void run_line(struct python *p, struct python_frame *f)
{
    struct python_frame scan = *f;
    int targets[8], count = 0, start = f->at, last = f->at;
    const char *operation = NULL;
    for (int depth = 0; !ends(&scan) || depth > 0; scan.at++) {
        const struct python_token *token = python_peek(&scan);
        if (token->kind == PYTHON_END)
            break;
        if (token->kind != PYTHON_SIGN)
            continue;
        depth += strchr("([{", token->text[0]) ? 1 : strchr(")]}", token->text[0]) ? -1 : 0;
        bool equals = strcmp(token->text, "=") == 0;
        if (depth == 0 && (equals || (token->text[0] && token->text[1] == '=' && !token->text[2] &&
                                      strchr("+-*/", token->text[0])))) {
            operation = equals ? operation : token->text;
            if (count < 8)
                targets[count++] = last;
            last = scan.at + 1;
        }
    }
    f->at = last;
    struct python_value *value = read_values(p, f);
    if (value && operation)
        value = python_make(p, f, PYTHON_UNKNOWN, operation, 0);
    for (int i = 0; value && i < count; i++)
        assign_all(p, f, targets[i], value);
    if (value && count == 0 && value->kind == PYTHON_OBJECT && value->text &&
        f->module->tokens[start].kind == PYTHON_NAME && !python_field(value, "of"))
        for (const struct python_field *field = value->fields; field; field = field->next)
            if (field->value->kind == PYTHON_OBJECT) {
                struct python_field *entry = ARENA_NEW(&p->arena, struct python_field);
                p->failed |= !entry;
                if (entry) {
                    *entry = (struct python_field){value->text, value, f->module->path, value->line,
                                                   p->unfollowed};
                    p->unfollowed = entry;
                }
                break;
            }
    f->at = scan.at;
    if (!python_take(f, ";"))
        f->at += python_peek(f)->kind == PYTHON_LINE;
}

static void run_doubtful(struct python *p, struct python_frame *f, const char *why)
{
    const char *before = p->doubt;
    p->doubt = before ? before : why ? why : "a condition";
    run_block(p, f);
    p->doubt = before;
}

static void run_if(struct python *p, struct python_frame *f)
{
    bool done = false, doubtful = false;
    const char *why = NULL;
    do {
        bool otherwise = python_take(f, "else");
        struct python_value *condition = NULL;
        if (!otherwise) {
            f->at++; /* if, elif */
            if (!(condition = python_expression(p, f)))
                return;
            skip_to(f, ":");
        }
        int truth = otherwise ? 1 : python_truth(condition);
        if (truth < 0 && !done) {
            doubtful = true;
            why = condition->text;
        }
        if (done || truth == 0)
            skip_block(f);
        else if (doubtful)
            run_doubtful(p, f, why);
        else
            run_block(p, f);
        done |= truth == 1;
    } while ((python_is(f, "elif") || python_is(f, "else")) && !p->failed && !f->result);
}

static void run_statement(struct python *p, struct python_frame *f)
{
    static const char *const skipped[] = {"pass",     "break", "continue", "global",
                                          "nonlocal", "del",   "assert",   "@"};
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (python_is(f, skipped[i])) {
            skip_line(f);
            return;
        }
    if (python_is(f, "return") || python_is(f, "raise")) {
        bool gives = python_is(f, "return");
        f->at++;
        struct python_value *value =
            !gives || ends(f) ? python_make(p, f, PYTHON_NONE, NULL, 0) : read_values(p, f);
        if (!p->doubt)
            f->result = value;
        else if (gives)
            f->maybe = f->maybe && f->maybe != value ? python_make(p, f, PYTHON_UNKNOWN, p->doubt, 0) : value;
        skip_line(f);
    } else if (python_is(f, "if")) {
        run_if(p, f);
    } else if (python_is(f, "for") || python_is(f, "while")) {
        skip_to(f, ":");
        run_doubtful(p, f, "a loop");
    } else if (python_is(f, "def") || python_is(f, "class") || python_is(f, "async") ||
               python_is(f, "except")) {
        skip_to(f, ":");
        skip_block(f);
    } else if (python_is(f, "with") || python_is(f, "try") || python_is(f, "finally") ||
               python_is(f, "else")) {
        skip_to(f, ":");
        run_block(p, f);
    } else if (python_is(f, "from") || python_is(f, "import")) {
        read_import(p, f);
    } else
        run_line(p, f);
}

static void run_block(struct python *p, struct python_frame *f)
{
    python_take(f, ":");
    bool indented = python_peek(f)->kind == PYTHON_LINE && f->module->tokens[f->at + 1].kind == PYTHON_INDENT;
    if (p->depth >= PYTHON_MAX_DEPTH) {
        skip_block(f);
        return;
    }
    p->depth++;
    if (!indented) {
        while (python_peek(f)->kind != PYTHON_LINE && python_peek(f)->kind != PYTHON_END && !f->result &&
               !p->failed) {
            int before = f->at;
            run_statement(p, f);
            if (f->at == before || f->module->tokens[f->at - 1].kind == PYTHON_LINE)
                break;
        }
        p->depth--;
        return;
    }
    f->at += 2;
    while (python_peek(f)->kind != PYTHON_DEDENT && python_peek(f)->kind != PYTHON_END && !f->result &&
           !p->failed) {
        int before = f->at;
        if (!python_spend(p, 1))
            break;
        run_statement(p, f);
        f->at += f->at == before;
    }
    f->at += python_peek(f)->kind == PYTHON_DEDENT;
    p->depth--;
}

/* ---- functions ---- */

/* Binds parameters: arguments by place and by name, else defaults. */
static void bind(struct python *p, struct python_frame *f, const struct python_value *arguments)
{
    for (int place = 0; !p->failed && !ends(f) && !python_is(f, ")");) {
        char number[16];
        bool rest = python_take(f, "**") || python_take(f, "*") || python_take(f, "/");
        const struct python_token *name = python_peek(f);
        f->at += name->kind == PYTHON_NAME;
        if (python_is(f, ":"))
            while (!ends(f) && !python_is(f, ",") && !python_is(f, "=") && !python_is(f, ")")) {
                if (python_is(f, "[") || python_is(f, "("))
                    for (int depth = 0; !ends(f); f->at++) {
                        depth += python_is(f, "[") || python_is(f, "(")   ? 1
                                 : python_is(f, "]") || python_is(f, ")") ? -1
                                                                          : 0;
                        if (depth == 0)
                            break;
                    }
                f->at++;
            }
        struct python_value *value = python_take(f, "=") ? python_expression(p, f) : NULL;
        snprintf(number, sizeof number, "%d", place++);
        const struct python_field *given = python_field(arguments, number);
        given = given ? given : python_field(arguments, name->text);
        value = given && !rest ? given->value : value;
        value = value ? value : python_make(p, f, PYTHON_UNKNOWN, name->text, 0);
        if (value && name->kind == PYTHON_NAME)
            python_set(p, f->locals, name->text, value, f->module->path, name->line);
        if (!python_take(f, ",") && !python_is(f, ")"))
            break;
    }
}

struct python_value *python_invoke(struct python *p, struct python_module *module, const char *name,
                                   const struct python_value *arguments)
{
    struct python_module *home;
    struct python_name *found = strchr(name, '.') ? NULL : python_look_up(p, module, name, &home);
    if (!found || found->params == 0 || found->body == 0 || p->failed || p->depth >= PYTHON_MAX_DEPTH)
        return NULL;
    struct python_value locals = {.kind = PYTHON_OBJECT};
    struct python_frame frame = {.module = home, .locals = &locals, .at = found->params};
    const char *doubt = p->doubt;
    p->depth += 10; /* a call needs more than a bracket */
    bind(p, &frame, arguments);
    frame.at = found->body;
    if (!p->failed)
        run_block(p, &frame);
    p->depth -= 10;
    p->doubt = doubt;
    if (p->failed)
        return NULL;
    if (frame.maybe && frame.maybe != frame.result && !doubt)
        return python_make(p, &frame, PYTHON_UNKNOWN,
                           frame.maybe->kind == PYTHON_UNKNOWN ? frame.maybe->text : found->name, 0);
    if (frame.maybe && !frame.result)
        return frame.maybe;
    return frame.result ? frame.result : python_make(p, &frame, PYTHON_NONE, NULL, 0);
}

/* ---- files ---- */

static bool say_failed(const struct python *python, struct error *err)
{
    if (!python->budget->spent)
        return error_memory(err);
    *err = python->budget->why;
    return false;
}

bool python_read(struct python *python, const char *path, const char *data, size_t length,
                 struct launch_budget *budget, struct error *err)
{
    *python = (struct python){.budget = budget};
    python->first = python_add_module(python, path, data, length, err);
    if (python->first && !python->failed)
        return true;
    if (python->failed)
        say_failed(python, err);
    python_release(python);
    return false;
}

struct python_value *python_call(struct python *python, const char *function, struct error *err)
{
    struct python_value none = {.kind = PYTHON_OBJECT};
    struct python_value *value = python_invoke(python, python->first, function, &none);
    if (python->failed) {
        say_failed(python, err);
        return NULL;
    }
    if (!value)
        error_set(err, ERROR_INPUT, "%s: no function '%s'", python->first->path, function);
    return value;
}

void python_release(struct python *python)
{
    arena_release(&python->arena);
    *python = (struct python){0};
}
