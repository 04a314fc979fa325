/* A plan as a script that starts, or as a job of Kubernetes around one: the options of its software, and what its
 * launcher needs: nodes, processes, port, ranks.
 *
 * What price reads back stands where its readers look for it: degrees and batches in the options (in a here document,
 * if the software has a file for them), nodes and devices in torchrun's options or in #SBATCH lines; a job of
 * Kubernetes has the script as an argument of bash. A plan has no data, no learning rate and often no length: these
 * are variables of the script with a default. Only DeepSpeed's program, the name of the first of several hosts, and
 * the image of a pod must be given. */
#include "cluster/cluster.h"
#include "devices/tables.h"
#include "launch/megatron.h"
#include "launch/part.h"

#include <math.h>
#include <string.h>

#define SLURM_MAX_HOURS 1e5

const char *const launch_launcher_names[LAUNCHER_COUNT + 1] = {
    [LAUNCHER_TORCHRUN] = "torchrun",
    [LAUNCHER_SBATCH] = "sbatch",
    [LAUNCHER_KUBERNETES] = "kubernetes",
};

struct script {
    enum launch_format format;
    enum launch_launcher launcher;
    const struct plan *plan;
    const struct job *job;
    int nodes, per_node; /* hosts, and devices of each */
    struct text *out;
};

/* A domain of NVLink may be several hosts. */
static bool set_nodes(struct script *s, struct error *err)
{
    const struct job *job = s->job;
    int host = job->device->host;
    s->per_node = host > 0 && host < job->devices_per_node ? host : job->devices_per_node;
    if (s->per_node > job->devices)
        s->per_node = job->devices;
    if (job->devices % s->per_node != 0)
        return error_set(err, ERROR_INFEASIBLE,
                         "--launcher: %d devices do not fill nodes of %d, and torchrun starts equally many "
                         "processes on each node: plan with another --devices or --devices-per-node",
                         job->devices, s->per_node);
    s->nodes = job->devices / s->per_node;
    return true;
}

/* ---- parts of the script ---- */

/* Returns the end of the comments that a text begins with. */
static const char *comments_end(const char *text)
{
    while (*text == '#') {
        const char *end = strchr(text, '\n');
        text = end ? end + 1 : text + strlen(text);
    }
    return text;
}

#define TIME_SHARE 1.25 /* of the planned time: the rest is for starting, evaluation and checkpoints */

/* Adds what Slurm is asked for; the time, in whole hours, where the plan has a number of tokens. */
static void add_slurm_lines(const struct script *s)
{
    double hours = ceil(TIME_SHARE * s->plan->budget.seconds / 3600.0);
    text_format(s->out,
                "#SBATCH --job-name=rehearse\n"
                "#SBATCH --nodes=%d\n"
                "#SBATCH --ntasks-per-node=1\n"
                "#SBATCH --gpus-per-node=%d\n"
                "#SBATCH --mem=0\n"
                "#SBATCH --exclusive\n"
                "#SBATCH --output=%%x-%%j.log\n",
                s->nodes, s->per_node);
    if (hours > 0.0 && hours < SLURM_MAX_HOURS)
        text_format(s->out, "#SBATCH --time=%.0f-%02.0f\n", floor(hours / 24.0), fmod(hours, 24.0));
}

/* Returns the iterations of the plan's tokens, or of a first try. */
static double iterations_of(const struct script *s)
{
    double each = (double)s->plan->global_batch * (double)s->plan->sequence;
    double tokens = s->plan->budget.tokens;
    return tokens > 0.0 && each > 0.0 ? ceil(tokens / each) : 100.0;
}

/* Adds the command that prices the script, with what the script does not say itself: the device type, its links,
 * another software's kernels, and DeepSpeed's model. */
