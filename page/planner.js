'use strict';
/* The planner inside: controls for the options of `rehearse plan`, and its answer in pictures. It plans nothing itself: it
 * asks the command, compiled to WebAssembly (engine.js), and shows the command's numbers. Names, helps, words and defaults of
 * options come from the command too, so that a new word of an option is a new choice here.
 *
 * A figure's data are the first question: {"command": "plan", "options": {"model": "llama-3-70b", …}, "files": {"config.json": "…"}}.
 *
 * A state is the values of the controls: an empty one is the option's default, or left to the search. The fragment of the
 * page's address holds it. */

const EXPLORER_PAUSE = 4; // ms after a key until the question is asked: what comes at once is one question
const EXPLORER_STEP = 1500; // ms between changes that are two questions to go back to
const EXPLORER_FORBEARANCE = 300; // ms until what is half typed is called wrong
const EXPLORER_PATIENCE = 100; // ms until a progress sign is shown, or an older question is stopped
const EXPLORER_SPLITS = 8; // rows of the table of splits
const EXPLORER_ROWS = 12; // rows of memory bars that are not folded away
const EXPLORER_POINTS = 1000; // rows of the table of a range
const EXPLORER_FILE = 4 << 20; // bytes of the largest config.json that is read

// Short keys of the fragment. Any other key is an option's or a --fix name itself.
const EXPLORER_KEYS = {m: 'model', d: 'device', n: 'devices', b: 'global-batch', s: 'sequence', p: 'precision', w: 'software'};

// The controls in order. What a word is called; without one an option's name stands, its dashes as blanks.
const EXPLORER_JOB = ['model', 'device', 'devices', 'global-batch', 'sequence', 'precision', 'software'];
const EXPLORER_SPLIT = ['tp', 'cp', 'pp', 'dp', 'ep', 'mbs', 'vp', 'zero', 'recompute', 'schedule'];
const EXPLORER_MORE = ['headroom', 'tokens', 'price', 'deadline', 'devices-per-node', 'inside', 'across', 'imbalance', 'fix',
    'no-neighbours', 'explain'];
const EXPLORER_CALLED = {tp: 'tensor', cp: 'context', pp: 'pipeline', dp: 'data', ep: 'expert', mbs: 'micro-batch', vp: 'chunks',
    zero: 'sharding (ZeRO)', recompute: 'recomputation', fix: 'other fixed values', 'no-neighbours': 'formula alone',
    explain: 'explain in the text'};
const EXPLORER_COUNTED = {zero: 0, vp: 1, tp: 1, cp: 1, pp: 1, dp: 1, ep: 1, mbs: 1}; // those that step, and their least value
const EXPLORER_COLUMNS = ['tp', 'cp', 'ep', 'pp', 'dp', 'mbs', 'vp', 'zero']; // of the table of splits, as the command orders them
const EXPLORER_OWN = ['top', 'pareto', 'output', 'figure', 'page', 'emit', 'launcher']; // options that are not of the question
const EXPLORER_FIRST = {model: 'llama-3-70b', device: 'h100', devices: '64', 'global-batch': '512'};

/* ---- texts ---- */

// One word of a POSIX shell.
function shellWord(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, '\'\\\'\'')}'`;
}

/* ---- the explorer ---- */

class Explorer extends Answer {
    constructor(place, state) {
        super();
        Object.assign(this, {place, state, files: {...state.files}, controls: new Map(), notes: [], turn: 0, words: {}});
        this.kept = {}; // options of the first state without a control
        this.answers = new Map(); // of earlier questions, which are asked again by one click
        this.suspects = new Set(); // controls that the address has set and no answer has confirmed yet
    }

    async begin() {
        const sign = element('p', {class: 'progress', role: 'status'}, 'The planner starts\u2026');
        this.place.append(sign);
        try {
            this.planner = new Planner();
            await this.planner.ready;
            this.rows = new Map(this.planner.local.describe('plan').map(row => [row.name, row]));
            this.tables = (await this.planner.ask('cost', {list: 'true'}, ['shown'])).shown;
            await this.learnWords();
        } catch (error) {
            sign.replaceWith(element('p', {class: 'note soft', role: 'status'}, `The planner is off: ${error.message || error}.`));
            return;
        }
        sign.remove();
        this.build();
        this.takeState(this.state.options && Object.keys(this.state.options).length > 0 ? this.state.options : EXPLORER_FIRST);
        Object.assign(this, {first: this.address(), written: performance.now()});
        this.takeAddress();
        if (this.suspects.size > 0) // a link to a question leads to its answer
            this.place.scrollIntoView();
        addEventListener('hashchange', () => {
            if (!location.hash.includes('=')) // a place in the page
                return;
            this.notes = [];
            this.clearBlame();
            this.takeAddress();
            this.question();
        });
        this.question();
    }

