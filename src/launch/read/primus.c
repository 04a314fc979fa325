/* Primus: YAML with overrides of Megatron-LM's or torchtitan's names, and ${NAME:default}. */
#include "launch/read/read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of YAML that name others: "${model.hidden_size}", "${.hidden_size}", "${multiply:4, ${.hidden_size}}" of
 * OmegaConf, "${oc.env:NAME,default}", and "${NAME:default}" of Primus.
 *
 * A reference is replaced by the text of the argument it names, in which references are replaced, too; one whose name is
 * not there stays as it is, and so does all that needs it. What is nested deeper than MAX_DEPTH, or becomes longer than
 * MAX_LENGTH, stays as it is: references may be circles. */

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

static const char *launch_resolve_text(struct launch_options *options, const char *const *given,
                                       const char *text)
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

static const struct launch_rules over_megatron = {.table = "primus", .next = &megatron_rules};
static const struct launch_rules over_torchtitan = {.table = "primus", .next = &torchtitan_rules};

static const struct doc_node *trainer_of(const struct launch_source *source)
{
    const struct doc_node *root = source->doc ? source->doc->root : NULL;
    return root ? doc_find(doc_find(root, "modules"), "pre_trainer") : NULL;
}

static bool knows(const struct launch_source *source)
{
    return doc_find(trainer_of(source), "framework");
}

/* ---- files of Primus's package ---- */

#define MAX_EXTENDS 8 /* files, one extending the other */
/* Adds the settings of a file behind those of the files it extends. */
static bool add_packaged(struct launch_options *options, const char *path, int depth, struct error *err)
{
    struct doc doc;
    if (depth == MAX_EXTENDS)
        return error_set(err, ERROR_INPUT, "%s: extends more than %d files", path, MAX_EXTENDS);
    if (!launch_budget_load(&options->budget, path, &doc, err))
        return false;
    const struct doc_node *extends = doc_find(doc.root, "extends");
    const struct doc_node *base = extends && extends->type == DOC_LIST ? extends->first_child : NULL;
    const char *slash = strrchr(path, '/');
    bool ok = true;
    for (; ok && base; base = base->next) {
        const char *file = base->text && slash ? arena_format(&options->arena, "%.*s%s",
                                                              (int)(slash - path + 1), path, base->text)
                                               : NULL;
        ok = file ? add_packaged(options, file, depth + 1, err)
                  : error_set(err, ERROR_INPUT, "%s: `extends` names no file", path);
    }
    ok = ok && launch_add_doc(options, &doc, NULL, err);
    doc_release(&doc);
    return ok;
}

/* Adds the module's and the model's settings, if the description lies in a checkout of Primus; else the model is known by
 * its name only. */
static bool read_package(struct launch_options *options, const struct launch_source *source,
                         const char *framework, struct error *err)
{
    static const char *const keys[] = {"config", "model"}, *const folders[] = {"modules", "models"};
    for (int i = 0; i < 2; i++) {
        const struct doc_node *node = doc_find(trainer_of(source), keys[i]);
        const char *name = node && node->text ? arena_string(&options->arena, node->text) : NULL;
        name = name ? launch_resolve_text(options, source->input->given, name) : NULL;
        if (node && node->text && !name)
            return error_memory(err);
        const char *file =
            name ? arena_format(&options->arena, "primus/configs/%s/%s/%s", folders[i], framework, name)
                 : NULL;
        const char *path =
            file && !source->input->is_alone ? launch_find_above(options, source->path, file) : NULL;
        if (path && !add_packaged(options, path, 0, err))
            return false;
        bool packaged = name && text_ends_with(name, ".yaml");
        if (i == 1 && name) {
            options->model_name = packaged ? arena_copy(&options->arena, name, strlen(name) - 5) : name;
            if (!options->model_name)
                return error_memory(err);
        }
    }
    return true;
}

static bool read(struct launch_options *options, struct launch_source *source, struct error *err)
{
    int first = options->argument_count;
    const struct doc_node *framework = doc_find(trainer_of(source), "framework");
    bool titan = framework->text && strcmp(framework->text, "torchtitan") == 0;
    if (!titan && (!framework->text || strcmp(framework->text, "megatron") != 0))
        return doc_error(source->doc, framework, err, "expected megatron or torchtitan, found '%s'",
                         framework->text ? framework->text : "");
    if (!read_package(options, source, framework->text, err))
        return false;
    int own = options->argument_count;
    if (!launch_add_doc(options, source->doc, "modules.pre_trainer.overrides", err) ||
        !(launch_resolve(options, source->input->given, NULL, first) || error_memory(err)))
        return false;
    launch_supersede(options, first, own);
    if (!launch_apply_rules(options, titan ? &over_torchtitan : &over_megatron, first, NULL, err))
        return false;
    for (int i = first; i < own; i++)
        if (options->arguments[i].use == LAUNCH_UNKNOWN || options->arguments[i].use == LAUNCH_UNMODELLED)
            options->arguments[i].use = LAUNCH_IDLE;
    const char *type = launch_text(options, "model_type");
    if (type && strcmp(type, "mamba") == 0)
        return launch_refuse(launch_argument(options, "model_type"), err, "Mamba layers are not modelled");
    launch_settle_vocabulary(options, "tokenizer_model");
    if (!options->device) { /* "configs/MI300X/llama3.1_8B-BF16-pretrain.yaml" */
        options->device = launch_device_in(source->path);
        options->device_said = "the file's folder";
    }
    if (titan)
        return torchtitan_settle(options, NULL, err) &&
               (launch_set(&options->technique[TECHNIQUE_RESHARD], NULL, 0), true);
    options->software = "megatron-core";
    launch_default(&options->bf16, 1);
    return launch_settle_megatron(options, err);
}

/* Primus's own defaults: trainer_base.yaml (micro-batch 2, batch 128), language_model.yaml (sequence parallel), and
 * pre_trainer.yaml, on top of the first (distributed optimizer), in primus/configs. */
static void complete(struct launch_options *options)
{
    if (text_starts_with(options->software, "torchtitan")) {
        torchtitan_complete(options);
        return;
    }
    launch_default(&options->microbatch, 2);
    launch_default(&options->batch, 128);
    launch_default(&options->sequence_parallel, 1);
    if (!options->distributed_optimizer.given && !options->fsdp.given)
        launch_default(&options->sharding, 1);
    launch_default(&options->sharding, 0);
}

const struct launch_reader primus_reader = {"Primus", knows, read, complete};