static void add_price(const struct script *s)
{
    const struct job *job = s->job;
    const char *across = usual_node(job->device).across;
    /* what came from a file of the user's has no name that price knows */
    const char *device = tables_device(NULL, job->device->name) ? job->device->name : "DEVICE.yaml";
    const char *model = architecture_find(job->model->name) ? job->model->name : "MODEL.yaml";
    text_format(s->out, "# Its price: rehearse price FILE -d %s", device);
    if (s->format == LAUNCH_DEEPSPEED)
        text_format(s->out, " -m %s", model);
    if (!software_find(job->software->name))
        text_add(s->out, " --software SOFTWARE.yaml");
    else if (!text_starts_with(job->software->name, launch_format_software[s->format]))
        text_format(s->out, " --software %s", job->software->name);
    if (job->devices > s->per_node && job->devices_per_node > s->per_node)
        text_format(s->out, " --devices-per-node %d", job->devices_per_node);
    const struct cost_link *const links[] = {job->inside, job->across};
    const char *const usual[] = {job->device->link, across};
    for (int i = 0; i < 2; i++)
        if (links[i] && strcmp(links[i]->name, usual[i]) != 0 && !cluster_link_is_own(links[i]->name))
            text_format(s->out, " --%s %s", i == 0 ? "inside" : "across", links[i]->name);
        else if (links[i] && cluster_link_is_own(links[i]->name))
            text_format(s->out, " (without the cluster file's %s)", i == 0 ? "intra_node" : "inter_node");
    text_add(s->out, "\n#\n");
}

static void add_usage(const struct script *s)
{
    static const char *const programs[] = {
        [LAUNCH_MEGATRON] = "in a checkout of Megatron-LM",
        [LAUNCH_TORCHTITAN] = "in a checkout of torchtitan (v0.2.2)",
        [LAUNCH_DEEPSPEED] =
            "with TRAIN=your own program (it builds the model and calls deepspeed.initialize)",
    };
    const char *rest =
        s->launcher == LAUNCHER_KUBERNETES ? "arguments behind 'rehearse'" : "arguments behind FILE";
    text_format(s->out, "# Start it %s", programs[s->format]);
    if (s->format == LAUNCH_MEGATRON)
        text_format(s->out, " (%s), which has %s",
                    s->job->model->mixers ? "of August 2026 or later" : "core_v0.15.0",
                    megatron_program(s->job->model));
    if (s->launcher == LAUNCHER_SBATCH)
        text_add(
            s->out,
            ": sbatch FILE\n"
            "# Options that your cluster asks for: sbatch --partition=… --account=… --time=… FILE\n"
            "# With CONTAINER=IMAGE it runs in that image (of Slurm's plug-in pyxis), in the same folder.\n");
    else if (s->launcher == LAUNCHER_KUBERNETES)
        text_add(s->out,
                 ", as the working directory of your image:\n"
                 "#   sed 's|IMAGE|NAME|' FILE | kubectl create -f -\n"
                 "# Variables of the script go to `env`; volumes, queues and RDMA devices are those of your "
                 "cluster.\n");
    else if (s->nodes > 1)
        text_format(
            s->out,
            ", once on each of the %d nodes,\n# all with the same first host: MASTER_ADDR=HOST bash FILE\n",
            s->nodes);
    else
        text_add(s->out, ": bash FILE\n");
    const char *length = s->plan->budget.tokens > 0.0 ? "" : "ITERATIONS and ",
               *steps = *length ? "STEPS and " : "";
    if (s->format == LAUNCH_MEGATRON)
        text_format(s->out,
                    "# Without DATA and TOKENIZER it trains on made-up tokens. For your own:\n"
                    "#   DATA='--data-path PREFIX' TOKENIZER='--tokenizer-type HuggingFaceTokenizer "
                    "--tokenizer-model PATH'\n"
                    "# %sLR %s not part of a plan; %s (--save, --load, …) go to %s.\n",
                    length, *length ? "are" : "is", rest, megatron_program(s->job->model));
    else if (s->format == LAUNCH_TORCHTITAN)
        text_format(
            s->out,
            "# Without DATASET and ASSETS it trains on c4_test with the tokenizer of torchtitan's tests. "
            "For your own:\n"
            "#   DATASET=c4 ASSETS=./assets/hf/NAME\n"
            "# %sLR %s not part of a plan; %s go to torchtitan.\n",
            steps, *steps ? "are" : "is", rest);
    else
        text_format(s->out, "# Data, optimizer and learning rate are the program's own; %s go to it.\n",
                    rest);
}

