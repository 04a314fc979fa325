/* Generated launch descriptions that try to cost much or to read what they should not: shell scripts, recipes in Python and
 * YAML, with pipes, devices and links beside them. Each is read in a process of its own, which must end within half a second of
 * a processor and 100 MB, and open regular files of its folder alone. The program's own tables are read once, before all: their
 * time counts for each.
 *
 *     bench_scripts [COUNT [SEED]]     prints the rate and what was worst; exit status 1: a limit was exceeded
 *     bench_scripts 1 SEED keep        leaves the folder of the one with this seed, and prints its name */
#include "core/clock.h"
#include "core/text.h"
#include "devices/tables.h"
#include "launch/read/read.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SECONDS 0.5
#define MAX_MB      100.0

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

/* ---- what is opened ---- */

static char folder[PATH_MAX];
static bool watched; /* in the process that reads */

static void judge(const char *path)
{
    char real[PATH_MAX];
    struct stat info;
    if (!watched || !realpath(path, real) || stat(real, &info) != 0)
        return;
    if (S_ISREG(info.st_mode) && strncmp(real, folder, strlen(folder)) == 0 && real[strlen(folder)] == '/')
        return;
    fprintf(stderr, "opened: %s\n", path);
    _exit(3);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    judge(path);
    return __real_open(path, flags, mode);
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    judge(path);
    return __real_open64(path, flags, mode);
}

/* ---- texts ---- */

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

