/* Valid descriptions for every table of data/software, for tests that put settings into them. */
#ifndef REHEARSE_TESTS_LAUNCH_BASES_H
#define REHEARSE_TESTS_LAUNCH_BASES_H

#define AXOLOTL                                                                                              \
    "base_model: NousResearch/Llama-2-7b-hf\nsequence_len: 4096\nmicro_batch_size: 2\nsample_packing: "      \
    "true\n"
#define FACTORY                                                                                              \
    "model_name_or_path: meta-llama/Llama-2-7b-hf\nstage: sft\ncutoff_len: 2048\nbf16: true\n"               \
    "per_device_train_batch_size: 2\n"
#define TRAINER "model_name_or_path: meta-llama/Llama-2-7b-hf\nper_device_train_batch_size: 2\n"
#define TITAN                                                                                                \
    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\nlocal_batch_size = 4\n"        \
    "[parallelism]\ndata_parallel_shard_degree = -1\n"
#define MAXTEXT                                                                                              \
    "base_config: base.yml\nper_device_batch_size: 4\nmax_target_length: 4096\nremat_policy: custom\n"
#define FOUNDRY                                                                                              \
    "max_seq_len: 2048\nglobal_train_batch_size: 128\ndevice_train_microbatch_size: 4\nprecision: "          \
    "amp_bf16\n"                                                                                             \
    "fsdp_config: {sharding_strategy: FULL_SHARD}\n"
#define LAUNCHED                                                                                             \
    " train.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 --bf16\n"

#define MEGATRON                                                                                             \
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads "  \
    "32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32001 --micro-batch-size 1 "
#define MEGATRON_DENSE                                                                                       \
    MEGATRON "--global-batch-size 64 --bf16 --tensor-model-parallel-size 2 --pipeline-model-parallel-size "  \
             "2 "
#define MEGATRON_EXPERTS                                                                                     \
    MEGATRON "--global-batch-size 64 --bf16 --num-experts 8 --expert-model-parallel-size 4 "                 \
             "--moe-token-dispatcher-type alltoall --moe-grouped-gemm --use-distributed-optimizer "
#define NEMO                                                                                                 \
    "trainer: {num_nodes: 1, devices: 8}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 64\n"          \
    "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  encoder_seq_length: 4096\n"       \
    "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  max_position_embeddings: 4096\n"    \
    "  ffn_hidden_size: 11008\n  vocab_size: 32001\n"
#define CONTAINER                                                                                            \
    "train: {micro_batch_size: 1, global_batch_size: 64}\ndataset: {sequence_length: 4096}\nmodel:\n"        \
    "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n  num_layers: 32\n"                 \
    "  hidden_size: 4096\n  num_attention_heads: 32\n  ffn_hidden_size: 11008\n  vocab_size: 32001\n"
#define EXPORTS "export TENSOR_MODEL_PARALLEL=2 PIPELINE_MODEL_PARALLEL=2 DGXNNODES=1 "
#define NEOX                                                                                                 \
    "{num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, "                        \
    "max_position_embeddings: 4096, pipe_parallel_size: 2, model_parallel_size: 2, "                         \
    "train_micro_batch_size_per_gpu: 2, gradient_accumulation_steps: 4"
#define PRIMUS(more)                                                                                         \
    "modules: {pre_trainer: {framework: megatron, overrides: {num_layers: 32, hidden_size: 4096, "           \
    "num_attention_heads: 32, vocab_size: 32001, seq_length: 4096, max_position_embeddings: 4096" more       \
    "}}}\n"
#define PERFORMANCE                                                                                          \
    "python setup_experiment.py --gpu h100 --num_gpus 64 -tp 2 -pp 2 -cp 1 -mb 1 -gb 128 --compute_dtype "   \
    "fp8_cs "

