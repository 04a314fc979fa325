'use strict';
// Browsers without a window, by puppeteer: Chromium by its own protocol, Firefox by WebDriver BiDi. What a page asks for, and
// what it complains about, is recorded from its first byte on.

const fs = require('fs');
const path = require('path');
const {execFileSync} = require('child_process');

const packages = path.resolve(__dirname, '../../build-test/page/node_modules');
const programs = {chromium: ['chromium', 'chromium-browser', 'google-chrome'], firefox: ['firefox-esr', 'firefox']};

function find(name) {
    for (const program of programs[name])
        for (const folder of (process.env.PATH || '').split(':'))
            if (folder && fs.existsSync(path.join(folder, program)))
                return path.join(folder, program);
    return null;
}

// Why this browser cannot be driven here, or null. Fetches the packages of npm if they are not there yet.
function missing(name) {
    if (!find(name))
        return `no ${name}`;
    try {
        execFileSync(path.resolve(__dirname, '../../scripts/node-environment'), ['page', __dirname], {encoding: 'utf8', stdio: 'pipe'});
        return null;
    } catch (error) {
        return error.stderr.trim().split('\n').pop();
    }
}

function launch(name, scheme) {
    const puppeteer = require(path.join(packages, 'puppeteer-core'));
    if (name === 'chromium')
        return puppeteer.launch({browser: 'chrome', executablePath: find(name), args: ['--no-sandbox', '--disable-gpu',
            '--disable-dev-shm-usage', '--disable-background-networking', '--host-resolver-rules=MAP * ~NOTFOUND']});
    // Firefox has a preference where Chromium has a command.
    return puppeteer.launch({browser: 'firefox', executablePath: find(name), extraPrefsFirefox: {
        'layout.css.prefers-color-scheme.content-override': scheme === 'dark' ? 0 : 1,
        'network.proxy.type': 1, 'network.proxy.http': 'localhost', 'network.proxy.http_port': 9,
        'network.proxy.ssl': 'localhost', 'network.proxy.ssl_port': 9}});
}

class Driver {
    constructor(name) {
        this.name = name;
        this.started = new Map();
    }

    // Chromium changes its colours at will; Firefox is started once for each.
    browser(scheme) {
        const key = this.name === 'chromium' ? 'any' : scheme;
        if (!this.started.has(key))
            this.started.set(key, launch(this.name, scheme));
        return this.started.get(key);
    }

    // Opens a file. Options: `scheme` light or dark, `width`, `height`, `fragment`, `scripts` false to run none; `before`, a function
    // that runs in the page before its scripts. The page gets `asked`, addresses outside of itself, and `complaints`.
    async open(file, {scheme = 'light', width = 1440, height = 900, fragment = '', scripts = true, before = null} = {}) {
        const browser = await this.browser(scheme);
        const page = await browser.newPage();
        page.asked = [];
        page.complaints = [];
        page.on('request', (request) => {
            const url = request.url();
            if (!/^(blob|data):/.test(url) && !request.isNavigationRequest())
                page.asked.push(url);
        });
        page.on('console', (message) => {
            if (message.type() === 'error' || message.type() === 'warn')
                page.complaints.push(message.text());
        });
        page.on('pageerror', (error) => page.complaints.push(String(error.message || error)));
        await page.setViewport({width, height});
        if (this.name === 'chromium')
            await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
        if (!scripts && this.name === 'chromium')
            await page.setJavaScriptEnabled(false);
        if (!scripts && this.name === 'firefox') { // which has no command for that: a copy that allows none
            const text = fs.readFileSync(file, 'utf8').replace(/script-src 'sha256-[^']*'/, "script-src 'none'");
            file += '.still.html';
            fs.writeFileSync(file, text);
        }
        if (before)
            await page.evaluateOnNewDocument(before);
        await page.goto('file://' + file + fragment, {waitUntil: 'load'});
        if (scripts)
            await this.settle(page);
        return page;
    }

    // Waits until the page's script has nothing left to do: no sign of progress, and no element comes any more.
    settle(page) {
        return page.evaluate(() => new Promise((resolve) => {
            let before = -1, same = 0;
            const look = () => {
                const now = document.querySelectorAll('*').length;
                same = now === before && !document.querySelector('.progress, .asking') ? same + 1 : 0;
                before = now;
                if (same === 4)
                    resolve();
                else
                    setTimeout(look, 30);
            };
            look();
        }));
    }

    // What axe finds that is serious or critical, as lines.
    async axe(page) {
        this.source = this.source || fs.readFileSync(path.join(packages, 'axe-core/axe.min.js'), 'utf8');
        await page.evaluate(this.source);
        return page.evaluate(async () => {
            const found = await window.axe.run(document, {resultTypes: ['violations']});
            return found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical').map((v) =>
                `${v.id} (${v.nodes.length} times): ${v.nodes[0].html.slice(0, 150)}: ${v.nodes[0].failureSummary.split('\n')[1]}`);
        });
    }

    async close() {
        for (const browser of this.started.values())
            await (await browser).close();
    }
}

module.exports = {Driver, missing, packages};
