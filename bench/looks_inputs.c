#include "looks_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *folder;

static FILE *begin(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void begin_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (mkdir(path, 0777) != 0) {
        perror(path);
        exit(1);
    }
}

/* ---- programs, layers, jobs ---- */

static void write_program(int count)
{
    FILE *file = begin("large.hlo");
    fprintf(file, "HloModule large\n\nENTRY main {\n  v0 = f32[1024,1024] parameter(0)\n");
    for (int i = 1; i <= count; i++)
        fprintf(file, "  %sv%d = f32[1024,1024] %s(v%d, v0)%s\n", i == count ? "ROOT " : "", i,
                i % 5 ? "add" : "dot", i - 1,
                i % 5 ? "" : ", lhs_contracting_dims={1}, rhs_contracting_dims={0}");
    fprintf(file, "}\n");
    fclose(file);
}

static void write_stable(int count)
{
    FILE *file = begin("large.mlir");
    fprintf(file,
            "module @large {\n  func.func public @main(%%arg0: tensor<64x64xf32>) -> tensor<64x64xf32> {\n");
    for (int i = 0; i < count; i++) {
        char before[32] = "%arg0";
        if (i > 0)
            snprintf(before, sizeof before, "%%%d", i - 1);
        if (i % 5)
            fprintf(file, "    %%%d = stablehlo.add %s, %%arg0 : tensor<64x64xf32>\n", i, before);
        else
            fprintf(file,
                    "    %%%d = stablehlo.dot_general %s, %%arg0, contracting_dims = [1] x [0] : "
                    "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n",
                    i, before);
    }
    fprintf(file, "    return %%%d : tensor<64x64xf32>\n  }\n}\n", count - 1);
    fclose(file);
}