/* Pieces of a language. '@' is a drawn letter, '#' a drawn number, '%' a file, '~' a drawn piece once more. */
static const char *const shell[] = {
    "A@=$A@$A@$B@\n",
    "A@=#\n",
    "A@=(# # ${A@[@]} x#)\n",
    "source %\n",
    ". \"$(dirname $0)/%\"\n",
    "if [ \"$A@\" == # ]; then\n~~fi\n",
    "if [[ $A@ =~ ^(a|b*)*$ ]]; then\n~else\n~fi\n",
    "for A@ in # # $A@; do\n~~done\n",
    "while true; do\n~done\n",
    "f@() {\n~~}\nf@\n",
    "f@() { f@; f@; f@; }\nf@\n",
    "case $A@ in\n#) ~;;\n*) ~;;\nesac\n",
    "A@=$((A@ * # + ${A@:-#} ** 2))\n",
    "A@=${A@//#/$A@$A@}\n",
    "A@=${A@:#:#}${A@[#]}${!A@}\n",
    "A@=$(echo $(basename $(dirname $A@)))\n",
    "cat <<EOF >x.json\n{\"train_batch_size\": #, \"a\": \"$A@\"}\nEOF\n",
    "export A@ B@=$A@; [ -z \"$C@\" ] && A@=# || { ~}\n",
    "A@=\"((((((((((((((((((((((((((((((((((((((((((\"'$((((((((((' B@=`A@`\n",
    "exec <> %; read A@ < %\n",
    "torchrun --nproc_per_node # pretrain_gpt.py --num-layers # --hidden-size # --num-attention-heads # "
    "--seq-length # "
    "--micro-batch-size $A@ --global-batch-size # --data-path %\n",
    "export MBS=# MINIBS=# TENSOR_MODEL_PARALLEL=$A@\n",
    "deepspeed train.py --deepspeed_config %\n",
};
static const char *const python[] = {
    "    cfg.model.@ = #\n",
    "    a@ = [#, a@, a@, \"#\"]\n",
    "    a@ = {\"k#\": #, 'k#': a@, **a@}\n",
    "    a@ = f@(f@(a@), a@)\n",
    "    if a@ in a@:\n    ~",
    "    for x in a@:\n    ~",
    "    a@ = a@ + \"#\" + a@\n",
    "    cfg.@.@.@ = a@.@.@(a@, x=#)\n",
    "    a@ = dataclasses.replace(a@, x=#, @=a@)\n",
    "    from .m@ import *\n",
    "    a@, b@ = (((((((((((#)))))))))), a@\n",
    "    a@ = a@ if a@ > # else [x for x in a@]\n",
    "    '''#\n'''; \"#\" \"#\" 'x'\n",
    "    a@ = not not -#**-#/0 // # % #\n",
};
static const char *const outer[] = {
    "from .m@ import *\n", "from m@ import a@, f@ as f@\n", "from ....m@ import *\n", "a@ = #\n",
    "a@ = a@ + b@\n",      "def f@(x, y=a@, *z, **w):\n",
};
static const char *const yaml[] = {
    "a@: &b@ {x: #, y: [#, #]}\n",
    "a@: *b@\n",
    "a@:\n  <<: *b@\n  b: #\n",
    "x#: [*b@, *b@, *b@, *b@]\n",
    "deepspeed: %\n",
    "base_model: meta-llama/Llama-3.1-8B\n",
    "micro_batch_size: #\n",
    "m@: ${a@.x}${a@.y}\n",
    "k#: \"${k#}${k#}\"\n",
    "n@: [[[[[[[[[[[[[[[[#]]]]]]]]]]]]]]]]\n",
};
static const char *const files[] = {
    "a.sh",     "b.sh", "c.sh",      "pipe",        "out",         "null",
    "../up.sh", ".",    "/dev/zero", "/dev/kmsg",   "/etc/passwd", "/proc/self/environ",
    "x.json",   "in",   "run.sh",    "../../up.sh", "/dev/stdin"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_piece(struct text *text, const char *const *pieces, size_t count, int depth)
{
    for (const char *at = pieces[draw(count)]; *at; at++) {
        char letter[2] = {(char)('a' + draw(4)), '\0'};
        if (*at == '@')
            text_add(text, letter);
        else if (*at == '#')
            text_format(text, "%d", (int)draw(draw(4) == 0 ? 100000 : 9));
        else if (*at == '%')
            text_add(text, files[draw(COUNT(files))]);
        else if (*at == '~' && depth < 30)
            put_piece(text, pieces, count, depth + 1);
        else if (*at == '~')
            text_add(text, "true\n");
        else
            text_add_bytes(text, at, 1);
    }
}

/* Some pieces; one of them may be there thousands of times. */
static void put_pieces(struct text *text, const char *const *pieces, size_t count)
{
    int pieces_left = (int)draw(40);
    if (draw(6) == 0) {
        struct text one = {0};
        for (size_t i = 0; i <= draw(3); i++)
            put_piece(&one, pieces, count, 0);
        size_t limit = draw(8) == 0 ? (size_t)1 << 20 : (size_t)1 << (10 + draw(8));
        while (one.length > 0 && text->length + one.length < limit)
            text_add_bytes(text, one.data, one.length);
        text_release(&one);
    }
    while (pieces_left-- > 0)
        put_piece(text, pieces, count, 0);
}

static void put_python(struct text *text)
{
    put_pieces(text, outer, COUNT(outer) - 1);
    for (char name = 'a'; name < 'e'; name++) {
        text_format(text, "def f%c(x=1, y=2):\n    cfg = x\n", name);
        put_pieces(text, python, COUNT(python));
        text_add(text, "    return cfg\n");
    }
    text_add(
        text,
        "from megatron.bridge.training.config import ConfigContainer\ndef m_config() -> ConfigContainer:\n"
        "    cfg = fa()\n");
    put_pieces(text, python, COUNT(python));
    text_add(text, "    return cfg\n");
}

/* ---- a case ---- */

static bool save(const char *name, const struct text *text)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    bool ok = file && fwrite(text->data ? text->data : "", 1, text->length, file) == text->length;
    return file && fclose(file) == 0 && ok;
}

