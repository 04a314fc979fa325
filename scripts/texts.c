/* Prints what is said of commands, options and others as macros, each a part of an initialiser, for the tables that have the
 * rest: of "trace show" SAYS_command_trace_show, of an option of struct rh_plan_request SAYS_rh_plan_request_fix, of a policy
 * SAYS_policy_bamboo; and the tables of options that stand there whole: OPTIONS_rh_simulate_request, and
 * other tables: ROWS_workload_key. A program of its own that runs while rehearse is built:
 *
 *     texts data/texts.yaml */
#include "core/doc.h"
#include "core/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct doc *doc;

/* Adds a text in quotes; what stands behind "=" is C. */
static bool add_text(struct text *out, const struct doc_node *node, struct error *err)
{
    if (node->type != DOC_STRING || strpbrk(node->text, "\n\t\r"))
        return doc_error(doc, node, err, "expected a text of one line");
    if (*node->text == '=')
        text_add(out, node->text + 1);
    else
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

/* Adds a word as a constant: of "time" UNIT_TIME; one that begins with a capital is one of C. */
static void add_constant(struct text *out, const char *prefix, const char *word)
{
    text_add(out, isupper((unsigned char)*word) ? "" : prefix);
    for (; *word; word++)
        text_format(out, "%c", isalnum((unsigned char)*word) ? toupper((unsigned char)*word) : '_');
}

/* Adds the value of a member: texts in quotes; a letter, a constant by its word; the rest as C has it. */
static bool add_value(struct text *out, const struct doc_node *node, struct error *err)
{
    static const char *const constants[][2] = {
        {"kind", "OPTION_"}, {"unit", "UNIT_"}, {"dimension", "DIMENSION_"}, {"type", "WORKLOAD_"}};
    static const char *const of_c[] = {"words", "min", "max", "takers", "needers", "row"};
    bool is_letter = strcmp(node->key, "letter") == 0;
    if (node->type == DOC_LIST || node->type == DOC_MAP)
        return add_items(out, node, err);
    if (is_letter && (strlen(node->text) != 1 || !isalnum((unsigned char)*node->text)))
        return doc_error(doc, node, err, "expected a letter");
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (strcmp(node->key, constants[i][0]) == 0)
            return add_constant(out, constants[i][1], node->text), true;
    bool plain = node->type == DOC_BOOL || node->type == DOC_NUMBER;
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++)
        plain = plain || strcmp(node->key, of_c[i]) == 0;
    if (is_letter || plain)
        return text_format(out, is_letter ? "'%s'" : "%s", node->text), true;
    return add_text(out, node, err);
}

/* Returns whether a table is here: whole rows, not only what is said of their options. */
static bool has_rows(const struct doc_node *table)
{
    const struct doc_node *first = table->first_child;
    return first && (first->type == DOC_STRING || doc_find(first, "kind") || doc_find(first, "row") ||
                     doc_find(first, "type"));
}

/* Returns the item of the table `shared` beside this one that an item says it is like; NULL: it says nothing. */
static const struct doc_node *shared_of(const struct doc_node *item)
{
    const struct doc_node *like = item->type == DOC_MAP ? doc_find(item, "like") : item,
                          *shared = like && like->text ? doc_find(item->parent->parent, like->text) : NULL;
    return shared ? doc_find(shared, item->key) : NULL;
}

/* Returns a member of an item, or of the one that it is like. */
static const struct doc_node *member_of(const struct doc_node *item, const char *key)
{
    const struct doc_node *own = item->type == DOC_MAP ? doc_find(item, key) : NULL,
                          *shared = shared_of(item);
    return own || !shared ? own : doc_find(shared, key);
}

