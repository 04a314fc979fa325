'use strict';
/* What the planner (planner.js) shows of an answer of `rehearse plan`, in pictures and tables. */

// As the command prints it: exact halves, as 0.25, go to the even digit, which toFixed does not do.
function percentText(share, digits = 1) {
    const value = 100 * share, half = digits === 1 && Math.abs(value % 1) === 0.25;
    return `${(half ? Math.trunc(value) + Math.sign(value) * 0.2 : value).toFixed(digits)} %`;
}

// Lines of the command as sentences: what is indented goes on from the line before. Those that are told as facts are left out.
function sentences(lines) {
    const joined = lines.join('\n').replace(/^(nearest.*)\n {2,}/m, '$1: ').replace(/\n {2,}/g, ' ');
    return joined.split('\n').filter(line => !/^(80 % interval|\S+ tokens\/s)/.test(line));
}

function plural(count, one) {
    return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/* ---- elements ---- */

// A stacked bar: parts of `whole`, each {name, value, text, kind}. Its numbers are its alternative text.
function stackedBar(parts, whole, what, limit) {
    const there = parts.filter(part => part.value > 0), said = there.map(part => `${part.name} ${part.text}`);
    return element('div', {class: 'stack', role: 'img', 'aria-label': `${what}: ${said.join(', ')}`},
        ...there.map((part, i) => element('span', {class: `kind-${part.kind}`, title: said[i],
            style: `width:${Math.min(100, 100 * part.value / whole)}%`})),
        limit > 0 && limit <= whole ? element('i', {class: 'limit', style: `left:${100 * limit / whole}%`}) : '');
}

/* ---- what an answer says ---- */

// A plan as a row of the table of splits: its alternatives are such rows already.
function splitOfPlan(plan) {
    const pipeline = plan.pipelines[0], stage = pipeline.stages[0], chunks = plan.schedule.chunks || 1;
    return {
        iteration_time: plan.iteration_time, devices: plan.figures.devices, tensor: stage.tensor, context: stage.context,
        expert: stage.expert, pipeline: pipeline.stages.length / chunks, data: pipeline.copies * stage.data, chunks,
        sharding: plan.training.sharding, microbatch: plan.training.microbatch, recompute: plan.training.recompute,
        memory: plan.memory, parts: plan.iteration.parts,
    };
}

// The values of a row by the names of --fix.
function fixesOf(split) {
    return {tp: split.tensor, cp: split.context, pp: split.pipeline, dp: split.data, ep: split.expert, mbs: split.microbatch,
        vp: split.chunks, zero: split.sharding, recompute: split.recompute};
}

// Bytes of one device of each place in a pipeline; chunks on the same devices are added up, neighbours alike are one row.
function memoryRows(plan) {
    const rows = [], places = new Map();
    plan.pipelines.forEach((pipeline, p) => pipeline.stages.forEach(stage => {
        const key = p + JSON.stringify(stage.devices), bytes = stage.bytes, at = places.get(key) || {
            pipeline: p, first: places.size, last: places.size, chunks: 0, devices: 0, total: bytes.total,
            limit: plan.cluster.device_types[stage.device_type].memory,
            parts: {parameters: 0, gradients: 0, optimizer: 0, activations: 0, working: 0},
        };
        if (!at.chunks++) {
            places.set(key, at);
            at.devices = stage.devices.reduce((sum, range) => sum + range.nodes * range.count, 0);
        }
        at.total = Math.max(at.total, bytes.total);
        for (const name of ['parameters', 'gradients', 'optimizer'])
            at.parts[name] += bytes[name];
        at.parts.activations += bytes.activations * bytes.in_flight;
        at.parts.working = Math.max(at.parts.working, bytes.working);
    }));
    for (const place of places.values()) {
        const last = rows[rows.length - 1], same = row => JSON.stringify([row.pipeline, row.total, row.parts, row.limit]);
        if (last && same(last) === same(place)) {
            last.last = place.last;
            last.devices += place.devices;
        } else
            rows.push(place);
    }
    return rows;
}

/* ---- the answer ---- */

class Answer {
    show(answer, options) {
        const {shown: json, text} = answer, isPlan = json.format === 'rehearse-plan/2';
        this.suspects.clear();
        this.trial = null;
        this.root.classList.remove('stale');
        this.text.textContent = text;
        for (const name of ['money', 'time', 'memory', 'splits', 'played'])
            this[name].parentNode.hidden = !isPlan || name === 'money';
        this.splits.parentNode.classList.toggle('late', isPlan); // until its neighbours are there, too
        if (!isPlan) {
            this.showSweep(json, text);
            return;
        }
        this.best = splitOfPlan(json);
        this.showVerdict(json, text, answer.warnings);
        this.showFound(json);
        this.showMoney(text);
        this.showTime(json, text);
        this.showMemory(json);
        if (!this.plays)
            this.played.replaceChildren(element('button', {type: 'button', class: 'small', onclick: () => {
                this.plays = true;
                this.run(this.play(options));
            }}, 'play it'));
    }

    // The plan as a file, played by `rehearse simulate`: with each plan again, once it was asked for.
    async play(options) {
        const turn = this.turn, figure = element('figure', {class: 'draw drawn'});
        this.played.prepend(element('p', {class: 'progress', role: 'status'}, 'playing\u2026'));
        try {
            const {json} = await this.planner.ask('plan', options, ['json'], this.files);
            const {drawing} = await this.planner.ask('simulate', {plan: 'plan.json', page: '/dev/null'}, ['drawing'], {'plan.json': json});
            if (turn !== this.turn)
                return;
            if (!drawing)
                throw new Error('an iteration of this plan has too many passes for a timeline');
            this.played.replaceChildren(figure);
            draw.timeline(figure, JSON.parse(drawing));
        } catch (error) {
            if (turn === this.turn)
                this.played.replaceChildren(element('p', {class: 'bad'}, error.message));
        }
    }

    showVerdict(plan, text, warnings = []) {
        const {expected, extrapolates, ...ends} = plan.iteration, seconds = value => this.planner.show(value, 's');
        const between = (low, high) => Number.isFinite(low) && `${seconds(low)} to ${seconds(high)}`;
        const time = Number.isFinite(expected) ? expected : plan.iteration_time;
        const [question, sure = '', split = ''] = text.split(/\n\s*\n/);
        const rate = /^(\S+) tokens\/s, (\S+) per device; (.*?) of /m.exec(sure);
        this.heard.textContent = `${seconds(time)} an iteration: ${split.split('\n')[0]}`;
        const fact = (name, value) => value ? element('div', {}, element('dt', {}, name), element('dd', {}, value)) : '';
        const notes = [...sentences(sure.split('\n').slice(1)), ...warnings];
        this.verdict.replaceChildren(element('p', {class: 'soft'}, question),
            element('p', {class: 'headline'}, element('b', {}, seconds(time)),
                ` an iteration, ${/^iteration .* expected/.test(sure) ? 'expected' : 'by formula'}`, this.change(time, plan)),
            element('p', {class: 'arrangement'}, split),
            element('dl', {class: 'facts'},
                fact(extrapolates ? '80 % interval, extrapolated' : '80 % interval', between(ends.low, ends.high)),
                fact('as like known runs', between(ends.like_low, ends.like_high)),
                fact('as unlike them', between(ends.unlike_low, ends.unlike_high)),
                fact('by formula', seconds(plan.iteration_time)),
                ...['tokens/s', 'per device', 'of the peak'].map((name, i) => fact(name, rate && rate[i + 1])),
                fact('fullest device', this.planner.show(plan.memory, 'bytes'))),
            ...notes.map(line => element('p', {class: line.startsWith('proven') ? 'good' : 'soft'}, line)));
    }

    // Beside the answer before, of the same tokens: whether a turned knob helps.
    change(time, plan) {
        const work = [plan.model.name, plan.training.global_batch, plan.training.sequence].join(), before = this.before || {};
        this.before = {time, work};
        const share = before.work === work ? time / before.time - 1 : 0;
        if (Math.abs(share) < 5e-4)
            return '';
        const [kind, than] = share < 0 ? ['good', 'less'] : ['bad', 'more'];
        return element('span', {class: kind}, ` ${percentText(Math.abs(share))} ${than} than before`);
    }

    // What the search chose stands in the empty fields.
    showFound(plan) {
        const {training} = plan;
        const found = {...fixesOf(this.best), schedule: plan.schedule.kind, sequence: training.sequence, precision: training.precision};
        for (const [name, value] of Object.entries(found)) {
            const {input, initial, fixed} = this.controls.get(name);
            if (input.tagName === 'SELECT')
                input.options[0].textContent = fixed ? `${value}, searched` : value === initial ? initial : `${initial}: ${value}`;
            else
                input.placeholder = value;
        }
        this.free.disabled = [...EXPLORER_SPLIT, 'fix'].every(name => this.value(name) === '');
    }

    showMoney(text) {
        const lines = text.split('\n'), at = lines.findIndex(line => /^(training on|\$)/.test(line));
        if (at < 0)
            return;
        this.money.parentNode.hidden = false;
        this.money.replaceChildren(...lines.slice(at).filter(line => line.trim()).map(line => element('p', {}, line.trim())));
    }

    // Parts of the time with the command's words for each.
    timeParts(parts, text) {
        const whole = Object.values(parts).reduce((sum, value) => sum + value, 0);
        return Object.entries(parts).map(([name, value]) => ({name, value, kind: name, share: percentText(value / whole),
            text: this.planner.show(value, 's'), help: (new RegExp(`^  ${name} .* %  (.*)$`, 'm').exec(text || '') || [])[1]}));
    }

    showTime(plan, text) {
        const parts = this.timeParts(plan.iteration.parts, text).filter(part => part.value > 0);
        const whole = parts.reduce((sum, part) => sum + part.value, 0);
        const rows = parts.map(part => element('tr', {},
            element('th', {scope: 'row'}, element('i', {class: `kind-${part.kind}`, 'aria-hidden': 'true'}), part.name),
            ...[part.text, part.share].map(text => element('td', {class: 'n'}, text)), element('td', {class: 'soft'}, part.help || '')));
        this.time.replaceChildren(stackedBar(parts, whole, 'parts of the iteration'),
            element('table', {class: 'parts'}, element('tbody', {}, ...rows)));
    }

    showMemory(plan) {
        const rows = memoryRows(plan), bytes = value => this.planner.show(value, 'bytes'), free = plan.training.headroom || 0;
        const drawn = row => {
            const parts = Object.entries(row.parts).map(([name, value]) => ({name, value, kind: name, text: bytes(value)}));
            const whole = Math.max(row.limit, row.total), devices = element('small', {}, plural(row.devices, 'device'));
            const name = row.first === row.last ? `stage ${row.first}` : `stages ${row.first}\u2013${row.last}`;
            return element('div', {class: 'row'}, element('span', {class: 'name'}, name, devices),
                stackedBar(parts, whole, `${name}, ${bytes(row.total)} of ${bytes(row.limit)}`, row.limit * (1 - free)),
                element('span', {class: 'n'}, bytes(row.total)));
        };
        const shown = rows.slice(0, EXPLORER_ROWS), rest = rows.slice(EXPLORER_ROWS);
        const kinds = Object.keys(rows[0].parts).map(name => element('li', {}, element('i', {class: `kind-${name}`}), name));
        this.memory.replaceChildren(...shown.map(drawn), rest.length === 0 ? '' : element('details', {},
            element('summary', {}, `${plural(rest.length, 'more row')} of stages`), ...rest.map(drawn)),
        element('ul', {class: 'legend'}, ...kinds), element('p', {class: 'soft'},
            `A full bar is ${bytes(rows[0].limit)}, all that a device has; the line is what may be used: ${percentText(free, 0)} is kept free.`));
    }

    /* ---- the table of splits ---- */

    // What the command's table has behind the memory: titles (days, money), and the cells of each row.
    addedColumns(text) {
        const lines = text.split('\n'), at = lines.findIndex(line => / slower .* memory/.test(line));
        return lines.slice(at < 0 ? lines.length - 1 : at).map((line, i) => line.replace(i === 0 ? /^.* memory/ : /^.* [KMGT]?i?B\b/, '')
            .split(i === 0 ? / {2,}/ : / +/).filter(cell => cell.trim()));
    }

    showSplits(answer) {
        const [added, ...cells] = this.addedColumns(answer.text);
        const splits = [this.best, ...answer.shown.alternatives], slowest = Math.max(...splits.map(split => split.iteration_time));
        const columns = ['by formula', 'slower', ...EXPLORER_COLUMNS, 'recompute', 'devices', 'memory', ...added, 'where it goes'];
        this.splits.parentNode.classList.remove('late');
        this.splits.replaceChildren(this.tableOf('Each with the best choice of everything else. Choose one to fix it.', columns,
            splits.map((split, i) => this.splitRow(split, added.map((title, column) => (cells[i] || [])[column] || ''), slowest))));
    }

    tableOf(caption, titles, rows) {
        const table = element('table', {class: 'splits', 'aria-label': caption}, element('thead', {}, element('tr', {},
            ...titles.map(title => element('th', {scope: 'col', class: /^(recompute|where|split)/.test(title) ? '' : 'n'}, title)))),
        element('tbody', {}, ...rows));
        makeSortable(table);
        return element('div', {}, element('p', {class: 'soft'}, caption), element('div', {class: 'wide'}, table));
    }

    splitRow(split, added, slowest) {
        const fixes = fixesOf(split), number = text => element('td', {class: 'n'}, String(text));
        const chosen = Object.entries(fixes).every(([name, value]) => this.value(name) === String(value));
        const slower = split.iteration_time / this.best.iteration_time - 1;
        const button = element('button', {type: 'button', title: 'fix this split'}, this.planner.show(split.iteration_time, 's'));
        return element('tr', {class: chosen ? 'chosen' : '', 'aria-current': chosen && 'true', onclick: () => this.choose(fixes)},
            element('td', {class: 'n'}, button), number(percentText(slower)), ...EXPLORER_COLUMNS.map(name => number(fixes[name])),
            element('td', {}, fixes.recompute), number(split.devices), number(this.planner.show(split.memory, 'bytes')),
            ...added.map(number), element('td', {class: 'bars'}, stackedBar(this.timeParts(split.parts), slowest, 'parts')));
    }

    // Sets several controls; undefined frees one.
    choose(values) {
        for (const [name, value] of Object.entries(values))
            this.put(name, String(value ?? ''));
        this.changed(this.controls.get('devices'));
    }

    /* ---- ranges of devices or batches ---- */

    // The command's own table, whose rows are in the order of the points.
    showSweep(sweep, text) {
        const [question, table = ''] = text.split(/\n\s*\n/), points = sweep.points.slice(0, EXPLORER_POINTS);
        const [titles, ...lines] = table.split('\n').map(line => line.trim().split(/ {2,}/));
        const more = sweep.points.length > points.length ? ` The first ${points.length} are here, all are in the text below.` : '';
        this.heard.textContent = plural(sweep.points.length, 'point');
        this.verdict.replaceChildren(element('p', {class: 'headline'}, this.heard.textContent), element('p', {class: 'arrangement'}, question));
        const cell = (text, i, all) => element('td', {class: /^[\d.]/.test(text) ? 'n' : '', colspan: i === all.length - 1 && i < titles.length - 1 &&
            titles.length - i}, i === 1 ? element('button', {type: 'button', title: 'look at this plan'}, text) : text);
        const choice = point => ({devices: point.devices, 'global-batch': point.global_batch});
        const rows = points.map((point, i) => element('tr', {onclick: () => this.choose(choice(point))}, ...(lines[i] || []).map(cell)));
        this.splits.parentNode.hidden = false;
        this.splits.replaceChildren(this.tableOf(`Choose a row to look at that plan.${more}`, titles, rows));
    }
}
