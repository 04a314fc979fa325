/* HPGO's own search (orchestrate.rs), without candidates that cannot win.
 *
 * Its dynamic program runs for every i = 2 … N with units of floor(N / i) devices. There, a split into stages never
 * beats one stage on all units, since the slowest of several stages is no faster than their average; so the program
 * yields only that stage. HPGO's other candidates: two stages of N / 2 devices, N stages of one device (both minimise
 * the pivot only, with transfers counted twice), and every split in two with every number of devices (which minimises
 * the latency). The answer is the last of the best candidates, in this order. */
#include "plan/dapple/model.h"

#include <math.h>

struct hpgo {
    const struct dapple_problem *problem;
    int layers, devices;
    struct dapple_split best, trial; /* room for `devices` stages each */
};

static void set_stage(struct dapple_split *plan, int stage, int first, int last, int devices)
{
    plan->stages[stage] = (struct dapple_stage){{first, last}, devices};
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

/* Gives the first stage of the trial `count` devices, in order or one from each machine in turn, and the second stage
 * the rest. */
static void split_devices(struct hpgo *hpgo, int count, bool scatter)
{
    const struct dapple_cluster *cluster = hpgo->problem->cluster;
    int16_t *stage_of = hpgo->trial.stage_of;
    for (int i = 0; i < hpgo->devices; i++)
        stage_of[i] = scatter || i >= count;
    for (int depth = 0; scatter && count > 0; depth++)
        for (int k = 0; k < cluster->machine_count && count > 0; k++) {
            int device = dapple_machine_start(cluster, k) + depth;
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

/* The earlier of two cuts with the same pivot wins. */
static void two_halves(struct hpgo *hpgo)
{
    const struct dapple_problem *problem = hpgo->problem;
    double min = INFINITY;
    int half = hpgo->devices / 2, best = -1;
    split_devices(hpgo, half, false);
    two_stages(hpgo, half, 0);
    for (int cut = 0; cut < hpgo->layers - 1; cut++) {
        if (!chain_before(problem->chain, cut, hpgo->layers - 1))
            continue;
        double pivot = fmax(dapple_compute(problem, 0, cut) / half,
                            dapple_compute(problem, cut + 1, hpgo->layers - 1) / half);
        pivot = fmax(pivot, dapple_transfer(problem, &hpgo->trial, 0, 1, 2 * dapple_crossing(problem, cut)));
        if (pivot < min) {
            min = pivot;
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

/* Machines are opened and filled in order: devices 0 … filled - 1 are in use, and the first device of each machine
 * below `opened`. HPGO orders the sets of devices in use: of two sets with equally many devices, the one with fewer
 * filled comes first. */
struct place {
    int filled, opened;
    int next[2], device[2]; /* the places with one more device, and that device; -1: none */
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
    int *first;           /* [stage + 1] the first place with stages 0 … stage */
    struct place *places; /* in HPGO's order within a stage */
    struct cell *cells;   /* [place][layer] */
};

/* Returns the place with these numbers, from `first` on, and adds it if it is new. `filled` skips the first device of a
 * machine that is in use already. */
static int find_place(struct straight *straight, int first, int filled, int opened)
{
    const struct dapple_cluster *cluster = straight->hpgo->problem->cluster;
    while (filled < straight->hpgo->devices) {
        int machine = dapple_machine_of(cluster, filled);
        if (machine >= opened || filled != dapple_machine_start(cluster, machine))
            break;
        filled++;
    }
    for (int i = first; i < straight->place_count; i++)
        if (straight->places[i].filled == filled && straight->places[i].opened == opened)
            return i;
    straight->places[straight->place_count] = (struct place){filled, opened, {-1, -1}, {0, 0}};
    return straight->place_count++;
}

/* HPGO's policies offer the first free device of a machine in use and the first device of a fresh machine. The third
 * policy's, the first free device of all, is always one of these two. */
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
                place->device[0] = dapple_machine_start(cluster, place->opened);
                place->next[0] = find_place(straight, end, place->filled, place->opened + 1);
            }
            if (place->filled < straight->hpgo->devices &&
                dapple_machine_of(cluster, place->filled) < place->opened) {
                place->device[1] = place->filled;
                place->next[1] = find_place(straight, end, place->filled + 1, place->opened);
            }
        }
    }
}

/* Puts one more stage behind a cell in every possible way. */
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
        bool away = dapple_machine_of(cluster, cell->device) != dapple_machine_of(cluster, place->device[i]);
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

/* Considers the N stages with the minimum pivot. With fewer layers, where HPGO panics, there is no such candidate. */
static bool one_each(struct hpgo *hpgo, struct error *err)
{
    int devices = hpgo->devices;
    size_t max_places = (size_t)devices * (size_t)(hpgo->problem->cluster->machine_count + 1);
    if (hpgo->layers < devices || devices < 2)
        return true;
    struct arena arena = {0};
    struct straight straight = {
        .hpgo = hpgo,
        .first = ARENA_ARRAY(&arena, (size_t)devices + 1, int),
        .places = ARENA_ARRAY(&arena, max_places, struct place),
    };
    if (straight.first && straight.places) {
        find_places(&straight);
        straight.cells =
            ARENA_ARRAY(&arena, (size_t)straight.place_count * (size_t)hpgo->layers, struct cell);
    }
    bool done = straight.cells != NULL;
    if (done) {
        fill_cells(&straight);
        take_straight(&straight);
    }
    arena_release(&arena);
    return done || error_memory(err);
}

bool dapple_search_hpgo(const struct dapple_problem *problem, struct dapple_split *plan, struct error *err)
{
    if (!dapple_check(problem, err))
        return false;
    struct hpgo hpgo = {
        .problem = problem,
        .layers = problem->chain->layer_count,
        .devices = dapple_devices(problem->cluster),
    };
    int max = hpgo.devices > 2 ? hpgo.devices : 2;
    bool done = dapple_split_init(&hpgo.best, max, hpgo.devices, err) &&
                dapple_split_init(&hpgo.trial, max, hpgo.devices, err);
    if (done) {
        hpgo.best.speedup = -1;
        one_stage(&hpgo);
        if (hpgo.devices % 2 == 0 && hpgo.devices > 2)
            two_halves(&hpgo);
        done = one_each(&hpgo, err);
    }
    if (done)
        all_splits(&hpgo);
    dapple_split_release(&hpgo.trial);
    if (done && hpgo.best.speedup > 0) {
        *plan = hpgo.best;
        plan->search = "hpgo";
        return true;
    }
    dapple_split_release(&hpgo.best);
    return done && error_set(err, ERROR_INFEASIBLE,
                             "no plan: no candidate of HPGO has a micro-batch and fits the memory");
}
