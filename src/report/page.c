/* The frame of every page, and pages of one answer. */
#include "report/page.h"
#include "report/parts.h"

#include <ctype.h>

/* Made of the folder page/ when rehearse is built. */
extern const char page_style[], page_script[], page_script_digest[];
extern const char planner_glue[], planner_glue_digest[], planner_engine[];
extern const size_t page_style_size, page_script_size, planner_glue_size, planner_engine_size;

/* Nothing is loaded, and no script runs but the page's own and what that starts: the policy says so to the browser
 * as well. */
void report_page_begin(struct text *page, const char *title, const char *class)
{
    text_format(page,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
                "style-src 'unsafe-inline'; script-src '%s' '%s' 'wasm-unsafe-eval'; worker-src blob:\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"generator\" content=\"rehearse report\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n",
                page_script_digest, planner_glue_digest);
    html_element(page, "title", NULL, "%s", title);
    text_add(page, "<style>\n");
    text_add_bytes(page, page_style, page_style_size);
    text_format(page, "</style>\n</head>\n<body>\n<div class=\"%s\">\n", class);
}

void report_page_close(struct text *page, const char *remark)
{
    html_element(page, "footer", NULL, "Made by rehearse %s. %s", REHEARSE_VERSION, remark);
    text_add(page, "</main>\n</div>\n");
}

void report_page_planner(struct text *page)
{
    if (planner_engine_size == 0)
        return;
    text_add(page, "<script type=\"application/octet-stream\" id=\"planner-engine\">");
    html_base64(page, (const unsigned char *)planner_engine, planner_engine_size);
    text_add(page, "</script>\n<script id=\"planner-glue\">");
    text_add_bytes(page, planner_glue, planner_glue_size);
    text_add(page, "</script>\n");
}

void report_page_end(struct text *page)
{
    text_add(page, "<script>");
    text_add_bytes(page, page_script, page_script_size);
    text_add(page, "</script>\n</body>\n</html>\n");
}

/* ---- one answer ---- */

static void write_answer(struct report_part *part, const char *kind, const struct report_answer *answer,
                         struct text *page)
{
    report_page_begin(page, part->asked.length > 0 ? part->asked.data : kind, "frame alone");
    text_add(page, "<main>\n<header>\n");
    html_element(page, "h1", NULL, "%c%s", toupper((unsigned char)*kind), kind + 1);
    report_verdict(part, page);
    text_add(page, "</header>\n<h2 class=\"heard\">In detail</h2>\n");
    text_add(page, text_within(&part->out, page));
    text_add(page, "<details>\n<summary>The answer as the command prints it</summary>\n");
    if (answer->line) {
        text_add(page, "<div class=\"command\">");
        html_element(page, "code", NULL, "%s", answer->line);
        text_add(page, "</div>\n");
    }
    html_element(page, "pre", NULL, "%s", answer->text);
    text_add(page, "</details>\n");
    report_page_close(page, "The page needs nothing else.");
    text_add(page, text_within(&part->data, page));
    if (part->has_planner)
        report_page_planner(page);
    report_page_end(page);
}

bool report_answer(const struct report_answer *answer, struct text *page, struct error *err)
{
    struct report_part part = {
        .path = "answer", .full = "answer", .line = answer->line, .file = answer->file};
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, part.path, answer->json, answer->json_length, err))
        return false;
    part.doc = &doc;
    const struct report_kind *kind = report_kind_of_doc(&doc);
    const struct report_drawing *drawing = answer->drawing;
    if (drawing && drawing->draw)
        report_add_drawing(&part, drawing);
    bool ok = kind && kind->write ? kind->write(&part, err) && report_tell(&part, err)
                                  : error_set(err, ERROR_USAGE, "there is no page of this kind of answer");
    if (ok)
        write_answer(&part, kind->name, answer, page);
    ok = ok && (!(page->failed || report_part_failed(&part)) || error_memory(err));
    report_part_release(&part);
    doc_release(&doc);
    return ok;
}
