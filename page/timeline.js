'use strict';

/* Timelines: which device did which task when. draw.timeline(figure, data) takes what src/report/timeline.h describes. Millions of
 * tasks are drawn at once: each lane has typed arrays and sums over blocks of tasks (lanes.js), and a pixel has one colour, that of
 * the kind with the most time there or a mixture, paler the less of it is busy. A frame is painted once at most, and only lanes in sight. */

const PALEST = 0.4; /* share of the colour that a pixel has at least where anything was done: short calls are seen */
const NARROW = 6; /* pixels of a bar, on average, from which on edges and texts are drawn */

/* ---- colours ---- */

function rgbOf(text) {
    const hex = text.replace('#', '');
    const full = hex.length === 3 ? hex.replace(/./g, '$&$&') : hex;
    return [0, 2, 4].map(i => parseInt(full.slice(i, i + 2), 16) || 0);
}

function blend(one, other, share) {
    return one.map((value, i) => Math.round(value * share + other[i] * (1 - share)));
}

function luminance(rgb) {
    const [r, g, b] = rgb.map(value => value <= 10 ? value / 3294 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function cssOf(rgb, opacity = 1) {
    return `rgba(${rgb.join(',')},${opacity})`;
}

/* ---- the picture ---- */

/* Pixels where letters have 11: heights of the parts from above, and of heads of groups. */
const sizes = {ruler: 22, gap: 8, minimap: 18, memory: 92, head: 18, letters: 11};

class Timeline extends Hands {
    constructor(figure, data) {
        super();
        Object.assign(this, {figure, data, tick: data.tick, end: Math.max(1, data.end / data.tick)}, classesOf(data.kinds));
        /* `top`: pixels that lanes are scrolled by; `stretch`: of their height. */
        Object.assign(this, {view: {from: 0, to: this.end}, top: 0, stretch: 1, closed: new Set(), showUnder: true,
            selected: {lane: 0, task: -1}, pointers: new Map(), widths: new Map(), hasMemory: Boolean(data.memory)});
        this.lanes = data.lanes.map((lane, index) => ({...lane, index, copies: lane.copies || 1}));
        for (const lane of this.lanes) { /* lanes under another one belong to it */
            lane.main = lane.under && lane.index > 0 ? this.lanes[lane.index - 1].main : lane;
            lane.group = lane.main.group || '';
        }
        this.arrange();
        this.makeTools();
        this.surface = surface(figure, {label: `Timeline of ${this.lanes.length} lanes`, height: width => this.measure(width),
            paint: (...all) => this.paint(...all)});
        this.makeRest();
        this.listen();
        this.read();
    }

    /* Reads lane after lane; the page answers in between. */
    async read() {
        const sign = element('p', {class: 'progress', role: 'status'});
        this.surface.readout.before(sign);
        let until = performance.now() + 40, done = 0;
        try {
            for (const lane of this.lanes) {
                const tasks = Array.isArray(lane.tasks) ? lane.tasks : await unpack(lane.tasks, this.data.packed);
                const count = Array.isArray(tasks) ? tasks.length / 4 : lane.count;
                lane.arrays = decodeLane(tasks, count, this.data.durations, this.classOf, this.classes.length);
                if (lane.memory) {
                    const steps = Array.isArray(lane.memory) ? lane.memory : await unpack(lane.memory, this.data.packed);
                    lane.steps = decodeMemory(steps, this.data.memory ? this.data.memory.quantum : 1, this.tick);
                }
                lane.tasks = lane.memory = null;
                done++;
                if (performance.now() > until) {
                    sign.textContent = `Reading lane ${done} of ${this.lanes.length}…`;
                    this.surface.repaint();
                    await new Promise(resolve => setTimeout(resolve, 0));
                    until = performance.now() + 40;
                }
            }
            sign.remove();
            this.surface.say(this.summary());
            this.figure.classList.add('ready');
        } catch (error) {
            sign.className = 'bad';
            sign.textContent = 'This timeline could not be drawn: ' + error.message + '.';
        }
        this.surface.repaint();
    }

    summary() {
        const tasks = this.lanes.reduce((sum, lane) => sum + lane.arrays.count, 0);
        const [all, shown] = [lane => lane.copies, () => 1].map(count => this.lanes.reduce((sum, lane) => sum + (lane.under ? 0 : count(lane)), 0));
        return `${grouped(tasks)} tasks in ${quantity(this.data.end, 's')}` + (all > shown ? `; ${grouped(all)} lanes, those alike as one` : '') +
            (this.data.missing > 0 ? `; ${grouped(this.data.missing)} later tasks are not shown: a timeline has 6 million at most` : '') +
            (this.data.hidden > 0 ? `; ${grouped(this.data.hidden)} tasks that overlap too many others are not shown` : '') + '.';
    }

    /* ---- rows ---- */

    /* Lists what is shown, from above: heads of groups, and lanes. */
    arrange() {
        const groups = [...new Set(this.lanes.map(lane => lane.group))];
        this.rows = groups.flatMap(group => {
            const lanes = this.lanes.filter(lane => lane.group === group), head = groups.length > 1 && group !== '' ? [{group, lanes}] : [];
            const seen = this.closed.has(group) ? [] : lanes.filter(lane => !lane.under || this.showUnder);
            return [...head, ...seen.map(lane => ({lane}))];
        });
    }

    /* Sets the places of rows; returns the height of all. */
    measure(width) {
        const size = parseFloat(getComputedStyle(document.body).fontSize) / 15 || 1;
        for (const [name, pixels] of Object.entries(sizes))
            this[name] = Math.round(pixels * size);
        const room = Math.max(180, Math.min(1200, innerHeight * 0.62)), lanes = this.rows.filter(row => row.lane), most = 26 * size;
        const left = room - (this.head + 1) * (this.rows.length - lanes.length) - lanes.length, under = lanes.filter(row => row.lane.under).length;
        const fair = share => Math.floor(left / Math.max(1, lanes.length - under + under * share));
        const share = fair(0.45) >= 20 ? 0.45 : 0.25, height = Math.max(3, Math.min(most, fair(share)) * this.stretch);
        this.content = 0;
        for (const row of this.rows) {
            row.top = this.content;
            row.height = row.lane ? Math.max(2, Math.floor(height * (row.lane.under ? share : 1))) : this.head;
            this.content += row.height + (row.lane && height < 7 ? 0 : 1);
        }
        this.area = Math.min(this.content, room);
        this.top = Math.max(0, Math.min(this.top, this.content - this.area));
        this.gutter = (width < 520 ? 76 : 132) * size;
        return this.ruler + this.area + this.gap + this.minimap + (this.hasMemory ? this.memory + this.gap : 0) + 2;
    }

    xOf(time) {
        return this.gutter + (time - this.view.from) / (this.view.to - this.view.from) * this.span;
    }

    timeAt(x) {
        return this.view.from + (x - this.gutter) / this.span * (this.view.to - this.view.from);
    }

    rowAt(y) {
        const at = y - this.ruler + this.top;
        return y < this.ruler || y > this.ruler + this.area ? null : this.rows.find(row => at >= row.top && at < row.top + row.height + 1) || null;
    }

    /* ---- painting ---- */

    readColours(colours) {
        if (this.colours === colours)
            return;
        this.colours = colours;
        this.page = rgbOf(colours.page);
        this.track = rgbOf(colours.faint);
        for (const one of this.classes) {
            const full = rgbOf(colours.series[one.colour % 8]);
            one.rgb = one.light ? blend(full, this.page, 0.55) : full;
            one.text = luminance(one.rgb) > 0.18 ? '#000' : '#fff';
        }
        this.ground = (255 << 24 | this.page[2] << 16 | this.page[1] << 8 | this.page[0]) >>> 0;
        this.writeLegend();
    }

    /* Colours of a lane's pixels in [from, to): what is narrower than a pixel mixes by its share of the time. */
    strip(lane, from, to, columns) {
        const key = `${from} ${to} ${columns} ${this.ground}`;
        if (lane.strip && lane.strip.key === key)
            return lane.strip.row;
        const count = this.classes.length, size = columns * count, row = new Uint32Array(columns), pixels = columns / (to - from);
        if (!this.sums || this.sums.length < size)
            this.sums = new Float64Array(size);
        const sums = this.sums.fill(0, 0, size), [r0, g0, b0] = this.track;
        columnSums(lane.arrays, from, to, columns, count, sums);
        for (let column = 0, at = 0; column < columns; column++) {
            let r = r0, g = g0, b = b0, all = 0;
            for (let c = at; c < at + count; c++)
                all += sums[c];
            const scale = pixels * Math.max(1, PALEST / (all * pixels));
            for (let c = 0; c < count; c++, at++)
                if (sums[at] > 0) {
                    const share = sums[at] * scale, {rgb} = this.classes[c];
                    r += share * (rgb[0] - r0);
                    g += share * (rgb[1] - g0);
                    b += share * (rgb[2] - b0);
                }
            row[column] = 255 << 24 | b << 16 | g << 8 | r;
        }
        lane.strip = {key, row};
        return row;
    }

    paint(context, width, height, colours) {
        const scale = devicePixelRatio || 1;
        this.readColours(colours);
        this.span = Math.max(1, width - this.gutter - 8);
        this.context = context;
        context.font = `${this.letters}px ${colours.font}`;
        context.textBaseline = 'middle';
        this.paintLanes(scale);
        this.paintRuler(colours);
        this.paintNames(colours);
        this.paintBars(colours);
        this.paintMinimap(scale, colours);
        this.paintMemory(colours);
        if (this.chosen) { /* what shift and the pointer choose */
            const [from, to] = this.chosen.map(time => this.xOf(time)).sort((a, b) => a - b);
            this.box(cssOf(rgbOf(colours.link), 0.2), from, this.ruler, to - from, this.area);
            this.text(exactSeconds(Math.abs(this.chosen[1] - this.chosen[0]) * this.tick), from + 4, this.ruler + 8, colours.ink);
        }
    }

    box(colour, x, y, width, height) {
        this.context.fillStyle = colour;
        this.context.fillRect(x, y, width, height);
    }

    text(text, x, y, colour, align = 'left', room = undefined) {
        this.context.fillStyle = colour;
        this.context.textAlign = align;
        this.context.fillText(text, x, y, room);
    }

    textWidth(text) {
        if (this.widths.size > 5000)
            this.widths.clear();
        if (!this.widths.has(text))
            this.widths.set(text, this.context.measureText(text).width);
        return this.widths.get(text);
    }

    frame(colour, x, y, width, height) {
        this.context.strokeStyle = colour;
        this.context.lineWidth = 1.5;
        this.context.strokeRect(x, y, Math.max(2, width), height);
    }

    /* Calls back for each row in sight with its top, and paints nothing outside of the lanes. */
    eachRow(left, call) {
        this.context.save();
        this.context.beginPath();
        this.context.rect(left, this.ruler - 3, this.gutter + this.span + 8 - left, this.area + 6);
        this.context.clip();
        for (const row of this.rows) {
            const top = this.ruler + row.top - this.top;
            if (top + row.height >= this.ruler && top <= this.ruler + this.area)
                call(row, top);
        }
        this.context.restore();
    }

    /* All visible lanes as one image, in the device's own pixels. */
    paintLanes(scale) {
        const columns = Math.round(this.span * scale), lines = Math.max(1, Math.round(this.area * scale));
        if (!this.image || this.image.width !== columns || this.image.height !== lines)
            this.image = new ImageData(columns, lines);
        const pixels = new Uint32Array(this.image.data.buffer).fill(this.ground);
        this.eachRow(0, ({lane, height}, top) => {
            const from = Math.max(0, Math.round((top - this.ruler) * scale)), to = Math.min(lines, Math.round((top - this.ruler + height) * scale));
            if (to <= from || !lane || !lane.arrays)
                return;
            const strip = this.strip(lane, this.view.from, this.view.to, columns);
            for (let line = from; line < to; line++)
                pixels.set(strip, line * columns);
        });
        this.context.putImageData(this.image, Math.round(this.gutter * scale), Math.round(this.ruler * scale));
    }

    paintRuler(colours) {
        const [from, to] = [this.view.from * this.tick, this.view.to * this.tick], right = this.gutter + this.span + 6;
        const marks = ticks(from, to, Math.max(2, this.span / 110)), step = marks.length > 1 ? marks[1] - marks[0] : to - from;
        for (const mark of marks) {
            const x = this.xOf(mark / this.tick), text = scaleSeconds(mark, step, to), half = this.textWidth(text) / 2;
            this.box(colours.line, Math.round(x), this.ruler - 6, 1, 6);
            this.text(text, Math.max(this.gutter + half - 6, Math.min(right - half, x)), 8, colours.soft, 'center');
        }
    }

    nameOf(lane) {
        return lane.name + (lane.copies > 1 ? ` ×${grouped(lane.copies)}` : '');
    }

    paintNames(colours) {
        let free = -1; /* from here on no name stands */
        this.eachRow(0, ({group, lanes, lane, height}, top) => {
            const middle = top + height / 2, chosen = lane && lane.index === this.selected.lane;
            if (group !== undefined) {
                const open = !this.closed.has(group), count = lanes.filter(one => !one.under).length;
                this.text(`${open ? '▾' : '▸'} ${group}${open ? '' : `, ${grouped(count)} lanes`}`, 2, middle, colours.ink);
            }
            if (chosen)
                this.box(colours.link, this.gutter - 3, top, 2, height);
            if (!lane || (middle - 6 < free && !chosen) || (lane.under && height < 9))
                return;
            const left = lane.under ? 14 : 4;
            this.text(this.nameOf(lane), left, middle, chosen ? colours.link : lane.under ? colours.soft : colours.ink, 'left', this.gutter - 6 - left);
            free = middle + 6;
        });
        if (this.content > this.area) /* where in all lanes this is */
            this.box(colours.soft, this.gutter + this.span + 3, this.ruler + this.top / this.content * this.area, 4, this.area ** 2 / this.content);
    }

    /* What stands in a bar of this width. */
    barText(lane, i, width) {
        const label = this.labelOf(lane.arrays.labels[i]), {name} = this.data.kinds[lane.arrays.kinds[i]];
        return label === '' ? name : width > 90 ? `${name} ${label}` : label;
    }

    /* Edges and texts of bars that are wide enough, and the frame of the chosen one. */
    paintBars(colours) {
        this.eachRow(this.gutter, ({lane, height}, top) => {
            if (!lane || !lane.arrays)
                return;
            const {begins, ends, kinds} = lane.arrays, first = firstAbove(ends, this.view.from), last = firstAbove(begins, this.view.to);
            for (let i = first; i < last && last - first <= this.span / NARROW; i++) {
                const from = Math.max(this.gutter, this.xOf(begins[i])), to = Math.min(this.gutter + this.span, this.xOf(ends[i]));
                if (begins[i] >= this.view.from && to - from > 2)
                    this.box(colours.page, from, top, 1, height);
                const text = height > this.letters && to - from > 9 ? this.barText(lane, i, to - from) : '';
                if (text !== '' && this.textWidth(text) < to - from - 3)
                    this.text(text, (from + to) / 2, top + height / 2 + 0.5, this.classes[this.classOf[kinds[i]]].text, 'center');
            }
            const {task} = this.selected;
            if (lane.index === this.selected.lane && task >= 0)
                this.frame(colours.ink, this.xOf(begins[task]), top + 1, this.xOf(ends[task]) - this.xOf(begins[task]), height - 2);
        });
    }

    /* The chosen lane from begin to end, and which part of it is seen. */
    paintMinimap(scale, colours) {
        const top = this.ruler + this.area + this.gap, lane = this.lanes[this.selected.lane];
        const columns = Math.round(this.span * scale), lines = Math.round(this.minimap * scale), key = [lane, columns, lines, colours];
        if (lane && lane.arrays) {
            if (!this.map || key.some((part, i) => part !== this.map.key[i])) {
                const strip = this.strip(lane, 0, this.end, columns), image = new ImageData(columns, lines);
                for (let line = 0; line < lines; line++)
                    new Uint32Array(image.data.buffer).set(strip, line * columns);
                this.map = {key, image};
            }
            this.context.putImageData(this.map.image, Math.round(this.gutter * scale), Math.round(top * scale));
        }
        const [from, to] = [this.view.from, this.view.to].map(time => this.gutter + time / this.end * this.span);
        this.text('all of it', 4, top + this.minimap / 2, colours.soft);
        this.box(cssOf(this.page, 0.7), this.gutter, top, from - this.gutter, this.minimap);
        this.box(cssOf(this.page, 0.7), to, top, this.gutter + this.span - to, this.minimap);
        this.frame(colours.ink, from, top, to - from, this.minimap);
    }

    /* Memory of the chosen lane's device, the highest of each pixel, and its limit. */
    paintMemory(colours) {
        const lane = this.lanes[this.selected.lane] && this.lanes[this.selected.lane].main, right = this.gutter + this.span;
        const top = this.ruler + this.area + this.gap + this.minimap + this.gap + 14, height = this.memory - 18;
        if (!lane || !lane.steps || lane.steps.times.length === 0)
            return;
        const {times, amounts} = lane.steps, {unit, title} = this.data.memory;
        lane.peak = lane.peak || amounts.reduce((peak, amount) => Math.max(peak, amount), 0);
        const most = Math.max(lane.peak, lane.limit || 0) * 1.06 || 1, yOf = amount => top + height - amount / most * height;
        const said = `${title}, ${lane.name}: at most ${quantity(lane.peak, unit)}` + (lane.limit ? ` of ${quantity(lane.limit, unit)}` : '');
        this.text(said, Math.max(4, Math.min(this.gutter, right - this.textWidth(said))), top - 9, colours.soft);
        const factor = (unitTables[unit] || [['', 1]]).find(row => most >= row[1] || row[1] === 1)[1];
        for (const mark of ticks(0, most / factor, 3).map(number => number * factor)) {
            this.box(colours.line, this.gutter, yOf(mark), this.span, 1);
            this.text(unitTables[unit] ? quantity(mark, unit) : general(mark), this.gutter - 6, yOf(mark) - (mark === 0 ? 4 : 0), colours.soft, 'right');
        }
        for (let x = 0, i = firstAbove(times, this.view.from); x < this.span; x++) {
            let high = i > 0 ? amounts[i - 1] : 0;
            for (const until = this.timeAt(this.gutter + x + 1); i < times.length && times[i] < until; i++)
                high = Math.max(high, amounts[i]);
            this.box(colours.series[0], this.gutter + x, yOf(high), 1, Math.max(1, top + height - yOf(high)));
        }
        if (lane.limit) {
            this.box(colours.bad, this.gutter, yOf(lane.limit), this.span, 2);
            this.text('limit', right - 2, yOf(lane.limit) + 9, colours.bad, 'right');
        }
    }

    /* ---- what is around it ---- */

    makeTools() {
        const button = (text, label, act) => element('button', {type: 'button', 'aria-label': label, title: label, onclick: act}, text);
        this.search = element('input', {type: 'search', placeholder: 'find a task ( / )', 'aria-label': 'find tasks by name or number',
            oninput: () => this.find(), onkeydown: event => {
                if (event.key === 'Enter') {
                    event.preventDefault();
                    this.step(event.shiftKey ? -1 : 1);
                }
            }});
        this.legend = element('ul', {class: 'legend', 'aria-label': 'kinds of tasks'});
        this.tip = element('div', {class: 'tip', 'aria-hidden': 'true', hidden: true});
        this.found = element('span', {role: 'status'});
        this.tools = element('div', {class: 'tools'}, button('−', 'zoom out (-)', () => this.zoom(2)), button('+', 'zoom in (+)', () => this.zoom(0.5)),
            button('all', 'show all of it (0)', () => this.reset()), button('higher', 'higher lanes ( ], lower: [ )', () => this.heighten(1.5)), this.search, button('‹', 'task found before this one', () => this.step(-1)),
            button('›', 'next task found (Enter)', () => this.step(1)), this.found);
        if (this.lanes.some(lane => lane.under))
            this.tools.append(button('transfers', 'show or hide lanes below others (t)', () => this.toggle()));
    }

    makeRest() {
        const {canvas, frame, readout} = this.surface;
        canvas.setAttribute('role', 'application');
        canvas.setAttribute('aria-roledescription', 'timeline');
        canvas.setAttribute('aria-label', 'Timeline: + and - zoom, arrows move, comma and full stop go from task to task, 0 shows all, / searches');
        frame.before(this.tools);
        frame.append(this.tip);
        readout.after(this.legend);
    }

    writeLegend() {
        this.legend.replaceChildren(...this.classes.map(one => {
            const chunk = this.classes.some(other => other.name === one.name && other.light !== one.light);
            const patch = element('i', {'aria-hidden': 'true'});
            patch.style.background = cssOf(one.rgb);
            return element('li', {}, patch, one.name + (chunk ? one.light ? ', chunks 2, 4, …' : ', chunks 1, 3, …' : ''));
        }));
    }

    /* A task's number, or the text that it stands for. */
    labelOf(label) {
        const {labels} = this.data;
        return label < 0 ? '' : labels && labels.length > 0 ? labels[label] || '' : String(label);
    }

    /* All that is known of a task, in lines. */
    describe(lane, i) {
        const {begins, ends, kinds, labels} = lane.arrays, kind = this.data.kinds[kinds[i]], {main} = lane, steps = main.steps;
        const at = steps ? firstAbove(steps.times, begins[i]) - 1 : -1, chunks = this.data.kinds.some(one => one.chunk > 0);
        return [kind.name + (chunks && kind.chunk >= 0 ? `, chunk ${kind.chunk + 1}` : ''),
            labels[i] >= 0 ? `${this.data.label || 'number'} ${this.labelOf(labels[i])}` : '',
            `start ${exactSeconds(begins[i] * this.tick)}`, `length ${exactSeconds((ends[i] - begins[i]) * this.tick)}`,
            `${lane.under ? main.name + ', ' : ''}${lane.name}${lane.group ? `, ${lane.group}` : ''}`,
            main.copies > 1 ? `${grouped(main.copies)} copies${main.also ? `: also ${main.also}` : ''}` : '',
            at >= 0 ? `memory ${quantity(steps.amounts[at], this.data.memory.unit)}` : ''].filter(line => line !== '');
    }

    showTip(x, y) {
        const row = this.rowAt(y), time = this.timeAt(x);
        this.tip.hidden = true;
        if (!row || !row.lane || !row.lane.arrays || x < this.gutter)
            return;
        const {begins, ends} = row.lane.arrays, near = (this.view.to - this.view.from) / this.span * 2;
        const i = firstAbove(ends, time - near);
        if (i >= ends.length || begins[i] > time + near)
            return;
        const exact = firstAbove(ends, time), own = exact < ends.length && begins[exact] <= time ? exact : i;
        this.tip.replaceChildren(...this.describe(row.lane, own).map(line => element('div', {}, line)));
        this.tip.hidden = false;
        const width = this.tip.offsetWidth, left = x + 14 + width > this.surface.width ? x - 14 - width : x + 14;
        this.tip.style.left = Math.max(0, Math.min(this.surface.width - width, left)) + 'px';
        this.tip.style.top = Math.max(0, y + 16) + 'px';
    }
}

draw.timeline = (figure, data) => new Timeline(figure, data);
