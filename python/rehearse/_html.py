"""What Jupyter shows of an answer: its page, which needs no server, and behind it what stands there where scripts are not trusted."""

import base64
import hashlib
import re
from html import escape

from rehearse import _rehearse

HEIGHT = 640  # pixels of a page in a cell
ROWS = 20  # of a table
STATIC_LIMIT = 100000  # characters of a page without its scripts
TEXT = 48  # characters of a cell
TASKS_LIMIT = 1500  # of a picture
LANES_LIMIT = 16
WIDTH, LANE, LEFT = 900, 18, 90  # pixels of a picture

# What a page has that draws the picture itself.
TIMELINE = 'data-draw="timeline"'
# Where the planner stands in a page.
PLANNER = ('<figure class="draw" data-draw="planner"', "</figure>")

# The colours of a page (page/draw.js), by kind of task.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#f0e442")


def page_cell(page, height=HEIGHT, picture=""):
    """A page in a frame of its own, where its scripts reach nothing of the notebook. A notebook that is not trusted drops frames and
    styles: then the text and tables of the page stand there, and the picture."""
    name = "rehearse-" + hashlib.sha256(page.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    title = re.search(r"<title>(.*?)</title>", page, re.S)
    return (
        f'<div>{"" if TIMELINE in page else picture}<iframe title="{title[1] if title else "rehearse"}" sandbox="allow-scripts allow-downloads" allow="clipboard-write" loading="lazy" '
        f'style="width: 100%; height: {int(height)}px; border: 0; resize: vertical" srcdoc="{escape(page)}"></iframe>'
        f'<div class="{name}">{picture if TIMELINE in page else ""}{static_part(page)}</div><style>.{name} {{display: none}}</style></div>'
    )


def without_planner(page):
    """A page that does not bring the planner along, which is a megabyte and more, and has one cell of its own: rehearse.explorer()."""
    for begin, end in (('<script type="application/octet-stream" id="planner-engine">', "</script>"), ('<script id="planner-glue">', "</script>"), PLANNER):
        first = page.find(begin)
        if first >= 0:
            last = page.find(end, first) + len(end)
            page = page[:first] + page[last:]
    return page


def planner_first(page):
    """A page whose planner stands before the answer."""
    first = page.find(PLANNER[0])
    last = page.find(PLANNER[1], first) + len(PLANNER[1])
    top = page.find(">", page.find("<main")) + 1
    return page if first < 0 else page[:top] + page[first:last] + page[top:first] + page[last:]


def first_rows(body):
    """A table's body of its first rows, and a row that says how many more there are."""
    rows = body[0].split("<tr")
    if len(rows) - 1 <= ROWS or "<table" in body[0]:
        return body[0]
    return "<tr".join(rows[: ROWS + 1]) + f"<tr><td>… {len(rows) - 1 - ROWS:,} more rows</td></tr></tbody>"


def static_part(page):
    """What a page says without scripts, for another document: without places that links lead to."""
    found = re.search(r"<main[^>]*>(.*)</main>", page, re.S)
    part = found[1] if found else ""
    if len(part) > STATIC_LIMIT:
        part = re.sub(r"<tbody>.*?</tbody>", first_rows, part, flags=re.S)
    if len(part) > STATIC_LIMIT:  # what comes before its tables
        part = part[: part.find("<table")]
        part = part if part.count("<div") == part.count("</div") else part[: part.rfind("<div")]
    part = part.replace('<svg class="bar"', '<svg width="400" height="12"').replace("<svg viewBox", '<svg width="10" height="10" viewBox')
    return re.sub(r'\s(?:id|data-[a-z]+)="[^"]*"', "", part)


# ---- tables ----


def text_of(value):
    """A value in a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10000 else str(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if value == value // 1 and 1e4 <= abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, (list, tuple, _rehearse.Column)):
        return ", ".join(map(text_of, value)) if len(value) <= 4 else f"{text_of(value[0])}, … {text_of(value[-1])} ({len(value)})"
    return str(value)


def cell_of(value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    text = text_of(value)
    whole = f' title="{escape(text)}"' if len(text) > TEXT else ""
    text = text[: TEXT - 1] + "…" if whole else text
    return f'<td style="text-align: {"right" if number else "left"}; white-space: nowrap"{whole}>{escape(text)}</td>'


def head_of(owner, name, key):
    """The head of a column: its name and unit, and its meaning behind it."""
    meaning = (getattr(type(owner), name, None).__doc__ or "") if isinstance(getattr(type(owner), name, None), property) else ""
    unit = re.search(r" (\[[^\]]+\])$", meaning)
    unit = unit[1] if unit and unit[1] != "[1]" else ""
    return f'<span title="{escape(meaning)}">{escape(f"{key} {unit}".strip())}</span>'


def table(owner, columns, caption):
    """Rows of columns: [(name, values)]."""
    names = {key: name for name, key in type(owner)._described.items()}
    count = max((len(values) for _, values in columns), default=0)
    heads = "".join(f'<th scope="col" style="text-align: left">{head_of(owner, names.get(key, key), key)}</th>' for key, _ in columns)
    rows = "".join(f"<tr>{''.join(cell_of(values[row]) for _, values in columns)}</tr>" for row in range(min(count, ROWS)))
    more = f"<p>… {count - ROWS:,} more rows</p>" if count > ROWS else ""
    return f'<table><caption style="text-align: left">{escape(caption)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}'


def table_of(rows):
    """A rehearse.Table: its rows, or single values."""
    from rehearse import _arrow

    values = dict(rows.items())
    if any(isinstance(value, (tuple, _rehearse.Column)) for value in values.values()):
        return table(rows, _arrow.columns(rows), rows._prefix)
    return single_table(rows, values.items(), rows._prefix)


def single_table(owner, values, caption):
    """Single values, one below the other."""
    names = {key: name for name, key in type(owner)._described.items()}
    rows = "".join(f'<tr><th scope="row" style="text-align: left">{head_of(owner, names.get(key, key), key)}</th>{cell_of(value)}</tr>' for key, value in values)
    return f'<table><caption style="text-align: left">{escape(caption)}</caption><tbody>{rows}</tbody></table>'


def answer(handle):
    """An answer that has no page: its single values, its tables, and what the command prints."""
    from rehearse import _handles

    names = {key: name for name, key in type(handle)._described.items()}
    singles = [(key, value) for key, value in handle.items() if not isinstance(value, (tuple, _rehearse.Column)) and "." not in key]
    title = type(handle).__doc__ or handle.kind
    tables = [_handles.Table(handle, name) for name in dict.fromkeys(key.split(".")[0] for key in handle.names if "." in key)]
    tables = [getattr(handle, names.get(one._prefix, one._prefix), one) for one in tables]
    parts = [table_of(one) for one in tables if isinstance(one, _handles.Table) and len(one)]
    try:
        text = f"<details><summary>As the command prints it</summary><pre>{escape(str(handle))}</pre></details>"
    except _rehearse.Error:
        text = ""
    single = single_table(handle, singles, title)
    return f'<div style="overflow-x: auto">{single}{"".join(parts)}{text}</div>'


# ---- pictures ----


def timeline(tasks, title):
    """The first tasks of some devices as SVG; None: there are none."""
    devices, kinds, count, last = {}, {}, 0, 0.0
    for device, kind, begin, end in zip(tasks.device, tasks.kind, tasks.begin, tasks.end):
        if device in devices or len(devices) < LANES_LIMIT:
            devices.setdefault(device, len(devices))
            kinds.setdefault(kind, []).append((device, begin, end))
            count, last = count + 1, max(last, end)
        if count == TASKS_LIMIT:
            break
    if not last > 0:
        return None
    lanes = {device: place for place, device in enumerate(sorted(devices))}
    height = (len(devices) + 2) * LANE + 8
    scale = (WIDTH - LEFT - 8) / last
    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="11" role="img"><title>{escape(title)}</title><rect width="100%" height="100%" fill="#ffffff"/>'
    ]
    for device, lane in lanes.items():
        made.append(f'<text x="4" y="{lane * LANE + 13}">device {device}</text>')
    for place, boxes in enumerate(kinds.values()):
        path = "".join(
            f"M{LEFT + begin * scale:.1f} {lanes[device] * LANE + 1}h{max((end - begin) * scale, 0.3):.1f}v{LANE - 2}h-{max((end - begin) * scale, 0.3):.1f}z"
            for device, begin, end in boxes
        )
        made.append(f'<path d="{path}" fill="{COLOURS[place % len(COLOURS)]}" stroke="#ffffff" stroke-width="0.4"/>')
    y = len(devices) * LANE + 14
    made.append(f'<text x="{LEFT}" y="{y}">0 s</text><text x="{WIDTH - 8}" y="{y}" text-anchor="end">{last:.4g} s</text>')
    x = LEFT
    for place, kind in enumerate(kinds):
        made.append(f'<rect x="{x}" y="{y + 7}" width="10" height="10" fill="{COLOURS[place % len(COLOURS)]}"/><text x="{x + 14}" y="{y + 16}">{escape(kind)}</text>')
        x += 28 + 7 * len(kind)
    return "".join(made) + "</svg>"


def image(svg, title):
    """A picture that no sanitizer has to look into."""
    return f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'
