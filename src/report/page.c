/* The frame of every page, and pages of one answer. */
#include "report/page.h"
#include "report/html.h"

/* Made of the folder page/ when rehearse is built. */
extern const char page_style[], page_script[], page_script_digest[];
extern const char planner_glue[], planner_glue_digest[], planner_engine[];
extern const size_t page_style_size, page_script_size, planner_glue_size, planner_engine_size;

/* Nothing is loaded, and no script runs but the page's own and what that starts: the policy says so to the browser as well. */
void report_page_begin(struct text *page, const char *title)
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
    text_add(page, "</style>\n</head>\n<body>\n<div class=\"frame\">\n");
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
    html_base64(page, planner_engine, planner_engine_size);
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
