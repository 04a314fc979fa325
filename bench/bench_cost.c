/* What a profile of BERT-base takes: twelve files of HLO, seven devices, forward and backward; and all modules of the
 * reference's corpus. Processor seconds of the whole process on one thread, medians. */
#include "core/clock.h"
#include "devices/tables.h"
#include "measure.h"

#include "core/text.h"
#include "cost/layer.h"
#include "cost/transformer_hlo.h"
#include "devices/link.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS    9
#define LAYERS  12
#define DEVICES 7

static void give_up(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    exit(1);
}

/* ---- BERT-base ---- */

static char folder[] = "/tmp/rehearse-bench-XXXXXX";
static char paths[LAYERS][64];

/* All alike, or each with a name of its own, so that none is priced once for several. */
static void write_layers(bool alike)
{
    struct shape shape = {8, 512, 768, 12, "f32", false};
    struct text text = transformer(&shape);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/layer_%02d.hlo", folder, i);
        FILE *file = fopen(paths[i], "w");
        if (text.failed || !file || fprintf(file, "// layer %d\n%s", alike ? 0 : i, text.data) < 0 ||
            fclose(file))
            give_up("cannot write the layers");
    }
    text_release(&text);
}

static void measure_profile(const char *name, bool alike)
{
    static const char *const names[DEVICES] = {"v100-16gb", "a100-40gb", "a100-80gb", "h100-pcie",
                                               "h100-sxm",  "h200",      "b200"};
    struct layer_file files[LAYERS];
    const struct cost_device *devices[DEVICES];
    struct layer_profile_options options = {.layer.reach = {8, 16, tables_link(NULL, "ib-200g")},
                                            .microbatch_size = 8};
    double seconds[RUNS];
    write_layers(alike);
    for (int i = 0; i < LAYERS; i++)
        files[i] = (struct layer_file){paths[i], NULL};
    for (int i = 0; i < DEVICES; i++)
        devices[i] = tables_device(NULL, names[i]);
    for (int run = 0; run < RUNS; run++) {
        struct profile profile;
        struct text text = {0};
        struct error err;
        double started = clock_processor();
        if (!layer_profile(&profile, NULL, files, LAYERS, devices, DEVICES, &options, NULL, &err))
            give_up(err.text);
        profile_write_json(&profile, &(struct json){.out = &text});
        seconds[run] = clock_processor() - started;
        text_release(&text);
        profile_release(&profile);
    }
    printf("%-36s %10.2f ms\n", name, 1e3 * measure_median(seconds, RUNS));
}

/* ---- the corpus ---- */

struct corpus {
    int files, read, priced;
    double megabytes;
};

static void price(struct corpus *corpus, const char *path)
{
    struct hlo_module module;
    struct layer_cost layer;
    struct layer_options options = {0};
    struct error err;
    corpus->files++;
    if (!hlo_load(&module, path, &err))
        return;
    corpus->read++;
    if (layer_cost(&layer, &module, NULL, &options, &err)) {
        corpus->priced +=
            layer_seconds(&layer.forward, tables_device(NULL, "h100-sxm"), &options).seconds > 0.0;
        layer_release(&layer);
    }
    hlo_release(&module);
}

static void walk(struct corpus *corpus, const char *path)
{
    DIR *directory = opendir(path);
    if (!directory)
        return;
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char inside[4096];
        struct stat about;
        const char *dot = strrchr(entry->d_name, '.');
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || stat(inside, &about) != 0)
            continue;
        if (S_ISDIR(about.st_mode)) {
            walk(corpus, inside);
        } else if (dot && (strcmp(dot, ".hlo") == 0 || strcmp(dot, ".mlir") == 0)) {
            corpus->megabytes += (double)about.st_size / 1e6;
            price(corpus, inside);
        }
    }
    closedir(directory);
}

static void measure_corpus(const char *path)
{
    double seconds[RUNS];
    struct corpus corpus = {0};
    for (int run = 0; run < RUNS; run++) {
        double started = clock_processor();
        corpus = (struct corpus){0};
        walk(&corpus, path);
        seconds[run] = clock_processor() - started;
    }
    printf("%-36s %10.2f ms  %d files, %.1f MB, %d read, %d priced\n", "corpus, forward and backward",
           1e3 * measure_median(seconds, RUNS), corpus.files, corpus.megabytes, corpus.read, corpus.priced);
}

int main(int argc, char **argv)
{
    if (!mkdtemp(folder) || !tables_known(TABLE_DEVICES) || !tables_known(TABLE_LINKS))
        give_up("cannot begin");
    measure_profile("BERT-base, 12 layers, 7 devices", false);
    measure_profile("the same, all files alike", true);
    for (int i = 0; i < LAYERS; i++)
        unlink(paths[i]);
    rmdir(folder);
    if (argc > 1)
        measure_corpus(argv[1]);
    else
        printf("corpus: name its folder\n");
    return 0;
}
