/* Recipes in Python: what a function assigns is read, what it computes from something unknown is named. */
#include "launch/price.h"
#include "launch/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BRIDGE "from megatron.bridge.training.config import ConfigContainer\n"

static const char recipe[] =
    BRIDGE "import os\n"
           "DEGREES = dict(tp=2, pp=4)\n"
           "\n"
           "def _with_batch(cfg: ConfigContainer, size: int = 8, *, factor=2) -> ConfigContainer:\n"
           "    \"\"\"Sets the\n  batch.\"\"\"\n"
           "    cfg.train.global_batch_size = size * factor\n"
           "    return cfg\n"
           "\n"
           "def _pair():\n"
           "    return 'selective', ['mlp', \"moe_act\"]\n"
           "\n"
           "@register(\"a\")\n"
           "def llama31_405b_pretrain_64gpu_h100_fp8cs_config(fast: bool = True) -> ConfigContainer:\n"
           "    cfg = llama31_405b_pretrain_config()\n"
           "    cfg.mixed_precision = _perf_precision(\"fp8_cs\")\n"
           "    cfg.model.tensor_model_parallel_size = DEGREES['tp']\n"
           "    cfg.model.pipeline_model_parallel_size = (1 + 1) * 2 if fast else 1\n"
           "    cfg.model.recompute_granularity, cfg.model.recompute_modules = _pair()\n"
           "    cfg.train.micro_batch_size = 1  # one\n"
           "    cfg.dataset.seq_length = cfg.model.seq_length = 8_192\n"
           "    if cfg.model.seq_length > 4096 and not fast:\n"
           "        cfg.model.context_parallel_size = 8\n"
           "    elif fast is True:\n"
           "        cfg.model.context_parallel_size = 2\n"
           "    else: cfg.model.context_parallel_size = 4\n"
           "    cfg.ddp.overlap_grad_reduce = os.environ.get(\"X\") == \"1\"\n"
           "    cfg = _with_batch(cfg, size=32)\n"
           "    _benchmark(cfg)\n"
           "    cfg.env_vars = {**COMMON, \"A\": 1, 'B': f'{x}'}\n"
           "    return cfg\n"
           "\n"
           "def helper(x): return x\n";

static void assignments_become_arguments(void **state)
{
    (void)state;
    struct launch_options options = text_reads("llama.py", recipe, NULL);
    assert_string_equal(options.reader, "Megatron-Bridge's recipes");
    assert_string_equal(options.model_name, "llama-3.1-405b");
    assert_string_equal(options.device, "h100");
    is(options.devices, 64);
    is(options.tensor, 2);
    is(options.pipeline, 4);
    is(options.context, 2);
    is(options.batch, 64);
    is(options.microbatch, 1);
    is(options.sequence, 8192);
    is(options.type, COST_FP8);
    is(options.technique[TECHNIQUE_RECIPE], RECIPE_TENSORWISE);
    is(options.technique[TECHNIQUE_GRADIENTS], FORMAT_BF16);
    is(options.recompute, RECOMPUTE_SELECTIVE);
    assert_true(options.technique[TECHNIQUE_MODULES].given);
    assert_int_equal(options.context.line, 26);
    assert_int_equal(options.missing_count, 0);
    bool base = false, helper = false;
    for (int i = 0; i < options.note_count; i++) {
        base |= strncmp(options.notes[i], "llama31_405b_pretrain_config not found", 38) == 0;
        helper |= strncmp(options.notes[i], "_benchmark (line 30) not found", 30) == 0;
    }
    assert_true(base && helper);
    launch_options_release(&options);
}

/* Degrees that something unknown decides are missing; `if` of it leaves both sides open. */
/* Types of torch are words; the formats of states are those of the precision-aware optimizer. */
static void types_of_torch_are_read(void **state)
{
    (void)state;
    static const char *const on[] = {"False", "True"};
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "import torch\nfrom megatron.bridge.recipes.llama import llama3_8b_pretrain_config\n"
                 "def llama3_8b_pretrain_8gpu_h100_config():\n    cfg = llama3_8b_pretrain_config()\n"
                 "    cfg.ddp.grad_reduce_in_fp32 = False\n"
                 "    cfg.optimizer.use_precision_aware_optimizer = %s\n"
                 "    cfg.optimizer.main_grads_dtype = torch.float32\n"
                 "    cfg.optimizer.exp_avg_dtype = torch.bfloat16\n    return cfg\n",
                 on[i]);
        struct launch_options options = text_reads("a.py", text, NULL);
        assert_int_equal(options.technique[TECHNIQUE_MOMENTS].given, i);
        is(options.technique[TECHNIQUE_GRADIENTS], i ? FORMAT_FP32 : FORMAT_BF16);
        launch_options_release(&options);
    }
}