static void add_variables(const struct script *s)
{
    const struct job *job = s->job;
    text_add(s->out, "set -e\n");
    if (s->format == LAUNCH_MEGATRON) {
        bool apart = job->sharding >= 2,
             overlaps = job->degrees.expert > 1 && job_overlap(job) >= OVERLAP_PASSES;
        text_add(s->out, apart      ? "unset CUDA_DEVICE_MAX_CONNECTIONS\n"
                         : overlaps ? "export CUDA_DEVICE_MAX_CONNECTIONS=32\n"
                                    : "export CUDA_DEVICE_MAX_CONNECTIONS=1\n");
        text_add(s->out, "DATA=${DATA:---mock-data}\n"
                         "TOKENIZER=${TOKENIZER:---tokenizer-type NullTokenizer}\n");
        text_format(s->out, "ITERATIONS=${ITERATIONS:-%.0f}\nLR=${LR:-1e-4}\n", iterations_of(s));
    } else if (s->format == LAUNCH_TORCHTITAN)
        text_format(s->out,
                    "export PYTORCH_ALLOC_CONF=expandable_segments:True\n"
                    "DATASET=${DATASET:-c4_test}\n"
                    "ASSETS=${ASSETS:-./tests/assets/tokenizer}\n"
                    "STEPS=${STEPS:-%.0f}\n"
                    "LR=${LR:-1e-4}\n",
                    iterations_of(s));
    else
        text_add(s->out, "TRAIN=${TRAIN:-train.py}\n"
                         "if [ ! -f \"$TRAIN\" ]; then\n"
                         "    echo \"$0: no program $TRAIN: set TRAIN to yours\" >&2\n"
                         "    exit 2\n"
                         "fi\n");
    text_add(s->out, "export NCCL_DEBUG=${NCCL_DEBUG:-WARN}\n");
    if (s->launcher == LAUNCHER_KUBERNETES) {
        text_add(s->out, "until getent hosts \"$MASTER_ADDR\" >/dev/null; do sleep 1; done\n");
        return;
    }
    text_add(s->out, "MASTER_PORT=${MASTER_PORT:-29500}\n");
    if (s->launcher == LAUNCHER_SBATCH)
        text_add(s->out, "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n");
    else if (s->nodes == 1)
        text_add(s->out, "MASTER_ADDR=localhost\n");
    else
        text_format(s->out,
                    "getent ahosts \"$MASTER_ADDR\" >/dev/null || {\n"
                    "    echo \"$0: set MASTER_ADDR to the first of the %d hosts\" >&2\n"
                    "    exit 2\n"
                    "}\n",
                    s->nodes);
}

/* Adds the file that the software reads. All hosts of a slurm job read that of the first one. */
static void add_file(const struct script *s, const char *body, const char *ending)
{
    if (s->launcher == LAUNCHER_SBATCH)
        text_format(s->out, "\nCONFIG=$PWD/rehearse-$SLURM_JOB_ID.%s # all nodes read it\n", ending);
    else
        text_add(s->out, "\nCONFIG=$(mktemp)\ntrap 'rm -f \"$CONFIG\"' EXIT\n");
    text_format(s->out, "cat >\"$CONFIG\" <<'END'\n%s%sEND\n", body,
                *body && body[strlen(body) - 1] == '\n' ? "" : "\n");
}

