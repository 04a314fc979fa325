'use strict';

/* Lines over a number: draw.curve(figure, data), and draw.points(figure) of the table that stands in the figure.
 *
 *     {"x": {"title": "devices", "unit": "", "log": true}, "y": {"title": "throughput", "unit": "tokens/s"},
 *      "lines": [{"name": "batch 256", "x": [8, 16], "y": [78035, 152982]}]}
 *
 * Lines without x have x.values. A missing value is null and makes a gap. Wheel with Ctrl (or alone, once the picture has the focus) zooms, drag moves, a double
 * click shows all again; with the keyboard arrows move the cursor, + and - zoom, Home shows all. */

const curveMargin = {left: 74, right: 16, top: 12, bottom: 42};

class Curve {
    constructor(figure, data) {
        this.hidden = new Set();
        this.tools = element('div', {class: 'tools'});
        this.surface = surface(figure, {label: '', height: width => Math.max(200, Math.min(420, Math.round(width * 0.42))),
            paint: (context, width, height, colours) => this.paint(context, width, height, colours)});
        this.surface.frame.before(this.tools);
        this.listen(this.surface.canvas);
        onTheme(() => this.recolour());
        this.set(data);
    }

    /* Shows other data. */
    set(data) {
        for (const line of data.lines)
            line.x = line.x || data.x.values;
        this.data = data;
        this.hidden.clear();
        const all = data.lines.flatMap(line => line.x).filter(x => x !== null && (!data.x.log || x > 0));
        this.whole = [this.scaleX(Math.min(...all)), this.scaleX(Math.max(...all))];
        if (this.whole[0] === this.whole[1])
            this.whole = [this.whole[0] - 0.5, this.whole[1] + 0.5];
        this.view = [...this.whole];
        this.cursor = null;
        this.surface.canvas.setAttribute('aria-label', this.describe());
        this.tools.replaceChildren(...(data.lines.length > 1 ? data.lines.map((line, i) => this.switchOf(line, i)) : []));
        this.recolour();
        this.say();
        this.surface.repaint();
    }

    /* A button that shows and hides a line, with its colour. */
    switchOf(line, i) {
        const button = element('button', {type: 'button', 'aria-pressed': 'true', onclick: () => {
            const shown = this.hidden.delete(i) || !this.hidden.add(i);
            button.setAttribute('aria-pressed', String(shown));
            this.surface.repaint();
        }}, element('i'), line.name);
        return button;
    }

    recolour() {
        this.tools.querySelectorAll('i').forEach((sign, i) => { sign.style.background = theme().series[i % 8]; });
    }

    describe() {
        const {x, y, lines} = this.data;
        const parts = lines.slice(0, 12).map(line => {
            const known = line.y.map((value, i) => [value, line.x[i]]).filter(pair => pair[0] !== null);
            if (known.length === 0)
                return `${line.name}: nothing`;
            const [first, last] = [known[0], known[known.length - 1]];
            return `${line.name}: ${quantity(first[0], y.unit)} at ${quantity(first[1], x.unit)}, ` +
                `${quantity(last[0], y.unit)} at ${quantity(last[1], x.unit)}`;
        });
        return `Lines of ${y.title} over ${x.title}. ${parts.join('. ')}`;
    }

    /* ---- places ---- */

    scaleX(x) { return this.data.x.log ? Math.log2(x) : x; }

    toX(x) {
        const width = this.surface.width - curveMargin.left - curveMargin.right;
        return curveMargin.left + (this.scaleX(x) - this.view[0]) / (this.view[1] - this.view[0]) * width;
    }

    fromX(pixel) {
        const width = this.surface.width - curveMargin.left - curveMargin.right;
        return this.view[0] + (pixel - curveMargin.left) / width * (this.view[1] - this.view[0]);
    }

    /* Values of y in sight: from 0, but where all lie close together far from it. */
    rangeY() {
        let least = Infinity, most = -Infinity;
        this.eachPoint((line, i, x, y) => {
            const at = this.scaleX(x);
            if (at >= this.view[0] && at <= this.view[1]) {
                least = Math.min(least, y);
                most = Math.max(most, y);
            }
        });
        if (least > most)
            return [0, 1];
        if (least > 0 && least < 0.8 * most)
            least = 0;
        const room = (most - least || Math.abs(most) || 1) * 0.05;
        return [least === 0 ? 0 : least - room, most + room];
    }