static void what_is_computed_is_missing(void **state)
{
    (void)state;
    static const char text[] =
        BRIDGE "def a_config():\n"
               "    cfg = ConfigContainer()\n"
               "    cfg.model = Llama3ModelProvider8B(tensor_model_parallel_size=len(os.uname()))\n"
               "    if os.environ['BIG']:\n"
               "        cfg.model.pipeline_model_parallel_size = 2\n"
               "    for i in range(4):\n"
               "        cfg.train.micro_batch_size = i\n"
               "    return cfg\n";
    static const char *const given[] = {"train.micro_batch_size=1", NULL};
    struct launch_options options = text_reads("a.py", text, given);
    assert_int_equal(options.missing_count, 2);
    assert_string_equal(options.missing[0].name, "model.tensor_model_parallel_size");
    assert_string_equal(options.missing[0].why, "depends on len (a.py:4)");
    assert_string_equal(options.missing[0].give, "--set model.tensor_model_parallel_size=VALUE");
    assert_string_equal(options.missing[1].name, "model.pipeline_model_parallel_size");
    assert_string_equal(options.model_name, "llama-3-8b");
    is(options.microbatch, 1);
    launch_options_release(&options);
}

/* A function that may return something else returns what is not known, unless it is the same. */
static void returns_in_doubt(void **state)
{
    (void)state;
    static const char text[] = BRIDGE
        "def pick(kind):\n    if kind.lower() == 'lora':\n        return LoRA(dim=32)\n    return None\n"
        "def guess(kind):\n    if os.x:\n        return LoRA(dim=8)\n    return None\n"
        "def same(cfg):\n    if os.x:\n        return cfg\n    return cfg\n"
        "def a_config():\n    cfg = ConfigContainer()\n    cfg.peft = pick('LORA')\n    return same(cfg)\n"
        "def b_config():\n    cfg = ConfigContainer()\n    cfg.peft = guess('LORA')\n    return cfg\n";
    static const char *const a[] = {"function=a_config", NULL}, *const b[] = {"function=b_config", NULL};
    struct launch_options options = text_reads("a.py", text, a);
    is(options.frozen, 1);
    is(options.rank, 32);
    launch_options_release(&options);
    options = text_reads("a.py", text, b);
    assert_int_equal(options.missing_count, 1);
    assert_string_equal(options.missing[0].name, "peft");
    launch_options_release(&options);
}

/* Exchanges of tokens beside another micro-batch's products: of experts that are spread only. */
static void overlap_of_experts(void **state)
{
    (void)state;
    static const char *const given[] = {"model.expert_model_parallel_size=1", NULL};
    static const char text[] =
        "from megatron.bridge.training.config import ConfigContainer\n"
        "def qwen3_235b_a22b_pretrain_256gpu_h100_bf16_config() -> ConfigContainer:\n"
        "    cfg = qwen3_235b_a22b_pretrain_config()\n"
        "    cfg.model.expert_model_parallel_size = 32\n"
        "    cfg.comm_overlap = CommOverlapConfig(overlap_moe_expert_parallel_comm=True)\n"
        "    cfg.comm_overlap.delay_wgrad_compute = True\n"
        "    return cfg\n";
    struct launch_options options = text_reads("qwen.py", text, NULL);
    is(options.expert, 32);
    is(options.technique[TECHNIQUE_EXPERT_OVERLAP], OVERLAP_WEIGHTS);
    launch_options_release(&options);
    options = text_reads("qwen.py", text, given);
    is(options.expert, 1);
    is(options.technique[TECHNIQUE_EXPERT_OVERLAP], OVERLAP_USUAL);
    launch_options_release(&options);
}

/* Megatron-FSDP shards all states, as its recipes say, and their base where they do not; a class that a call makes is no
 * setting. */
