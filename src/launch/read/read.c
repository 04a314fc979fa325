/* Reads a launch description of any kind. */
#include "launch/read/read.h"
#include "launch/shell/parts.h"

#include "core/file.h"
#include "core/text.h"
#include "devices/architecture_config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The first that knows a file reads it; Megatron-LM's takes any script. */
static const struct launch_reader *const readers[] = {
    &rollouts_reader,      &bridge_reader,      &nemo_reader,         &mlperf_reader,  &primus_reader,
    &nanotron_reader,      &maxtext_reader,     &foundry_reader,      &factory_reader, &axolotl_reader,
    &torchtitan_reader,    &neox_reader,        &deepspeed_reader,    &trainer_reader, &megatron_reader,
    &recipe_bridge_reader, &recipe_nemo_reader, &recipe_titan_reader,
};

static const struct launch_reader *reader_of(const struct launch_options *options)
{
    for (size_t i = 0; options->reader && i < sizeof readers / sizeof *readers; i++)
        if (strcmp(readers[i]->name, options->reader) == 0)
            return readers[i];
    return NULL;
}

/* ---- devices ---- */

const char *launch_device_in(const char *text)
{
    /* longer names first: "gb200" holds "b200" */
    static const char *const names[][2] = {
        {"gb300", "gb300"},        {"gb200", "gb200"},        {"gh200", "gh200"},   {"mi355x", "mi355x"},
        {"mi350x", "mi350x"},      {"mi325x", "mi325x"},      {"mi300x", "mi300x"}, {"mi250x", "mi250x"},
        {"h100", "h100"},          {"h200", "h200"},          {"h800", "h800"},     {"b200", "b200"},
        {"b300", "b300"},          {"a100-40g", "a100-40gb"}, {"a100", "a100"},     {"a800", "a800"},
        {"v100-32g", "v100-32gb"}, {"v100-16g", "v100-16gb"}, {"l40s", "l40s"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *at = text; *at; at++)
            if (strncasecmp(at, names[i][0], strlen(names[i][0])) == 0)
                return names[i][1];
    return NULL;
}

/* ---- kinds of files ---- */

static bool refuse(const char *path, struct error *err, const char *why)
{
    return error_set(err, ERROR_INPUT, "%s: %s", path, why);
}

/* Documents that resemble launch descriptions, recognised by having all of the keys (a dot is a level), and the error
 * for each. */
static const char *other_kind(const struct doc *doc)
{
    static const struct {
        const char *keys[3], *what;
    } kinds[] = {
        {{"apiVersion", "kind", NULL},
         "a Kubernetes manifest without 'bash -c SCRIPT' in a container: give the training script that it "
         "runs"},
        {{"jobs", "on", NULL}, "a GitHub workflow, not a launch description"},
        {{"services", "version", NULL}, "a Docker Compose file, not a launch description"},
        {{"tokenizer._component_", NULL, NULL}, "torchtune recipes are not supported"},
        {{"model._component_", NULL, NULL}, "torchtune recipes are not supported"},
        {{"distributed_type", "num_processes", NULL},
         "accelerate's file has no model or batch size: give the training arguments"},
        {{"dist_config", "model", "cutoff_len"}, "LLaMA-Factory's version 1 is not supported"},
        {{"model.max_sequence_length", "model.d_model", NULL}, "OLMo configurations are not supported"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool all = true;
        for (int j = 0; j < 3 && kinds[i].keys[j]; j++) {
            char outer[64];
            const char *key = kinds[i].keys[j], *dot = strchr(key, '.');
            snprintf(outer, sizeof outer, "%.*s", (int)(dot ? dot - key : 63), key);
            const struct doc_node *node = doc_find(doc->root, outer);
            if (dot && node && node->type == DOC_MAP)
                node = doc_find(node, dot + 1);
            else if (dot)
                node = NULL;
            all &= node != NULL;
        }
        if (all)
            return kinds[i].what;
    }
    return NULL;
}

/* A model's configuration of Hugging Face beside a launch description. */
static bool is_config(const struct doc *doc)
{
    return architecture_is_config(doc) &&
           !doc_find(doc->root, "base_model"); /* axolotl has a model_type, too */
}

static bool take_config(struct launch_options *options, const struct doc *doc, struct error *err)
{
    options->has_model = true;
    return architecture_of_config(&options->model, doc, &options->arena, err);
}

static bool read_source(struct launch_options *options, struct launch_source *source, struct error *err)
{
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const struct launch_reader *reader = readers[i];
        if (!reader->knows(source))
            continue;
        int first = options->argument_count, read = 0;
        if (!options->reader)
            options->reader = reader->name;
        if (!reader->read(options, source, err))
            return false;
        for (int j = first; j < options->argument_count; j++)
            read += options->arguments[j].use == LAUNCH_READ;
        if (read == 0)
            break;
        return true;
    }
    return refuse(source->path, err,
                  "unknown kind of launch description: no training setting found ('rehearse help price' "
                  "lists the kinds)");
}

static void note_absent(struct launch_options *options, const struct shell *shell)
{
    for (int i = 0; i < shell->absent.count; i++) {
        const struct shell_word *file = &shell->absent.items[i];
        launch_note(options, "%s (line %d of %s) not found: its settings are unknown", file->text, file->line,
                    file->path);
    }
}

/* What a script needs in any case: ${NAME:?}. */
static void miss_required(struct launch_options *options, const struct shell *shell)
{
    for (int i = 0; i < shell->unknown_count; i++) {
        const struct shell_unknown *unknown = &shell->unknowns[i];
        if (!unknown->is_required)
            continue;
        const char *why =
            arena_format(&options->arena, "is required by the script (%s:%d)", unknown->path, unknown->line);
        launch_miss(options, unknown->name, why,
                    arena_format(&options->arena, "--set %s=VALUE", unknown->name));
    }
}

/* A here document in JSON is a configuration of DeepSpeed. */
static bool read_documents(struct launch_options *options, const struct launch_input *input,
                           struct shell *shell, struct error *err)
{
    if (strcmp(options->reader, deepspeed_reader.name) == 0)
        return true; /* it has read its own */
    for (int i = 0; i < shell->document_count; i++) {
        const struct shell_document *document = &shell->documents[i];
        const char *text = shell_plain(&shell->arena, document->text);
        if (!text)
            return error_memory(err);
        if (text[strspn(text, " \t\n")] != '{' || strchr(text, SHELL_MARK))
            continue;
        struct doc doc;
        struct error why;
        struct launch_source source = {.path = document->path, .input = input, .doc = &doc};
        if (!doc_parse(&doc, DOC_JSON, document->path, text, strlen(text), &why)) {
            if (error_is_memory(&why))
                return error_memory(err);
            continue;
        }
        bool ok = !deepspeed_reader.knows(&source) || deepspeed_reader.read(options, &source, err);
        doc_release(&doc);
        if (!ok)
            return false;
    }
    return true;
}

static bool read_script(struct launch_options *options, const struct launch_input *input, const char *data,
                        size_t length, struct error *err)
{
    struct shell shell;
    struct launch_source source = {.path = input->path, .input = input, .shell = &shell};
    if (!shell_read(&shell, input->path, data, length, input->given, &options->budget, err))
        return false;
    launch_ask_shell(options, &shell);
    bool ok = read_source(options, &source, err) && read_documents(options, input, &shell, err);
    note_absent(options, &shell);
    miss_required(options, &shell);
    shell_release(&shell);
    return ok;
}

/* ---- manifests of Kubernetes ---- */

/* Returns the script that the first of all containers runs which has one: the text behind "bash -c". */
static const struct doc_node *container_script(const struct doc_node *node)
{
    static const char *const lists[] = {"command", "args"};
    const struct doc_node *containers = node->type == DOC_MAP ? doc_find(node, "containers") : NULL;
    for (const struct doc_node *one = containers ? containers->first_child : NULL; one; one = one->next) {
        bool shell = false, script = false;
        for (int i = 0; i < 2; i++) {
            const struct doc_node *list = one->type == DOC_MAP ? doc_find(one, lists[i]) : NULL;
            for (const struct doc_node *word = list ? list->first_child : NULL; word; word = word->next) {
                if (script && word->type == DOC_STRING)
                    return word;
                script = shell && word->type == DOC_STRING && text_starts_with(word->text, "-") &&
                         text_ends_with(word->text, "c"); /* "-c", "-lc", "-exc" */
                shell = shell || (word->type == DOC_STRING && text_ends_with(word->text, "sh"));
            }
        }
    }
    for (const struct doc_node *child = node->first_child; child; child = child->next) {
        const struct doc_node *found = container_script(child);
        if (found)
            return found;
    }
    return NULL;
}

/* Adds the variables of a container as assignments, all on one line. */
static void add_variables(const struct doc_node *container, struct text *script)
{
    const struct doc_node *list = doc_find(container, "env");
    for (const struct doc_node *one = list ? list->first_child : NULL; one; one = one->next) {
        const struct doc_node *name = one->type == DOC_MAP ? doc_find(one, "name") : NULL,
                              *value = name ? doc_find(one, "value") : NULL;
        if (value && name->text && value->text && !strpbrk(value->text, "'\n"))
            text_format(script, "%s='%s'; ", name->text, value->text);
    }
}

/* Reads the script of a manifest, whose lines are those of the file. */
static bool read_manifest(struct launch_options *options, const struct launch_input *input,
                          const struct doc_node *script, struct error *err)
{
    struct text text = {0};
    add_variables(script->parent->parent, &text);
    for (uint32_t line = strchr(script->text, '\n') ? 0 : 1; line < script->line;
         line++) /* "|" is a line of its own */
        text_add(&text, "\n");
    text_add_bytes(&text, script->text, script->length);
    bool ok = (!text.failed || error_memory(err)) && read_script(options, input, text.data, text.length, err);
    text_release(&text);
    return ok;
}

static bool read_document(struct launch_options *options, const struct launch_input *input,
                          enum doc_syntax syntax, const char *data, size_t length, struct error *err)
{
    struct doc doc;
    struct launch_source source = {.path = input->path, .input = input, .doc = &doc};
    /* PyYAML takes the last of two equal keys */
    if (syntax == DOC_YAML ? !doc_parse_lax(&doc, syntax, input->path, data, length, err)
                           : !doc_parse(&doc, syntax, input->path, data, length, err))
        return false;
    int first = options->argument_count;
    const char *other = doc.root->type == DOC_MAP ? other_kind(&doc) : NULL;
    bool manifest = doc.root->type == DOC_MAP && doc_find(doc.root, "apiVersion");
    const struct doc_node *script = manifest ? container_script(doc.root) : NULL;
    bool ok = doc.root->type != DOC_MAP ? refuse(input->path, err, "expected a map")
              : script                  ? read_manifest(options, input, script, err)
              : other                   ? error_set(err, ERROR_INPUT, "%s: %s", input->path, other)
              : is_config(&doc)         ? take_config(options, &doc, err)
                                        : read_source(options, &source, err);
    launch_ask_settings(options, first);
    doc_release(&doc);
    return ok;
}

/* Returns whether a text begins as manifests of Kubernetes do, behind its comments. */
static bool is_manifest(const char *data, size_t length)
{
    static const char first[] = "apiVersion:";
    const char *end = data + length;
    while (data < end && (*data == '#' || *data == '\n')) {
        const char *line = memchr(data, '\n', (size_t)(end - data));
        data = line ? line + 1 : end;
    }
    return (size_t)(end - data) >= sizeof first && memcmp(data, first, sizeof first - 1) == 0;
}

/* JSON and YAML are known by their beginning where the name does not say it. */
static bool read_data(struct launch_options *options, const struct launch_input *input, const char *data,
                      size_t length, struct error *err)
{
    const char *path = input->path;
    size_t start = 0;
    if (input->syntax == LAUNCH_SCRIPT)
        return read_script(options, input, data, length, err);
    if (input->syntax != LAUNCH_BY_NAME)
        return read_document(options, input, input->syntax == LAUNCH_JSON ? DOC_JSON : DOC_YAML, data, length,
                             err);
    while (start < length && isspace((unsigned char)data[start]))
        start++;
    if (text_ends_with(path, ".py"))
        return recipe_read(options, input, data, length, err);
    static const char *const texts[] = {".md", ".rst", ".csv", ".txt", ".ipynb", ".log"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (text_ends_with(path, texts[i]))
            return refuse(path, err, "plain text, not a launch description");
    if (text_ends_with(path, ".toml"))
        return read_document(options, input, DOC_TOML, data, length, err);
    if (text_ends_with(path, ".json") || (start < length && data[start] == '{' &&
                                          !text_ends_with(path, ".yml") && !text_ends_with(path, ".yaml")))
        return read_document(options, input, DOC_JSON, data, length, err);
    if (text_ends_with(path, ".yaml") || text_ends_with(path, ".yml") || is_manifest(data, length))
        return read_document(options, input, DOC_YAML, data, length, err);
    return read_script(options, input, data, length, err);
}

bool launch_read(struct launch_options *options, const struct launch_input *input, struct error *err)
{
    char *data = NULL;
    size_t length = input->length;
    if (!options->path)
        options->path = input->path;
    options->given = input->given;
    bool ok = launch_budget_begin(&options->budget, &options->arena, input->path, input->root,
                                  input->is_alone, err) &&
              (length <= LAUNCH_MAX_BYTES ||
               error_set(err, ERROR_INPUT, "%s: more than %zu bytes", input->path, LAUNCH_MAX_BYTES));
    if (ok && !input->data)
        ok = file_read(input->path, LAUNCH_MAX_BYTES, &data, &length, err);
    ok = ok && read_data(options, input, input->data ? input->data : data, length, err);
    free(data);
    if (ok && options->budget.spent) {
        *err = options->budget.why;
        ok = false;
    }
    for (int i = 0; ok && i < options->budget.refused_count; i++)
        launch_note(options, "%s", options->budget.refused[i]);
    options->budget.refused_count = 0;
    ok = ok && (!options->no_memory || error_memory(err));
    if (!ok)
        launch_options_release(options);
    return ok;
}

void launch_options_release(struct launch_options *options)
{
    arena_release(&options->arena);
    *options = (struct launch_options){0};
}

void launch_complete(struct launch_options *options)
{
    const struct launch_reader *reader = reader_of(options);
    struct launch_value *const ones[] = {&options->tensor, &options->pipeline, &options->context,
                                         &options->expert};
    if (reader && reader->complete)
        reader->complete(options);
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        launch_default(ones[i], 1);
    launch_settle_habits(options);
    launch_default(&options->sharding, 0);
    launch_default(&options->recompute, RECOMPUTE_NONE);
    launch_default(&options->type, COST_FP32);
    /* exchanges as the software has them: nothing is chosen for what is left out */
    for (int k = TECHNIQUE_DISPATCH; k <= TECHNIQUE_CONTEXT_KIND; k++)
        launch_default(&options->technique[k], 0);
    if (!options->chunk_blocks.given)
        launch_default(&options->chunks, 1);
    if (!options->devices.given && options->nodes.given && options->devices_per_node.given &&
        options->nodes.value < 1000000 && options->devices_per_node.value < 1000)
        options->devices = (struct launch_value){true, options->nodes.line,
                                                 options->nodes.value * options->devices_per_node.value};
}