/* Adds arguments of a shell, one per line and continued by "\", as an array. */
static void add_array(const struct script *s, const char *body)
{
    text_add(s->out, "\nOPTIONS=(\n");
    while (*body) {
        size_t length = strcspn(body, "\n"), own = length;
        if (own >= 2 && body[own - 1] == '\\')
            own -= 2;
        text_add(s->out, "    ");
        text_add_bytes(s->out, body, own);
        text_add(s->out, "\n");
        body += length + (body[length] == '\n');
    }
    text_add(s->out, ")\n");
}

static void add_command(const struct script *s)
{
    static const char *const programs[] = {
        [LAUNCH_MEGATRON] = " \"${OPTIONS[@]}\" $DATA $TOKENIZER \\\n"
                            "    --split 99,1,0 --train-iters $ITERATIONS --eval-iters 0 --lr $LR "
                            "--log-interval 1 \"$@\"\n",
        [LAUNCH_TORCHTITAN] =
            "-m torchtitan.train --job.config_file \"$CONFIG\" \\\n"
            "    --training.dataset \"$DATASET\" --model.hf_assets_path \"$ASSETS\" "
            "\\\n    --training.steps $STEPS --optimizer.lr $LR --metrics.log_freq 1 \"$@\"\n",
        [LAUNCH_DEEPSPEED] = "\"$TRAIN\" --deepspeed --deepspeed_config \"$CONFIG\" \"$@\"\n",
    };
    text_add(s->out, "\n");
    if (s->launcher == LAUNCHER_SBATCH)
        text_add(s->out, "srun --kill-on-bad-exit=1 --cpu-bind=none \\\n"
                         "    ${CONTAINER:+--container-image=\"$CONTAINER\" --container-mounts=\"$PWD\" "
                         "--container-workdir=\"$PWD\"} \\\n    ");
    text_format(s->out, "torchrun --nnodes %d --nproc_per_node %d \\\n    ", s->nodes, s->per_node);
    if (s->launcher == LAUNCHER_KUBERNETES)
        text_add(
            s->out,
            "--node_rank $JOB_COMPLETION_INDEX --master_addr \"$MASTER_ADDR\" --master_port $MASTER_PORT");
    else
        text_format(s->out, "--rdzv_backend c10d --rdzv_id %s --rdzv_endpoint \"$MASTER_ADDR:$MASTER_PORT\"",
                    s->launcher == LAUNCHER_SBATCH ? "$SLURM_JOB_ID" : "rehearse");
    text_format(s->out, " \\\n    %s%s", s->format == LAUNCH_MEGATRON ? megatron_program(s->job->model) : "",
                programs[s->format]);
}

/* Adds the comments: what it is, and how it is priced and started. */
static void add_head(const struct script *s, const char *options, size_t comments)
{
    text_add_bytes(s->out, options, comments);
    if (comments == 0) {
        text_add(s->out, "# ");
        launch_add_title(s->out, &(struct launch_subject){.job = s->job, .is_job = true});
        text_add(s->out, "\n");
    }
    add_price(s);
    add_usage(s);
}

/* Adds what the shell runs. */
static void add_commands(const struct script *s, const char *body)
{
    add_variables(s);
    body += strspn(body, "\n");
    if (s->format == LAUNCH_MEGATRON)
        add_array(s, body);
    else
        add_file(s, body, s->format == LAUNCH_TORCHTITAN ? "toml" : "json");
    add_command(s);
}

/* Adds a job of one pod for each host: its number is the host's rank, and a service without an address of its own gives
 * it a name, where the first one is found. One list, so that it is one document. */
