/* Any document as lists and tables, for kinds with keys that explain themselves. */
#include "core/text.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH  3
#define WHOLE_CELL 28 /* a text so short is not broken into lines */
#define MAX_ITEMS  12 /* of a list in one cell */

/* "iteration_time" for people. */
static const char *name_of(const char *key, char name[64])
{
    snprintf(name, 64, "%s", key);
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = ' ';
    return name;
}

/* The unit of a number by its key or the end of its key; seconds, bytes and shares have one name everywhere. */
static const struct {
    const char *key;
    enum html_kind kind;
} kinds[] = {
    {"iteration_time", HTML_TIME},
    {"iteration_time_low", HTML_TIME},
    {"iteration_time_high", HTML_TIME},
    {"lower_bound", HTML_TIME},
    {"forward", HTML_TIME},
    {"backward", HTML_TIME},
    {"seconds", HTML_TIME},
    {"_seconds", HTML_TIME},
    {"fill", HTML_TIME},
    {"cycle", HTML_TIME},
    {"duration_mean", HTML_TIME},
    {"duration_most", HTML_TIME},
    {"measured", HTML_TIME},
    {"predicted", HTML_TIME},
    {"memory", HTML_BYTES},
    {"_memory", HTML_BYTES},
    {"memory_limit", HTML_BYTES},
    {"bytes", HTML_BYTES},
    {"_bytes", HTML_BYTES},
    {"bytes_written", HTML_BYTES},
    {"bytes_kept", HTML_BYTES},
    {"bytes_per_second", HTML_RATE},
    {"bandwidth", HTML_RATE},
    {"utilisation", HTML_SHARE},
    {"gap", HTML_SHARE},
    {"au", HTML_SHARE},
    {"au_target", HTML_SHARE},
    {"_share", HTML_SHARE},
    {"headroom", HTML_SHARE},
    {"error", HTML_SHARE},
    {"_error", HTML_SHARE},
    {"covered", HTML_SHARE},
    {"more", HTML_SHARE},
    {"bias", HTML_SHARE},
};

/* HTML_GENERAL: nothing is known of it. */
static enum html_kind kind_of(const char *key)
{
    size_t length = key ? strlen(key) : 0;
    for (size_t i = 0; length > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        bool whole = kinds[i].key[0] != '_';
        if (whole ? strcmp(key, kinds[i].key) == 0
                  : length > strlen(kinds[i].key) && text_ends_with(key, kinds[i].key))
            return kinds[i].kind;
    }
    return HTML_GENERAL;
}

static void add_number(const char *key, double number, struct text *out)
{
    char grouped[48];
    struct unit_texts texts = {0};
    enum html_kind kind = kind_of(key);
    if (kind == HTML_SHARE)
        text_format(out, fabs(number) < 0.001 && number != 0 ? "%.2g %%" : "%.1f %%", 100 * number);
    else if (kind != HTML_GENERAL)
        text_add(out, unit_text(&texts, number, (enum unit_kind)(kind - HTML_BYTES)));
    else if (fabs(number) >= 1e4 && fabs(number) < 1e18)
        text_add(out, html_grouped(grouped, number));
    else
        text_format(out, "%.4g", number);
}

/* A value in one line, as plain text. */
static void add_value(const struct doc_node *node, int depth, struct text *out)
{
    char name[64];
    uint32_t left = MAX_ITEMS;
    switch (node->type) {
    case DOC_NULL:
        text_add(out, "\u2013");
        return;
    case DOC_BOOL:
        text_add(out, node->boolean ? "yes" : "no");
        return;
    case DOC_NUMBER:
        add_number(node->key, node->number, out);
        return;
    case DOC_STRING:
        text_add(out, node->text);
        return;
    case DOC_LIST:
    case DOC_MAP:
        break;
    }
    bool of_maps = node->first_child && node->first_child->type == DOC_MAP && !node->first_child->key;
    if (depth == MAX_DEPTH || (of_maps && node->count > MAX_ITEMS)) {
        text_format(out, "%u values", node->count);
        return;
    }
    for (const struct doc_node *child = node->first_child; child && left > 0; child = child->next, left--) {
        text_add(out, child == node->first_child ? "" : ", ");
        if (child->key)
            text_format(out, "%s ", name_of(child->key, name));
        add_value(child, depth + 1, out);
    }
    if (node->count > MAX_ITEMS)
        text_format(out, ", and %u more", node->count - MAX_ITEMS);
    if (node->count == 0)
        text_add(out, "\u2013");
}