/* Writes the description and the files that it may name; returns its name. */
static const char *make(uint64_t seed)
{
    static const char *const helpers[][3] = {{"a.sh", "b.sh", "c.sh"}, {"ma.py", "mb.py", "mc.py"}};
    static const char *const names[] = {"run.sh", "run.py", "run.yaml"};
    struct text text = {0};
    state = seed * UINT64_C(0x2545f4914f6cdd1d);
    int kind = (int)draw(5) / 2;
    if (kind == 1)
        put_python(&text);
    else
        put_pieces(&text, kind ? yaml : shell, kind ? COUNT(yaml) : COUNT(shell));
    if (kind != 1 && draw(3) > 0)
        text_add(&text,
                 kind == 0
                     ? "torchrun pretrain_gpt.py --num-layers 4 --hidden-size $Aa --micro-batch-size $Ab\n"
                     : "base_model: org/m\nmicro_batch_size: 1\nsequence_len: 2048\n");
    bool ok = save(names[kind], &text);
    for (int i = 0; i < 3 && kind < 2; i++) {
        text.length = 0;
        if (kind == 1)
            put_python(&text);
        else
            put_pieces(&text, shell, COUNT(shell));
        ok &= save(helpers[kind][i], &text);
    }
    text_release(&text);
    return ok ? names[kind] : NULL;
}

static int read_one(const char *name)
{
    struct launch_options options = {0};
    struct error err;
    char path[PATH_MAX + 32];
    static const char *const given[] = {"function=m_config", NULL};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const struct launch_input input = {.path = path, .root = folder, .given = given};
    watched = true;
    return launch_read(&options, &input, &err) ? 0 : error_is_memory(&err) ? 4 : 1;
}

/* Reads the program's tables. */
static bool read_tables(void)
{
    struct error err;
    const char *name;
    bool ok = tables_ready(&err);
    for (size_t i = 0; ok && (name = launch_table_name(i)) != NULL; i++)
        ok = launch_table(name);
    return ok;
}

static bool prepare(void)
{
    char path[PATH_MAX + 32];
    static const char *const links[][2] = {{"out", "../up.sh"}, {"in", "a.sh"}, {"null", "/dev/null"}};
    snprintf(path, sizeof path, "%s/pipe", folder);
    bool ok = mkfifo(path, 0600) == 0;
    for (size_t i = 0; i < COUNT(links); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, links[i][0]);
        ok &= symlink(links[i][1], path) == 0;
    }
    return ok;
}

int main(int argc, char **argv)
{
    long long count = argc > 1 ? atoll(argv[1]) : 1000, seed = argc > 2 ? atoll(argv[2]) : 1, bad = 0,
              read = 0;
    double used = 0, most = 0, most_mb = 0, tables;
    char command[PATH_MAX + 16], top[] = "/dev/shm/bench-scripts-XXXXXX";
    if (!mkdtemp(top))
        return 2;
    snprintf(folder, sizeof folder, "%s/own", top);
    if (mkdir(folder, 0700) != 0 || !prepare() || !read_tables())
        return 2;
    tables = clock_processor();
    for (long long i = seed; i < seed + count; i++) {
        struct rusage usage;
        int status;
        const char *name = make((uint64_t)i);
        fflush(stdout);
        pid_t child = name ? fork() : -1;
        if (child == 0) {
            alarm(600); /* a busy machine is no fault */
            _exit(read_one(name));
        }
        if (child < 0 || wait4(child, &status, 0, &usage) != child)
            return 2;
        double own = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                     1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        double seconds = own + tables;
        double mb = (double)usage.ru_maxrss / 1e3;
        bool ended = WIFEXITED(status) && WEXITSTATUS(status) < 2;
        if (!ended || seconds > MAX_SECONDS || mb > MAX_MB) {
            printf("seed %lld, %s: %.3f s, %.0f MB, status %x\n", i, name, seconds, mb, (unsigned)status);
            bad++;
        }
        read += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        used += own;
        most = seconds > most ? seconds : most;
        most_mb = mb > most_mb ? mb : most_mb;
    }
    used += clock_processor();
    printf("%lld descriptions, %.0f per second of a processor; %lld are read, the others refused; most: %.3f "
           "s, %.0f MB; "
           "over a limit: %lld\n",
           count, (double)count / used, read, most, most_mb, bad);
    if (argc > 3) {
        printf("%s\n", folder);
        return bad > 0;
    }
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    return system(command) != 0 || bad > 0;
}