static void add_kubernetes(const struct script *s, const char *options, const char *body)
{
    const char *vendor = text_starts_with(s->job->device->name, "mi") ? "amd" : "nvidia";
    struct text lines = {0};
    struct script inner = *s;
    inner.out = &lines;
    add_head(s, options, (size_t)(body - options));
    add_commands(&inner, body);
    text_format(s->out,
                "apiVersion: v1\n"
                "kind: List\n"
                "items:\n"
                "- apiVersion: v1\n"
                "  kind: Service\n"
                "  metadata: {name: rehearse}\n"
                "  spec:\n"
                "    clusterIP: None\n"
                "    publishNotReadyAddresses: true\n"
                "    selector: {job-name: rehearse}\n"
                "    ports: [{name: rendezvous, port: 29500}]\n"
                "- apiVersion: batch/v1\n"
                "  kind: Job\n"
                "  metadata: {name: rehearse}\n"
                "  spec:\n"
                "    completionMode: Indexed\n"
                "    completions: %d\n"
                "    parallelism: %d\n"
                "    backoffLimit: 0\n"
                "    template:\n"
                "      spec:\n"
                "        subdomain: rehearse\n"
                "        restartPolicy: Never\n"
                "        volumes: [{name: shared-memory, emptyDir: {medium: Memory}}]\n"
                "        containers:\n"
                "        - name: train\n"
                "          image: IMAGE\n"
                "          resources: {limits: {%s.com/gpu: %d}}\n"
                "          volumeMounts: [{name: shared-memory, mountPath: /dev/shm}]\n"
                "          env:\n"
                "          - {name: MASTER_ADDR, value: rehearse-0.rehearse}\n"
                "          - {name: MASTER_PORT, value: \"29500\"}\n"
                "          command: [bash, -c]\n"
                "          args:\n"
                "          - |\n",
                s->nodes, s->nodes, vendor, s->per_node);
    for (const char *line = lines.data ? lines.data : ""; *line;) {
        size_t length = strcspn(line, "\n");
        text_add(s->out, length > 0 ? "            " : "");
        text_add_bytes(s->out, line, length);
        text_add(s->out, "\n");
        line += length + (line[length] == '\n');
    }
    text_add(s->out, "          - rehearse\n");
    s->out->failed = s->out->failed || lines.failed;
    text_release(&lines);
}

static void add_script(const struct script *s, const char *options)
{
    const char *body = comments_end(options);
    if (s->launcher == LAUNCHER_KUBERNETES) {
        add_kubernetes(s, options, body);
        return;
    }
    text_add(s->out, "#!/bin/bash\n");
    if (s->launcher == LAUNCHER_SBATCH)
        add_slurm_lines(s);
    add_head(s, options, (size_t)(body - options));
    add_commands(s, body);
}

/* ---- the whole ---- */

static bool check(enum launch_format format, const struct job *job, struct error *err)
{
    if (format != LAUNCH_MEGATRON && format != LAUNCH_TORCHTITAN && format != LAUNCH_DEEPSPEED)
        return error_set(err, ERROR_USAGE,
                         "--launcher starts what --emit megatron, torchtitan or deepspeed writes, not %s",
                         launch_format_names[format]);
    if (!job)
        return error_set(err, ERROR_INFEASIBLE,
                         "--launcher starts one training job on one device type, which this plan is not: "
                         "leave it out, and start what --emit %s writes yourself",
                         launch_format_names[format]);
    if (format == LAUNCH_TORCHTITAN && !torchtitan_has_model(job))
        return error_set(err, ERROR_INFEASIBLE,
                         "--launcher: torchtitan has no model '%s' of its own that a script could start: "
                         "leave it out, and set model.name and model.flavor of the TOML to yours",
                         job->model->name);
    return true;
}

bool launch_write_script(enum launch_format format, enum launch_launcher launcher, const struct plan *plan,
                         const struct job *job, struct text *out, struct error *err)
{
    struct text options = {0};
    struct script script = {.format = format, .launcher = launcher, .plan = plan, .job = job, .out = out};
    bool ok =
        check(format, job, err) && set_nodes(&script, err) && launch_write(format, plan, job, &options, err);
    if (ok)
        add_script(&script, options.data ? options.data : "");
    ok = ok && ((!options.failed && !out->failed) || error_memory(err));
    text_release(&options);
    return ok;
}
