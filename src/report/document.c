/* Any document as lists and tables, for kinds with keys that explain themselves. */
#include "core/text.h"
#include "figure/style.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH  3
#define WHOLE_CELL 28 /* a text so short is not broken into lines */
#define LONG_CELL  160
#define MAX_ITEMS  12 /* of a list in one cell */
#define MAX_PARTS  24 /* of a bar */

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
    {"expected", HTML_TIME},
    {"makespan", HTML_TIME},
    {"mttf", HTML_DURATION},
    {"repair", HTML_DURATION},
    {"save_interval", HTML_DURATION},
    {"goodput", HTML_SHARE},
    {"collectives", HTML_TIME},
    {"recompute", HTML_TIME},
    {"send", HTML_TIME},
    {"together", HTML_TIME},
    {"all-reduce", HTML_TIME},
    {"optimizer", HTML_TIME},
    {"latency", HTML_TIME},
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
        if (child->type == DOC_NUMBER && kind_of(child->key) == HTML_GENERAL)
            add_number(node->key, child->number, out); /* as all of its map or list */
        else
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

/* Takes the parts of a map that add up to a time, a memory or a whole. Returns how many there are; 0: it is no
 * such map. */
static int take_parts(const struct doc_node *map, struct html_part parts[MAX_PARTS], double *total)
{
    bool adds_up =
        map && map->type == DOC_MAP && (kind_of(map->key) != HTML_GENERAL || strcmp(map->key, "shares") == 0);
    int count = 0;
    *total = 0;
    for (const struct doc_node *node = adds_up ? map->first_child : NULL; node; node = node->next) {
        bool waits = strcmp(node->key, "bubble") == 0 || strcmp(node->key, "wait") == 0;
        bool part = strcmp(node->key, "total") != 0 && strcmp(node->key, "time") != 0;
        if ((node->type != DOC_NUMBER && node->type != DOC_NULL) || count == MAX_PARTS)
            return 0;
        if (!part)
            continue;
        double value = node->type == DOC_NUMBER ? node->number : 0;
        parts[count] = (struct html_part){node->key, value, waits ? "#b3b9c0" : figure_colour(count)};
        count++;
        *total += value;
    }
    return count;
}

/* The full width of bars: the largest of all rows. */
static double largest_total(const struct doc_node *list, const char *key)
{
    struct html_part parts[MAX_PARTS];
    double most = 0, total;
    int rows = 0;
    for (const struct doc_node *row = list ? list->first_child : NULL; row && rows < REPORT_MAX_ROWS;
         row = row->next, rows++)
        if (row->type == DOC_MAP && take_parts(doc_find(row, key), parts, &total) > 0)
            most = fmax(most, total);
    return most;
}

static void add_cell(struct text *out, const struct report_column *column, const struct doc_node *row)
{
    const struct doc_node *cell = row->type == DOC_MAP ? doc_find(row, column->key) : NULL;
    struct html_part parts[MAX_PARTS];
    struct text value = {0};
    double total;
    int count = take_parts(cell, parts, &total);
    if (count > 1) {
        text_add(out, "<td class=\"bars\">");
        if (kind_of(cell->key) == HTML_BYTES) {
            add_number(cell->key, total, &value);
            html_text(out, text_within(&value, out));
            text_release(&value);
        }
        html_bar(out, parts, count, fmax(total, largest_total(row->parent, column->key)));
        text_add(out, "</td>");
        return;
    }
    if (cell)
        add_value(cell, 1, &value);
    text_add(out, *column->title == '>'        ? "<td class=\"n\">"
                  : value.length <= WHOLE_CELL ? "<td class=\"s\">"
                                               : "<td class=\"t\">");
    const char *says = text_within(&value, out);
    size_t length = strcspn(says, ".;:"); /* of a long text the first sentence is seen at once */
    if (value.length > LONG_CELL) {
        html_format(out, "%.*s", (int)length, says);
        text_add(out, "<details><summary>more</summary>");
    }
    html_text(out, *says ? says : "\u2013");
    text_add(out, value.length > LONG_CELL ? "</details></td>" : "</td>");
    text_release(&value);
}

/* The colours of the bars of each column, without those that no row shows. */
static void add_legends(struct text *out, const struct report_column *columns, const struct doc_node *list)
{
    for (; columns->title; columns++) {
        struct html_part all[MAX_PARTS] = {0}, parts[MAX_PARTS];
        int count = 0, shown = 0;
        double total;
        for (const struct doc_node *row = list->first_child; row; row = row->next) {
            int found = take_parts(row->type == DOC_MAP ? doc_find(row, columns->key) : NULL, parts, &total);
            for (int i = 0; i < found; i++)
                if (i >= count || parts[i].value > all[i].value)
                    all[i] = parts[i];
            count = found > count ? found : count;
        }
        for (int i = 0; i < count; i++)
            if (all[i].value > 0)
                all[shown++] = all[i];
        if (count > 1)
            html_legend(out, all, shown, 0);
    }
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
    bool drawn = caption && strcmp(caption, "points") == 0; /* of a sweep: see page/curve.js */
    text_add(out, drawn ? "<figure class=\"draw\" data-draw=\"points\">\n" : "");
    report_table(out, caption, columns, list, "rows", add_cell);
    add_legends(out, columns, list);
    text_add(out, drawn ? "</figure>\n" : "");
    if (!complete)
        html_element(out, "p", "soft", "And more columns in the file.");
}

/* ---- maps ---- */

/* Returns whether a key says what the document is. */
static bool is_head(const char *key)
{
    return strcmp(key, "format") == 0 || strcmp(key, "schema") == 0 || strcmp(key, "$schema") == 0;
}

static void add_facts(const struct doc_node *map, struct text *out)
{
    bool any = false;
    for (const struct doc_node *node = map->first_child; node; node = node->next) {
        char name[64];
        struct text value = {0};
        bool list = node->type == DOC_LIST && (!node->first_child || node->first_child->type != DOC_MAP);
        if ((!is_scalar(node) && !list) || is_head(node->key))
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

bool report_document(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root;
    (void)err;
    if (root->type != DOC_LIST) {
        add_map(root, 1, &part->out);
    } else if (root->first_child && report_string(root->first_child, "format")) {
        for (const struct doc_node *document = root->first_child; document; document = document->next)
            add_map(document, 1, &part->out);
    } else
        report_rows(&part->out, NULL, root);
    return true;
}
