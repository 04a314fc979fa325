/* Primus: YAML with overrides of Megatron-LM's or torchtitan's names, and ${NAME:default}. */
#include "launch/read/read.h"

#include <string.h>

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

/* Adds the module's and the model's settings, if the description lies in a checkout of Primus; else the model is known
 * by its name only. */
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
