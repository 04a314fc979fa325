#include "devices/architecture_config.h"

#include "core/text.h"
#include "devices/blocks.h"
#include "devices/config_part.h"
#include "devices/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- documents ---- */

bool architecture_is_config(const struct doc *doc)
{
    return doc->root && (doc_find(doc->root, "model_type") || doc_find(doc->root, "architectures"));
}

static bool unknown_kind(const struct doc *doc, const struct doc_node *node, const char *type,
                         struct error *err)
{
    struct text known = {0};
    config_kinds_list(&known);
    doc_error(doc, node, err, "unknown kind of model '%.60s': expected one of %s", type,
              known.data ? known.data : "");
    text_release(&known);
    return false;
}

/* A key that is there twice, in the outer map. */
static void find_twins(struct config_reader *r)
{
    for (const struct doc_node *a = r->map->first_child; a; a = a->next)
        for (const struct doc_node *b = a->next; b; b = b->next)
            if (strcmp(a->key, b->key) == 0) {
                struct error err;
                doc_error(r->doc, b, &err, "given twice, first in line %u", a->line);
                config_complain(r, err.text);
            }
}

/* The name: the checkpoint's, or the file's folder. */
static const char *name_of(const struct doc *doc, struct arena *arena)
{
    const struct doc_node *node = doc_find(doc->root, "_name_or_path");
    if (node && node->text && node->length > 0 && node->text[0] != '/' && node->text[0] != '.')
        return arena_format(arena, "%.60s", node->text);
    const char *end = strrchr(doc->path, '/');
    if (!end)
        return arena_format(arena, "%.60s", doc->path);
    const char *start = end;
    while (start > doc->path && start[-1] != '/')
        start--;
    return arena_format(arena, "%.*s", (int)(end - start < 60 ? end - start : 60), start);
}

static bool check(struct config_reader *r, struct architecture *model, const struct config_kind *kind)
{
    struct error err;
    /* also of a size that is wrong by itself */
    const struct doc_node *hidden = config_find(r, config_hidden);
    double size = hidden && hidden->type == DOC_NUMBER ? fabs(hidden->number) : 0.0;
    if (model->heads > 0 && size > 0.0 && model->head_width == 0 && !(kind->habits & LATENT) &&
        fmod(size, (double)model->heads) != 0.0) {
        snprintf(err.text, sizeof err.text,
                 "%s: %" PRId64 " heads do not divide the hidden size %.0f, and there is no head_dim",
                 r->doc->path, model->heads, size);
        config_complain(r, err.text);
    }
    bool grouped = kind->habits & GATED && !(kind->habits & LATENT);
    if (r->wrong.length > 0 && grouped && !config_find(r, config_kv_heads) && model->heads > 0) {
        snprintf(err.text, sizeof err.text,
                 "%s: without num_key_value_heads, each of the %" PRId64 " heads has its own keys",
                 r->doc->path, model->heads);
        config_complain(r, err.text);
    }
    if (r->wrong.length == 0 && !architecture_check(model, r->doc->path, &err))
        config_complain(r, err.text);
    return r->wrong.length == 0;
}

/* The kind of the text part where there is one, by the name of its own type without an ending, else by the whole's. */
static const struct config_kind *kind_of(const struct doc_node *type, const struct doc_node *inner)
{
    const struct config_kind *outer = config_kind_of(type->text);
    const struct doc_node *node = inner ? doc_find(inner, "model_type") : NULL;
    if ((outer && outer->refused) || !node || node->type != DOC_STRING)
        return outer;
    const struct config_kind *kind = config_kind_of(node->text);
    return kind ? kind : outer;
}

bool architecture_of_config(struct architecture *model, const struct doc *doc, struct arena *arena,
                            struct error *err)
{
    static const char *const texts[] = {"text_config", "language_config", "llm_config", NULL};
    static const char *const seeing[] = {"vision_config", "vision_tower", NULL}, *const hearing[] = {
                                                                                     "audio_config",
                                                                                     "speech_config", NULL};
    const struct doc_node *node = doc_find(doc->root, "model_type");
    struct config_reader r = {.doc = doc, .map = doc->root, .arena = arena};
    const struct doc_node *inner = config_find(&r, texts);
    *model = (struct architecture){0};
    if (!node || node->type != DOC_STRING)
        return doc_error(doc, doc->root, err, "model_type is missing");
    inner = inner && inner->type == DOC_MAP ? inner : NULL;
    const struct config_kind *kind = kind_of(node, inner);
    if (!kind)
        return unknown_kind(doc, node, node->text, err);
    if (kind->refused)
        return error_set(err, ERROR_INFEASIBLE, "%s:%u:%u: model_type: %s: %s", doc->path, node->line,
                         node->column, kind->type, kind->refused);
    model->name = name_of(doc, arena);
    if (!model->name)
        return error_memory(err);
    const struct doc_node *vision = config_find(&r, seeing), *hears = config_find(&r, hearing);
    r.map = inner ? inner : doc->root;
    find_twins(&r);
    config_read(&r, model, kind);
    config_read_mixers(&r, model, kind->type);
    r.map = doc->root;
    if (hears)
        config_complain_at(&r, hears->key, "what hears is not modelled: without it, make it null");
    if (vision)
        config_read_vision(&r, model, vision);
    else if (block_tower_of(node->text)) /* no tower is described */
        model->name = arena_format(arena, "%s (text part)", model->name);
    r.map = inner ? inner : doc->root;
    if (!model->name)
        return error_memory(err);
    bool ok = check(&r, model, kind) && !r.wrong.failed;
    if (!ok && r.wrong.failed)
        error_memory(err);
    else if (!ok)
        error_set(err, ERROR_INPUT, "%s", r.wrong.data);
    text_release(&r.wrong);
    return ok;
}

bool architecture_load_config(struct architecture *model, const char *path, struct arena *arena,
                              bool *is_config, struct error *err)
{
    struct doc doc;
    *is_config = false;
    if (!doc_load_lax(&doc, path, err))
        return false;
    *is_config = architecture_is_config(&doc);
    bool ok = !*is_config || architecture_of_config(model, &doc, arena, err);
    doc_release(&doc);
    return ok;
}

/* ---- names of checkpoints ---- */

static const char *const endings[] = {"-hf",      "-base",     "-instruct", "-chat",     "-it",   "-bf16",
                                      "-bnb-nf4", "-bnb-4bit", "-4bit",     "-fp8",      "-2507", "-v0.1",
                                      "-v0.2",    "-v0.3",     "-original", "-thinking", "-0324", "-0528"};

const struct architecture *architecture_of_checkpoint(const char *name)
{
    char text[256], *start = text;
    size_t length = strlen(basename(name));
    if (length >= sizeof text)
        return NULL;
    memcpy(text, basename(name), length + 1);
    if (strncasecmp(start, "meta-", 5) == 0)
        start += 5;
    for (bool cut = true; cut;) {
        const struct architecture *found = architecture_find(start);
        if (found)
            return found;
        cut = false;
        for (size_t i = 0; !cut && i < sizeof endings / sizeof *endings; i++)
            if (text_ends_like(start, endings[i])) {
                start[strlen(start) - strlen(endings[i])] = '\0';
                cut = true;
            }
    }
    return NULL;
}