/* Begins the row of an option: its request, member, kind and name. */
static bool begin_option(struct text *out, const struct doc_node *item, struct error *err)
{
    const struct doc_node *kind = member_of(item, "kind"), *name = member_of(item, "name");
    if (!kind)
        return doc_error(doc, item, err, "expected a kind, as the first option has");
    text_format(out, "OPTION(%s, %s, ", item->parent->key, item->key);
    bool ok = add_value(out, kind, err);
    text_add(out, ", \"");
    for (const char *at = name ? name->text : item->key; *at; at++)
        text_format(out, "%c", !name && *at == '_' ? '-' : *at);
    text_add(out, "\"");
    return ok;
}

/* Adds the members of an item that do not begin its row, and that `but` has not. */
static bool add_members(struct text *out, const struct doc_node *item, const struct doc_node *but,
                        struct error *err)
{
    static const char *const begun[] = {"kind", "name", "field", "like"};
    bool ok = true;
    for (const struct doc_node *member = item->first_child; ok && member; member = member->next) {
        bool done = but && but->type == DOC_MAP && doc_find(but, member->key);
        for (size_t i = 0; i < sizeof begun / sizeof *begun; i++)
            done = done || strcmp(member->key, begun[i]) == 0;
        if (done)
            continue;
        text_format(out, ", .%s = ", member->key);
        ok = add_value(out, member, err);
    }
    return ok;
}

/* Adds the rows of a request's table, or of another one, whose rows begin with their key and its field; "row" is one in C,
 * or several. */
static bool add_rows(struct text *out, const struct doc_node *table, bool of_options, struct error *err)
{
    bool ok = true;
    text_format(out, "#define %s_%s", of_options ? "OPTIONS" : "ROWS", table->key);
    for (const struct doc_node *item = table->first_child; ok && item; item = item->next) {
        const struct doc_node *row = member_of(item, "row"), *field = member_of(item, "field");
        text_add(out, item == table->first_child ? " " : ", ");
        if (row) {
            ok = add_value(out, row, err);
            continue;
        }
        if (of_options)
            ok = begin_option(out, item, err);
        else
            text_format(out, "ROW_%s(\"%s\", %s", table->key, item->key, field ? field->text : item->key);
        const struct doc_node *shared = of_options ? shared_of(item) : NULL;
        ok = ok && add_members(out, item, NULL, err) && (!shared || add_members(out, shared, item, err));
        text_add(out, ")");
    }
    text_add(out, "\n");
    return ok;
}

/* Adds the cells of a row. */
static bool add_cells(struct text *out, const struct doc_node *row, struct error *err)
{
    bool ok = row->type == DOC_LIST || doc_error(doc, row, err, "expected a list");
    for (const struct doc_node *cell = row->first_child; ok && cell; cell = cell->next) {
        text_add(out, cell == row->first_child ? "" : ", ");
        if (cell->type == DOC_STRING)
            ok = add_text(out, cell, err);
        else
            text_add(out, cell->type == DOC_NULL ? "NULL" : cell->text);
    }
    return ok;
}

/* Adds a table of lists as rows of an array, and as EACH_name(X): X(…) for each of them. */
static bool add_lists(struct text *out, const struct doc_node *table, struct error *err)
{
    bool ok = true;
    text_format(out, "#define ROWS_%s", table->key);
    for (const struct doc_node *row = table->first_child; ok && row; row = row->next) {
        text_add(out, row == table->first_child ? " {" : ", {");
        ok = add_cells(out, row, err);
        text_add(out, "}");
    }
    text_format(out, "\n#define EACH_%s(X)", table->key);
    for (const struct doc_node *row = table->first_child; ok && row; row = row->next) {
        text_add(out, " X(");
        ok = add_cells(out, row, err);
        text_add(out, ")");
    }
    text_add(out, "\n");
    return ok;
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
        if (owner->type == DOC_LIST)
            ok = add_lists(out, owner, err);
        else if (strcmp(owner->key, "options") != 0)
            ok = has_rows(owner) ? add_rows(out, owner, false, err) : add_owner(out, owner, true, err);
        else
            for (const struct doc_node *inner = owner->first_child; ok && inner; inner = inner->next)
                ok = has_rows(inner) ? add_rows(out, inner, true, err) : add_owner(out, inner, false, err);
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
