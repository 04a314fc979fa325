/* The frame of the page: how it looks, on a screen and on paper. */
#include "report/parts.h"

/* Nothing is loaded and nothing runs: the policy says so to the browser as well. */
static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"generator\" content=\"rehearse report\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n";

static const char style[] =
    "<style>\n"
    ":root{--ink:#1c2128;--soft:#57606a;--line:#d8dee4;--faint:#f4f6f8;--page:#fff;--link:#0a58a6;"
    "--good:#14692d;--bad:#b01e1e;--track:#e9edf1}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b1;--line:#343b44;--faint:#1d232b;"
    "--page:#14181d;--link:#7ab7f5;--good:#66c283;--bad:#ff8f87;--track:#2a313a}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 -apple-system,\"Segoe UI\",Roboto,"
    "\"Helvetica Neue\",\"Noto Sans\",\"Liberation Sans\",Arial,sans-serif;"
    "font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}\n"
    "a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}\n"
    ".frame{display:grid;grid-template-columns:13.5rem minmax(0,64rem);gap:3rem;max-width:82rem;"
    "margin:0 auto;padding:2.5rem 2rem 4rem}\n"
    "nav{position:sticky;top:2.5rem;align-self:start;max-height:calc(100vh - 5rem);overflow:auto;"
    "font-size:.87rem;line-height:1.4}\n"
    "nav ol{list-style:none;margin:0 0 1rem;padding:0}nav li{margin:.3rem 0;overflow-wrap:anywhere}"
    "nav ol ol{margin:.2rem 0 .7rem .8rem}nav>ol>li>a{font-weight:600;color:var(--ink)}\n"
    "h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 .3rem;overflow-wrap:anywhere}\n"
    "h2{font-size:1.3rem;letter-spacing:-.01em;margin:3.2rem 0 .4rem;padding-bottom:.35rem;"
    "border-bottom:2px solid var(--ink)}\n"
    "h3{font-size:1.06rem;margin:2.2rem 0 .2rem;overflow-wrap:anywhere}h4{font-size:.93rem;margin:1.4rem 0 "
    ".3rem}\n"
    "p{margin:.4rem 0 .8rem;max-width:46rem}.soft,caption,figcaption{color:var(--soft)}\n"
    "code,.code{font:.92em \"DejaVu Sans Mono\",Consolas,Menlo,monospace;overflow-wrap:anywhere}"
    "h3 a{color:inherit}.kind{font-weight:400;font-size:.87rem;color:var(--soft);margin-left:.5rem}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:.9rem 2.4rem;margin:.7rem 0 1.1rem;padding:.9rem 1.1rem;"
    "background:var(--faint);border-radius:6px}\n"
    ".facts dt{font-size:.79rem;color:var(--soft)}.facts dd{margin:0;font-size:1.12rem;font-weight:600;"
    "line-height:1.35;overflow-wrap:anywhere}\n"
    ".wide{overflow-x:auto;margin:.8rem 0 1.3rem}\n"
    "table{border-collapse:collapse;font-size:.87rem;line-height:1.4}\n"
    "caption{text-align:left;padding:0 0 .35rem;font-size:.87rem}\n"
    "th,td{padding:.3rem 1.2rem .3rem 0;text-align:left;vertical-align:baseline;"
    "border-bottom:1px solid var(--line);overflow-wrap:break-word}\n"
    "thead th{font-weight:600;color:var(--soft);border-bottom:1px solid var(--soft);vertical-align:bottom}\n"
    "tbody "
    "th{font-weight:600;min-width:6rem;max-width:34rem}th.n,td.n{text-align:right}td.n,td.s{white-space:"
    "nowrap}td.t{min-width:13rem}td.m{padding:.3rem .6rem}\n"
    "th:last-child,td:last-child{padding-right:0}#files table,#problems table{width:100%}"
    "#files th,#problems th{overflow-wrap:anywhere}\n"
    ".good{color:var(--good);font-weight:600}.bad{color:var(--bad);font-weight:600}\n"
    ".problems{border-left:3px solid var(--bad);padding-left:1.1rem}\n"
    "svg.bar{display:block;width:100%;min-width:11rem;height:.8rem;background:var(--track);border-radius:2px}"
    "p svg.bar{height:1.2rem}\n"
    "td svg.bar{vertical-align:middle}td.bars{width:16rem;vertical-align:middle}\n"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.4rem 0 .8rem;padding:0;"
    "font-size:.83rem}.legend svg{width:.75em;height:.75em;margin-right:.4em}\n"
    "figure{margin:1rem 0 1.4rem;max-width:46rem}figure.wide{max-width:none}figure "
    "img{display:block;max-width:100%;height:auto;background:#fff;"
    "border:1px solid "
    "var(--line);border-radius:6px;padding:.5rem}figcaption{font-size:.87rem;margin-top:.35rem}\n"
    "footer{margin-top:4rem;padding-top:.8rem;border-top:1px solid var(--line);font-size:.83rem;"
    "color:var(--soft)}\n"
    "@media (max-width:62rem){.frame{display:block;padding:1.5rem 1rem}nav{position:static;max-height:none;"
    "margin-bottom:2rem}nav ol ol{display:none}}\n";

static const char print[] =
    "@page{size:A4;margin:17mm 15mm 18mm;@bottom-right{content:counter(page) \" / \" counter(pages);"
    "font:8pt \"Liberation Sans\",Arial,sans-serif;color:#555}}\n"
    "@media print{:root{--ink:#000;--soft:#444;--line:#ccc;--faint:#f4f4f4;--page:#fff;--link:#000;"
    "--good:#0a4d1f;--bad:#8f1414;--track:#eee}\n"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}\n"
    "body{font-size:9.5pt}.frame{display:block;max-width:none;padding:0}nav{display:none}\n"
    "h2,h3,h4,caption,thead,h3+p,h3+p+p,h3+p+p+p{break-after:avoid}.wide:not(:has(tr:nth-child(18))){break-"
    "inside:avoid}"
    "tr,figure,.facts,.legend,li{break-inside:avoid}\n"
    "thead{display:table-header-group}.wide{overflow:visible}p{orphans:3;widows:3}"
    "table{font-size:8pt}th,td{padding-right:.7rem}\n"
    "svg.bar{min-width:5rem}td svg.bar{height:.5rem}td.bars{width:9rem}.facts "
    "dd{font-size:10.5pt}h2{margin-top:1.6rem}figure "
    "img{max-height:225mm;border:0;padding:0}}\n"
    "</style>\n";

void report_page_begin(struct text *page, const char *title)
{
    text_add(page, head);
    html_element(page, "title", NULL, "%s", title);
    text_add(page, style);
    text_add(page, print);
    text_add(page, "</head>\n<body>\n<div class=\"frame\">\n");
}

void report_page_end(struct text *page)
{
    html_element(
        page, "footer", NULL,
        "Made by rehearse %s report. Links lead to the files beside this page; the page itself needs "
        "nothing else.",
        REHEARSE_VERSION);
    text_add(page, "</main>\n</div>\n</body>\n</html>\n");
}