static void recipes_are_sharded(void **state)
{
    (void)state;
    static const char text[] =
        BRIDGE "def llama31_405b_pretrain_128gpu_gb300_bf16_config() -> ConfigContainer:\n"
               "    cfg = llama31_405b_pretrain_config(ddp=DistributedDataParallelConfig())\n"
               "    cfg.ddp.use_megatron_fsdp = %s\n"
               "    cfg.ddp.data_parallel_sharding_strategy = \"%s\"\n"
               "    cfg.model.recompute_granularity = \"selective\"\n"
               "    cfg.model.recompute_modules = []\n"
               "    return cfg\n";
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    char made[sizeof text + 64];
    for (int stage = 0; stage < 4; stage++) {
        snprintf(made, sizeof made, text, "True", strategies[stage]);
        struct launch_options options = text_reads("llama.py", made, NULL);
        is(options.sharding, stage);
        is(options.recompute, RECOMPUTE_NONE);
        assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 0);
        launch_options_release(&options);
    }
    snprintf(made, sizeof made, text, "False", strategies[3]);
    struct launch_options options = text_reads("llama.py", made, NULL);
    is(options.sharding, 1); /* the distributed optimizer's */
    launch_options_release(&options);
}

/* What is written as a text is of no class of the checkout; a class may be of another's. */
static void schemes_are_followed(void **state)
{
    (void)state;
    static const char text[] = BRIDGE "def scheme_of(scheme):\n"
                                      "    if isinstance(scheme, PEFT):\n        return scheme\n"
                                      "    if isinstance(scheme, str):\n"
                                      "        if scheme.lower() == \"lora\":\n            return LoRA()\n"
                                      "        raise ValueError(scheme)\n"
                                      "def llama3_70b_peft_8gpu_h100_bf16_config() -> ConfigContainer:\n"
                                      "    cfg = llama3_70b_peft_config()\n"
                                      "    cfg.peft = scheme_of(\"LoRA\")\n"
                                      "    cfg.peft.dim = 8\n"
                                      "    cfg.peft.target_modules = [\"linear_qkv\"]\n"
                                      "    return cfg\n";
    struct launch_options options = text_reads("llama.py", text, NULL);
    is(options.frozen, 1);
    is(options.rank, 8);
    is(options.technique[TECHNIQUE_TARGETS], TARGET_QUERY | TARGET_KEY | TARGET_VALUE);
    assert_int_equal(launch_count(&options, LAUNCH_UNKNOWN), 0);
    launch_options_release(&options);
}

static void functions_are_chosen(void **state)
{
    (void)state;
    static const char two[] =
        BRIDGE "def a_config():\n    return ConfigContainer()\n"
               "def b_config():\n    return llama3_8b_pretrain_config(train=T(micro_batch_size=3))\n";
    static const char *const given[] = {"function=b_config", NULL}, *const wrong[] = {"function=c", NULL};
    text_refused("a.py", two, "a.py: which of its 2 functions? --set function=NAME: a_config, b_config");
    struct launch_options options = text_reads("a.py", two, given);
    is(options.microbatch, 3);
    launch_options_release(&options);
    const struct launch_input input = {
        .path = "a.py", .data = two, .length = strlen(two), .given = wrong, .is_alone = true};
    struct error err;
    assert_false(launch_read(&options, &input, &err));
    assert_string_equal(err.text, "a.py: no function 'c'");
    text_refused("a.py", "print('hello')\n",
                 "a.py: not a supported recipe (Megatron-Bridge, NeMo 2, torchtitan's registry): give its "
                 "result as YAML, or the arguments of the training script");
    text_refused("a.py", BRIDGE "x = 'open\n", "a.py:2: unterminated string");
}

static void strategies_of_nemo_2(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "mixtral.py",
        "import nemo_run as run\nfrom nemo.collections import llm\n"
        "def model() -> run.Config[M]:\n    return run.Config(MixtralModel, "
        "config=run.Config(MixtralConfig8x22B))\n"
        "def trainer(tensor: int = 2, nodes=16):\n"
        "    s = run.Config(nl.MegatronStrategy, tensor_model_parallel_size=tensor, "
        "expert_model_parallel_size=8)\n"
        "    return run.Config(nl.Trainer, num_nodes=nodes, devices=8, strategy=s, plugins=bf16_mixed())\n"
        "def pretrain_recipe(name: str = 'x', fn=pretrain) -> run.Partial:\n"
        "    return run.Partial(fn, model=model(), trainer=trainer(),\n"
        "                       data=run.Config(D, seq_length=4096, global_batch_size=512, "
        "micro_batch_size=1))\n",
        NULL);
    assert_string_equal(options.reader, "NeMo 2's recipes");
    assert_string_equal(options.model_name, "mixtral-8x22b");
    is(options.tensor, 2);
    is(options.expert, 8);
    is(options.devices, 128);
    is(options.batch, 512);
    is(options.sequence, 4096);
    is(options.type, COST_BF16);
    launch_options_release(&options);
}

