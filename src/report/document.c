/* Any document as lists and tables, for kinds with keys that explain themselves. */
#include "core/text.h"
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH  3
#define WHOLE_CELL 28 /* a text so short is not broken into lines */
#define LONG_CELL  160
#define MAX_ITEMS  12 /* of a list in one cell */
#define MAX_PARTS  24 /* of a bar */

/* What a key means. */
struct meaning {
    enum html_kind kind; /* HTML_END: pages leave it out */
    char title[256];     /* with the meaning as its tip: see html_table */
};

/* "=FORMAT", and below a line for each key, "PLACE TAB UNIT TAB TITLE TAB MEANING", as scripts/describe-answers makes
 * them of the schemas. */
extern const char page_meanings[];

/* "iteration_time" for people. */
static const char *name_of(const char *key, char name[64])
{
    snprintf(name, 64, "%s", key);
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = ' ';
    return name;
}

/* Writes the keys that lead to a node, "policies.low". Returns the format of its document; NULL: none. */
static const char *place_of(const struct doc_node *node, char place[256])
{
    const char *format = report_string(node, "format");
    place[0] = '\0';
    if ((format && strncmp(format, "rehearse-", 9) == 0) || !node->parent)
        return format;
    format = place_of(node->parent, place);
    size_t length = strlen(place);
    if (node->key)
        snprintf(place + length, 256 - length, "%s%s", length > 0 ? "." : "", node->key);
    return format;
}

/* Returns what stands behind a place; NULL: nothing. */
static const char *find_place(const char *format, const char *place)
{
    char wanted[300];
    snprintf(wanted, sizeof wanted, "\n=%s\n", format ? format : "rehearse-columns");
    const char *from = strstr(page_meanings, wanted), *end = from ? strstr(from + 1, "\n=") : NULL;
    snprintf(wanted, sizeof wanted, "\n%s\t", place);
    from = from ? memmem(from, end ? (size_t)(end - from) : strlen(from), wanted, strlen(wanted)) : NULL;
    return from ? from + strlen(wanted) : NULL;
}