    eachPoint(visit) {
        this.data.lines.forEach((line, number) => {
            if (!this.hidden.has(number))
                for (let i = 0; i < line.x.length; i++)
                    if (line.y[i] !== null && line.x[i] !== null && (!this.data.x.log || line.x[i] > 0))
                        visit(line, i, line.x[i], line.y[i]);
        });
    }

    /* ---- painting ---- */

    paint(context, width, height, colours) {
        if (!this.data)
            return;
        const {left, right, top, bottom} = curveMargin;
        const range = this.rangeY();
        const toY = y => height - bottom - (y - range[0]) / (range[1] - range[0]) * (height - top - bottom);
        context.font = `${colours.size}px ${colours.font}`;
        this.paintAxes(context, width, height, colours, range, toY);
        context.save();
        context.beginPath();
        context.rect(left - 6, 0, width - left - right + 12, height - bottom + 6);
        context.clip();
        this.data.lines.forEach((line, i) => this.hidden.has(i) || this.paintLine(context, line, i, colours, toY));
        if (this.cursor !== null)
            this.paintCursor(context, height - bottom, colours, toY);
        context.restore();
    }

    paintAxes(context, width, height, colours, range, toY) {
        const {left, right, bottom} = curveMargin;
        context.lineWidth = 1;
        context.fillStyle = colours.soft;
        context.strokeStyle = colours.line;
        context.textAlign = 'right';
        context.textBaseline = 'middle';
        for (const tick of ticks(range[0], range[1], Math.floor(height / 60))) {
            const y = Math.round(toY(tick)) + 0.5;
            context.beginPath();
            context.moveTo(left, y);
            context.lineTo(width - right, y);
            context.stroke();
            context.fillText(quantity(tick, this.data.y.unit.length > 3 ? '' : this.data.y.unit), left - 8, y);
        }
        context.textAlign = 'center';
        context.textBaseline = 'top';
        for (const tick of this.ticksX(width)) {
            context.fillText(quantity(tick, this.data.x.unit), this.toX(tick), height - bottom + 8);
            context.fillRect(Math.round(this.toX(tick)), height - bottom, 1, 4);
        }
        const unit = this.data.y.unit;
        context.fillText(this.data.x.title, left + (width - left - right) / 2, height - 16);
        context.textAlign = 'left';
        context.fillText(this.data.y.title + (unit.length > 3 ? `, ${unit}` : ''), left + 6, 0);
        context.fillRect(left, height - bottom, width - left - right, 1);
    }

    ticksX(width) {
        const count = Math.max(2, Math.floor(width / 110));
        if (!this.data.x.log)
            return ticks(this.view[0], this.view[1], count);
        const values = [...new Set(this.data.lines.flatMap(line => line.x))].filter(x => x > 0).sort((one, other) => one - other)
            .filter(x => this.scaleX(x) >= this.view[0] && this.scaleX(x) <= this.view[1]);
        const every = Math.ceil(values.length / count);
        return values.filter((_, i) => i % every === 0);
    }

    /* Beyond the last colour lines are dashed. */
    paintLine(context, line, number, colours, toY) {
        const few = line.x.length <= 60;
        context.strokeStyle = context.fillStyle = colours.series[number % 8];
        context.setLineDash(number < 8 ? [] : [6, 3]);
        context.lineWidth = 1.8;
        context.lineJoin = 'round';
        context.beginPath();
        for (let i = 0, gap = true; i < line.x.length; i++) {
            const missing = line.y[i] === null || (this.data.x.log && !(line.x[i] > 0));
            if (!missing)
                context[gap ? 'moveTo' : 'lineTo'](this.toX(line.x[i]), toY(line.y[i]));
            gap = missing;
        }
        context.stroke();
        context.setLineDash([]);
        for (let i = 0; few && i < line.x.length; i++)
            if (line.y[i] !== null) {
                context.beginPath();
                context.arc(this.toX(line.x[i]), toY(line.y[i]), 3, 0, 2 * Math.PI);
                context.fill();
            }
    }

