/* HPGO's own search (orchestrate.rs), less what cannot win.
 *
 * Its dynamic program runs for every i = 2 … N with units of floor(N / i) devices. A split into stages never beats one
 * stage on all units there, since the slowest of several is no faster than the average; so all that it yields is that
 * one stage. What else it tries: two stages of N / 2 devices, N stages of one device (both minimise the pivot only,
 * with transfers counted twice), and every split in two with every number of devices (which minimises the latency).
 * The last best of these, in this order, is the answer. */
#include "plan/dapple/model.h"

#include <math.h>
#include <stdlib.h>

struct hpgo {
    const struct dapple_problem *problem;
    int layers, devices;
    struct dapple_split best, trial; /* room for `devices` stages each */
};

static void set_stage(struct dapple_split *plan, int stage, int first, int last, int devices)
{
    plan->stages[stage] = (struct dapple_stage){first, last, devices};
}

/* Scores the trial; the later of two equals wins. */
static void consider(struct hpgo *hpgo)
{
    struct dapple_split *trial = &hpgo->trial, spare = hpgo->best;
    dapple_score(hpgo->problem, trial);
    if (trial->speedup >= hpgo->best.speedup) {
        hpgo->best = *trial;
        *trial = spare;
    }
}

static void one_stage(struct hpgo *hpgo)
{
    for (int units = hpgo->devices > 1 ? 2 : 1; units <= hpgo->devices; units++) {
        struct dapple_split *plan = &hpgo->trial;
        int replicas = hpgo->devices / units, used = replicas * units;
        plan->stage_count = plan->factor = 1;
        plan->replicas = replicas;
        set_stage(plan, 0, 0, hpgo->layers - 1, used);
        for (int i = 0; i < hpgo->devices; i++)
            plan->stage_of[i] = (int16_t)(i < used ? 0 : -1);
        consider(hpgo);
    }
}

/* The trial's first stage gets `count` devices in order, or one of each machine in turn; the second the rest. */
static void split_devices(struct hpgo *hpgo, int count, bool scatter)
{
    const struct dapple_cluster *cluster = hpgo->problem->cluster;
    int16_t *stage_of = hpgo->trial.stage_of;
    for (int i = 0; i < hpgo->devices; i++)
        stage_of[i] = scatter || i >= count;
    for (int depth = 0; scatter && count > 0; depth++)
        for (int k = 0; k < cluster->machine_count && count > 0; k++) {
            int device = (k > 0 ? cluster->machine_end[k - 1] : 0) + depth;
            if (device < cluster->machine_end[k]) {
                stage_of[device] = 0;
                count--;
            }
        }
}

static void two_stages(struct hpgo *hpgo, int first_devices, int cut)
{
    hpgo->trial.stage_count = 2;
    set_stage(&hpgo->trial, 0, 0, cut, first_devices);
    set_stage(&hpgo->trial, 1, cut + 1, hpgo->layers - 1, hpgo->devices - first_devices);
}

/* Of two cuts with the same pivot the earlier. */
static void two_halves(struct hpgo *hpgo)
{
    const struct dapple_problem *problem = hpgo->problem;
    double least = INFINITY;
    int half = hpgo->devices / 2, best = -1;
    split_devices(hpgo, half, false);
    two_stages(hpgo, half, 0);
    for (int cut = 0; cut < hpgo->layers - 1; cut++) {
        if (!chain_before(problem->chain, cut, hpgo->layers - 1))
            continue;
        double pivot = fmax(dapple_compute(problem, 0, cut) / half,
                            dapple_compute(problem, cut + 1, hpgo->layers - 1) / half);
        pivot = fmax(pivot, dapple_transfer(problem, &hpgo->trial, 0, 1, 2 * dapple_crossing(problem, cut)));
        if (pivot < least) {
            least = pivot;
            best = cut;
        }
    }
    if (best < 0)
        return;
    two_stages(hpgo, half, best);
    hpgo->trial.replicas = half;
    hpgo->trial.factor = 2;
    consider(hpgo);
}

