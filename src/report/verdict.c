/* What stands first in a section: sentences of page/verdicts.yaml, filled in with values of its document. */
#include "report/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const char page_verdicts[];
extern const size_t page_verdicts_size;

/* Whose values fill the sentences. */
struct teller {
    const struct report_part *part;
    const struct doc_node *map;
    const struct doc_node *item; /* the best of a list; NULL: there is none */
    bool shell; /* the sentence is a line of a shell: a value is one word, whatever is in it */
};

/* "64 × h100-sxm and 8 × a100-40gb": types of devices by name; or texts. */
static void add_list(const struct doc_node *list, struct text *out)
{
    char grouped[48];
    for (const struct doc_node *item = list->first_child; item; item = item->next) {
        double devices = report_number(item, "nodes") * report_number(item, "per_node");
        const char *name = item->type == DOC_STRING ? item->text : report_string(item, "name");
        text_add(out, item == list->first_child ? "" : item->next ? ", " : " and ");
        if (devices > 0)
            text_format(out, "%s \u00d7 ", html_grouped(grouped, devices));
        text_format(out, "%.80s", name ? name : "?");
    }
}

/* Appends a value as `unit` has it; false: it cannot be. */
static bool add_value(const struct doc_node *node, char unit, struct text *out)
{
    static const char units[] = "n1%$Bsh";
    static const enum html_kind kinds[] = {
        HTML_COUNT, HTML_SHARE, HTML_EXACT, HTML_MONEY, HTML_BYTES, HTML_TIME, HTML_BYTES + UNIT_DURATION};
    const char *known = unit ? strchr(units, unit) : NULL;
    bool is_text = node->type == DOC_STRING && node->length > 0, is_number = node->type == DOC_NUMBER;
    bool counts = node->type == DOC_LIST && (unit == 'n' || (unit == 'l' && node->count > 0));
    if (is_text)
        text_format(out, "%.300s", node->text);
    else if (counts && unit == 'l')
        add_list(node, out);
    else if (known && (counts || is_number))
        html_number(out, kinds[known - units], counts ? node->count : node->number);
    else if (is_number)
        text_format(out, unit == '3' ? "%.3g %%" : "%.6g", unit == '3' ? 100 * node->number : node->number);
    return counts || is_text || is_number;
}

/* The texts that are no values of the document; NULL: it is not one of them, or there is none. */
static const char *own_text(const struct report_part *part, const char *key, bool *is_own)
{
    bool line = strcmp(key, "line") == 0, plan = strcmp(key, "plan") == 0;
    *is_own = line || plan || strcmp(key, "file") == 0;
    return line ? part->line : part->file ? part->file : plan ? "plan.json" : NULL;
}

/* Appends what a placeholder stands for. False: it is missing, or does not hold. */
static bool fill(const struct teller *teller, const char *place, size_t length, struct text *out)
{
    char key[80];
    bool is_own, wants = *place == '?', refuses = *place == '!';
    snprintf(key, sizeof key, "%.*s", (int)length, place);
    char *end = key + strcspn(key, " =");
    const char end_sign = *end, *name = key + (wants || refuses), *rest = end + (*end != '\0');
    *end = '\0';
    const char *own = own_text(teller->part, name, &is_own);
    const struct doc_node *node = teller->item ? report_find(teller->item, name) : NULL;
    node = is_own ? NULL : node && node->type != DOC_NULL ? node : report_find(teller->map, name);
    bool there = own && is_own;
    if (node)
        there = node->type != DOC_NULL && (node->type != DOC_BOOL || node->boolean) &&
                !((wants || refuses) && node->type == DOC_NUMBER && node->number == 0) &&
                (end_sign != '=' || (node->type == DOC_STRING && strcmp(node->text, rest) == 0));
    if (wants || refuses)
        return there == wants;
    struct text value = {0};
    if (there && is_own)
        text_add(&value, own);
    there = there && (is_own || add_value(node, end_sign == ' ' ? *rest : '\0', &value));
    if (there && teller->shell && strcmp(name, "line") != 0)
        text_add_word(out, text_within(&value, out));
    else if (there)
        text_add(out, text_within(&value, out));
    text_release(&value);
    return there;
}

/* Appends the clauses of a sentence whose values are all there. */
static void tell(const struct teller *teller, const char *sentence, struct text *out)
{
    size_t from = out->length;
    bool whole = true;
    for (const char *at = sentence; at && *at; at++) {
        if (*at == '|') {
            from = out->length;
            whole = true;
        } else if (*at != '{') {
            text_add_bytes(out, at, whole);
        } else {
            size_t length = strcspn(at, "}") - 1;
            whole = whole && fill(teller, at + 1, length, out);
            at += length + 1;
        }
        if (!whole && out->data)
            out->data[out->length = from] = '\0';
    }
    while (out->length > 0 && strchr(" ,.:;", out->data[out->length - 1])) /* of a clause that was the last */
        out->data[--out->length] = '\0';
}