    paintCursor(context, floor, colours, toY) {
        const x = Math.round(this.toX(this.cursor)) + 0.5;
        context.strokeStyle = colours.soft;
        context.beginPath();
        context.moveTo(x, 0);
        context.lineTo(x, floor);
        context.stroke();
        for (const {line, y} of this.valuesAt(this.cursor)) {
            context.fillStyle = colours.page;
            context.strokeStyle = colours.series[this.data.lines.indexOf(line) % 8];
            context.lineWidth = 2.5;
            context.beginPath();
            context.arc(x, toY(y), 4.5, 0, 2 * Math.PI);
            context.fill();
            context.stroke();
        }
    }

    /* ---- the cursor ---- */

    /* All x in sight, in order. */
    places() {
        const places = new Set();
        this.eachPoint((line, i, x) => places.add(x));
        return [...places].filter(x => this.scaleX(x) >= this.view[0] - 1e-9 && this.scaleX(x) <= this.view[1] + 1e-9)
            .sort((one, other) => one - other);
    }

    /* Of each line the value at x. */
    valuesAt(x) {
        const values = [];
        this.data.lines.forEach((line, i) => {
            if (this.hidden.has(i))
                return;
            const at = line.x.indexOf(x);
            if (at >= 0 && line.y[at] !== null)
                values.push({line, y: line.y[at]});
        });
        return values;
    }

    moveCursor(x) {
        this.cursor = x;
        this.say();
        this.surface.repaint();
    }

    say() {
        const {x, y} = this.data;
        const hint = 'Point at a line for its numbers; Ctrl and the wheel zoom, arrow keys move the cursor.';
        const texts = this.cursor === null ? [] : this.valuesAt(this.cursor)
            .map(value => (value.line.name ? `${value.line.name}: ` : '') + quantity(value.y, y.unit));
        this.surface.say(this.cursor === null ? hint : `${x.title} ${quantity(this.cursor, x.unit)}: ${texts.join('; ') || 'no value'}`);
    }

    /* ---- zoom ---- */

    /* Shows a range, which stays within the whole. */
    show(from, to) {
        const width = Math.min(to - from, this.whole[1] - this.whole[0]);
        const start = Math.max(this.whole[0], Math.min(from, this.whole[1] - width));
        if (width > 0)
            this.view = [start, start + width];
        this.surface.repaint();
    }

    zoom(factor, around) {
        const [from, to] = this.view;
        if (factor > 1 || (to - from) * factor > (this.whole[1] - this.whole[0]) / 1e6)
            this.show(around - (around - from) * factor, around + (to - around) * factor);
    }

