'use strict';
// The planner inside a page: each number that it shows is the command's, and what is wrong is said in one line.

const assert = require('assert');
const childProcess = require('child_process');

// The words of a shell's line, as the page writes it.
function words(line) {
    return [...line.matchAll(/(?:[^\s']+|'[^']*')+/g)].map(([word]) => word.replace(/'([^']*)'/g, '$1'));
}

// What the page shows of an answer: the equal command, its whole text, what is drawn of it, and what was said about the question.
function shown(page) {
    return page.evaluate(() => {
        const texts = (selector) => [...document.querySelectorAll(selector)].filter((e) => !e.closest('[hidden]')).map((e) => e.textContent);
        return {
            line: texts('.found .command code').join(),
            text: texts('.found pre').join(),
            drawn: [...texts('.outcome .headline b, .outcome dd, .part.time td.n, .part.splits td.n:first-child, .part.memory .row > .n, .part.money p'),
                ...[...document.querySelectorAll('.part.time .stack > span')].map((e) => e.title)],
            notes: texts('figure[data-draw=planner] :is(.note, .wrong, .outcome .bad)').filter((text) => text),
        };
    });
}

// Numbers with their units, as in "75.9 GiB", "5.905 s", "2,841,110", "44.5 %".
function numbers(text) {
    return text.match(/\d[\d,.]*\d(?: (?:[KMGTP]i?B|[mun]?s|%))?|\d(?: (?:[KMGTP]i?B|[mun]?s|%))?/g) || [];
}

// All numbers of a document, as the command would print them: what is drawn of a plan's stages stands in no line of its text.
function printed(document) {
    const found = new Set(['0 s', '0 B']);
    const scales = [['s', 1], ['ms', 1e-3], ['us', 1e-6], ['ns', 1e-9]];
    const sizes = [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]];
    JSON.stringify(document, (_, value) => {
        if (typeof value === 'number' && value > 0)
            for (const [units, digits] of [[scales, 4], [sizes, 3]]) {
                const [unit, factor] = units.find(([, one]) => value >= one) || units[units.length - 1];
                found.add(`${(value / factor).toPrecision(digits)} ${unit}`);
            }
        return value;
    });
    return found;
}

function register(test, state) {
    const {driver, made} = state;
    const open = async (fragment, options) => {
        const page = await driver().open(made().at('plan.html'), {...options, fragment});
        await page.waitForSelector('.planner .outcome > *, figure[data-draw=planner] .note:not([hidden])');
        await driver().settle(page);
        return page;
    };
    const put = async (page, name, value) => {
        await page.evaluate((field, text) => {
            const input = document.querySelector(`.field-${field} input, .field-${field} select`);
            input.value = text;
            input.dispatchEvent(new Event('input', {bubbles: true}));
        }, name, value);
        await new Promise((resolve) => setTimeout(resolve, 150)); // what is asked after a pause
        await driver().settle(page);
    };
    // The command that the page names, run by the program.
    const command = (line) => childProcess.spawnSync(made().program, words(line).slice(1), {cwd: made().folder, encoding: 'utf8'});

    const isTheCommands = async (page) => {
        const found = await shown(page), done = command(found.line);
        assert.strictEqual(done.status, 0, `${found.line}: ${done.stderr}${found.notes}`);
        assert.strictEqual(found.text, done.stdout, found.line);
        const said = ' ' + done.stdout.replace(/\s+/g, ' ') + JSON.stringify(found.notes);
        const others = printed(JSON.parse(command(found.line + ' --json').stdout));
        const strange = found.drawn.flatMap(numbers).filter((number) => !said.includes(number) && !others.has(number));
        assert.deepStrictEqual(strange, [], `${found.line}: numbers that the command does not print, of ${found.drawn.join(' | ')}`);
        return found;
    };

    const jobs = ['m=llama-3.1-405b&d=h100&n=16384&b=2048', 'm=gpt2-xl&d=a100&n=8&b=64&mbs=4', 'm=mixtral-8x7b&d=h200&n=64&b=512&ep=8',
        'm=llama-3-70b&d=b200&n=256&b=1024&s=32768&cp=4', 'm=llama-3-8b&d=h100&n=16&b=128&tokens=1T&price=2/h&zero=1'];
    for (const job of jobs)
        test(`the numbers are those of the command: ${job.split('&', 1)}`, async () => {
            const page = await open('#' + job);
            await isTheCommands(page);
            assert.deepStrictEqual([...page.asked, ...page.complaints], []);
            await page.close();
        });

    test('a turned knob is answered, and its address restores it', async () => {
        const page = await open('#m=llama-3.1-405b&d=h100&n=16384&b=2048');
        const first = await isTheCommands(page);
        await put(page, 'tp', '4');
        const second = await isTheCommands(page);
        assert.match(second.line, /tp=4/);
        assert.notStrictEqual(second.text, first.text);
        const hash = await page.evaluate(() => location.hash);
        await page.close();
        const again = await open(hash);
        assert.strictEqual((await shown(again)).text, second.text);
        await again.close();
    });

    // On a busy machine another process may take the processor: the quietest of three counts.
    test('a slow search shows a sign soon, and holds the page up for no 100 ms', async () => {
        const page = await open('#m=llama-3-8b&d=h100&n=8&b=64'), signs = [], gaps = [];
        for (const devices of ['1024', '1536', '2048']) {
            const [sign, gap] = await page.evaluate((count) => new Promise((resolve) => {
                const begin = performance.now(), input = (name, value) => {
                    const field = document.querySelector(`.field-${name} input`);
                    field.value = value;
                    field.dispatchEvent(new Event('input', {bubbles: true}));
                };
                let longest = 0, before = begin;
                const look = () => {
                    const now = performance.now(), shown = document.querySelector('.asking .sign');
                    longest = Math.max(longest, now - before);
                    before = now;
                    if (shown && shown.textContent.includes('Escape') || now - begin > 5000)
                        resolve([now - begin, longest]);
                    else
                        setTimeout(look, 2);
                };
                input('model', 'mixtral-8x22b');
                input('devices', count);
                look();
            }), devices);
            signs.push(sign);
            gaps.push(gap);
            await page.keyboard.press('Escape');
            await driver().settle(page);
            assert.match(await page.$eval('.sign', (e) => e.textContent), /stopped/);
        }
        assert(Math.min(...signs) < 200, `a sign after ${signs.map(Math.round)} ms`);
        assert(Math.min(...gaps) < 100, `held up for ${gaps.map(Math.round)} ms`);
        await page.close();
    });

    test('the way back leads to the question before', async () => {
        const page = await open('#m=gpt2-xl&d=a100&n=8&b=64');
        const first = (await shown(page)).line;
        await new Promise((resolve) => setTimeout(resolve, 1600));
        await put(page, 'tp', '2');
        assert.match((await shown(page)).line, /tp=2/);
        await page.evaluate(() => history.back());
        await new Promise((resolve) => setTimeout(resolve, 150));
        await driver().settle(page);
        assert.strictEqual((await shown(page)).line, first);
        await page.close();
    });

    test('what no plan fits is said in the words of the command', async () => {
        const page = await open('#m=llama-3.1-405b&d=h100&n=8&b=8');
        const found = await shown(page), done = command(found.line);
        assert.notStrictEqual(done.status, 0);
        assert(found.notes.some((note) => done.stderr.includes(note)), `${found.notes}\n${done.stderr}`);
        await page.close();
    });

    test('a value that no option takes is said beside its field', async () => {
        const page = await open('#m=llama-3-8b&d=h100&n=8&b=64');
        await put(page, 'global-batch', 'many');
        const {notes} = await shown(page);
        assert(notes.length >= 1 && notes.every((note) => !note.includes('\n')), JSON.stringify(notes));
        await put(page, 'global-batch', '64');
        await isTheCommands(page);
        await page.close();
    });

    for (const fragment of ['#m=no-such-model&d=h100', '#%%%&&&===', '#x=1&y=2&z=<img src=x onerror=window.ran=1>', '#tp=99999999999999999999',
        '#recompute=<script>', '#m=' + 'a'.repeat(5000)])
        test(`nonsense in the address is one line: ${fragment.slice(0, 12)}`, async () => {
            const page = await open(fragment);
            const {notes, text} = await shown(page);
            assert(notes.length === 1 && !notes[0].includes('\n'), JSON.stringify(notes));
            assert(notes[0].length < 600, notes[0]);
            assert(text.length > 100, 'no answer');
            assert.strictEqual(await page.evaluate(() => window.ran), undefined);
            assert.deepStrictEqual([...page.asked, ...page.complaints], []);
            await page.close();
        });

    const drop = (page, name, bytes) => page.evaluate((called, content) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(content)], called));
        document.querySelector('.planner').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
    }, name, [...Buffer.from(bytes)]);

    test('a dropped file that is no model is one line', async () => {
        const page = await open('#m=llama-3-8b&d=h100&n=8&b=64');
        const before = (await shown(page)).text;
        for (const [name, content] of [['notes.txt', 'no model'], ['empty.json', ''], ['other.json', '{"a": 1}'], ['image.json', '\x89PNG\r\n\x1a\n\0'],
            ['broken.json', '{"hidden_size": 4096,'], ['<img src=x onerror=window.ran=1>.json', '[]']]) {
            await drop(page, name, content);
            await page.waitForFunction(() => [...document.querySelectorAll('.planner .wrong')].some((e) => !e.hidden));
            const {notes} = await shown(page);
            assert(notes.length === 1 && !notes[0].includes('\n'), `${name}: ${JSON.stringify(notes)}`);
            assert(notes[0].includes(name), notes[0]);
            await put(page, 'model', 'llama-3-8b');
        }
        assert.strictEqual((await shown(page)).text, before);
        assert.deepStrictEqual([...page.asked, ...page.complaints], []);
        await page.close();
    });

    test('a dropped config.json is planned as the command plans it', async () => {
        const config = JSON.stringify({model_type: 'llama', hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 22,
            num_attention_heads: 32, num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 2048, torch_dtype: 'bfloat16'});
        const page = await open('#m=llama-3-8b&d=h100&n=8&b=64');
        made().put('config.json', config);
        await drop(page, 'config.json', config);
        await page.waitForFunction(() => document.querySelector('.found .command code').textContent.includes('config.json'));
        await driver().settle(page);
        await isTheCommands(page);
        await page.close();
    });

    test('without WebAssembly one line says so, and the answer stands', async () => {
        const page = await driver().open(made().at('plan.html'), {fragment: '#n=64', before: () => delete window.WebAssembly});
        const found = await page.evaluate(() => [document.querySelector('figure[data-draw=planner]').innerText, document.body.innerText]);
        assert.match(found[0], /^[^\n]*The planner is off: .*WebAssembly.*$/m);
        assert.match(found[1], /an iteration/);
        assert.deepStrictEqual(page.complaints, []);
        await page.close();
    });

    test('a row of the table of splits is chosen, by keyboard too', async () => {
        const page = await open('#m=llama-3-70b&d=h100&n=64&b=512');
        const row = await page.$('.part.splits tbody tr:nth-child(2) button');
        await row.focus();
        await page.keyboard.press('Enter');
        await new Promise((resolve) => setTimeout(resolve, 150));
        await driver().settle(page);
        const found = await isTheCommands(page);
        assert.match(found.line, /--fix \S*tp=\d+\S*pp=\d+/);
        await page.close();
    });
}

module.exports = {register};