static void write_layers(const char *name, int count)
{
    FILE *file = begin(name);
    fprintf(file, "{\"format\": \"rehearse-profile/1\", \"layers\": [\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "%s{\"name\": \"layer %d\", \"parameter_bytes\": %d, \"activation_bytes\": %d}",
                i ? ",\n" : "", i, 1000 + i % 7, 100 + i % 3);
    fprintf(file, "],\n\"devices\": [");
    for (int device = 0; device < 2; device++) {
        fprintf(file, "%s{\"name\": \"%s\", \"layers\": [\n", device ? ",\n" : "", device ? "slow" : "gpu");
        for (int i = 0; i < count; i++)
            fprintf(file, "%s{\"forward\": 0.00%d, \"backward\": 0.00%d}", i ? ",\n" : "", 101 + i % 13,
                    200 + i % 11 + 50 * device);
        fprintf(file, "]}");
    }
    fprintf(file, "]}\n");
    fclose(file);
}

static void write_clusters(void)
{
    FILE *file = begin("nodes.yaml");
    fprintf(file, "groups:\n  - {device: gpu, nodes: 24, devices_per_node: 4, memory: 80 GiB}\n"
                  "  - {device: slow, nodes: 8, devices_per_node: 4, memory: 80 GiB}\n"
                  "inter_node: {bandwidth: 200 Gb/s, latency: 10 us}\n");
    fclose(file);
    file = begin("mixed.yaml");
    fprintf(file, "groups:\n  - {device: h100, nodes: 1, devices_per_node: 8}\n"
                  "  - {device: a100-80gb, nodes: 1, devices_per_node: 8}\n"
                  "inter_node: {bandwidth: 200 Gb/s, latency: 10 us}\n");
    fclose(file);
}

static void write_script(int lines)
{
    FILE *file = begin("train.sh");
    fprintf(file, "#!/bin/bash\n");
    for (int i = 0; i < lines; i++)
        fprintf(file, "VALUE_%d=%d\nLIST_%d=\"--value $VALUE_%d\"\n", i, i, i, i);
    fprintf(file,
            "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n"
            "    --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups "
            "8 \\\n"
            "    --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear \\\n"
            "    --untie-embeddings-and-output-weights --attention-dropout 0 --hidden-dropout 0 --vocab-size "
            "128256 \\\n"
            "    --seq-length 8192 --max-position-embeddings 8192 --tensor-model-parallel-size 4 "
            "--sequence-parallel \\\n"
            "    --micro-batch-size 1 --global-batch-size 128 --bf16 --use-distributed-optimizer\n");
    fclose(file);
}

/* ---- tables ---- */

static void write_runs(int count)
{
    FILE *file = begin("runs.csv");
    fprintf(file,
            "gpu,gpus,framework,model,layers,hidden,heads,ffn,seq,vocab,precision,tp,pp,mbs,gbs,recompute,"
            "sec_per_iter,sec_basis\n");
    for (int i = 0; i < count; i++)
        fprintf(
            file,
            "A100-SXM4-80GB,%d,Megatron-LM,GPT,24,%d,16,%d,2048,51200,fp16,%d,1,%d,512,full,%d.5,printed\n",
            8 << i % 4, 1024 + 128 * (i % 16), 4 * (1024 + 128 * (i % 16)), 1 << i % 3, 1 + i % 2, 3 + i % 9);
    fclose(file);
}

static void write_products(int count)
{
    FILE *file = begin("products.csv");
    fprintf(file, "gpu,dtype,m,n,k,time_us\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "h100-sxm,bf16,%d,%d,%d,%d.%d\n", 128 * (1 + i % 61), 128 * (1 + i % 37),
                64 * (1 + i % 53), 10 + i % 61 * (i % 37) / 10, i % 10);
    fclose(file);
}

static void write_losses(int count)
{
    FILE *file = begin("losses.csv");
    fprintf(file, "t_s,event,node\n");
    for (int i = 0; i < count; i++)
        fprintf(file, "%d,%s,%d\n", 60 * i, i % 2 ? "returned" : "lost", i / 2 % 1024);
    fclose(file);
}

/* ---- runs that were recorded ---- */

static void write_calls(const char *name, int count, int files)
{
    FILE *file = begin(name);
    for (int i = 0; i < count; i++)
        fprintf(file, "%d %d.%06d read(3</data/%d>, \"\"..., 4096) = 4096 <0.0000%d>\n", 1 + i % 4,
                1700000000 + i / 1000, i % 1000 * 1000, i % files, 10 + i % 7);
    fclose(file);
}

static void write_kernels(int count)
{
    FILE *file = begin("kernels.json");
    fprintf(file, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (int i = 1; i <= count; i++)
        fprintf(
            file,
            "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": "
            "1, \"ts\": %d, \"dur\": 4, \"args\": {\"correlation\": %d}},\n"
            "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm%d\", \"pid\": 0, \"tid\": 7, \"ts\": %d, "
            "\"dur\": 11, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n",
            30 * i, i, i % 50, 30 * i + 12, i);
    fprintf(file, "{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n");
    fclose(file);
}

static void write_steps(int count)
{
    begin_folder("UNET3D_8g_4b");
    FILE *file = begin("UNET3D_8g_4b/unet3d.log");
    for (int i = 1; i <= count; i++)
        fprintf(file,
                ":::MLLOG {\"key\": \"%s\", \"value\": {\"start\": %d.0, \"duration\": %d000000}, "
                "\"metadata\": {}}\n",
                i % 3 == 0   ? "step_end"
                : i % 3 == 1 ? "load_batch_mem"
                             : "all_compute",
                i, 100 + i % 17);
    fclose(file);
}

/* ---- a folder of files of all kinds ---- */

static void write_folder(int count)
{
    begin_folder("many");
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "many/%s%d.%s", i % 2 ? "layers" : "text", i, i % 2 ? "json" : "txt");
        if (i % 2) {
            write_layers(name, 20);
            continue;
        }
        FILE *file = begin(name);
        fprintf(file, "a text\n");
        fclose(file);
    }
    write_layers("many/large.json", 50000);
}

void looks_write_inputs(const char *into)
{
    folder = into;
    write_program(400000);
    write_stable(200000);
    write_layers("layers.json", 100000);
    write_layers("thousand.json", 1000);
    write_clusters();
    write_script(1900);
    write_runs(5000);
    write_products(100000);
    write_losses(1000000);
    write_calls("one.strace", 300000, 50);
    write_calls("two.strace", 300000, 70);
    write_kernels(150000);
    write_steps(300000);
    write_folder(1500);
}
