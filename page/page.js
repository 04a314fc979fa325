'use strict';

/* The page comes to life: pictures are drawn, tables sort, commands are copied. All that is told stands there without it. */

const LARGE = 200000; /* characters of data that take a while to read */
const SLICE = 40; /* milliseconds of work before the page answers again */

const idle = typeof requestIdleCallback === 'function' ? work => requestIdleCallback(work, {timeout: 500}) : work => setTimeout(work, 1);

/* Does something to each item, in slices between which the page answers. */
function inSlices(items, work) {
    const list = [...items];
    const go = () => {
        const until = performance.now() + SLICE;
        while (list.length > 0 && performance.now() < until)
            work(list.shift());
        if (list.length > 0)
            idle(go);
    };
    idle(go);
}

/* ---- pictures ---- */

/* The data that a figure is drawn from; null: what stands in it. */
function dataOf(figure) {
    const block = document.getElementById(figure.dataset.from);
    return block && JSON.parse(block.textContent);
}

function drawFigure(figure) {
    const name = figure.dataset.draw;
    const sign = figure.querySelector('.progress');
    try {
        if (!Object.hasOwn(draw, name))
            throw new Error(`this page has nothing that draws '${name}'`);
        draw[name](figure, dataOf(figure));
        figure.classList.add('drawn');
    } catch (error) {
        figure.append(element('p', {class: 'bad'}, 'This picture could not be drawn: ' + error.message));
    }
    if (sign)
        sign.remove();
}

/* Draws each figure when it comes near the screen: parsing data takes time. */
function watchFigures() {
    const observer = new IntersectionObserver(entries => {
        for (const entry of entries.filter(one => one.isIntersecting)) {
            observer.unobserve(entry.target);
            const block = document.getElementById(entry.target.dataset.from);
            if (block && block.textContent.length > LARGE)
                entry.target.prepend(element('p', {class: 'progress', role: 'status'}, 'Drawing…'));
            idle(() => drawFigure(entry.target));
        }
    }, {rootMargin: '400px'});
    for (const figure of document.querySelectorAll('figure.draw'))
        if (figure.dataset.draw === 'planner' && location.hash.includes('=')) /* a link to a question */
            drawFigure(figure);
        else
            observer.observe(figure);
    /* paper shows all of it */
    addEventListener('beforeprint', () => {
        observer.disconnect();
        document.querySelectorAll('figure.draw:not(.drawn)').forEach(drawFigure);
    });
}

/* ---- tables ---- */

/* Numbers by value, texts by letter, and what is missing last, in both orders. */
function compareCells(one, other, descending) {
    const texts = [one, other].map(cell => cell.textContent.trim());
    const missing = texts.map(text => text === '' || text === '–');
    if (missing[0] !== missing[1])
        return missing[0] ? 1 : -1;
    const numbers = texts.map(numberOf);
    const order = numbers.every(Number.isFinite) ? numbers[0] - numbers[1] : texts[0].localeCompare(texts[1], 'en', {numeric: true});
    return descending ? -order : order;
}

function sortTable(table, head) {
    const descending = head.getAttribute('aria-sort') === 'ascending';
    const column = [...head.parentNode.cells].indexOf(head);
    for (const body of table.tBodies)
        body.append(...[...body.rows].sort((one, other) => compareCells(one.cells[column], other.cells[column], descending)));
    for (const other of head.parentNode.cells)
        other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
}

/* Heads of columns become buttons, but for a table of one row, and for pictures, which have no order. */
function makeSortable(table) {
    const head = table.tHead && table.tHead.rows[0];
    const row = table.tBodies[0] && table.tBodies[0].rows[0];
    if (!head || !row || table.tBodies[0].rows.length < 2 || row.cells.length !== head.cells.length)
        return;
    for (const cell of head.cells) {
        if (row.cells[cell.cellIndex].classList.contains('bars'))
            continue;
        const button = element('button', {type: 'button', title: 'sort', onclick: () => sortTable(table, cell)});
        button.append(...cell.childNodes);
        cell.append(button);
    }
}

/* What is wider than the page scrolls, with the keyboard, too. */
function watchWidths() {
    const observer = new ResizeObserver(entries => {
        for (const {target} of entries) {
            const wide = target.scrollWidth > target.clientWidth + 1;
            target.tabIndex = wide ? 0 : -1;
            if (wide) {
                const caption = target.querySelector('caption');
                target.setAttribute('role', 'region');
                target.setAttribute('aria-label', caption ? caption.textContent : 'wide content, which scrolls');
            }
        }
    });
    document.querySelectorAll('.wide, pre').forEach(one => observer.observe(one));
}

/* ---- commands ---- */

async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch (_) { /* refused to files and frames: the old way */
        const area = element('textarea', {readonly: true, style: 'position:fixed;opacity:0'});
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand('copy');
        area.remove();
        return done;
    }
    return true;
}

function addCopyButton(command) {
    const button = element('button', {type: 'button', class: 'small', 'aria-label': 'copy the command', onclick: async () => {
        const done = await copyText(command.querySelector('code').textContent);
        status.textContent = done ? 'copied' : 'select it and copy';
        button.textContent = done ? 'copied' : 'copy by hand';
        setTimeout(() => { button.textContent = 'copy'; status.textContent = ''; }, 2000);
    }}, 'copy');
    const status = element('span', {role: 'status', class: 'heard'});
    command.append(button, status);
}

function start() {
    document.querySelectorAll('.command').forEach(addCopyButton);
    watchFigures();
    watchWidths();
    inSlices(document.querySelectorAll('table'), makeSortable);
}

if (typeof document !== 'undefined')
    start();