    // The words of a fixed value are those that the command names when it refuses another one.
    async learnWords() {
        for (const name of ['recompute', 'schedule'])
            try {
                await this.planner.ask('plan', {...EXPLORER_FIRST, fix: `${name}=?`}, []);
            } catch (error) {
                const named = /expected (?:[\w-]+=)?(.+?); found/.exec(error.message || '');
                this.words[name] = named ? named[1].split(/, | or /) : [];
            }
    }

    /* ---- controls ---- */

    build() {
        const group = (title, names, unseen) => element('fieldset', {}, element('legend', {class: unseen ? 'heard' : ''}, title),
            element('div', {class: 'fields'}, ...names.map(name => this.control(name))));
        this.free = element('button', {type: 'button', class: 'small', 
            onclick: () => this.choose({...fixesOf({}), schedule: '', fix: ''})}, 'search all');
        const answer = this.buildAnswer();
        const form = element('form', {class: 'controls', 'aria-label': 'Questions to the planner', onsubmit: event => event.preventDefault()},
            group('Job', EXPLORER_JOB), group('Split: searched where empty', EXPLORER_SPLIT), this.free,
        element('details', {class: 'more'}, element('summary', {}, 'More'),
            group('More', EXPLORER_MORE.filter(name => this.rows.has(name)), true)));
        this.root = element('div', {class: 'planner'}, form, answer, this.heard);
        this.place.classList.add('planning');
        this.place.append(this.root);
        this.place.querySelectorAll('.static').forEach(one => one.remove());
        addEventListener('keydown', event => event.key === 'Escape' && this.stop());
        for (const kind of ['dragover', 'drop']) // anywhere: what misses the planner would take the page away
            addEventListener(kind, event => {
                if (event.dataTransfer.types.includes('Files'))
                    event.preventDefault();
                if (kind === 'drop' && event.dataTransfer.files.length > 0)
                    this.takeFile(event.dataTransfer.files[0]);
            });
    }

    buildAnswer() {
        const part = (name, title) => {
            this[name] = element('div');
            return element('section', {class: `part ${name}`, hidden: true}, element('h3', {}, title), this[name]);
        };
        this.note = element('p', {class: 'note', role: 'status', hidden: true});
        this.sign = element('p', {class: 'sign', role: 'status'});
        this.verdict = element('div', {class: 'outcome'});
        this.heard = element('p', {class: 'brief', 'aria-live': 'polite'});
        this.text = element('pre', {tabindex: '0'});
        this.command = element('code');
        const command = element('div', {class: 'command'}, this.command);
        addCopyButton(command);
        return element('div', {class: 'found'}, this.note, this.verdict, this.sign,
            part('money', 'The whole training'), part('time', 'Where the iteration goes, by formula'),
            part('memory', 'Memory of a device'), part('splits', 'The fastest splits'),
            part('played', 'An iteration, pass by pass'),
            element('section', {class: 'part'}, element('h3', {}, 'The same question in a shell'), command,
                element('details', {}, element('summary', {}, 'the command\'s whole answer'), this.text)));
    }

    // A label with its field, and the line for what the command says of its value.
    control(name) {
        const row = this.rows.get(name), id = `planner-${name}`, fixed = !row;
        const flag = !fixed && row.type === '?', choices = fixed ? this.words[name] : flag ? ['true'] :
            name === 'software' ? this.tables.software.map(one => one.name) : row.words;
        const initial = fixed || row.initial === '0' ? '' : flag ? 'no' : row.initial || '';
        const control = {name, row, fixed, id, initial}, title = fixed ? `--fix ${name}=N` : row.help;
        const attributes = {id, name, title, 'aria-describedby': `${id}-wrong`, oninput: () => this.changed(control)};
        if (choices && choices.length > 0)
            control.input = element('select', attributes, element('option', {value: ''}, initial || 'search'),
                ...choices.filter(word => word !== initial).map(word => element('option', {value: word}, flag ? 'yes' : word)));
        else
            control.input = this.entry(control, attributes);
        control.wrong = element('p', {class: 'wrong', id: `${id}-wrong`, hidden: true});
        this.controls.set(name, control);
        return element('div', {class: `field field-${name}`},
            element('label', {for: id}, EXPLORER_CALLED[name] || name.replace(/-/g, ' ')),
            element('div', {class: 'entry'}, control.list || '', control.input, ...this.beside(control)), control.wrong);
    }

