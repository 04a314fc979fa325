'use strict';

/* The data of timelines: lanes as typed arrays, and their time in each pixel. What src/report/timeline.h describes is read; `tasks` of
 * a lane may also be a list of numbers, [gap, duration, kind, label, …] for each task with the label itself (-1: none), and
 * `memory` a list of [seconds, amount]. Nothing here needs a document. */

const BLOCK = 16; /* tasks whose times are summed ahead, and so are as many such blocks */

async function unpack(text, packed) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    if (!packed)
        return bytes;
    if (packed !== 'deflate' || typeof DecompressionStream === 'undefined')
        throw new Error('this browser cannot unpack it: Chromium 80, Firefox 113, Safari 16.4 and later can');
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Numbers in LEB128, one after the other; multiplied, as 32 bits are not enough. */
class Varints {
    constructor(bytes) {
        Object.assign(this, {bytes, at: 0});
    }
    next() {
        let value = 0, factor = 1, byte;
        do {
            byte = this.bytes[this.at++];
            value += (byte & 127) * factor;
            factor *= 128;
        } while (byte > 127);
        return value;
    }
    signed() {
        const value = this.next();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }
}

/* Calls back with gap, index of the duration, kind and label of each task. */
function eachTask(tasks, call) {
    if (Array.isArray(tasks)) {
        for (let i = 0; i + 3 < tasks.length; i += 4)
            call(tasks[i], tasks[i + 1], tasks[i + 2], tasks[i + 3]);
        return;
    }
    const numbers = new Varints(tasks);
    for (let label = 0; numbers.at < tasks.length;)
        call(numbers.next(), numbers.next(), numbers.next(), label += numbers.signed());
}

/* A lane's arrays: begins and ends in ticks, which both only grow, kinds, labels and classes; and the time of each class in each block. */
function decodeLane(tasks, count, durations, classOf, classes) {
    const lane = {
        count, begins: new Float64Array(count), ends: new Float64Array(count), kinds: new Uint16Array(count),
        labels: new Int32Array(count), owns: new Uint8Array(count), blocks: new Float64Array(Math.ceil(count / BLOCK) * classes),
        piles: new Float64Array(Math.ceil(count / BLOCK ** 2) * classes),
    };
    let at = 0, time = 0;
    eachTask(tasks, (gap, index, kind, label) => {
        const duration = durations[index];
        if (at >= count || !(gap >= 0 && duration >= 0) || classOf[kind] === undefined)
            throw new Error('its data are damaged');
        lane.begins[at] = time + gap;
        time += gap + duration;
        lane.ends[at] = time;
        lane.kinds[at] = kind;
        lane.labels[at] = label;
        lane.owns[at] = classOf[kind];
        lane.blocks[Math.floor(at / BLOCK) * classes + classOf[kind]] += duration;
        lane.piles[Math.floor(at / BLOCK ** 2) * classes + classOf[kind]] += duration;
        at++;
    });
    if (at !== count)
        throw new Error('its data are damaged');
    return lane;
}

/* Steps of memory: times in ticks, amounts in its unit. */
function decodeMemory(memory, quantum, tick) {
    if (Array.isArray(memory))
        return {times: memory.map(step => step[0] / tick), amounts: memory.map(step => step[1])};
    const steps = {times: [], amounts: []}, numbers = new Varints(memory);
    for (let time = 0, amount = 0; numbers.at < memory.length;) {
        steps.times.push(time += numbers.next());
        steps.amounts.push((amount += numbers.signed()) * quantum);
    }
    return steps;
}

/* Index of the first number in a growing list that is above `value`. */
function firstAbove(list, value) {
    let low = 0, high = list.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle] > value)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Adds up a lane's time by class in `columns` equal parts of [from, to): sums[column * classes + class], which is zero before.
 * Blocks and piles of them that lie within a column are added as they are. */
function columnSums(lane, from, to, columns, classes, sums) {
    const {begins, ends, owns, blocks, piles, count} = lane, width = (to - from) / columns;
    let column = 0, edge = from + width; /* where the column ends */
    for (let i = firstAbove(ends, from); i < count; i++) {
        let at = begins[i], end = ends[i];
        if (at >= to)
            break;
        if (at >= edge) {
            column = Math.min(columns - 1, Math.floor((at - from) / width));
            edge = column === columns - 1 ? to : from + (column + 1) * width;
        }
        if ((i & (BLOCK - 1)) === 0 && at >= from && i + BLOCK <= count && ends[i + BLOCK - 1] <= edge) {
            const pile = BLOCK ** 2, whole = i % pile === 0 && i + pile <= count && ends[i + pile - 1] <= edge;
            const size = whole ? pile : BLOCK, ahead = whole ? piles : blocks;
            for (let c = 0; c < classes; c++)
                sums[column * classes + c] += ahead[i / size * classes + c];
            i += size - 1;
            continue;
        }
        at = at < from ? from : at;
        end = end > to ? to : end;
        for (; end > edge && column < columns - 1; at = at > edge ? at : edge, column++, edge = column === columns - 1 ? to : from + (column + 1) * width)
            sums[column * classes + owns[i]] += edge - at;
        sums[column * classes + owns[i]] += end - at;
    }
}

/* Kinds that look alike and have the same name in the legend are a class; every other chunk is lighter. */
function classesOf(kinds) {
    const classes = [], classOf = kinds.map(kind => {
        const own = {name: kind.legend || kind.name, colour: kind.colour, light: Boolean(kind.light || kind.chunk > 0 && kind.chunk % 2)};
        const at = classes.findIndex(one => one.name === own.name && one.colour === own.colour && one.light === own.light);
        return at >= 0 ? at : classes.push(own) - 1;
    });
    return {classOf, classes};
}

/* What a search looks for: numbers are those of tasks, words are in the names of kinds and in labels. Returns whether a task is it. */
function matcher(text, data) {
    const words = text.toLowerCase().split(/\s+/).filter(word => word);
    const tests = words.map(word => {
        const kinds = data.kinds.map(kind => `${kind.name} ${kind.legend || ''}`.toLowerCase().includes(word));
        const labels = (data.labels || []).map(label => label.toLowerCase().includes(word));
        const number = /^\d+$/.test(word) && labels.length === 0 ? Number(word) : -2;
        return (kind, label) => kinds[kind] || label === number || labels[label] === true;
    });
    return words.length > 0 ? (kind, label) => tests.every(test => test(kind, label)) : () => false;
}

function grouped(value, digits = 0) {
    return value.toLocaleString('en-US', {maximumFractionDigits: digits});
}

/* Seconds with all their digits, to a nanosecond or, where they are short, a thousandth of one. */
function exactSeconds(seconds) {
    const [name, factor] = unitTables.s.find(row => Math.abs(seconds) >= row[1]) || ['ns', 1e-9];
    return seconds === 0 ? '0 s' : `${grouped(Number((seconds / factor).toFixed(name === 'ns' ? 3 : 9 + Math.round(Math.log10(factor)))), 9)} ${name}`;
}

/* The same beside a scale that ends with `most`: as many digits as tell one step from the next. */
function scaleSeconds(seconds, step, most) {
    const [name, factor] = unitTables.s.find(row => most >= row[1]) || ['ns', 1e-9];
    const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9)));
    return `${(seconds / factor + 0).toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits})} ${name}`;
}