/* Tables, and descriptions in which their settings count: each in one of them. */
static const struct {
    const char *table, *path, *text;
} bases[] = {
    {"deepspeed", "a.json",
     "{\"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4, \"bf16\": {\"enabled\": "
     "true}, "
     "\"zero_optimization\": {\"stage\": 2}}"},
    {"deepspeed", "a.json",
     "{\"train_batch_size\": 64, \"fp16\": {\"enabled\": true}, \"gradient_accumulation_steps\": 4, "
     "\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": \"cpu\"}}, "
     "\"activation_checkpointing\": {\"number_checkpoints\": 8}}"},
    {"deepspeed", "a.json", "{\"train_micro_batch_size_per_gpu\": 2, \"zero_optimization\": {\"stage\": 2}}"},
    {"deepspeed", "a.json",
     "{\"train_micro_batch_size_per_gpu\": 2, \"expert_parallel\": {\"autoep_size\": 1}}"},
    {"axolotl", "a.yaml", AXOLOTL},
    {"axolotl", "a.yaml", "base_model: mistralai/Mixtral-8x7B-v0.1\nsequence_len: 4096\n"},
    {"llama-factory", "a.yaml",
     "model_name_or_path: mistralai/Mixtral-8x7B-v0.1\nstage: sft\nfinetuning_type: "
     "full\ntensor_model_parallel_size: 2\n"},
    {"axolotl", "a.yaml", AXOLOTL "fsdp: [full_shard]\nfsdp_config: {fsdp_version: 2}\n"},
    {"axolotl", "a.yaml", AXOLOTL "adapter: lora\nload_in_4bit: true\n"},
    {"axolotl", "a.yaml",
     AXOLOTL "bf16: false\nliger_rope: true\nliger_rms_norm: true\noptimizer: galore_adamw\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: lora\nquantization_bit: 4\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\nuse_galore: true\n"},
    {"llama-factory", "a.yaml", FACTORY "finetuning_type: full\nuse_apollo: true\n"},
    {"llama-factory", "a.yaml",
     FACTORY "finetuning_type: full\npipeline_model_parallel_size: 2\ntensor_model_parallel_size: 2\n"},
    {"hf-trainer", "a.yaml", TRAINER "bf16: true\n"},
    {"hf-trainer", "a.yaml",
     TRAINER "fsdp: full_shard\nfsdp_config: {min_num_params: 0}\noptim: galore_adamw\n"},
    {"hf-trainer", "a.yaml", TRAINER "dtype: float32\n"},
    {"trl", "a.yaml", TRAINER "bf16: true\n"},
    {"trl", "a.yaml", TRAINER "use_peft: true\nload_in_4bit: true\n"},
    {"torchtitan", "a.toml", TITAN},
    {"torchtitan", "a.toml",
     TITAN "pipeline_parallel_degree = 2\n[activation_checkpoint]\nmode = \"none\"\n"},
    {"torchtitan", "a.toml",
     TITAN "tensor_parallel_degree = 2\ncontext_parallel_degree = 2\n[compile]\nenable = true\n"},
    {"torchtitan", "a.toml",
     "[model]\nname = \"deepseek_v3\"\nflavor = \"16B\"\nconverters = [\"float8\"]\n[training]\nseq_len = "
     "4096\n"
     "[parallelism]\nexpert_parallel_degree = 4\ntensor_parallel_degree = 2\n"},
    {"nanotron", "a.yaml",
     "parallelism: {tp: 2, pp: 2}\ntokens: {micro_batch_size: 2, sequence_length: 4096, "
     "batch_accumulation_per_replica: 4}\n"
     "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 4096, num_hidden_layers: 32, "
     "num_attention_heads: 32, "
     "intermediate_size: 11008, vocab_size: 32001}\noptimizer: {zero_stage: 0}\n"},
    {"nanotron", "a.yaml",
     "parallelism: {dp: 8}\ntokens: {micro_batch_size: 2, sequence_length: 4096}\nmodel:\n  model_config: "
     "{hidden_size: 4096, "
     "num_hidden_layers: 32, num_attention_heads: 32, intermediate_size: 11008, vocab_size: 32001}\n"},
    {"nanotron", "a.yaml",
     "parallelism: {dp: 4, pp: 2}\ntokens: {micro_batch_size: 2, sequence_length: 4096, "
     "batch_accumulation_per_replica: 4}\n"
     "model:\n  dtype: bfloat16\n  model_config: {hidden_size: 2048, num_hidden_layers: 16, "
     "num_attention_heads: 32, "
     "intermediate_size: 1024, vocab_size: 32000, moe_config: {num_experts: 8, top_k: 2, "
     "enable_shared_expert: true, "
     "shared_expert_intermediate_size: 1024, moe_intermediate_size: 1024}}\n"},
    {"maxtext", "a.yml", MAXTEXT},
    {"maxtext", "a.yml",
     MAXTEXT "ici_pipeline_parallelism: 4\ndropout_rate: 0.1\nlora: {enable_lora: true}\n"},
    {"maxtext", "a.yml", MAXTEXT "ici_data_parallelism: -1\nici_fsdp_parallelism: 1\n"},
    {"maxtext", "a.yml",
     MAXTEXT "num_experts: 8\nnum_experts_per_tok: 2\nn_routing_groups: 4\ntopk_routing_group: 2\n"
             "ici_expert_parallelism: 4\nattention_type: local_sliding\n"},
    {"maxtext", "a.yml", MAXTEXT "attention_type: mla\nq_lora_rank: 1536\nsliding_window_size: 512\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50368}\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: hf_causal_lm, pretrained_model_name_or_path: meta-llama/Llama-2-7b-hf, "
             "peft_config: {peft_type: LORA}}\n"},
    {"llm-foundry", "a.yaml",
     FOUNDRY "model: {name: mpt_causal_lm, d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50368, "
             "ffn_config: {moe_num_experts: 8, moe_top_k: 2}}\n"},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_deepspeed" LAUNCHED},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_fsdp" LAUNCHED},
    {"accelerate", "a.sh", "accelerate launch --num_processes 8 --use_megatron_lm" LAUNCHED},
    {"accelerate", "a.sh",
     "accelerate launch --multi_gpu train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
     "--per_device_train_batch_size 16\n"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--use-megatron-fsdp --ckpt-format fsdp_dtensor --use-distributed-optimizer"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--use-distributed-optimizer --use-precision-aware-optimizer --disable-bias-linear"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE "--recompute-granularity selective --fp8-format hybrid"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE
     "--recompute-granularity full --recompute-method block --recompute-num-layers 4 --fp4-format e2m1"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE "--attention-backend unfused --group-query-attention"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE "--transformer-impl local --num-query-groups 8"},
    {"megatron-lm", "a.sh", MEGATRON "--global-batch-size 64 --context-parallel-size 4"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
                    "--qk-pos-emb-head-dim 64 --v-head-dim 128"},
    {"megatron-lm", "a.sh",
     MEGATRON "--global-batch-size 64 --bf16 --window-size 1024,0 --cpu-offloading-num-layers 2"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE "--deepspeed"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--use-distributed-optimizer --use-precision-aware-optimizer --optimizer-cpu-offload"},
    {"megatron-lm", "a.sh",
     "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads "
     "32 "
     "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "
     "--tokenizer-type GPT2BPETokenizer"},
    {"megatron-lm", "a.sh", MEGATRON "--global-batch-size 64 --bf16 --pipeline-model-parallel-size 4"},
    {"megatron-lm", "a.sh",
     MEGATRON_EXPERTS "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 "
                      "--overlap-moe-expert-parallel-comm"},
    {"megatron-lm", "a.sh", MEGATRON_EXPERTS},
    {"megatron-lm", "a.sh", MEGATRON_EXPERTS "--moe-router-topk 2 --moe-ffn-hidden-size 2048"},
    {"megatron-lm", "a.sh", MEGATRON_EXPERTS "--overlap-moe-expert-parallel-comm --moe-ffn-hidden-size 1024"},
    {"megatron-lm", "a.sh",
     MEGATRON_EXPERTS
     "--moe-router-num-groups 4 --moe-router-group-topk 2 --moe-shared-expert-intermediate-size 512"},
    {"megatron-lm", "a.sh",
     MEGATRON_DENSE "--multi-latent-attention --q-lora-rank 1536 --experimental-attention-variant dsa "
                    "--dsa-indexer-n-heads 16 --dsa-indexer-head-dim 128 --dsa-indexer-topk 512"},
    {"megatron-lm", "a.sh", MEGATRON_DENSE "--hybrid-layer-pattern M-M*M-M*M-M*M-M*M-M*M-M*M-M*M-M*"},
    {"megatron-lm", "a.sh",
     MEGATRON_EXPERTS "--moe-ffn-hidden-size 1024 --moe-shared-expert-intermediate-size 1024 "
                      "--experimental-attention-variant gdn --linear-attention-freq 4"},
    {"nemo", "a.yaml", NEMO},
    {"nemo", "a.yaml",
     NEMO "  optim: {name: distributed_fused_adam, overlap_grad_sync: true}\n  peft: {peft_scheme: lora}\n"},
    {"nemo", "a.yaml",
     "trainer: {num_nodes: 1, devices: 8}\nmodel:\n  micro_batch_size: 1\n  global_batch_size: 64\n  "
     "tensor_model_parallel_size: 2\n"
     "  encoder_seq_length: 4096\n  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n  "
     "max_position_embeddings: 4096\n"
     "  ffn_hidden_size: 11008\n  tokenizer: {model: gpt2}\n"},
    {"nemo-model", "a.yaml", NEMO},
    {"nemo-model", "a.yaml", NEMO "  fsdp: true\n  bias: false\n"},
    {"nemo-model", "a.yaml",
     NEMO "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: block\n"},
    {"bridge-config", "a.yaml", CONTAINER},
    {"bridge-config", "a.yaml",
     CONTAINER "ddp: {use_megatron_fsdp: true}\noptimizer: {use_precision_aware_optimizer: true, "
               "optimizer_cpu_offload: true}\n"},
    {"bridge-config", "a.yaml",
     CONTAINER "  num_moe_experts: 8\n  expert_model_parallel_size: 4\n  expert_tensor_parallel_size: "
               "1\noptimizer: {exp_avg_dtype: bf16}\n"},
    {"bridge-config", "a.yaml", CONTAINER "mixed_precision: {bf16: true, fp8: hybrid}\n"},
    {"bridge-config", "a.yaml", CONTAINER "mixed_precision: {bf16: true, fp4: e2m1}\n"},
    {"bridge-config", "a.yaml", CONTAINER "peft: {_target_: megatron.bridge.peft.lora.LoRA}\n"},
    {"bridge-config", "a.yaml",
     CONTAINER
     "  num_moe_experts: 8\n  expert_model_parallel_size: 4\n  expert_tensor_parallel_size: 1\ncomm_overlap: "
     "{overlap_moe_expert_parallel_comm: true}\n"},
    {"mlperf", "a/config.sh", EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b\n"},
    {"mlperf", "a/config.sh", EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b FP8=True\n"},
    {"mlperf", "a/config.sh", EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b FP4=True\n"},
    {"mlperf", "a/config.sh", EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1\n"},
    {"mlperf", "a/config.sh",
     EXPORTS
     "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b RECOMPUTE_GRANULARITY=full RECOMPUTE_METHOD=block\n"},
    {"mlperf", "a/config.sh",
     EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b RECOMPUTE_GRANULARITY=selective\n"},
    {"mlperf", "a/config.sh",
     EXPORTS "MINIBS=32 MICRO_BATCH_SIZE=1 MODEL_SIZE=8b ACT_CKPT_GRANULARITY=full ACT_CKPT_METHOD=block "
             "ACT_CKPT_NUM_LAYERS=4\n"},
    {"mlperf", "a/config.sh",
     "export TENSOR_MODEL_PARALLEL=2 PIPELINE_MODEL_PARALLEL=1 DGXNNODES=1 MINIBS=32 MICRO_BATCH_SIZE=1 "
     "MODEL_SIZE=20b "
     "EXPERT_PARALLEL=4 MOE_TOKEN_DISPATCHER_TYPE=alltoall ROUTER_NUM_GROUPS=4 ROUTER_GROUP_TOP_K=2\n"},
    {"mlperf", "a/config.sh", "export TP=2 PP=1 CP=1 DGXNNODES=1 MINIBS=2 MBS=1 LORA_A2A=1 FP8=True\n"},
    {"mlperf", "a/config.sh",
     "export TP=2 PP=1 CP=1 DGXNNODES=1 MINIBS=2 MBS=1 LORA_A2A=1 FP4=True ACG=full ACL=8\n"},
    {"mlperf", "a/config.sh", "export TP=2 PP=1 CP=1 NNODES=1 GBS=32 MBS=1\n"},
    {"neox", "a.yaml", NEOX "}"},
    {"neox", "a.yaml",
     "{num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, "
     "max_position_embeddings: 4096, "
     "pipe_parallel_size: 0, model_parallel_size: 1, train_micro_batch_size_per_gpu: 2, bf16: {enabled: "
     "true}}"},
    {"neox", "a.yaml", NEOX ", moe_num_experts: 8, num_kv_heads: 8, checkpoint_activations: true}"},
    {"primus", "a.yaml", PRIMUS("")},
    {"primus", "a.yaml", PRIMUS(", lora: {enabled: true}")},
    {"primus", "a.yaml",
     "modules: {pre_trainer: {framework: torchtitan, model: llama3.1_8B.yaml, overrides: {training: "
     "{seq_len: "
     "4096, local_batch_size: 2}, parallelism: {data_parallel_shard_degree: -1}}}}\n"},
    {"bridge", "a.sh", PERFORMANCE "--model_recipe_name llama3_8b\n"},
    {"bridge", "a.sh", PERFORMANCE "--model_name llama3 --model_size 8b\n"},
    {"bridge", "a.sh", PERFORMANCE "--model_recipe_name qwen3_30b_a3b -ep 8\n"},
    {"bridge", "a.sh",
     "python run_script.py --compute_dtype fp8 --gpu h100 --num_gpus 64 -tp 2 -pp 2 -cp 1 -mb 1 -gb 128 "
     "--model_recipe_name llama3_8b\n"},
    {"bridge", "a.sh",
     "python setup_experiment.py --gpu h100 --num_gpus 64 -tp 2 -pp 2 -cp 1 -mb 1 -gb 128 "
     "--model_recipe_name llama3_8b\n"},
    {"launcher", "a.sh", MEGATRON_DENSE},
    {"launcher", "a.sh",
     "mpirun -np 8 python pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
     "--seq-length 4096 --max-position-embeddings 4096 --vocab-size 32001 --micro-batch-size 1 "
     "--global-batch-size 64\n"},
    {"launcher", "a.sh",
     "srun --nodes 1 --ntasks-per-node 8 python pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
     "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 --vocab-size 32001 "
     "--micro-batch-size 1 --global-batch-size 64\n"},
};

#endif