    entry(control, attributes) {
        const {models, devices, links} = this.tables;
        const known = {model: models, device: devices, inside: links, across: links}[control.name];
        if (known)
            control.list = element('datalist', {id: `${control.id}-list`}, ...known.map(one =>
                element('option', {value: one.name}, one.title || (one.parameters ? `${(one.parameters / 1e9).toFixed(2)} B` : ''))));
        const input = element('input', {...attributes, type: 'text', list: known && `${control.id}-list`, autocomplete: 'off',
            spellcheck: 'false', placeholder: control.initial || (control.fixed ? 'search' : ''),
            onfocus: () => known && input.select(), onkeydown: event => {
                if (control.name in EXPLORER_COUNTED && /^Arrow(Up|Down)$/.test(event.key)) {
                    event.preventDefault();
                    this.step(control, event.key === 'ArrowUp');
                }
            }});
        return input;
    }

    // Buttons beside a field: steps for a pointer (the arrow keys do the same), and a file for the model.
    beside(control) {
        if (control.name in EXPLORER_COUNTED)
            return ['\u2212', '+'].map((sign, up) => element('button', {type: 'button', class: 'small step', tabindex: '-1',
                'aria-label': `${up ? 'more' : 'less'} ${EXPLORER_CALLED[control.name]}`, onclick: () => this.step(control, up === 1)}, sign));
        if (control.name !== 'model')
            return [];
        const title = 'a config.json of Hugging Face; or drop one here';
        const file = element('input', {type: 'file', accept: '.json', hidden: true, 'aria-label': title,
            onchange: () => file.files.length > 0 && this.takeFile(file.files[0])});
        return [file, element('button', {type: 'button', class: 'small file', title, onclick: () => file.click()}, 'file\u2026')];
    }

    // Degrees double and halve; chunks and sharding count.
    step(control, up) {
        const least = EXPLORER_COUNTED[control.name];
        const now = Number.parseInt(control.input.value || control.input.placeholder, 10);
        const counted = control.name === 'zero' || control.name === 'vp';
        const next = Number.isNaN(now) ? least : counted ? now + (up ? 1 : -1) : up ? now * 2 : Math.floor(now / 2);
        control.input.value = Math.max(least, next);
        this.changed(control);
    }

    value(name) {
        return this.controls.get(name).input.value.replace(/[\0-\x1f\x7f]/g, '').trim();
    }

    // Returns false if a choice has no such word.
    put(name, value) {
        const {input, initial} = this.controls.get(name), text = input.tagName === 'SELECT' && value === initial ? '' : value;
        input.value = text;
        return input.value === text;
    }

