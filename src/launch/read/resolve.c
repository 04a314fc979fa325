/* Values of YAML that name others: "${model.hidden_size}", "${.hidden_size}", "${multiply:4, ${.hidden_size}}" of
 * OmegaConf, "${oc.env:NAME,default}", and "${NAME:default}" of Primus.
 *
 * A reference is replaced by the text of the argument it names, in which references are replaced, too; one whose name
 * is not there stays as it is, and so does all that needs it. What is nested deeper than MAX_DEPTH, or becomes longer
 * than MAX_LENGTH, stays as it is: references may be circles. */
#include "launch/read/read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  20
#define MAX_LENGTH 4096
#define MAX_STEPS  100000 /* of all values together */

struct resolver {
    struct launch_options *options;
    const char *const *given;
    const char *whole; /* what names begin with that is not in the names of arguments: "training."; or NULL */
    int steps;
};

static bool resolve(struct resolver *r, const char *text, size_t length, const char *section, int depth,
                    struct text *out);

/* Returns the end of "${...}", that is behind its bracket; NULL: none. */
static const char *reference_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '{')
            depth++;
        else if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return NULL;
}

/* ---- functions ---- */

static bool to_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    while (isspace((unsigned char)*end))
        end++;
    return end != text && *end == '\0';
}

/* "multiply:4, 4096". False: no such function, or its arguments are no numbers. */
static bool call(const char *inner, struct text *out)
{
    static const char *const names[] = {
        "multiply:", "add:", "sum:", "subtract:", "divide:", "divide_ceil:", "divide_floor:", "int_div:"};
    size_t which = 0, count = sizeof names / sizeof *names;
    while (which < count && !text_starts_with(inner, names[which]))
        which++;
    const char *comma = strchr(inner, ',');
    char first[64];
    double a, b;
    if (which == count || !comma)
        return false;
    inner += strlen(names[which]);
    if (comma <= inner || (size_t)(comma - inner) >= sizeof first)
        return false;
    memcpy(first, inner, (size_t)(comma - inner));
    first[comma - inner] = '\0';
    if (!to_number(first, &a) || !to_number(comma + 1, &b) || (which > 3 && b == 0))
        return false;
    double value = which == 0 ? a * b : which < 3 ? a + b : which == 3 ? a - b : a / b;
    if (which > 4 && value > -1e15 && value < 1e15) {
        double whole = (double)(int64_t)value;
        value = which == 5 && value > whole ? whole + 1 : whole;
    }
    text_format(out, "%.15g", value);
    return true;
}

/* ---- names ---- */

static void add_asked(struct launch_options *options, const char *name, size_t length)
{
    const char *copy = arena_copy(&options->arena, name, length);
    options->no_memory |= !copy;
    if (copy)
        launch_ask(options, copy);
}

/* Adds the value of a variable of the environment, or its default; "NAME,default" or "NAME:default". */
static bool put_variable(const struct resolver *r, const char *inner, char separator, struct text *out)
{
    const char *stop = strchr(inner, separator);
    size_t length = stop ? (size_t)(stop - inner) : strlen(inner);
    for (const char *const *given = r->given; given && *given; given++)
        if (strncmp(*given, inner, length) == 0 && (*given)[length] == '=') {
            text_add(out, *given + length + 1);
            add_asked(r->options, inner, length);
            return true;
        }
    if (!stop)
        return false;
    stop++;
    text_add(out, stop + strspn(stop, " "));
    return true;
}

