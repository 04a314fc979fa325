/* Any document as lists and tables: for kinds whose keys say what they are. */
#include "core/text.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH   3
#define MAX_ROWS    100
#define MAX_COLUMNS 14
#define WHOLE_CELL  28 /* a text so short is not broken into lines */
#define MAX_ITEMS   12 /* of a list in one cell */

/* "iteration_time" for people. */
static const char *name_of(const char *key, char name[64])
{
    snprintf(name, 64, "%s", key);
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = ' ';
    return name;
}

/* What a number stands for, by its key or the end of its key; seconds, bytes and shares have one name everywhere. */
enum meaning { PLAIN, TIME, BYTES, RATE, SHARE };

static const struct {
    const char *key;
    enum meaning meaning;
} meanings[] = {
    {"iteration_time", TIME},
    {"iteration_time_low", TIME},
    {"iteration_time_high", TIME},
    {"lower_bound", TIME},
    {"forward", TIME},
    {"backward", TIME},
    {"seconds", TIME},
    {"_seconds", TIME},
    {"fill", TIME},
    {"cycle", TIME},
    {"duration_mean", TIME},
    {"duration_most", TIME},
    {"measured", TIME},
    {"predicted", TIME},
    {"memory", BYTES},
    {"_memory", BYTES},
    {"memory_limit", BYTES},
    {"bytes", BYTES},
    {"_bytes", BYTES},
    {"bytes_written", BYTES},
    {"bytes_kept", BYTES},
    {"bytes_per_second", RATE},
    {"bandwidth", RATE},
    {"utilisation", SHARE},
    {"gap", SHARE},
    {"au", SHARE},
    {"_share", SHARE},
    {"headroom", SHARE},
    {"error", SHARE},
    {"_error", SHARE},
    {"covered", SHARE},
    {"more", SHARE},
    {"bias", SHARE},
};

static enum meaning meaning_of(const char *key)
{
    size_t length = key ? strlen(key) : 0;
    for (size_t i = 0; length > 0 && i < sizeof meanings / sizeof *meanings; i++) {
        bool whole = meanings[i].key[0] != '_';
        if (whole ? strcmp(key, meanings[i].key) == 0
                  : length > strlen(meanings[i].key) && text_ends_with(key, meanings[i].key))
            return meanings[i].meaning;
    }
    return PLAIN;
}

static void add_number(const char *key, double number, struct text *out)
{
    char grouped[48];
    enum meaning meaning = meaning_of(key);
    if (meaning == SHARE)
        text_format(out, fabs(number) < 0.001 && number != 0 ? "%.2g %%" : "%.1f %%", 100 * number);
    else if (meaning != PLAIN)
        text_add(out, unit_format(grouped, sizeof grouped, number,
                                  meaning == TIME    ? UNIT_TIME
                                  : meaning == BYTES ? UNIT_BYTES
                                                     : UNIT_RATE,
                                  meaning == BYTES ? 3 : 4));
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
    if (depth == MAX_DEPTH) {
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

struct columns {
    const char *keys[MAX_COLUMNS];
    bool numbers[MAX_COLUMNS]; /* all that is known in it */
    int count;
    bool more;
};

static void add_column(struct columns *columns, const struct doc_node *cell)
{
    int i = 0;
    while (i < columns->count && strcmp(columns->keys[i], cell->key) != 0)
        i++;
    if (i == MAX_COLUMNS) {
        columns->more = true;
        return;
    }
    bool number = cell->type == DOC_NUMBER || cell->type == DOC_NULL;
    columns->numbers[i] = number && (i == columns->count || columns->numbers[i]);
    if (i == columns->count)
        columns->keys[columns->count++] = cell->key;
}

static void find_columns(const struct doc_node *list, struct columns *columns)
{
    int rows = 0;
    for (const struct doc_node *row = list->first_child; row && rows < MAX_ROWS; row = row->next, rows++)
        for (const struct doc_node *cell = row->first_child; row->type == DOC_MAP && cell; cell = cell->next)
            add_column(columns, cell);
}

static void add_cell(const struct columns *columns, int i, const struct doc_node *row, struct text *out)
{
    const struct doc_node *cell = row->type == DOC_MAP ? doc_find(row, columns->keys[i]) : NULL;
    struct text value = {0};
    if (cell)
        add_value(cell, 1, &value);
    text_add(out, columns->numbers[i]          ? "<td class=\"n\">"
                  : value.length <= WHOLE_CELL ? "<td class=\"s\">"
                                               : "<td class=\"t\">");
    const char *says = text_within(&value, out);
    html_text(out, *says ? says : "\u2013");
    text_add(out, "</td>");
    text_release(&value);
}

void report_rows(struct text *out, const char *caption, const struct doc_node *list)
{
    struct columns columns = {0};
    char names[MAX_COLUMNS][66];
    const char *titles[MAX_COLUMNS + 1] = {0};
    int rows = 0;
    find_columns(list, &columns);
    for (int i = 0; i < columns.count; i++) {
        names[i][0] = columns.numbers[i] ? '>' : '<';
        name_of(columns.keys[i], names[i] + 1);
        titles[i] = names[i];
    }
    html_table(out, caption, titles);
    for (const struct doc_node *row = list->first_child; row && rows < MAX_ROWS; row = row->next, rows++) {
        html_row(out);
        for (int i = 0; i < columns.count; i++)
            add_cell(&columns, i, row, out);
        html_row_end(out);
    }
    html_table_end(out);
    if (list->count > MAX_ROWS)
        html_element(out, "p", "soft", "And %u more rows in the file.", list->count - MAX_ROWS);
    if (columns.more)
        html_element(out, "p", "soft", "And more columns in the file.");
}

/* ---- maps ---- */

static void add_facts(const struct doc_node *map, struct text *out)
{
    bool any = false;
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char name[64];
        struct text value = {0};
        bool list = node->type == DOC_LIST && (!node->first_child || is_scalar(node->first_child));
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
        if (node->type == DOC_LIST && node->first_child && !is_scalar(node->first_child))
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
