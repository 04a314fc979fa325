'use strict';

/* What people do to a timeline (timeline.js): they move, zoom and search it, by wheel, pointer, fingers and keys. */

class Hands {
    /* Shows a time of this length at least, within what there is. */
    setView(from, to) {
        const span = Math.min(this.end, Math.max(this.end * 1e-9, 8, to - from));
        const begin = Math.max(0, Math.min(this.end - span, from + (to - from - span) / 2));
        this.view = {from: begin, to: begin + span};
        this.tip.hidden = true;
        this.surface.repaint();
    }

    /* Changes the span by a factor around a time, which stays where it is. */
    zoom(factor, time = (this.view.from + this.view.to) / 2) {
        const {from, to} = this.view, span = Math.min(this.end, (to - from) * factor);
        const begin = Math.max(0, Math.min(this.end - span, time - (time - from) / (to - from) * span));
        this.setView(begin, begin + span);
    }

    pan(share) {
        const {from, to} = this.view, step = (to - from) * share;
        this.setView(from + step, to + step);
    }

    reset() {
        this.setView(0, this.end);
        this.surface.say(this.summary());
    }

    scrollTo(top) {
        this.top = Math.max(0, Math.min(this.content - this.area, top));
        this.surface.repaint();
    }

    heighten(factor) {
        this.stretch = Math.max(0.2, Math.min(10, this.stretch * factor));
        this.surface.repaint();
    }

    /* Shows or hides lanes below others, or those of a group. */
    toggle(group) {
        if (group === undefined)
            this.showUnder = !this.showUnder;
        else if (!this.closed.delete(group))
            this.closed.add(group);
        this.arrange();
        this.surface.repaint();
    }

    /* Chooses a task (-1: only the lane), brings it into sight, and says what it is. */
    choose(index, task, zoomed = false) {
        const lane = this.lanes[index];
        this.selected = {lane: index, task};
        if (!lane || !lane.arrays)
            return;
        if (this.closed.has(lane.group) || (lane.under && !this.showUnder)) {
            this.closed.delete(lane.group);
            this.showUnder = this.showUnder || lane.under;
            this.arrange();
            this.measure(this.surface.width);
        }
        const row = this.rows.find(one => one.lane === lane);
        if (row.top < this.top || row.top + row.height > this.top + this.area)
            this.top = Math.max(0, Math.min(this.content - this.area, row.top - this.area / 2));
        if (task >= 0) {
            const begin = lane.arrays.begins[task], end = lane.arrays.ends[task], span = this.view.to - this.view.from;
            if (zoomed && end - begin < span / 200)
                this.setView((begin + end) / 2 - (end - begin) * 20, (begin + end) / 2 + (end - begin) * 20);
            else if (begin < this.view.from || end > this.view.to)
                this.setView((begin + end - Math.max(span, end - begin)) / 2, (begin + end + Math.max(span, end - begin)) / 2);
        }
        this.surface.say(task >= 0 ? this.describe(lane, task).join('; ') :
            `${this.nameOf(lane)}${lane.group ? `, ${lane.group}` : ''}: ${grouped(lane.arrays.count)} tasks`);
        this.surface.repaint();
    }

    /* The task after or before the chosen one in its lane, or the first one in sight. */
    neighbour(step) {
        const {arrays} = this.lanes[this.selected.lane] || {};
        if (!arrays || arrays.count === 0)
            return;
        const next = this.selected.task < 0 ? firstAbove(arrays.ends, this.view.from) : this.selected.task + step;
        this.choose(this.selected.lane, Math.max(0, Math.min(arrays.count - 1, next)));
    }

    moveLane(step) {
        const shown = this.rows.filter(row => row.lane && row.lane.arrays), at = shown.findIndex(row => row.lane.index === this.selected.lane);
        const next = shown[Math.max(0, Math.min(shown.length - 1, at + step))];
        if (!next)
            return;
        const old = this.lanes[this.selected.lane], time = this.selected.task >= 0 && old.arrays ? old.arrays.begins[this.selected.task] : null;
        const task = time === null ? -1 : Math.min(next.lane.arrays.count - 1, firstAbove(next.lane.arrays.ends, time));
        this.choose(next.lane.index, task);
    }

