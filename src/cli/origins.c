#include "cli/origins.h"

#include <string.h>
#include <strings.h>

#define DAPPLE                                                                                               \
    "rehearse plan -p examples/dapple/vgg-19-by-flops-pbs-32.txt -c examples/dapple/a.yaml --objective "     \
    "dapple"
#define DAPPLE_LINES                                                                                         \
    {                                                                                                        \
        {DAPPLE " --search hpgo --global-batch 2048", "py_orchestrate()"},                                   \
            {DAPPLE " --global-batch 32,64..512+64 --csv -o sweep.csv", "the sweep of batches in Rust"},     \
            {"python3 -c 'import rehearse.hpgo as HPGO'", "import HPGO"},                                    \
    }

const struct origin origins[] = {
    {"oobleck",
     "Oobleck, H-Oobleck and Ditto",
     "oobleck-h-oobleck-and-ditto",
     {{"rehearse cost -m gpt2 -d v100_16gb,h100_pcie -o gpt2.json", "profiler.py, without a GPU"},
      {"rehearse profile convert gpt2.json --to oobleck -o profiles", "/tmp/oobleck/profiles"},
      {"rehearse templates -p gpt2.json -c four.yaml --nodes 1..3 -n 8 -o templates.json",
       "create_pipeline_templates"},
      {"rehearse plan -p gpt2.json -c two.yaml -n 16 --objective oobleck", "mixed nodes, proven optimal"}}},
    {"hpgo", "DAPPLE and HPGO", "dapple-and-hpgo", DAPPLE_LINES},
    {"dapple", "DAPPLE and HPGO", "dapple-and-hpgo", DAPPLE_LINES},
    {"dlio",
     "DLIO and MLPerf Storage",
     "dlio",
     {{"rehearse feed workload=unet3d_h100 ++workload.train.epochs=1 --show", "the configuration, read"},
      {"rehearse dataset generate w.yaml -o data", "workflow.generate_data=True"},
      {"rehearse feed w.yaml data --warm -o out", "dlio_benchmark"}}},
    {"datagen",
     "the VLDB study's data_generation.py",
     "the-vldb-study-vldb-reproduce",
     {{"rehearse dataset generate -w unet3d -s 30786160607 -o D --dry-run", "data_generation.py -w unet3d"},
      {"rehearse dataset verify small", "no counterpart there"}}},
    {"bpftrace",
     "the VLDB study's tracing tools",
     "the-vldb-study-vldb-reproduce",
     {{"rehearse trace --force -o run.db -- rehearse feed w.yaml data --warm", "trace_run.sh"},
      {"rehearse trace import raw -o study.db", "trace_results"},
      {"rehearse figure timeline study.db --style paper -o timeline.svg", "generate_timeline_plots.sh"},
      {"rehearse compare study.db run.db", "tracesim"}}},
    {"xla",
     "XLA's cost flow of Ditto",
     "the-xla-cost-flow",
     {{"rehearse cost examples/gpt-block.mlir -d v100,h100 --rules xla-fork", "layer_times.txt"},
      {"rehearse cost examples/gpt-block.mlir -d v100,h100 --to oobleck -o Oobleck", "json_generator.py"}}},
    {0},
};

const struct origin *origin_find(const char *name)
{
    for (const struct origin *origin = origins; origin->name; origin++)
        if (strcasecmp(origin->name, name) == 0)
            return origin;
    return NULL;
}

void origin_write(const struct origin *origin, struct text *out)
{
    text_format(out, "coming from %s:\n", origin->title);
    for (int i = 0; i < ORIGIN_LINES && origin->lines[i].command; i++)
        text_format(out, "\n  # %s\n  %s\n", origin->lines[i].there, origin->lines[i].command);
    text_format(out, "\nall commands, and what differs: docs/coming-from.md#%s\n", origin->section);
}

void origin_write_names(struct text *out, const char *between)
{
    for (const struct origin *origin = origins; origin->name; origin++)
        text_format(out, "%s%s", origin == origins ? "" : between, origin->name);
}
