/* Prints what is said of commands, options and others as macros, each a part of an initialiser, for the tables that have the
 * rest: of "trace show" SAYS_command_trace_show, of an option of struct rh_plan_request SAYS_rh_plan_request_fix, of a policy
 * SAYS_policy_bamboo. A program of its own that runs while rehearse is built:
 *
 *     texts data/texts.yaml */
#include "core/doc.h"
#include "core/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct doc *doc;

static bool add_text(struct text *out, const struct doc_node *node, struct error *err)
{
    if (node->type != DOC_STRING || strpbrk(node->text, "\n\t\r"))
        return doc_error(doc, node, err, "expected a text of one line");
    text_add_quoted(out, node->text);
    return true;
}

/* Adds the paragraphs of a list of texts, and of other lists and maps an array of pairs, as struct command_topic[] of "topics". */
static bool add_items(struct text *out, const struct doc_node *list, struct error *err)
{
    bool ok = true,
         paragraphs = list->type == DOC_LIST && list->first_child && list->first_child->type == DOC_STRING;
    if (!paragraphs)
        text_format(out, "(const struct command_%.*s[]){", (int)strlen(list->key) - 1, list->key);
    for (const struct doc_node *item = list->first_child; ok && item; item = item->next) {
        if (paragraphs && item != list->first_child)
            text_add(out, "\"\\n\\n\"");
        if (paragraphs) {
            ok = add_text(out, item, err);
            continue;
        }
        const struct doc_node *line = doc_find(item, "line"), *what = doc_find(item, "what");
        text_add(out, "{");
        if (line)
            ok = add_text(out, line, err);
        else
            text_add_quoted(out, item->key);
        text_add(out, ", ");
        ok = ok && add_text(out, what ? what : item, err);
        text_add(out, "}, ");
    }
    text_add(out, paragraphs ? "" : "{NULL, NULL}}");
    return ok;
}

/* Adds the value of a text's member: a letter, a dimension by its word, and of all others what they say. */
static bool add_value(struct text *out, const struct doc_node *node, struct error *err)
{
    bool is_letter = strcmp(node->key, "letter") == 0;
    if (is_letter &&
        (node->type != DOC_STRING || strlen(node->text) != 1 || !isalnum((unsigned char)*node->text)))
        return doc_error(doc, node, err, "expected a letter");
    if (is_letter)
        text_format(out, "'%c'", *node->text);
    else if (node->type == DOC_STRING && strcmp(node->key, "dimension") == 0)
        for (const char *at = (text_add(out, "DIMENSION_"), node->text); *at; at++)
            text_format(out, "%c", isalnum((unsigned char)*at) ? toupper((unsigned char)*at) : '_');
    else
        return node->type == DOC_STRING ? add_text(out, node, err) : add_items(out, node, err);
    return true;
}

/* Adds the macro of an item of `owner`; what is `named` has its key as name. */
static bool add_macro(struct text *out, const char *owner, bool named, const struct doc_node *map,
                      struct error *err)
{
    const char *between = "";
    bool ok = map->type == DOC_MAP || doc_error(doc, map, err, "expected a map of texts");
    text_format(out, "#define SAYS_%s_", owner);
    for (const char *at = map->key; *at; at++)
        text_format(out, "%c", isalnum((unsigned char)*at) ? *at : '_');
    if (named) {
        text_add(out, " .name = ");
        text_add_quoted(out, map->key);
        between = ",";
    }
    for (const struct doc_node *text = map->first_child; ok && text; text = text->next, between = ",") {
        text_format(out, "%s .%s = ", between, text->key);
        ok = add_value(out, text, err);
    }
    text_add(out, "\n");
    return ok;
}

static bool add_owner(struct text *out, const struct doc_node *owner, bool named, struct error *err)
{
    bool ok = true;
    for (const struct doc_node *item = owner->first_child; ok && item; item = item->next)
        ok = add_macro(out, owner->key, named, item, err);
    return ok;
}

static bool add_all(struct text *out, struct error *err)
{
    bool ok = doc_is_map(doc, doc->root, err);
    for (const struct doc_node *owner = doc->root->first_child; ok && owner; owner = owner->next)
        if (strcmp(owner->key, "options") != 0)
            ok = add_owner(out, owner, true, err);
        else
            for (const struct doc_node *inner = owner->first_child; ok && inner; inner = inner->next)
                ok = add_owner(out, inner, false, err);
    return ok && (!out->failed || error_memory(err));
}

int main(int argc, char **argv)
{
    struct error err;
    struct doc read;
    struct text out = {0};
    if (argc != 2)
        return 2;
    bool ok = doc_load(&read, argv[1], &err);
    if (ok) {
        doc = &read;
        ok = add_all(&out, &err);
        doc_release(&read);
    }
    if (ok)
        printf("/* Made of %s. */\n%s", strrchr(argv[1], '/') ? strrchr(argv[1], '/') + 1 : argv[1],
               out.data);
    else
        fprintf(stderr, "%s\n", err.text);
    text_release(&out);
    return !ok || fflush(stdout) != 0;
}