static void all_splits(struct hpgo *hpgo)
{
    hpgo->trial.replicas = hpgo->trial.factor = 1;
    for (int cut = 0; cut < hpgo->layers - 1; cut++)
        for (int count = 1; count < hpgo->devices; count++)
            for (int scatter = 0; scatter < 2; scatter++) {
                split_devices(hpgo, count, scatter);
                two_stages(hpgo, count, cut);
                hpgo->trial.replicas = hpgo->trial.factor = 1;
                consider(hpgo);
            }
}

/* --- one device per stage ---------------------------------------------------------------------------------------- */

/* Machines are opened in order, and filled in order, too: devices 0 … filled - 1 are in use, and the first of each
 * machine below `opened`. HPGO keeps the sets of devices in use in order, that without a lower device first: of two
 * with as many devices, that with less filled. */
struct place {
    int filled, opened;
    int next[2], device[2]; /* places with one device more, and that device; -1: none */
};

struct cell {
    double value;       /* INFINITY: not reached */
    int16_t before;     /* last layer of the stage before */
    int16_t device;     /* of this stage */
    int32_t last_place; /* of the stage before */
};

struct straight {
    struct hpgo *hpgo;
    int place_count;
    int *first;           /* [stage] places after that many stages and one more; one behind the last, too */
    struct place *places; /* in HPGO's order within a stage */
    struct cell *cells;   /* [place][layer] */
};

static int machine_of(const struct dapple_cluster *cluster, int device)
{
    int machine = 0;
    while (cluster->machine_end[machine] <= device)
        machine++;
    return machine;
}

static int machine_start(const struct dapple_cluster *cluster, int machine)
{
    return machine > 0 ? cluster->machine_end[machine - 1] : 0;
}

/* The place with this, among those of the last stage; made if it is new. `filled` runs over a machine's first device
 * that is in use already. */
static int find_place(struct straight *straight, int first, int filled, int opened)
{
    const struct dapple_cluster *cluster = straight->hpgo->problem->cluster;
    while (filled < straight->hpgo->devices) {
        int machine = machine_of(cluster, filled);
        if (machine >= opened || filled != machine_start(cluster, machine))
            break;
        filled++;
    }
    for (int i = first; i < straight->place_count; i++)
        if (straight->places[i].filled == filled && straight->places[i].opened == opened)
            return i;
    straight->places[straight->place_count] = (struct place){filled, opened, {-1, -1}, {0, 0}};
    return straight->place_count++;
}

/* HPGO's policies offer the first free device of a machine in use and the first of a fresh machine; that of the third
 * policy, the first free device of all, is one of the two. */
static void find_places(struct straight *straight)
{
    const struct dapple_cluster *cluster = straight->hpgo->problem->cluster;
    find_place(straight, 0, 1, 1);
    for (int stage = 0; stage < straight->hpgo->devices; stage++) {
        int first = straight->first[stage], end = straight->place_count;
        straight->first[stage + 1] = end;
        for (int i = first; i < end; i++) {
            struct place *place = &straight->places[i];
            if (place->opened < cluster->machine_count) {
                place->device[0] = machine_start(cluster, place->opened);
                place->next[0] = find_place(straight, end, place->filled, place->opened + 1);
            }
            if (place->filled < straight->hpgo->devices &&
                machine_of(cluster, place->filled) < place->opened) {
                place->device[1] = place->filled;
                place->next[1] = find_place(straight, end, place->filled + 1, place->opened);
            }
        }
    }
}

/* All ways to put one more stage behind a cell. */
static void add_stages(struct straight *straight, int from, int before)
{
    const struct dapple_problem *problem = straight->hpgo->problem;
    const struct dapple_cluster *cluster = problem->cluster;
    const struct place *place = &straight->places[from];
    int layers = straight->hpgo->layers;
    const struct cell *cell = &straight->cells[(size_t)from * (size_t)layers + (size_t)before];
    if (isinf(cell->value))
        return;
    double bytes = 2 * dapple_crossing(problem, before);
    for (int i = 0; i < 2; i++) {
        if (place->next[i] < 0)
            continue;
        bool away = machine_of(cluster, cell->device) != machine_of(cluster, place->device[i]);
        double send = bytes / (away ? cluster->point_to_point : cluster->inside);
        struct cell *targets = &straight->cells[(size_t)place->next[i] * (size_t)layers];
        for (int layer = before + 1; layer < layers; layer++) {
            if (!chain_before(problem->chain, before, layer))
                continue;
            double value = fmax(fmax(cell->value, dapple_compute(problem, before + 1, layer)), send);
            if (value < targets[layer].value)
                targets[layer] = (struct cell){value, (int16_t)before, (int16_t)place->device[i], from};
        }
    }
}

