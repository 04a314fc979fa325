#include "feed/workload/compute_time.h"

#include "core/doc.h"

#include <math.h>
#include <pthread.h>

#define LINEAR_COUNT 3
#define MAX_ROWS     64

/* data/compute-times.yaml, by scripts/embed.c. */
extern const char data_compute_times[];
extern const size_t data_compute_times_size;

struct plane {
    double gpus, batch, constant;
};

struct row {
    double gpus, batch, mean, stdev;
};

static struct {
    struct plane mean[LINEAR_COUNT], stdev[LINEAR_COUNT]; /* in the order of the enum, from vldb_unet3d */
    struct row rows[MAX_ROWS];                            /* by GPUs, then batch */
    int row_count;
    bool read;
    struct error err;
} models;
static pthread_once_t models_once = PTHREAD_ONCE_INIT;

/* --- reading -------------------------------------------------------------------------------------------------- */

static bool read_number(double *value, const struct doc *doc, const struct doc_node *map, const char *key,
                        struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, key, err);
    return node && doc_number(doc, node, -1e9, 1e9, value, err);
}

static bool read_plane(struct plane *plane, const struct doc *doc, const struct doc_node *map,
                       const char *key, struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, key, err);
    return node && read_number(&plane->gpus, doc, node, "gpus", err) &&
           read_number(&plane->batch, doc, node, "batch", err) &&
           read_number(&plane->constant, doc, node, "constant", err);
}

static bool read_planes(const struct doc *doc, struct error *err)
{
    const struct doc_node *list = doc_need(doc, doc->root, "linear", err);
    int at = 0;
    for (const struct doc_node *node = list ? list->first_child : NULL; node && at < LINEAR_COUNT;
         node = node->next)
        if (!read_plane(&models.mean[at], doc, node, "mean", err) ||
            !read_plane(&models.stdev[at++], doc, node, "stdev", err))
            return false;
    return list && at == LINEAR_COUNT;
}

static bool read_rows(const struct doc *doc, struct error *err)
{
    const struct doc_node *table = doc_need(doc, doc->root, "table", err);
    const struct doc_node *list = table ? doc_need(doc, table, "rows", err) : NULL;
    for (const struct doc_node *node = list ? list->first_child : NULL; node && models.row_count < MAX_ROWS;
         node = node->next) {
        struct row *row = &models.rows[models.row_count++];
        if (!read_number(&row->gpus, doc, node, "gpus", err) ||
            !read_number(&row->batch, doc, node, "batch", err) ||
            !read_number(&row->mean, doc, node, "mean", err) ||
            !read_number(&row->stdev, doc, node, "stdev", err))
            return false;
    }
    return list != NULL;
}

static void read_models(void)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, "compute-times.yaml", data_compute_times, data_compute_times_size,
                   &models.err))
        return;
    models.read = read_planes(&doc, &models.err) && read_rows(&doc, &models.err);
    doc_release(&doc);
}

/* --- evaluating ----------------------------------------------------------------------------------------------- */

static double value_of(const struct plane *plane, double gpus, double batch)
{
    return plane->gpus * gpus + plane->batch * batch + plane->constant;
}

static struct distribution of_linear(int model, double gpus, double batch)
{
    double mean = fmax(0, value_of(&models.mean[model], gpus, batch));
    double stdev = value_of(&models.stdev[model], gpus, batch);
    return stdev > 0 ? distribution_normal(mean, stdev) : distribution_constant(mean);
}

/* Where `at` lies between two values: 0 at the lower, 1 at the upper. */
static double between(double lower, double upper, double at)
{
    return upper > lower ? (at - lower) / (upper - lower) : 0;
}

static double mix(double first, double second, double part)
{
    return first + (second - first) * part;
}

/* Of measured GPUs, at any batch; false: outside its rows. */
static bool of_gpus(double gpus, double batch, struct row *out)
{
    const struct row *below = NULL, *above = NULL;
    for (int i = 0; i < models.row_count; i++) {
        const struct row *row = &models.rows[i];
        if (row->gpus == gpus && row->batch <= batch)
            below = row;
        if (row->gpus == gpus && row->batch >= batch && !above)
            above = row;
    }
    if (!below || !above)
        return false;
    double part = between(log(below->batch), log(above->batch), log(batch));
    out->mean = exp(mix(log(below->mean), log(above->mean), part));
    out->stdev = exp(mix(log(below->stdev), log(above->stdev), part));
    return true;
}

static bool of_table(double gpus, double batch, struct distribution *time, struct error *err)
{
    double below = -1, above = INFINITY;
    struct row low, high;
    for (int i = 0; i < models.row_count; i++) {
        double measured = models.rows[i].gpus;
        below = measured <= gpus ? fmax(below, measured) : below;
        above = measured >= gpus ? fmin(above, measured) : above;
    }
    if (!of_gpus(below, batch, &low) || !of_gpus(above, batch, &high))
        return error_set(
            err, ERROR_INPUT,
            "train.computation_model: vldb_dlrm_table has no time for %g GPUs and a batch of %g: it was "
            "measured on 1 to 8 and 2048 to 131072 (65536 on 1); vldb_dlrm has a formula",
            gpus, batch);
    double part = between(below, above, gpus);
    *time = distribution_normal(mix(low.mean, high.mean, part), mix(low.stdev, high.stdev, part));
    return true;
}

bool compute_time_model(enum workload_computation_model model, double gpus, double batch,
                        struct distribution *time, struct error *err)
{
    pthread_once(&models_once, read_models);
    if (!models.read) {
        *err = models.err;
        return false;
    }
    if (model == WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE)
        return of_table(gpus, batch, time, err);
    *time = of_linear((int)model - WORKLOAD_COMPUTATION_VLDB_UNET3D, gpus, batch);
    return true;
}

bool compute_time_of_step(const struct workload *workload, int64_t accelerators, struct distribution *time,
                          struct error *err)
{
    enum workload_computation_model model = workload->train.computation_model;
    double gpus = (double)(workload->num_gpus > 0 ? workload->num_gpus : accelerators);
    double batch = (double)workload->reader.batch_size;
    *time = workload->train.computation_time;
    if (model == WORKLOAD_COMPUTATION_TIME)
        return true;
    if (model == WORKLOAD_COMPUTATION_VLDB_DLRM || model == WORKLOAD_COMPUTATION_VLDB_DLRM_TABLE)
        batch *= (double)accelerators;
    return compute_time_model(model, gpus, batch, time, err);
}