    /* ---- search ---- */

    /* Counts what is looked for, in slices, and goes to the first one. */
    async find() {
        const text = this.search.value.trim(), matches = matcher(text, this.data), run = this.run = {};
        this.matches = null;
        this.found.textContent = text === '' ? '' : 'searching…';
        if (text === '')
            return;
        let all = 0, until = performance.now() + 40;
        const counts = [];
        for (const lane of this.lanes) {
            const {kinds, labels, count} = lane.arrays || {count: 0};
            let own = 0;
            for (let i = 0; i < count; i++)
                own += matches(kinds[i], labels[i]) ? 1 : 0;
            counts.push(own);
            all += own;
            if (performance.now() > until) {
                await new Promise(resolve => setTimeout(resolve, 0));
                until = performance.now() + 40;
            }
            if (run !== this.run)
                return; /* something else is looked for by now */
        }
        this.matches = {test: matches, counts, all};
        this.found.textContent = all === 0 ? `no task has '${text}'` : `${grouped(all)} tasks`;
    }

    /* Goes to the next or last task that is looked for, lane by lane. */
    step(direction) {
        if (!this.matches || this.matches.all === 0)
            return;
        const {test, counts, all} = this.matches;
        let lane = this.selected.lane, task = this.selected.task + (this.selected.task < 0 && direction < 0 ? 0 : direction);
        for (let tried = 0; tried <= this.lanes.length; tried++) {
            const {kinds, labels, count} = this.lanes[lane].arrays || {count: 0};
            if (counts[lane] > 0)
                for (; task >= 0 && task < count; task += direction)
                    if (test(kinds[task], labels[task])) {
                        this.choose(lane, task, true);
                        let place = counts.slice(0, lane).reduce((sum, one) => sum + one, 0);
                        for (let i = 0; i <= task; i++)
                            place += test(kinds[i], labels[i]) ? 1 : 0;
                        this.found.textContent = `${grouped(place)} of ${grouped(all)}`;
                        return;
                    }
            lane = (lane + direction + this.lanes.length) % this.lanes.length;
            task = direction > 0 ? 0 : (this.lanes[lane].arrays || {count: 0}).count - 1;
        }
    }

    /* ---- hands ---- */