    changed(control) {
        this.clearBlame();
        this.suspects.delete(control.name);
        this.say([]);
        this.writeAddress();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.question(), EXPLORER_PAUSE);
    }

    reset() {
        for (const control of this.controls.values())
            control.input.value = EXPLORER_FIRST[control.name] || '';
        this.suspects.clear();
        this.notes = [];
        this.kept = {};
    }

    /* ---- states: of the page, of the address, of files ---- */

    takeState(options) {
        for (const [name, value] of Object.entries(options))
            if (name === 'fix')
                this.takeFixes([].concat(value).join(',').split(','));
            else if (this.controls.has(name))
                this.put(name, String(value));
            else if (!this.rows.has(name) || EXPLORER_OWN.includes(name))
                continue;
            else if (/^(FILE|FOLDER|P)$/.test(this.rows.get(name).argument))
                this.notes.push(`--${name} is a file, which a page does not have`);
            else
                this.kept[name] = value;
    }

    takeFixes(fixes) {
        const others = fixes.filter(fix => {
            const [, name, value] = /^([\w-]+)=(.*)$/.exec(fix) || [];
            return !(EXPLORER_SPLIT.includes(name) && this.put(name, value));
        });
        this.put('fix', others.join(','));
    }

    takeAddress() {
        const unknown = [], parts = new URLSearchParams(location.hash.slice(1));
        if (parts.has('m') || parts.has('model')) // it has all of a question
            this.reset();
        for (const [key, value] of parts) {
            const name = Object.hasOwn(EXPLORER_KEYS, key) ? EXPLORER_KEYS[key] : key;
            if (!this.controls.has(name))
                unknown.push(key);
            else if (this.put(name, value.slice(0, 400)))
                this.suspects.add(name);
            else {
                this.put(name, '');
                this.notes.push(`'${key}=${value.slice(0, 60)}' in the address is no choice`);
            }
        }
        if (unknown.length > 0 && location.hash.includes('=')) // else it is a place in the page
            this.notes.push(unknown.slice(0, 4).map(key => `'${key.slice(0, 40)}'`).join(', ') + (unknown.length > 4 ? ', \u2026' : '') +
                (unknown.length === 1 ? ' in the address is no option' : ' in the address are no options'));
        this.say(this.notes);
    }

    address() {
        const short = new Map(Object.entries(EXPLORER_KEYS).map(([key, name]) => [name, key]));
        const given = [...this.controls.keys()].filter(name => this.value(name) !== '');
        const parts = new URLSearchParams(given.map(name => [short.get(name) || name, this.value(name)]));
        return `#${parts.toString().replace(/%2C/g, ',').replace(/%2F/g, '/')}`;
    }

    // The browser's way back leads to the question before: changes in quick succession are one.
    writeAddress() {
        const now = performance.now(), step = now - this.written > EXPLORER_STEP ? 'pushState' : 'replaceState';
        try {
            if (!location.hash.includes('='))
                history.replaceState(null, '', this.first);
            history[step](null, '', this.address());
            this.written = now;
        } catch (error) {
            // A frame without an address of its own has none to keep.
        }
    }

    say(notes) {
        this.note.textContent = notes.length > 0 ? `Left out: ${notes.join('; ')}.` : '';
        this.note.hidden = notes.length === 0;
    }

    // A file is tried as the model; where it is none, the model before comes back (fail).
    async takeFile(file) {
        const model = this.controls.get('model'), name = /\.(json|ya?ml)$/i.test(file.name) ? file.name : 'config.json';
        try {
            if (file.size > EXPLORER_FILE)
                throw new Error(`${(file.size / (1 << 20)).toFixed(0)} MiB: a config.json is smaller`);
            const text = new TextDecoder('utf-8', {fatal: true}).decode(await file.arrayBuffer());
            this.trial = {model: this.value('model'), files: this.files, ...this.trial, said: file.name, name};
            this.files = {[name]: text};
            this.answers.clear();
            this.put('model', name);
            this.changed(model);
        } catch (error) {
            this.blame(model, `${file.name} is no model: ${error instanceof TypeError ? 'not UTF-8 text' : error.message}`);
        }
    }

    /* ---- questions ---- */

    options() {
        const options = {...this.kept}, given = [...this.controls.keys()].filter(name => this.value(name) !== '' && name !== 'fix');
        const fixes = given.filter(name => EXPLORER_SPLIT.includes(name)).map(name => `${name}=${this.value(name)}`);
        for (const name of given.filter(name => this.rows.has(name)))
            options[name] = this.value(name);
        const fix = [...fixes, this.value('fix')].filter(text => text).join(',');
        return fix ? {...options, fix} : options;
    }

    line(options) {
        const words = ['rehearse plan'];
        for (const [name, value] of Object.entries(options)) {
            const {type, letter} = this.rows.get(name);
            for (const one of [].concat(value))
                words.push(type === '?' ? `--${name}` : one.startsWith('-') ? `--${name}=${shellWord(one)}` :
                    `${letter ? `-${letter}` : `--${name}`} ${shellWord(one)}`);
        }
        return words.join(' ');
    }

    async question() {
        const turn = ++this.turn;
        if (this.running) {
            await Promise.race([this.running, new Promise(done => setTimeout(done, EXPLORER_PATIENCE))]);
            if (turn !== this.turn)
                return;
            if (this.running)
                await this.planner.stop();
        }
        this.run(this.answer(turn, this.options()));
    }

    run(work) {
        const running = work.finally(() => (this.running = this.running === running ? null : this.running));
        this.running = running;
    }

    // The plan first, which is soon there; then the same with its neighbours.
    async answer(turn, options) {
        const began = performance.now(), isNow = () => turn === this.turn;
        const tick = setInterval(() => {
            const seconds = (performance.now() - began) / 1000;
            if (isNow())
                this.working(`searching\u2026 ${seconds >= 1 ? `${seconds.toFixed(0)} s, ` : ''}Escape stops`);
        }, EXPLORER_PATIENCE);
        try {
            this.command.textContent = this.line(options);
            const first = await this.ask(options);
            if (!isNow())
                return;
            this.show(first, options);
            const many = {...options, top: String(EXPLORER_SPLITS)}, isPlan = first.shown.format === 'rehearse-plan/2';
            const all = isPlan ? await this.ask(many) : first;
            if (!isNow())
                return;
            this.command.textContent = this.line(isPlan ? many : options);
            this.text.textContent = all.text;
            if (isPlan)
                this.showSplits(all);
            if (isPlan && this.plays)
                await this.play(options);
        } catch (error) {
            if (isNow() && this.suspects.size === 0 && !this.trial)
                await new Promise(done => setTimeout(done, EXPLORER_FORBEARANCE));
            if (isNow())
                this.fail(error);
        } finally {
            clearInterval(tick);
            if (isNow())
                this.working('');
        }
    }

    async ask(options) {
        const key = JSON.stringify(options);
        if (!this.answers.has(key)) {
            this.answers.set(key, await this.planner.ask('plan', options, ['text', 'shown'], this.files));
            if (this.answers.size > 40)
                this.answers.delete(this.answers.keys().next().value);
        }
        return this.answers.get(key);
    }

    async stop() {
        if (!this.running)
            return;
        this.turn++;
        this.working('');
        await this.planner.stop();
        this.root.classList.add('stale');
        this.sign.textContent = 'stopped: what is shown answers an earlier question';
    }

    working(text) {
        this.sign.textContent = text;
        for (const [where, name] of [[this.root, 'asking'], [this.sign, 'progress']])
            where.classList.toggle(name, text !== '');
    }

    /* ---- what went wrong ---- */

    // The control that a message of the command is about; undefined: it is about the whole question.
    controlOf(message) {
        const option = (/^(?:plan: ')?--([a-z-]+)\b/.exec(message) || [])[1];
        const fixes = [/^--fix: (?:expected )?([\w-]+)[=:]/, /^([\w-]+)=\S+:/, /'([\w-]+)=[^']*'/];
        const named = option && option !== 'fix' ? [] : fixes.map(pattern => (pattern.exec(message) || [])[1]);
        const name = [...named, option, message.startsWith(`${this.value('model')}:`) && 'model'].find(one => this.controls.has(one));
        return this.controls.get(name);
    }

    blame(control, message) {
        control.input.setAttribute('aria-invalid', 'true');
        control.wrong.textContent = message;
        control.wrong.hidden = false;
        (control.input.closest('details') || {}).open = true;
    }

    clearBlame() {
        for (const {input, wrong} of this.controls.values()) {
            input.removeAttribute('aria-invalid');
            wrong.hidden = true;
        }
    }

    fail(error) {
        const message = error.message || String(error), control = this.controlOf(message);
        if (this.trial && (message.startsWith(this.trial.name) || (control && control.name === 'model'))) {
            const {said, model, files} = this.trial;
            Object.assign(this, {files, trial: null});
            this.put('model', model);
            this.writeAddress();
            this.blame(this.controls.get('model'), `${said} is no model: ${message}`);
            return;
        }
        if (control && this.suspects.has(control.name)) { // the address is no reason to have no answer
            this.suspects.delete(control.name);
            this.put(control.name, EXPLORER_FIRST[control.name] || '');
            this.say(this.notes = [...this.notes, message]);
            this.writeAddress();
            this.question();
            return;
        }
        if (control)
            this.blame(control, message);
        this.root.classList.add('stale');
        this.verdict.replaceChildren(element('p', {class: 'bad'}, message));
        this.heard.textContent = message;
        this.text.textContent = `rehearse: error: ${message}\n`;
    }
}

draw.planner = (figure, state) => new Explorer(figure, state).begin();
