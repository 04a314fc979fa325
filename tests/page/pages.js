'use strict';
// The pages that tests/page/browser, tests/page/screenshots and bench/bench_page look at, made by the program in a scratch folder.

const childProcess = require('child_process');
const fs = require('fs');
const path = require('path');

const top = path.resolve(__dirname, '../..');
const profile = path.join(top, 'tests/cli/files/profile.json');
const cluster = path.join(top, 'tests/cli/files/cluster.yaml');

// A name as someone might choose it who wants a page to run what he wrote: each way out of the places where a name stands.
const attack = '</script><script>window.ran=1</script><img src=x onerror=\'window.ran=1\'>"\'>&amp;\u2028<!--<svg onload=window.ran=1>';

const workload = `framework: pytorch
model: {name: tiny, type: cnn, model_size: 100000}
workflow: {train: True, checkpoint: True}
dataset: {data_folder: data, format: npz, num_files_train: 8, record_length_bytes: 5000}
reader: {data_loader: pytorch, batch_size: 2, read_threads: 2}
train: {epochs: 2, computation_time: 0.002}
checkpoint: {checkpoint_folder: saved, checkpoint_after_epoch: 1, epochs_between_checkpoints: 1}
metric: {au: 0.01}
`;

class Maker {
    constructor(program, folder) {
        this.program = path.resolve(program);
        this.folder = folder;
    }

    // What the program prints; a test of the page need not look at its exit status where that is no error.
    run(line, ...more) {
        const done = childProcess.spawnSync(this.program, [...line.split(' '), ...more],
            {cwd: this.folder, encoding: 'utf8', timeout: 100000, maxBuffer: 1 << 28});
        if (done.error || done.status === null || done.status > 1)
            throw new Error(`rehearse ${line}: ${done.error || done.status}: ${done.stderr}`);
        return done.stdout;
    }

    at(name) {
        return path.join(this.folder, name);
    }

    put(name, content) {
        fs.mkdirSync(path.dirname(this.at(name)), {recursive: true});
        fs.writeFileSync(this.at(name), typeof content === 'string' ? content : JSON.stringify(content));
    }

    // A strace's lines, which the program reads as a trace.
    trace(name, calls, seconds) {
        const lines = Array.from({length: calls}, (_, i) =>
            `7 1700000000.${String(i * 40).padStart(6, '0')} read(3</data/a>, ""..., 4096) = 4096 <${seconds}>\n`);
        this.put('strace.out', lines.join(''));
        this.run(`trace import strace.out --zone UTC -o ${name}`);
    }

    // A folder with every kind of file that people keep.
    runs() {
        fs.mkdirSync(this.at('runs'));
        this.run('plan -m llama-3.1-8b -d h100 --devices 64 --global-batch 512 --top 6 --explain -o runs/plan.json');
        this.run('plan -m llama-3.1-405b -d h100 --devices 16384 --global-batch 2048 --top 8 -o runs/large.json');
        this.run('plan -m llama-3.1-8b -d h100 --devices 8..64 --global-batch 256,512 -o runs/sweep.json');
        this.run(`plan -p ${profile} -c ${cluster} -n 8 -o runs/profile-plan.json`);
        this.run(`templates -p ${profile} -c ${cluster} -n 8 -o runs/templates.json`);
        this.run('cost -m llama-3.1-8b -d h100,a100 -o runs/cost.json');
        this.run('simulate runs/plan.json --json -o runs/simulation.json');
        this.run('elastic --nodes 8 --stages 2 --rate rsc-1 --repair 6h --days 90 --seeds 3 --json -o runs/elastic.json');
        this.put('tiny.yaml', workload);
        this.run('dataset generate tiny.yaml');
        this.run('feed tiny.yaml --warm -o runs/feed');
        this.trace('runs/run1.db', 500, '0.000010');
        this.trace('runs/run2.db', 300, '0.000020');
        this.run('compare runs/run1.db runs/run2.db --json -o runs/compare.json');
        fs.copyFileSync(cluster, this.at('runs/cluster.yaml'));
        this.run('report runs -o runs.html');
    }

