'use strict';

/* What all pictures share: elements, colours, texts of numbers, axes, and a canvas that follows size, resolution and colours.
 *
 * A <figure class="draw" data-draw="curve" data-from="d1"> is drawn by draw.curve(figure, data), where data is the JSON of the
 * block with the id "d1" (page.js). This script also runs in workers, which have no document: nothing here touches it when it
 * is loaded. */

const draw = {};

/* An element: properties that begin with "on" listen, others are attributes; children are elements, texts and null. Texts
 * never become markup. */
function element(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
        if (key.startsWith('on'))
            made.addEventListener(key.slice(2), value);
        else if (value !== null && value !== undefined && value !== false)
            made.setAttribute(key, value === true ? '' : value);
    }
    made.append(...children.filter(child => child !== null && child !== undefined));
    return made;
}

/* ---- texts of numbers: as core/unit.c prints them ---- */

const unitTables = {
    'B': [['PiB', 2 ** 50], ['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10], ['B', 1]],
    'B/s': [['TB/s', 1e12], ['GB/s', 1e9], ['MB/s', 1e6], ['kB/s', 1e3], ['B/s', 1]],
    's': [['s', 1], ['ms', 1e-3], ['us', 1e-6], ['ns', 1e-9]],
};

/* Digits as C's %.*g has them, without an exponent below a million. */
function general(value, digits = 4) {
    if (!Number.isFinite(value))
        return '–';
    if (value !== 0 && (Math.abs(value) >= 1e15 || Math.abs(value) < 1e-4))
        return value.toExponential(digits - 1);
    const text = value.toPrecision(digits);
    return Math.abs(value) >= 1e4 || text.includes('e') ? Math.round(value).toLocaleString('en-US') : String(Number(text));
}

/* "70.9 GiB", "5.905 s", "44.5 %": unit is "B", "B/s", "s", "%" (of 1), or any other word, which stands behind the number. */
function quantity(value, unit) {
    if (value === null || value === undefined || !Number.isFinite(value))
        return '–';
    if (unit === '%')
        return (100 * value).toFixed(1) + ' %';
    const table = unitTables[unit];
    if (!table)
        return general(value) + (unit ? ' ' + unit : '');
    if (value === 0)
        return '0 ' + unit;
    const [name, factor] = table.find(row => Math.abs(value) >= row[1]) || table[table.length - 1];
    const shown = value / factor;
    const whole = Math.abs(shown) < 1 ? 1 : Math.floor(Math.log10(Math.abs(shown))) + 1;
    const digits = unit === 'B' ? 3 : 4;
    return shown.toFixed(name === 'B' ? 0 : Math.max(0, digits - whole)) + ' ' + name;
}

/* The number that a text begins with, in base units: "70.9 GiB", "1,203", "5.9 %". NaN: none. */
function numberOf(text) {
    const found = /^\s*(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-zµ%/]*)/.exec(text);
    if (!found)
        return NaN;
    const value = Number(found[1].replaceAll(',', ''));
    for (const table of Object.values(unitTables))
        for (const [name, factor] of table)
            if (name === found[2])
                return value * factor;
    return value;
}

/* Round numbers from `from` to `to`, at most about `count` of them. */
function ticks(from, to, count) {
    const rough = (to - from) / Math.max(1, count);
    if (!(rough > 0))
        return [from];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(factor => factor * power >= rough) * power;
    const made = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++)
        made.push(i * step);
    return made;
}

/* ---- colours ---- */

const themes = {now: null, listeners: new Set()};

/* The colours of the style sheet as they are now: ink, soft, line, faint, page, link, good, bad, track; series: those of lines. */
function theme() {
    if (!themes.now) {
        const style = getComputedStyle(document.documentElement);
        const read = name => style.getPropertyValue('--' + name).trim();
        themes.now = {series: [0, 1, 2, 3, 4, 5, 6, 7].map(i => read('c' + i)), font: getComputedStyle(document.body).fontFamily,
            size: parseFloat(getComputedStyle(document.body).fontSize) * 0.8};
        for (const name of ['ink', 'soft', 'line', 'faint', 'page', 'link', 'good', 'bad', 'track'])
            themes.now[name] = read(name);
    }
    return themes.now;
}

/* Calls back when the colours have changed: another scheme, or paper. */
function onTheme(listener) {
    if (themes.listeners.size === 0) {
        const changed = () => {
            themes.now = null;
            themes.listeners.forEach(call => call());
        };
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
        for (const name of ['beforeprint', 'afterprint'])
            addEventListener(name, () => {
                document.documentElement.classList.toggle('paper', name === 'beforeprint');
                changed();
            });
    }
    themes.listeners.add(listener);
}

/* ---- canvases ---- */

/* Puts a canvas into a figure, before what stands in it without scripts. options.paint(context, width, height, theme) is called
 * once a frame at most, after repaint(), and when size, resolution or colours change; options.height is a number of pixels or a
 * function of the width; options.label says what is seen. Returns {canvas, readout, repaint, say, width, height}: say(text)
 * shows a text below the canvas, which screen readers read out. */
function surface(figure, options) {
    const canvas = element('canvas', {role: 'img', tabindex: 0, 'aria-label': options.label});
    const frame = element('div', {class: 'surface'}, canvas);
    const readout = element('p', {class: 'readout', 'aria-live': 'polite'});
    const made = {canvas, frame, readout, width: 0, height: 0};
    let wanted = false;
    const paint = () => {
        wanted = false;
        const width = frame.clientWidth;
        const height = typeof options.height === 'function' ? options.height(width) : options.height;
        const scale = devicePixelRatio || 1;
        if (width === 0)
            return;
        if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(height * scale);
            canvas.style.height = height + 'px';
        }
        made.width = width;
        made.height = height;
        const context = canvas.getContext('2d');
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.clearRect(0, 0, width, height);
        options.paint(context, width, height, theme());
    };
    made.repaint = () => {
        if (!wanted)
            requestAnimationFrame(paint);
        wanted = true;
    };
    made.say = text => {
        if (readout.textContent !== text)
            readout.textContent = text;
    };
    const caption = figure.querySelector('figcaption');
    if (caption)
        caption.after(frame, readout);
    else
        figure.prepend(frame, readout);
    new ResizeObserver(made.repaint).observe(frame);
    onTheme(paint); /* at once: paper does not wait for a frame */
    paint();
    return made;
}