static bool is_scalar(const struct doc_node *node)
{
    return node->type != DOC_LIST && node->type != DOC_MAP;
}

/* ---- tables of maps ---- */

/* Adds the column of a cell unless it is there. It is one of numbers while all its known values are. */
static bool add_column(struct report_column *columns, char names[][66], const struct doc_node *cell)
{
    int i = 0;
    while (i < REPORT_MAX_COLUMNS && columns[i].key && strcmp(columns[i].key, cell->key) != 0)
        i++;
    if (i == REPORT_MAX_COLUMNS)
        return false;
    if (!columns[i].key) {
        columns[i] = (struct report_column){.title = names[i], .key = cell->key};
        name_of(cell->key, names[i] + 1);
        names[i][0] = '>';
    }
    if (cell->type != DOC_NUMBER && cell->type != DOC_NULL)
        names[i][0] = '<';
    return true;
}

static void add_cell(struct text *out, const struct report_column *column, const struct doc_node *row)
{
    const struct doc_node *cell = row->type == DOC_MAP ? doc_find(row, column->key) : NULL;
    struct text value = {0};
    if (cell)
        add_value(cell, 1, &value);
    text_add(out, *column->title == '>'        ? "<td class=\"n\">"
                  : value.length <= WHOLE_CELL ? "<td class=\"s\">"
                                               : "<td class=\"t\">");
    const char *says = text_within(&value, out);
    html_text(out, *says ? says : "\u2013");
    text_add(out, "</td>");
    text_release(&value);
}

void report_rows(struct text *out, const char *caption, const struct doc_node *list)
{
    struct report_column columns[REPORT_MAX_COLUMNS + 1] = {0};
    char names[REPORT_MAX_COLUMNS][66];
    bool complete = true;
    int rows = 0;
    if (!list)
        return;
    for (const struct doc_node *row = list->first_child; row && rows < REPORT_MAX_ROWS;
         row = row->next, rows++)
        for (const struct doc_node *cell = row->first_child; row->type == DOC_MAP && cell; cell = cell->next)
            complete &= add_column(columns, names, cell);
    report_table(out, caption, columns, list, "rows", add_cell);
    if (!complete)
        html_element(out, "p", "soft", "And more columns in the file.");
}

/* ---- maps ---- */

static void add_facts(const struct doc_node *map, struct text *out)
{
    bool any = false;
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char name[64];
        struct text value = {0};
        bool list = node->type == DOC_LIST && (!node->first_child || node->first_child->type != DOC_MAP);
        if ((!is_scalar(node) && !list) || strcmp(node->key, "format") == 0)
            continue;
        if (!any)
            html_facts(out);
        any = true;
        add_value(node, 1, &value);
        html_fact(out, name_of(node->key, name), "%s", text_within(&value, out));
        text_release(&value);
    }
    if (any)
        html_facts_end(out);
}

static void add_map(const struct doc_node *map, int depth, struct text *out)
{
    add_facts(map, out);
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char name[64];
        if (node->type == DOC_LIST && node->first_child && node->first_child->type == DOC_MAP)
            report_rows(out, name_of(node->key, name), node);
        if (node->type != DOC_MAP)
            continue;
        html_element(out, "h4", NULL, "%s", name_of(node->key, name));
        if (depth < MAX_DEPTH)
            add_map(node, depth + 1, out);
        else
            html_element(out, "p", "soft", "%u values, in the file.", node->count);
    }
}

/* The first texts tell documents of one kind apart. */
static void say(const struct doc_node *map, struct text *says)
{
    int count = 0;
    for (const struct doc_node *node = map->first_child; node && count < 2; node = node->next)
        if (node->type == DOC_STRING && strcmp(node->key, "format") != 0 && strcmp(node->key, "schema") != 0)
            text_format(says, "%s%s %.80s", count++ ? ", " : "", node->key, node->text);
}

bool report_document(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    (void)err;
    if (root->type != DOC_LIST) {
        say(root, &part->says);
        add_map(root, 1, &part->out);
    } else if (root->first_child && report_string(root->first_child, "format")) {
        say(root->first_child, &part->says);
        for (const struct doc_node *document = root->first_child; document; document = document->next)
            add_map(document, 1, &part->out);
    } else
        report_rows(&part->out, NULL, root);
    return true;
}