static void registry_of_torchtitan(void **state)
{
    (void)state;
    struct launch_options options = text_reads(
        "llama3.py",
        "from torchtitan.config import TrainingConfig\n"
        "def llama3_8b() -> Trainer.Config:\n"
        "    spec = model_registry(\"8B\")\n"
        "    return Trainer.Config(model_spec=spec, training=TrainingConfig(\n"
        "        num_tokens_per_microbatch_per_dp_rank=2 * 8192, max_context_length=8192),\n"
        "        parallelism=P(pipeline_parallel_degree=2, tensor_parallel_degree=1, num_pp_microbatches=4,\n"
        "            module_fqns_per_model_part=[['tok_embeddings', 'layers.0'], ['layers.1', 'layers.2', "
        "'norm']]),\n"
        "        activation_checkpoint=FullAC.Config())\n",
        NULL);
    assert_string_equal(options.reader, "torchtitan's registry");
    assert_string_equal(options.model_name, "llama-3-8b");
    is(options.microbatch, 2);
    is(options.sequence, 8192);
    is(options.accumulation, 4);
    is(options.recompute, RECOMPUTE_FULL);
    assert_int_equal(options.stage_count, 2);
    assert_int_equal(options.stage_blocks[1], 2);
    launch_options_release(&options);
}

/* What a file imports is followed where it is there: beside it, and in packages above. */
static void imports_are_followed(void **state)
{
    (void)state;
    char folder[] = "/tmp/rehearse-recipe-XXXXXX", path[128], other[128];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.py", folder);
    snprintf(other, sizeof other, "%s/base.py", folder);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    fputs(
        "SIZE = 4\ndef base():\n    cfg = ConfigContainer(train=T(micro_batch_size=SIZE))\n    return cfg\n",
        file);
    fclose(file);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("from megatron.bridge import x\nfrom .base import (\n    base as start,  # the base\n)\n"
          "def a_config():\n    cfg = start()\n    return cfg\n",
          file);
    fclose(file);
    struct launch_options options = {0};
    struct error err;
    if (!launch_read(&options, &(struct launch_input){.path = path}, &err))
        fail_msg("%s", err.text);
    is(options.microbatch, 4);
    assert_int_equal(options.note_count, 0);
    launch_options_release(&options);
    unlink(path);
    unlink(other);
    rmdir(folder);
}

/* Texts that would take long, or the whole stack, end. */
static void nesting_and_loops_have_limits(void **state)
{
    (void)state;
    static const char *const bodies[] = {"(", "[", "-", "not ", "a(", "{1:", "2**", "lambda: ", "x if "};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        size_t length = strlen(bodies[i]), room = 20000 * length + 200;
        char *text = malloc(room);
        assert_non_null(text);
        strcpy(text, BRIDGE "def a_config():\n    return ");
        size_t at = strlen(text);
        for (int j = 0; j < 20000; j++, at += length)
            memcpy(text + at, bodies[i], length);
        text[at] = '\0';
        struct launch_options options = {0};
        const struct launch_input input = {.path = "a.py", .data = text, .length = at, .is_alone = true};
        struct error err;
        if (launch_read(&options, &input, &err))
            launch_options_release(&options);
        free(text);
    }
    text_refused("a.py", BRIDGE "def a_config():\n    return a_config()\n",
                 "a.py: a_config returns no configuration");
}

/* A field of each level is all fields of the one above. */
static void values_may_hold_each_other(void **state)
{
    (void)state;
    struct launch_options options = text_reads("circle.py",
                                               BRIDGE "def a_config():\n"
                                                      "    cfg = ConfigContainer()\n"
                                                      "    cfg.model.tensor_model_parallel_size = 2\n"
                                                      "    cfg.m.a = cfg.m.b = cfg.m.c = cfg.m.d = cfg.m\n"
                                                      "    cfg.m.e = cfg.m.f = cfg.m.g = cfg.m.h = cfg.m\n"
                                                      "    return cfg\n",
                                               NULL);
    is(options.tensor, 2);
    launch_options_release(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assignments_become_arguments), cmocka_unit_test(types_of_torch_are_read),
        cmocka_unit_test(what_is_computed_is_missing),  cmocka_unit_test(returns_in_doubt),
        cmocka_unit_test(overlap_of_experts),           cmocka_unit_test(recipes_are_sharded),
        cmocka_unit_test(schemes_are_followed),         cmocka_unit_test(functions_are_chosen),
        cmocka_unit_test(strategies_of_nemo_2),         cmocka_unit_test(registry_of_torchtitan),
        cmocka_unit_test(imports_are_followed),         cmocka_unit_test(nesting_and_loops_have_limits),
        cmocka_unit_test(values_may_hold_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