/* Adds the value of an argument; one dot in front: beside the value that names it, a further one: a level above. */
static bool put_argument(struct resolver *r, const char *name, const char *section, int depth,
                         struct text *out)
{
    char full[256];
    size_t dots = strspn(name, "."), length = strlen(section);
    for (size_t up = 1; up < dots; up++) {
        while (length > 0 && section[length - 1] != '.')
            length--;
        length -= length > 0;
    }
    if (dots == 0)
        length = 0;
    int size =
        snprintf(full, sizeof full, "%.*s%s%s", (int)length, section, length > 0 ? "." : "", name + dots);
    if (size < 0 || (size_t)size >= sizeof full)
        return false;
    const struct launch_argument *found = launch_argument(r->options, full);
    size_t prefix = r->whole ? strlen(r->whole) : 0;
    if (!found && prefix > 0 && strncmp(full, r->whole, prefix) == 0)
        found = launch_argument(r->options, full + prefix);
    if (!found || !found->value)
        return false;
    const char *last = strrchr(found->name, '.');
    char around[256] = "";
    if (last && (size_t)(last - found->name) < sizeof around)
        memcpy(around, found->name, (size_t)(last - found->name)), around[last - found->name] = '\0';
    size_t before = out->length;
    bool known = resolve(r, found->value, strlen(found->value), around, depth + 1, out);
    if (!known) {
        out->length = before;
        if (out->data)
            out->data[before] = '\0';
    }
    return known;
}

static bool put_reference(struct resolver *r, const char *at, const char *end, const char *section, int depth,
                          struct text *out)
{
    static const char *const plain[] = {"oc.decode:", "int:", "str:"};
    struct text inner = {0};
    bool known = resolve(r, at, (size_t)(end - at), section, depth + 1, &inner) && !inner.failed;
    const char *name = inner.data ? inner.data : "";
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (text_starts_with(name, plain[i])) {
            text_add(out, name + strlen(plain[i]));
            text_release(&inner);
            return known;
        }
    if (known && text_starts_with(name, "oc.env:"))
        known = put_variable(r, name + strlen("oc.env:"), ',', out);
    else if (known && !call(name, out))
        known = strchr(name, ':') ? put_variable(r, name, ':', out)
                                  : put_argument(r, name, section, depth, out) ||
                                        (!strchr(name, '.') && put_variable(r, name, ':', out));
    text_release(&inner);
    return known;
}

/* Adds the text with its references replaced. False: one is not known. */
static bool resolve(struct resolver *r, const char *text, size_t length, const char *section, int depth,
                    struct text *out)
{
    const char *end = text + length;
    if (depth > MAX_DEPTH || length > MAX_LENGTH || ++r->steps > MAX_STEPS)
        return false;
    for (const char *at = text; at < end && out->length <= MAX_LENGTH;) {
        const char *close = at[0] == '$' && at + 1 < end && at[1] == '{' ? reference_end(at + 1, end) : NULL;
        if (!close)
            text_add_bytes(out, at++, 1);
        else if (!put_reference(r, at + 2, close - 1, section, depth, out))
            return false;
        else
            at = close;
    }
    return out->length <= MAX_LENGTH;
}

bool launch_resolve(struct launch_options *options, const char *const *given, const char *whole, int first)
{
    struct resolver r = {options, given, whole, 0};
    bool ok = true;
    for (int i = first; ok && i < options->argument_count; i++) {
        struct launch_argument *argument = &options->arguments[i];
        struct text text = {0};
        const char *last = strrchr(argument->name, '.');
        char section[256] = "";
        if (!argument->value || !strstr(argument->value, "${"))
            continue;
        if (last && (size_t)(last - argument->name) < sizeof section)
            memcpy(section, argument->name, (size_t)(last - argument->name)),
                section[last - argument->name] = '\0';
        if (resolve(&r, argument->value, strlen(argument->value), section, 0, &text)) {
            argument->value = arena_string(&options->arena, text.data ? text.data : "");
            ok = argument->value && !text.failed;
        }
        ok = ok && !text.failed;
        text_release(&text);
    }
    return ok;
}

const char *launch_resolve_text(struct launch_options *options, const char *const *given, const char *text)
{
    struct resolver r = {options, given, NULL, 0};
    struct text out = {0};
    bool known = resolve(&r, text, strlen(text), "", 0, &out);
    const char *copy = out.failed ? NULL
                       : known    ? arena_string(&options->arena, out.data ? out.data : "")
                                  : text;
    text_release(&out);
    return copy;
}
