#include "measure/layers/kernel_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Read by the leak sanitizer, which crashes when it looks at the threads of oneDNN's OpenMP at the end. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static struct kernel_task task_of(struct kernel kernel, bool is_backward)
{
    struct kernel_task task;
    struct error err;
    if (!kernel_task_of(&task, &kernel, is_backward, false, 64, &err))
        fail_msg("%s", err.text);
    return task;
}

static void kernels_become_tasks(void **state)
{
    (void)state;
    struct kernel_task task =
        task_of((struct kernel){.kind = KERNEL_GEMM, .type = COST_BF16, .size = {2, 3, 4, 5}}, true);
    assert_int_equal(task.kind, TASK_PRODUCT);
    assert_true(task.is_bf16 && !task.is_backward && task.size.batch == 2 && task.size.m == 3 &&
                task.size.n == 4 && task.size.k == 5);
    task = task_of(
        (struct kernel){
            .kind = KERNEL_ATTENTION, .type = COST_FP32, .size = {8, 16, 16, 4}, .backward = true},
        true);
    assert_true(task.kind == TASK_ATTENTION && task.is_backward && !task.is_bf16);
    /* as many bytes as the kernel moves */
    task = task_of((struct kernel){.kind = KERNEL_STREAM, .name = "norm", .bytes = 4.0 * 2.0 * 64.0 * 10.0},
                   false);
    assert_true(task.kind == TASK_NORM && task.size.m == 10 && task.size.n == 64);
    task = task_of(
        (struct kernel){.kind = KERNEL_STREAM, .name = "softmax", .bytes = 4.0 * 3.0 * 64.0 * 10.0}, true);
    assert_true(task.kind == TASK_SOFTMAX && task.size.m == 10 && task.size.n == 64 && task.is_backward);
    task = task_of((struct kernel){.kind = KERNEL_STREAM, .name = "activation", .bytes = 4.0 * 2.0 * 100.0},
                   false);
    assert_true(task.kind == TASK_ACTIVATION && task.size.m == 100);
    task = task_of((struct kernel){.kind = KERNEL_STREAM, .name = "elementwise", .bytes = 4.0 * 3.0 * 100.0},
                   true);
    assert_true(task.kind == TASK_POINTWISE && task.size.m == 100 && !task.is_backward);
}

static void other_types_and_sizes_are_refused(void **state)
{
    (void)state;
    struct kernel_task task;
    struct error err;
    struct kernel kernel = {.kind = KERNEL_GEMM, .type = COST_FP8, .name = "gemm", .size = {1, 1, 1, 1}};
    assert_false(kernel_task_of(&task, &kernel, false, false, 64, &err));
    assert_string_equal(err.text, "'gemm' is in fp8: oneDNN measures fp32 and bf16");
    kernel.type = COST_FP32;
    kernel.size.m = kernel.size.k = INT64_C(1) << 40;
    assert_false(kernel_task_of(&task, &kernel, false, false, 64, &err));
    kernel.size.m = 0;
    assert_false(kernel_task_of(&task, &kernel, false, false, 64, &err));
}

/* ---- with oneDNN ---- */

static bool has_module(struct kernel_set *set)
{
    struct error err;
    *set = (struct kernel_set){.calls = kernel_calls_load(&err)};
    if (set->calls)
        return true;
    if (!strstr(err.text, "was built without oneDNN"))
        fail_msg("%s", err.text);
    return false;
}

static void every_task_runs(void **state)
{
    (void)state;
    struct kernel_set set;
    struct kernel_list list = {.count = 0};
    struct error err;
    if (!has_module(&set)) {
        print_message("built without oneDNN\n");
        skip();
    }
    size_t made = 0;
    for (int kind = TASK_PRODUCT; kind <= TASK_POINTWISE; kind++)
        for (int backward = 0; backward < 2; backward++)
            for (int batch = 1; batch < 4; batch += 2) {
                const struct kernel_task task = {
                    .kind = kind, .is_backward = backward, .size = {batch, 24, 40, 8}};
                if (!kernel_set_add(&set, &list, &task, 1.0, &err))
                    fail_msg("%s", err.text);
                made++;
            }
    const struct kernel_task again = {.kind = TASK_NORM, .size = {1, 24, 40, 8}};
    assert_true(kernel_set_add(&set, &list, &again, 2.0, &err));
    assert_int_equal(set.count, made); /* it is known */
    assert_int_equal(list.count, made + 1);
    if (!kernel_set_run(&set, &list, 2, &err) || !kernel_set_renew(&set, &err) ||
        !kernel_set_run(&set, &list, 1, &err))
        fail_msg("%s", err.text);
    kernel_list_release(&list);
    kernel_set_release(&set);
}

static void memory_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct kernel_set set;
    struct error err;
    const struct kernel_task task = {.kind = TASK_PRODUCT,
                                     .size = {1, INT64_C(1) << 30, 1, INT64_C(1) << 18}};
    if (!has_module(&set))
        skip();
    assert_null(kernel_make(set.calls, &task, &err));
    assert_non_null(strstr(
        err.text, "product 1 x 1073741824 x 1 x 262144, fp32: oneDNN could not allocate an array: out of "
                  "memory"));
}

static void a_missing_module_is_named(void **state)
{
    (void)state;
    struct error err;
    const char *module = getenv("REHEARSE_DNNL_MODULE");
    char *before = module ? strdup(module) : NULL;
    setenv("REHEARSE_DNNL_MODULE", "/nowhere/rehearse-dnnl.so", 1);
    assert_null(kernel_calls_load(&err));
    assert_non_null(strstr(err.text, "oneDNN"));
    setenv("REHEARSE_DNNL_MODULE", getenv("REHEARSE_NO_PLUGIN"), 1);
    assert_null(kernel_calls_load(&err));
    if (!strstr(err.text, "was built without oneDNN"))
        assert_string_equal(err.text, "rehearse-dnnl.so belongs to another version of rehearse");
    if (before)
        setenv("REHEARSE_DNNL_MODULE", before, 1);
    else
        unsetenv("REHEARSE_DNNL_MODULE");
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_become_tasks),      cmocka_unit_test(other_types_and_sizes_are_refused),
        cmocka_unit_test(every_task_runs),           cmocka_unit_test(memory_that_is_not_there_is_an_error),
        cmocka_unit_test(a_missing_module_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