    listen() {
        const {canvas} = this.surface;
        let scrolled = 0;
        addEventListener('scroll', () => { scrolled = performance.now(); }, {passive: true});
        canvas.addEventListener('wheel', event => {
            if (performance.now() - scrolled < 250) /* who scrolls the page comes past */
                return;
            if (event.shiftKey && this.content > this.area)
                this.scrollTo(this.top + (event.deltaY || event.deltaX));
            else if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
                this.pan(event.deltaX / this.span);
            else if (event.deltaY > 0 && this.view.to - this.view.from >= this.end)
                return; /* all is seen: the page may scroll */
            else
                this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), this.timeAt(Math.max(this.gutter, event.offsetX)));
            event.preventDefault();
        }, {passive: false});
        canvas.addEventListener('pointerdown', event => this.press(event));
        canvas.addEventListener('pointermove', event => this.drag(event));
        for (const name of ['pointerup', 'pointercancel'])
            canvas.addEventListener(name, event => this.release(event));
        canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
        canvas.addEventListener('dblclick', () => this.reset());
        canvas.addEventListener('keydown', event => this.key(event));
    }

    press(event) {
        const {canvas} = this.surface, [x, y] = [event.offsetX, event.offsetY], mapTop = this.ruler + this.area;
        canvas.focus({preventScroll: true});
        canvas.setPointerCapture(event.pointerId);
        this.pointers.set(event.pointerId, {x, y});
        this.tip.hidden = true;
        this.hold = {x, y, view: {...this.view}, top: this.top, moved: false, map: y > mapTop && y < mapTop + this.gap + this.minimap + 4};
        if (event.shiftKey && x >= this.gutter)
            this.chosen = [this.timeAt(x), this.timeAt(x)];
        if (this.hold.map)
            this.centre(x);
    }

    /* Moves what is seen to a place of the minimap. */
    centre(x) {
        const middle = (x - this.gutter) / this.span * this.end, half = (this.view.to - this.view.from) / 2;
        this.setView(middle - half, middle + half);
    }

    drag(event) {
        const [x, y] = [event.offsetX, event.offsetY], held = this.pointers.get(event.pointerId), hold = this.hold;
        if (!held || !hold)
            return this.showTip(x, y);
        if (this.pointers.size === 2) { /* two fingers: what lies under them stays there */
            const others = [...this.pointers.values()], before = Math.abs(others[0].x - others[1].x);
            const middle = this.timeAt((others[0].x + others[1].x) / 2);
            Object.assign(held, {x, y});
            const factor = before / Math.max(1, Math.abs(others[0].x - others[1].x));
            hold.moved = true;
            return this.zoom(Math.max(0.5, Math.min(2, factor)), middle);
        }
        Object.assign(held, {x, y});
        hold.moved = hold.moved || Math.abs(x - hold.x) + Math.abs(y - hold.y) > 4;
        if (this.chosen) {
            this.chosen[1] = this.timeAt(Math.max(this.gutter, x));
            return this.surface.repaint();
        }
        if (hold.map)
            return this.centre(x);
        const step = (hold.x - x) / this.span * (hold.view.to - hold.view.from);
        this.scrollTo(hold.top + hold.y - y);
        return this.setView(hold.view.from + step, hold.view.to + step);
    }

    release(event) {
        const hold = this.hold, chosen = this.chosen;
        this.pointers.delete(event.pointerId);
        this.chosen = null;
        if (this.pointers.size > 0)
            return;
        this.hold = null;
        if (chosen && event.type === 'pointerup' && Math.abs(chosen[0] - chosen[1]) > (this.view.to - this.view.from) / 500)
            this.setView(Math.min(...chosen), Math.max(...chosen));
        else if (hold && !hold.moved && !hold.map)
            this.click(event.offsetX, event.offsetY);
        this.surface.repaint();
    }

    click(x, y) {
        const row = this.rowAt(y);
        if (!row)
            return;
        if (row.group !== undefined)
            return this.toggle(row.group);
        if (!row.lane.arrays)
            return;
        const time = this.timeAt(x), i = firstAbove(row.lane.arrays.ends, time);
        const hit = x >= this.gutter && i < row.lane.arrays.count && row.lane.arrays.begins[i] <= time;
        this.choose(row.lane.index, hit ? i : -1);
        this.showTip(x, y);
    }

    key(event) {
        const acts = {
            '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), 'w': () => this.zoom(0.5), 's': () => this.zoom(2),
            'ArrowLeft': () => this.pan(-0.1), 'ArrowRight': () => this.pan(0.1), 'a': () => this.pan(-0.1), 'd': () => this.pan(0.1),
            'ArrowUp': () => this.moveLane(-1), 'ArrowDown': () => this.moveLane(1), 'PageUp': () => this.moveLane(-10), 'PageDown': () => this.moveLane(10),
            '.': () => this.neighbour(1), ',': () => this.neighbour(-1), 'n': () => this.step(1), 'N': () => this.step(-1),
            '0': () => this.reset(), 'Home': () => this.reset(), 't': () => this.toggle(), '/': () => this.search.focus(),
            'Enter': () => this.toggle(this.lanes[this.selected.lane].group), 'f': () => this.choose(this.selected.lane, this.selected.task, true),
            ']': () => this.heighten(1.5), '[': () => this.heighten(1 / 1.5), 'Escape': () => { this.selected.task = -1; },
        };
        if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(acts, event.key))
            return;
        event.preventDefault();
        acts[event.key]();
        this.surface.repaint();
    }
}