/* A key that the schema does not name means what those beside it do, or the map that it is in. */
static struct meaning meaning_of(const struct doc_node *node)
{
    static const struct {
        const char *unit;
        enum html_kind kind;
    } kinds[] = {
        {"s", HTML_TIME},  {"B", HTML_BYTES},   {"B/s", HTML_RATE}, {"FLOP/s", HTML_BYTES + UNIT_COMPUTE},
        {"%", HTML_EXACT}, {"USD", HTML_MONEY}, {"-", HTML_END}};
    char place[256];
    struct meaning meaning = {.kind = HTML_GENERAL};
    const char *format = place_of(node, place), *line = find_place(format, place);
    char *dot = strrchr(place, '.');
    if (node->key)
        name_of(node->key, meaning.title);
    if (line)
        snprintf(meaning.title, sizeof meaning.title, "%.*s", (int)strcspn(strchr(line, '\t') + 1, "\n"),
                 strchr(line, '\t') + 1);
    if (!line && dot) {
        snprintf(dot, (size_t)(place + sizeof place - dot), ".*");
        line = find_place(format, place);
        *dot = '\0';
        line = line ? line : find_place(format, place);
    }
    for (size_t i = 0; line && i < sizeof kinds / sizeof *kinds; i++)
        if (strcspn(line, "\t") == strlen(kinds[i].unit) &&
            strncmp(line, kinds[i].unit, strcspn(line, "\t")) == 0)
            meaning.kind = kinds[i].kind;
    return meaning;
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
        html_number(out, meaning_of(node).kind, node->number);
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

/* Returns whether pages leave a value out: it says nothing, or what the document is, or its schema has it so. */
static bool is_empty(const struct doc_node *node)
{
    bool head = strcmp(node->key, "format") == 0 || strcmp(node->key, "schema") == 0 ||
                strcmp(node->key, "$schema") == 0;
    return head || node->type == DOC_NULL || (!is_scalar(node) && node->count == 0) ||
           meaning_of(node).kind == HTML_END;
}

/* ---- tables of maps ---- */

/* Adds the column of a cell, if it has a value, unless it is there. It is one of numbers while all its values are. */
static bool add_column(struct report_column *columns, char names[][258], const struct doc_node *cell)
{
    int i = 0;
    while (i < REPORT_MAX_COLUMNS && columns[i].key && strcmp(columns[i].key, cell->key) != 0)
        i++;
    if (is_empty(cell))
        return true;
    if (i == REPORT_MAX_COLUMNS)
        return false;
    if (!columns[i].key) {
        columns[i] = (struct report_column){.title = names[i], .key = cell->key};
        snprintf(names[i], sizeof names[i], ">%s", meaning_of(cell).title);
    }
    if (cell->type != DOC_NUMBER)
        names[i][0] = '<';
    return true;
}

/* Takes the parts of a map that add up to a time, a memory or a whole. Returns how many there are; 0: it is no
 * such map. */
static int take_parts(const struct doc_node *map, struct html_part parts[MAX_PARTS], double *total,
                      enum html_kind *kind)
{
    int count = 0;
    *total = 0;
    *kind = HTML_GENERAL;
    for (const struct doc_node *node = map && map->type == DOC_MAP ? map->first_child : NULL; node;
         node = node->next) {
        bool waits = strcmp(node->key, "bubble") == 0 || strcmp(node->key, "wait") == 0;
        if ((node->type != DOC_NUMBER && node->type != DOC_NULL) || count == MAX_PARTS)
            return 0;
        if (strcmp(node->key, "total") == 0 || strcmp(node->key, "time") == 0)
            continue;
        enum html_kind own = meaning_of(node).kind;
        if ((own != HTML_TIME && own != HTML_BYTES && own != HTML_EXACT) || (count > 0 && own != *kind))
            return 0;
        double value = node->type == DOC_NUMBER ? node->number : 0;
        parts[count] = (struct html_part){node->key, value, waits ? HTML_IDLE : count % HTML_IDLE};
        count++;
        *kind = own;
        *total += value;
    }
    return count;
}

/* The full width of bars: the largest of all rows. */
static double largest_total(const struct doc_node *list, const char *key)
{
    struct html_part parts[MAX_PARTS];
    double most = 0, total;
    enum html_kind kind;
    int rows = 0;
    for (const struct doc_node *row = list ? list->first_child : NULL; row && rows < REPORT_MAX_ROWS;
         row = row->next, rows++)
        if (row->type == DOC_MAP && take_parts(doc_find(row, key), parts, &total, &kind) > 0)
            most = fmax(most, total);
    return most;
}

static void add_cell(struct text *out, const struct report_column *column, const struct doc_node *row)
{
    const struct doc_node *cell = row->type == DOC_MAP ? doc_find(row, column->key) : NULL;
    struct html_part parts[MAX_PARTS];
    struct text value = {0};
    double total;
    enum html_kind kind;
    int count = take_parts(cell, parts, &total, &kind);
    if (count > 1) {
        text_add(out, "<td class=\"bars\">");
        if (kind == HTML_BYTES)
            html_number(out, kind, total);
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
        enum html_kind kind;
        double total;
        for (const struct doc_node *row = list->first_child; row; row = row->next) {
            int found =
                take_parts(row->type == DOC_MAP ? doc_find(row, columns->key) : NULL, parts, &total, &kind);
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
    char names[REPORT_MAX_COLUMNS][258];
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

void report_facts(const struct doc_node *map, struct text *out)
{
    bool any = false;
    for (const struct doc_node *node = map ? map->first_child : NULL; node; node = node->next) {
        struct text value = {0};
        bool list = node->type == DOC_LIST && node->first_child && node->first_child->type != DOC_MAP;
        if ((!is_scalar(node) && !list) || is_empty(node))
            continue;
        if (!any)
            html_facts(out);
        any = true;
        add_value(node, 1, &value);
        html_fact(out, meaning_of(node).title, "%s", text_within(&value, out));
        text_release(&value);
    }
    if (any)
        html_facts_end(out);
}

static void add_map(const struct doc_node *map, int depth, struct text *out)
{
    report_facts(map, out);
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