    listen(canvas) {
        let from = null;
        canvas.addEventListener('wheel', event => {
            if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas)
                return;
            event.preventDefault();
            this.zoom(Math.exp(event.deltaY / 400), this.fromX(event.offsetX));
        }, {passive: false});
        canvas.addEventListener('pointerdown', event => {
            from = {x: event.offsetX, view: [...this.view]};
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener('pointermove', event => {
            if (from !== null && event.buttons) {
                const width = this.surface.width - curveMargin.left - curveMargin.right;
                const moved = (from.x - event.offsetX) / width * (from.view[1] - from.view[0]);
                this.show(from.view[0] + moved, from.view[1] + moved);
                return;
            }
            const at = this.fromX(event.offsetX);
            const places = this.places();
            if (places.length > 0)
                this.moveCursor(places.reduce((best, x) => Math.abs(this.scaleX(x) - at) < Math.abs(this.scaleX(best) - at) ? x : best));
        });
        canvas.addEventListener('pointerup', () => { from = null; });
        canvas.addEventListener('pointerleave', () => this.moveCursor(null));
        canvas.addEventListener('dblclick', () => this.show(...this.whole));
        canvas.addEventListener('keydown', event => this.press(event));
    }

    press(event) {
        const places = this.places();
        const middle = this.cursor === null ? (this.view[0] + this.view[1]) / 2 : this.scaleX(this.cursor);
        const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (step && places.length > 0) {
            const now = this.cursor === null ? (step > 0 ? -1 : places.length) : places.indexOf(this.cursor);
            this.moveCursor(places[Math.max(0, Math.min(places.length - 1, now + step))]);
        } else if (event.key === '+' || event.key === '=') {
            this.zoom(0.5, middle);
        } else if (event.key === '-') {
            this.zoom(2, middle);
        } else if (event.key === 'Home' || event.key === '0') {
            this.show(...this.whole);
        } else if (event.key === 'Escape') {
            this.moveCursor(null);
        } else {
            return;
        }
        event.preventDefault();
    }
}

draw.curve = (figure, data) => new Curve(figure, data);

/* ---- the points of a table ---- */

/* The columns of a table: their titles, units and numbers. What stands before the first result was varied. */
function columnsOf(table) {
    const rows = [...table.tBodies[0].rows];
    return [...table.tHead.rows[0].cells].map((head, column) => {
        const texts = rows.map(row => row.cells[column] ? row.cells[column].textContent.trim() : '');
        const numbers = texts.map(text => Number.isFinite(numberOf(text)) ? numberOf(text) : null);
        const sample = texts.find(text => /\d [^\d\s]/.test(text)) || '';
        const unit = / ([A-Za-z%]\S*)$/.exec(sample);
        const base = unit && Object.keys(unitTables).find(key => unitTables[key].some(row => row[0] === unit[1]));
        return {title: head.textContent.trim(), texts, numbers, distinct: new Set(texts).size, unit: base || (unit && unit[1] === '%' ? '%' : ''),
            scale: unit && unit[1] === '%' ? 0.01 : 1, isNumber: numbers.filter(value => value !== null).length > rows.length / 2};
    });
}

const resultTitles = /iteration|makespan|time|seconds|per second|memory|utilisation|goodput/;

/* Draws one column over another, with a line for each combination of what else was varied. */
function linesOf(columns, x, y) {
    const end = columns.findIndex(column => resultTitles.test(column.title));
    const others = columns.slice(0, Math.max(end, 0)).filter(column => column !== x && column.distinct > 1);
    const lines = new Map();
    x.numbers.forEach((value, row) => {
        const name = others.map(column => `${column.title} ${column.texts[row]}`).join(', ');
        if (value === null)
            return;
        if (!lines.has(name))
            lines.set(name, []);
        lines.get(name).push([value, y.numbers[row] === null ? null : y.numbers[row] * y.scale]);
    });
    const made = [...lines].map(([name, points]) => {
        points.sort((one, other) => one[0] - other[0]);
        return {name, x: points.map(point => point[0]), y: points.map(point => point[1])};
    });
    const values = x.numbers.filter(value => value !== null);
    const log = Math.min(...values) > 0 && Math.max(...values) / Math.min(...values) >= 8;
    return {x: {title: x.title, unit: x.unit, log}, y: {title: y.title, unit: y.unit}, lines: made};
}

function chooser(label, columns, chosen, change) {
    const select = element('select', {onchange: () => change(columns[select.selectedIndex])},
        ...columns.map(column => element('option', {selected: column === chosen}, column.title)));
    return element('label', {}, `${label} `, select);
}

draw.points = figure => {
    const table = figure.querySelector('table');
    const columns = columnsOf(table);
    const numeric = columns.filter(column => column.isNumber && column.distinct > 1);
    const end = columns.findIndex(column => resultTitles.test(column.title));
    const varied = numeric.filter(column => columns.indexOf(column) < end);
    if (varied.length === 0 || numeric.length < 2 || table.tBodies[0].rows.length < 3)
        return;
    let x = varied.find(column => column.title === 'devices') ||
        varied.reduce((best, column) => column.distinct > best.distinct ? column : best);
    const results = numeric.filter(column => !varied.includes(column));
    let y = results.find(column => column.title === 'tokens per second') || results[0];
    const curve = new Curve(figure, linesOf(columns, x, y));
    const update = () => curve.set(linesOf(columns, x, y));
    curve.tools.before(element('div', {class: 'tools'},
        chooser('of', results, y, column => { y = column; update(); }), chooser('over', varied, x, column => { x = column; update(); })));
};
