'use strict';

/* The planner of the page: the library of rehearse, compiled to WebAssembly (planner.c has what is called here). A worker has one
 * instance, which searches; the page itself has another, which only writes quantities as the commands print them.
 *
 * The page brings the compiled library in a block "planner-engine" (gzip, as base64) and emscripten's script in "planner-glue". */

/* Of a quantity: enum unit_kind of src/core/unit.h, by the words of the schemas. */
const ENGINE_UNITS = {bytes: 0, 'bytes/s': 1, s: 2, 'FLOP/s': 3};

/* One instance. It runs in a worker, too: it uses nothing of the page. */
class Engine {
    static async start(make, compiled) {
        const engine = new Engine();
        engine.instance = await make({
            instantiateWasm(imports, receive) {
                WebAssembly.instantiate(compiled, imports).then(instance => receive(instance, compiled));
                return {};
            },
            print() {},
            printErr() {},
        });
        return engine;
    }

    call(name, types, values, result = 'string') {
        return this.instance.ccall(name, result, types, values);
    }

    /* Asks a command; `options` are {name: text, or a list of texts}, `files` {name: text} are there while it runs. Returns {form:
     * text}; throws what the command refuses it with. */
    ask(command, options, files, forms) {
        const {FS} = this.instance;
        const given = Object.entries(options).flatMap(([name, value]) => [value].flat().flatMap(one => [name, String(one)]));
        if (given.some(text => text.includes('\0')))
            throw new Error('a value has a character that no command line can have');
        Object.entries(files).forEach(([name, text]) => FS.writeFile(name, text));
        try {
            const bytes = new TextEncoder().encode(given.map(text => text + '\0').join('') + '\0');
            const room = this.instance._malloc(bytes.length);
            this.instance.HEAPU8.set(bytes, room);
            const refused = this.call('planner_ask', ['string', 'number'], [command, room]);
            const warnings = this.call('planner_form', ['string'], ['warnings']);
            this.instance._free(room);
            if (refused)
                throw new Error(refused);
            const answer = Object.fromEntries(forms.map(form => [form, this.call('planner_form', ['string'], [form])]));
            return {...answer, warnings: warnings.split('\n').filter(line => line)};
        } finally {
            Object.keys(files).forEach(name => FS.unlink(name));
        }
    }

    /* The options of a command: [{name, argument, help, initial, unit, type, words}]. */
    describe(command) {
        return JSON.parse(this.call('planner_describe', ['string'], [command]));
    }

    show(value, unit) {
        return this.call('planner_show', ['number', 'number'], [value, ENGINE_UNITS[unit]]);
    }
}

/* What the worker does: the first message brings the compiled library, each other one a question. */
function engineWork() {
    let engine;
    onmessage = async ({data}) => {
        try {
            engine = engine || Engine.start(planner_module, data.compiled); // eslint-disable-line no-undef
            const ready = await engine;
            postMessage({id: data.id, answer: data.method && ready[data.method](...data.values)});
        } catch (error) {
            /* what is no message of a command is a fault of the instance, which is used no more */
            postMessage({id: data.id, refused: error.message, broken: error.name !== 'Error'});
        }
    };
}

/* The planner of the page: questions are answered one after the other by the worker. */
class Planner {
    constructor() {
        this.waiting = new Map();
        this.next = 0;
        this.ready = this.begin();
        this.ready.catch(() => {}); /* whoever waits for it is told */
    }

    async begin() {
        const block = document.getElementById('planner-engine'), glue = document.getElementById('planner-glue');
        if (!block || !glue)
            throw new Error('this page was made by a rehearse that was built without its planner');
        if (typeof WebAssembly !== 'object' || typeof DecompressionStream !== 'function' || typeof Worker !== 'function')
            throw new Error('this browser has no WebAssembly, which the planner needs');
        const packed = Uint8Array.from(atob(block.textContent.trim()), letter => letter.charCodeAt(0));
        const bytes = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
        this.compiled = await WebAssembly.compile(await bytes);
        const source = [glue.textContent, String(Engine), `const ENGINE_UNITS = ${JSON.stringify(ENGINE_UNITS)};`, `(${engineWork})();`];
        this.source = URL.createObjectURL(new Blob(source.map(text => text + '\n'), {type: 'text/javascript'}));
        this.hire();
        this.local = await Engine.start(planner_module, this.compiled); // eslint-disable-line no-undef
        await this.question(undefined, []);
    }

    hire() {
        this.worker = new Worker(this.source);
        this.worker.onmessage = ({data}) => this.heard(data);
        this.worker.onerror = event => this.restart(`the planner ended: ${event.message || 'unknown fault'}`);
        this.worker.postMessage({compiled: this.compiled});
    }

    heard({id, answer, refused, broken}) {
        if (broken) {
            this.restart(`the planner ended: ${refused}`);
            return;
        }
        const asker = this.waiting.get(id);
        this.waiting.delete(id);
        if (asker)
            refused === undefined ? asker.resolve(answer) : asker.reject({kind: 'refused', message: refused});
    }

    restart(reason, kind = 'broken') {
        this.worker.terminate();
        const waiting = [...this.waiting.values()];
        this.waiting.clear();
        this.hire();
        waiting.forEach(asker => asker.reject({kind, message: reason}));
    }

    question(method, values) {
        return new Promise((resolve, reject) => {
            this.waiting.set(++this.next, {resolve, reject});
            this.worker.postMessage({id: this.next, compiled: this.compiled, method, values});
        });
    }

    /* Returns {warnings} and the forms that were asked for; what is shown as values. Rejects with {kind, message}: "refused" by the
     * command, "stopped", "broken". */
    async ask(command, options, forms, files = {}) {
        await this.ready;
        const answer = await this.question('ask', [command, options, files, forms]);
        return 'shown' in answer ? {...answer, shown: JSON.parse(answer.shown)} : answer;
    }

    /* A quantity as the commands print it: seconds, bytes, bytes/s, FLOP/s. Not before `ready`. */
    show(value, unit) {
        return this.local.show(value, unit);
    }

    /* Ends what is asked: each question is rejected. */
    async stop() {
        await this.ready;
        if (this.waiting.size > 0)
            this.restart('stopped', 'stopped');
    }
}
