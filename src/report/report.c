#include "report/report.h"

#include "core/doc.h"
#include "core/file.h"
#include "report/folder.h"
#include "report/parts.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LINES 200 /* files of no kind that are named one by one */

static const char *const group_titles[REPORT_GROUPS] = {
    "Plans",
    "Sweeps",
    "Costs and profiles",
    "Predicted and measured",
    "Data sets",
    "Storage runs",
    "Traces",
    "Comparisons",
    "Steps",
    "Figures",
    "Inputs",
};

/* A file on its way into the page. */
struct item {
    const struct folder_file *file;
    const struct report_kind *kind;
    const char *problem, *undrawn;
    struct text section, says;
};

struct making {
    const struct report_options *options;
    struct report *report;
    struct folder folder;
    struct item *items;
    const char *links; /* from the page's folder to this one: "" or "../runs/" */
    size_t shown, bytes;
};

/* ---- one file ---- */

static bool load(struct doc *doc, const struct report_part *part, struct error *err)
{
    char *data;
    size_t length;
    if (!file_read(part->full, DOC_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = doc_parse(doc, doc_syntax_of(part->path), part->path, data, length, err);
    free(data);
    return ok;
}

static bool unknown_document(const struct doc *doc, struct error *err)
{
    const struct doc_node *map = doc->root->type == DOC_LIST ? doc->root->first_child : doc->root;
    const char *format = report_string(map, "format");
    if (format)
        return error_set(err, ERROR_INPUT, "unknown format '%s'", format);
    return error_set(err, ERROR_INPUT, "it says no format, and has not the keys of anything rehearse writes");
}

/* Sets item->kind before anything can be wrong with what is in it. */
static bool write_document(struct item *item, struct report_part *part, struct error *err)
{
    struct doc doc;
    item->kind = report_kind_of_ending(part->path);
    if (item->kind)
        return true;
    if (!load(&doc, part, err))
        return false;
    part->doc = &doc;
    item->kind = report_kind_of_doc(&doc);
    bool ok = item->kind ? !item->kind->write || item->kind->write(part, err) : unknown_document(&doc, err);
    part->doc = NULL;
    doc_release(&doc);
    return ok;
}

static bool write_file(struct item *item, struct report_part *part, struct error *err)
{
    item->kind = report_kind_of_ending(part->path);
    if (!item->kind && part->path[strlen(part->path) - 1] == '/')
        return error_set(err, ERROR_INPUT, "a folder below a folder: not looked into");
    return !item->kind || !item->kind->write || item->kind->write(part, err);
}

/* A message without the way to the folder, which the page does not depend on, and without what stands before it anyway. */
static const char *shorten(const struct making *making, const char *path, const char *message)
{
    struct text text = {0};
    const char *folder = making->options->folder, *copy = NULL;
    size_t length = strlen(folder), name = strlen(path);
    while (*message)
        if (strncmp(message, folder, length) == 0 && message[length] == '/')
            message += length + 1;
        else
            text_add_bytes(&text, message++, 1);
    if (text.data && !text.failed) {
        bool named = strncmp(text.data, path, name) == 0 && strncmp(text.data + name, ": ", 2) == 0;
        copy = arena_string(&making->report->arena, text.data + (named ? name + 2 : 0));
    }
    text_release(&text);
    return copy;
}

static bool fits(struct making *making, const struct report_part *part, struct error *err)
{
    if (part->out.length == 0)
        return true;
    if (making->shown == REPORT_MAX_SECTIONS)
        return error_set(err, ERROR_INPUT, "not shown: the page has %d files already", REPORT_MAX_SECTIONS);
    if (part->out.length > REPORT_MAX_PAGE - making->bytes)
        return error_set(err, ERROR_INPUT, "not shown: the page would pass %zu MiB", REPORT_MAX_PAGE >> 20);
    making->shown++;
    making->bytes += part->out.length;
    return true;
}

/* What is wrong with a file is told of it; false when memory ran out. */
static bool take(struct making *making, struct item *item, struct error *err)
{
    struct arena *arena = &making->report->arena;
    struct report_part part = {.path = item->file->path};
    struct error why;
    if (item->file->reason) {
        item->problem = shorten(making, part.path, item->file->reason);
        return item->problem || error_memory(err);
    }
    part.full = arena_format(arena, "%s/%s", making->options->folder, item->file->path);
    if (!part.full)
        return error_memory(err);
    bool ok = (doc_is_name(part.path) ? write_document : write_file)(item, &part, &why) &&
              fits(making, &part, &why);
    if (!ok && error_is_memory(&why)) {
        *err = why;
        text_release(&part.out);
        text_release(&part.says);
        return false;
    }
    if (ok) {
        item->section = part.out;
        item->says = part.says;
    } else {
        item->problem = shorten(making, part.path, why.text);
        text_release(&part.out);
        text_release(&part.says);
    }
    if (ok && part.undrawn.data)
        item->undrawn = shorten(making, part.path, part.undrawn.data);
    bool told = !part.undrawn.failed && (!ok || !part.undrawn.data || item->undrawn);
    text_release(&part.undrawn);
    return told && (ok || item->problem) && !item->section.failed && !item->says.failed ? true
                                                                                        : error_memory(err);
}

/* ---- the page ---- */

static enum report_group group_of(const struct item *item)
{
    return item->kind && item->section.length > 0 ? item->kind->group : REPORT_LINKED;
}

static void add_link(const struct making *making, const char *path, struct text *page)
{
    text_add(page, "<a href=\"");
    html_address(page, making->links);
    html_address(page, path);
    text_add(page, "\">");
    html_text(page, path);
    text_add(page, "</a>");
}

static size_t count_of(const struct making *making, enum report_group group)
{
    size_t count = 0;
    for (size_t i = 0; i < making->folder.count; i++)
        count += group_of(&making->items[i]) == group;
    return count;
}

static void write_contents(const struct making *making, struct text *page)
{
    text_add(page, "<nav aria-label=\"Contents\">\n<ol>\n<li><a href=\"#files\">Files</a></li>\n");
    for (int group = 0; group < REPORT_GROUPS; group++) {
        if (count_of(making, (enum report_group)group) == 0)
            continue;
        text_format(page, "<li><a href=\"#g%d\">%s</a><ol>\n", group, group_titles[group]);
        for (size_t i = 0; i < making->folder.count; i++)
            if (group_of(&making->items[i]) == (enum report_group)group) {
                text_format(page, "<li><a href=\"#f%zu\">", i);
                html_text(page, making->items[i].file->path);
                text_add(page, "</a></li>\n");
            }
        text_add(page, "</ol></li>\n");
    }
    text_add(page, "</ol>\n</nav>\n<main>\n");
}

static void write_overview_row(const struct making *making, size_t i, struct text *page)
{
    const struct item *item = &making->items[i];
    text_add(page, "<tr><th scope=\"row\">");
    add_link(making, item->file->path, page);
    text_add(page, "</th><td>");
    if (item->section.length > 0)
        text_format(page, "<a href=\"#f%zu\">", i);
    html_text(page, item->kind ? item->kind->name : "other");
    text_add(page, item->section.length > 0 ? "</a></td>" : "</td>");
    html_cell(page, cell_text(text_within(&item->says, page)));
    html_cell(page, cell_number(HTML_BYTES, (double)item->file->size));
    text_add(page, "</tr>\n");
}

/* In the order of the page; files that are only linked last. What was not understood stands in its own table. */
static void write_overview(const struct making *making, struct text *page)
{
    static const char *const titles[] = {"<file", "<what", "<says", ">size", NULL};
    size_t others = 0;
    double bytes = 0;
    html_table(page, NULL, titles);
    for (int group = 0; group <= REPORT_LINKED; group++)
        for (size_t i = 0; i < making->folder.count; i++) {
            const struct item *item = &making->items[i];
            if (item->problem || group_of(item) != (enum report_group)group)
                continue;
            if (item->kind || others++ < MAX_LINES)
                write_overview_row(making, i, page);
            else
                bytes += (double)item->file->size;
        }
    html_table_end(page);
    if (others > MAX_LINES) {
        struct unit_texts texts = {0};
        html_element(page, "p", "soft", "And %zu files of no known kind, %s.", others - MAX_LINES,
                     unit_text(&texts, bytes, UNIT_BYTES));
    }
}

static size_t count_problems(const struct making *making)
{
    size_t count = 0;
    for (size_t i = 0; i < making->folder.count; i++)
        count += making->items[i].problem != NULL;
    return count;
}

static void write_problems(const struct making *making, struct text *page)
{
    static const char *const titles[] = {"<file", "<why", NULL};
    if (count_problems(making) == 0)
        return;
    text_add(page, "<section class=\"problems\" id=\"problems\">\n<h3>Not understood, or not read</h3>\n");
    html_table(page, NULL, titles);
    for (size_t i = 0; i < making->folder.count; i++) {
        const struct item *item = &making->items[i];
        if (!item->problem)
            continue;
        text_add(page, "<tr><th scope=\"row\">");
        add_link(making, item->file->path, page);
        text_add(page, "</th>");
        html_cell(page, cell_text(item->problem));
        text_add(page, "</tr>\n");
    }
    html_table_end(page);
    text_add(page, "</section>\n");
}

static void write_section(const struct making *making, size_t i, struct text *page)
{
    const struct item *item = &making->items[i];
    text_format(page, "<section id=\"f%zu\">\n", i);
    text_add(page, "<h3>");
    add_link(making, item->file->path, page);
    text_add(page, " <span class=\"kind\">");
    html_text(page, item->kind->name);
    text_add(page, "</span></h3>\n");
    text_add_bytes(page, item->section.data, item->section.length);
    text_add(page, "</section>\n");
}

static const char *title_of(const struct making *making, char *folder)
{
    if (making->options->title)
        return making->options->title;
    return realpath(making->options->folder, folder) ? basename(folder) : making->options->folder;
}

static void write_page(const struct making *making, struct text *page)
{
    char folder[PATH_MAX];
    const char *title = title_of(making, folder);
    size_t problems = count_problems(making);
    report_page_begin(page, title);
    write_contents(making, page);
    html_element(page, "h1", NULL, "%s", title);
    html_element(page, "p", "soft", "%zu files, of which %zu are shown and %zu only linked%s",
                 making->folder.count, making->shown, making->folder.count - making->shown - problems,
                 problems > 0 ? "; not all could be understood or read:" : ".");
    write_problems(making, page);
    text_add(page, "<section id=\"files\">\n<h2>Files</h2>\n");
    write_overview(making, page);
    text_add(page, "</section>\n");
    for (int group = 0; group < REPORT_GROUPS; group++) {
        if (count_of(making, (enum report_group)group) == 0)
            continue;
        text_format(page, "<h2 id=\"g%d\">%s</h2>\n", group, group_titles[group]);
        for (size_t i = 0; i < making->folder.count; i++)
            if (group_of(&making->items[i]) == (enum report_group)group)
                write_section(making, i, page);
    }
    report_page_end(page);
}

/* ---- all of it ---- */

/* The way from the folder `from` to the folder `to`, both absolute, with a '/' at the end where it is not empty. */
static void relative_way(const char *from, const char *to, struct text *way)
{
    size_t same = 0, i = 0;
    for (; from[i] && from[i] == to[i]; i++)
        if (from[i] == '/')
            same = i;
    if ((!from[i] || from[i] == '/') && (!to[i] || to[i] == '/'))
        same = i;
    for (const char *rest = from + same; *rest; rest++)
        if (*rest == '/' && rest[1])
            text_add(way, "../");
    to += same;
    to += *to == '/';
    if (*to)
        text_format(way, "%s/", to);
}

static bool find_links(struct making *making, struct error *err)
{
    char folder[PATH_MAX], page[PATH_MAX];
    struct text way = {0};
    making->links = "";
    if (!making->options->output || strcmp(making->options->output, "-") == 0)
        return true;
    char *copy = strdup(making->options->output);
    if (!copy)
        return error_memory(err);
    errno = 0;
    bool known = realpath(dirname(copy), page) && realpath(making->options->folder, folder);
    free(copy);
    if (!known)
        return errno != ENOMEM || error_memory(err); /* that the page cannot be written is told when it is */
    relative_way(page, folder, &way);
    making->links = way.failed ? NULL : arena_string(&making->report->arena, way.data ? way.data : "");
    text_release(&way);
    return making->links || error_memory(err);
}

/* The entries, in the order of the page. */
static bool list_entries(struct making *making, struct error *err)
{
    struct report *report = making->report;
    report->entries = ARENA_ARRAY(&report->arena, making->folder.count, struct report_entry);
    if (!report->entries)
        return error_memory(err);
    for (int group = 0; group <= REPORT_LINKED; group++)
        for (size_t i = 0; i < making->folder.count; i++) {
            const struct item *item = &making->items[i];
            if (group_of(item) != (enum report_group)group)
                continue;
            const char *path = arena_string(&report->arena, item->file->path);
            if (!path)
                return error_memory(err);
            report->entries[report->count++] = (struct report_entry){
                path, item->kind ? item->kind->name : NULL, item->problem, item->undrawn};
        }
    return report->count == making->folder.count || error_memory(err);
}

static bool any_understood(const struct making *making)
{
    for (size_t i = 0; i < making->folder.count; i++)
        if (making->items[i].kind)
            return true;
    return false;
}

static bool make(struct making *making, struct error *err)
{
    const char *path = making->options->folder;
    size_t count = making->folder.count;
    if (count == 0)
        return error_set(err, ERROR_INPUT, "%s: there is nothing in this folder to report", path);
    making->items = ARENA_ARRAY(&making->report->arena, count, struct item);
    if (!making->items || !find_links(making, err))
        return making->items ? false : error_memory(err);
    for (size_t i = 0; i < count; i++) {
        making->items[i].file = &making->folder.files[i];
        if (!take(making, &making->items[i], err))
            return false;
    }
    if (!any_understood(making))
        return error_set(err, ERROR_INPUT, "%s: of %zu files there is none that a report knows: %s%s%s", path,
                         count, making->items[0].file->path, making->items[0].problem ? ": " : "",
                         making->items[0].problem ? making->items[0].problem : "");
    write_page(making, &making->report->page);
    return (!making->report->page.failed || error_memory(err)) && list_entries(making, err);
}

bool report_make(struct report *report, const struct report_options *options, struct error *err)
{
    struct making making = {.options = options, .report = report};
    memset(report, 0, sizeof *report);
    if (!folder_read(&making.folder, options->folder, options->output, err))
        return false;
    bool ok = make(&making, err);
    for (size_t i = 0; making.items && i < making.folder.count; i++) {
        text_release(&making.items[i].section);
        text_release(&making.items[i].says);
    }
    folder_release(&making.folder);
    if (!ok)
        report_release(report);
    return ok;
}

void report_release(struct report *report)
{
    text_release(&report->page);
    arena_release(&report->arena);
    memset(report, 0, sizeof *report);
}