    // A folder whose names are attacks.
    attacks() {
        const stages = Array.from({length: 60}, (_, i) => ({layers: [i, i], device_type: attack,
            seconds: {forward: 0.001 * (i + 1), backward: 0.002}, bytes: {total: 1 << 30}}));
        this.put('attacks/plan.json', {format: 'rehearse-plan/2', objective: attack, model: {name: attack},
            iteration_time: 0.25, proven_optimal: true, pipelines: [{stages}]});
        this.put('attacks/sweep.json', {format: 'rehearse-sweep/1', model: attack, device_type: 'b',
            points: [1, 2, 4].map((n) => ({global_batch: 8, devices: n, tokens_per_second: 100 * n, memory: n}))});
        this.put('attacks/compare.json', {format: 'rehearse-comparison/1', a: attack, b: 'b.db', similarity: 0.5, low: 0.4,
            high: 0.6, components: [{kind: 'size', name: attack, weight: 1, similarity: 0.5, low: 0.4, high: 0.6}]});
        this.put('attacks/evil.svg', '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" ' +
            'width="9" height="9" onload="parent.ran=1"><script>top.ran=1</script><image ' +
            'xlink:href="http://picture.example/x.png"/><style>@import url(http://style.example/);</style>' +
            '<foreignObject><iframe src="http://frame.example/"/></foreignObject></svg>');
        this.put('attacks/<img src=x onerror=window.ran=1>.json', '{"format": "rehearse-checkpoint');
        this.put('attacks/' + attack.replace(/\//g, '') + '.odd', 'x');
        this.run('report attacks -o attacks.html --title', attack);
    }

    // A page of each command, about files whose names, and names in them, are attacks. Returns the pages' names.
    named() {
        const tag = '<img src=x onerror=window.ran=1>', model = `m${tag}.json`, trace = `k${tag}.json`, order = `./c${tag}.csv`;
        this.put(model, {model_type: 'llama', hidden_size: 2048, intermediate_size: 5632, num_hidden_layers: 22, num_attention_heads: 32,
            num_key_value_heads: 4, vocab_size: 32000, max_position_embeddings: 2048, torch_dtype: 'bfloat16'});
        this.put(trace, {traceEvents: [0, 9].map((ts, i) => ({ph: 'X', cat: 'kernel', name: attack, ts, dur: 5, pid: 0, tid: 7,
            args: {stream: 7, device: 0, correlation: i}}))});
        this.run('plan -d h100 --devices 16 --global-batch 64 -o named.json --page named-plan.html -m', model);
        this.run('plan -d h100 --devices 8..16 --global-batch 64 --page named-sweep.html -m', model);
        this.run('simulate named.json --page named-played.html');
        this.run('elastic named.json --faults 0 --page named-losses.html');
        this.run('simulate --page named-replay.html --replay', trace);
        this.run('simulate -s 1f1b -p 2 -n 4 --write-schedule', order);
        this.run('simulate --page named-order.html -s', order);
        return ['plan', 'sweep', 'played', 'losses', 'replay', 'order'].map((name) => 'named-' + name);
    }
}

// Pages of one answer each, by name. `answers` keeps what the command prints beside its page.
const lines = {
    plan: 'plan -m llama-3.1-8b -d h100 --devices 64 --global-batch 512 --top 6 --explain',
    large: 'plan -m llama-3.1-405b -d h100 --devices 16384 --global-batch 2048',
    sweep: 'plan -m llama-3.1-8b -d h100 --devices 8..64 --global-batch 256,512',
    schedule: 'simulate -s interleaved -p 8 -n 32 --chunks 2',
    replay: 'simulate runs/plan.json',
    losses: 'elastic runs/plan.json --faults 0 --lose 3',
    schedules: 'simulate --compare -p 4 -n 8',
    goodput: 'elastic --nodes 8 --stages 2 --rate rsc-1 --repair 6h --days 90 --seeds 3',
};

// Makes all pages below a folder. Returns the maker, whose `names` are those of the pages (NAME.html).
function make(program, folder) {
    const maker = new Maker(program, folder);
    maker.runs();
    maker.attacks();
    maker.answers = {};
    for (const [name, line] of Object.entries(lines))
        maker.answers[name] = maker.run(`${line} --page ${name}.html`);
    maker.plans = /id="planner-engine"[^>]*>\s*[^\s<]/.test(fs.readFileSync(maker.at('plan.html'), 'utf8'));
    maker.names = ['runs', 'attacks', ...Object.keys(lines)];
    if (maker.plans) {
        childProcess.execFileSync(path.join(top, 'scripts/make-site'), [maker.program, maker.at('site')], {stdio: 'pipe'});
        maker.names.push('site/index');
    }
    return maker;
}

module.exports = {make, Maker, attack, top};