static void fill_cells(struct straight *straight)
{
    int layers = straight->hpgo->layers, devices = straight->hpgo->devices;
    for (size_t i = 0; i < (size_t)straight->place_count * (size_t)layers; i++)
        straight->cells[i].value = INFINITY;
    for (int layer = 0; layer < layers; layer++)
        straight->cells[layer] = (struct cell){dapple_compute(straight->hpgo->problem, 0, layer), -1, 0, -1};
    for (int stage = 0; stage < devices - 1; stage++)
        for (int before = stage; before < layers - 1; before++)
            for (int i = straight->first[stage]; i < straight->first[stage + 1]; i++)
                add_stages(straight, i, before);
}

static void take_straight(struct straight *straight)
{
    struct hpgo *hpgo = straight->hpgo;
    struct dapple_split *plan = &hpgo->trial;
    int place = straight->first[hpgo->devices - 1], layer = hpgo->layers - 1;
    if (isinf(straight->cells[(size_t)place * (size_t)hpgo->layers + (size_t)layer].value))
        return;
    plan->stage_count = hpgo->devices;
    plan->replicas = 1;
    plan->factor = 2;
    for (int stage = hpgo->devices - 1; stage >= 0; stage--) {
        const struct cell *cell = &straight->cells[(size_t)place * (size_t)hpgo->layers + (size_t)layer];
        set_stage(plan, stage, cell->before + 1, layer, 1);
        plan->stage_of[cell->device] = (int16_t)stage;
        layer = cell->before;
        place = cell->last_place;
    }
    consider(hpgo);
}

/* Least pivot of N stages; HPGO panics where there are fewer layers, here that candidate is left out. */
static bool one_each(struct hpgo *hpgo, struct error *err)
{
    int devices = hpgo->devices;
    size_t most = (size_t)devices * (size_t)(hpgo->problem->cluster->machine_count + 1);
    if (hpgo->layers < devices || devices < 2)
        return true;
    struct straight straight = {.hpgo = hpgo};
    straight.first = calloc((size_t)devices + 1, sizeof *straight.first);
    straight.places = calloc(most, sizeof *straight.places);
    if (straight.first && straight.places) {
        find_places(&straight);
        straight.cells = calloc((size_t)straight.place_count * (size_t)hpgo->layers, sizeof *straight.cells);
    }
    if (straight.cells) {
        fill_cells(&straight);
        take_straight(&straight);
    }
    bool done = straight.cells != NULL;
    free(straight.first);
    free(straight.places);
    free(straight.cells);
    return done || error_memory(err);
}

bool dapple_search_hpgo(const struct dapple_problem *problem, struct dapple_split *plan, struct error *err)
{
    if (!dapple_check(problem, err))
        return false;
    struct hpgo hpgo = {problem,
                        problem->chain->layer_count,
                        dapple_devices(problem->cluster),
                        {.stage_count = 0},
                        {.stage_count = 0}};
    int most = hpgo.devices > 2 ? hpgo.devices : 2;
    if (!dapple_split_init(&hpgo.best, most, hpgo.devices, err))
        return false;
    if (!dapple_split_init(&hpgo.trial, most, hpgo.devices, err)) {
        dapple_split_release(&hpgo.best);
        return false;
    }
    hpgo.best.speedup = -1;
    one_stage(&hpgo);
    if (hpgo.devices % 2 == 0 && hpgo.devices > 2)
        two_halves(&hpgo);
    bool done = one_each(&hpgo, err);
    if (done)
        all_splits(&hpgo);
    dapple_split_release(&hpgo.trial);
    if (done && hpgo.best.speedup > 0) {
        *plan = hpgo.best;
        plan->search = "hpgo";
        return true;
    }
    dapple_split_release(&hpgo.best);
    return done &&
           error_set(err, ERROR_INFEASIBLE, "no plan: HPGO's candidates have no micro-batch or no memory");
}