/* The item of a list with the best value at a key. */
static const struct doc_node *best_of(const struct doc_node *list, const char *by)
{
    const struct doc_node *best = NULL;
    double sign = *by == '-' ? -1 : 1, most = -INFINITY;
    for (const struct doc_node *item = list ? list->first_child : NULL; item; item = item->next) {
        double value = sign * report_number(item, by + (*by == '-'));
        if (value > most) {
            most = value;
            best = item;
        }
    }
    return best;
}

static void add_next(struct report_part *part, const char *what, const char *line)
{
    text_add(&part->next, "<li>");
    html_element(&part->next, "span", NULL, "%s", what);
    text_add(&part->next, "<div class=\"command\">");
    html_element(&part->next, "code", NULL, "%s", line);
    text_add(&part->next, "</div></li>\n");
}

/* Documents without sentences of their own are told apart by their first texts. */
static void say_first(const struct doc_node *map, struct text *asked)
{
    int count = 0;
    for (const struct doc_node *node = map->first_child; node && count < 2; node = node->next)
        if (node->type == DOC_STRING && node->key && strcmp(node->key, "format") != 0 &&
            strcmp(node->key, "schema") != 0 && strcmp(node->key, "$schema") != 0)
            text_format(asked, "%s%s %.80s", count++ ? ", " : "", node->key, node->text);
}

bool report_tell(struct report_part *part, struct error *err)
{
    const struct doc_node *root = part->doc->root, *map = root->type == DOC_LIST ? root->first_child : root;
    const char *format = report_string(map, "format"), *list = NULL;
    struct doc verdicts;
    if (!format)
        format = report_string(map, "schema");
    if (part->says.length > 0)
        return true;
    if (!doc_parse(&verdicts, DOC_JSON, "page/verdicts.yaml", page_verdicts, page_verdicts_size, err))
        return false;
    const struct doc_node *verdict = format ? doc_find(verdicts.root, format) : NULL;
    struct teller teller = {part, map, NULL, false};
    if ((list = report_string(verdict, "best")))
        teller.item = best_of(report_list(map, list), report_string(verdict, "by"));
    tell(&teller, report_string(verdict, "asked"), &part->asked);
    tell(&teller, report_string(verdict, "says"), &part->says);
    tell(&teller, report_string(verdict, "sure"), &part->sure);
    teller.shell = true;
    const struct doc_node *next = report_list(verdict, "next");
    for (const struct doc_node *row = next ? next->first_child : NULL; row; row = row->next) {
        struct text line = {0};
        tell(&teller, report_string(row, "line"), &line);
        if (line.length > 0)
            add_next(part, report_string(row, "what"), line.data);
        part->next.failed |= line.failed;
        text_release(&line);
    }
    if (!verdict && map->type == DOC_MAP)
        say_first(map, &part->asked);
    doc_release(&verdicts);
    return true;
}

/* ---- on the page ---- */

/* The length of the quantity that a text begins with: "5.905 s". 0: of none. */
static size_t quantity_length(const char *text)
{
    size_t number = strspn(text, "0123456789.,e+-");
    return number > 0 && text[number] == ' ' ? number + 1 + strcspn(text + number + 1, " ,;") : 0;
}

void report_verdict(const struct report_part *part, struct text *out)
{
    const char *says = part->says.data;
    text_add(out, "<div class=\"verdict\">\n");
    if (part->asked.length > 0)
        html_element(out, "p", NULL, "%s.", part->asked.data);
    if (says) {
        int length = (int)quantity_length(says);
        text_add(out, "<p class=\"answer\"><strong>");
        html_format(out, "%.*s", length, says);
        text_add(out, "</strong>");
        html_format(out, "%s.", says + length);
        text_add(out, "</p>\n");
    }
    if (part->sure.length > 0)
        html_element(out, "p", "sure", "%s.", part->sure.data);
    if (part->has_planner)
        text_add(out, "<p><a href=\"#change\">Change the question below</a></p>\n");
    if (part->next.length > 0) {
        text_add(out, "<details open><summary>What to run next</summary>\n<ul class=\"commands\">\n");
        text_add(out, part->next.data);
        text_add(out, "</ul></details>\n");
    }
    text_add(out, "</div>\n");
}
