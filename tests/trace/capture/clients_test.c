/* Programs whose work others do, as the kernel reports their beginning. */
#include "trace/capture/clients.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct capture_clients clients;
static struct text lines;

static int setup(void **state)
{
    (void)state;
    clients = (struct capture_clients){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    text_release(&lines);
    return 0;
}

/* Notes an execution, and returns what is then said of all. */
static const char *noted(uint32_t pid, const char *program, const char *command)
{
    capture_clients_note(&clients, pid, program, command, 0);
    text_release(&lines);
    capture_clients_list(&clients, &lines);
    return lines.data ? lines.data : "";
}

static void clients_are_told_with_the_option_that_helps(void **state)
{
    (void)state;
    assert_non_null(
        strstr(noted(7, "/usr/bin/docker", "docker run image"), "the work of docker, executed 1 time:"));
    assert_non_null(strstr(lines.data, "--container NAME"));
    assert_non_null(strstr(noted(8, "/usr/bin/docker", "docker ps"), "docker, executed 2 times:"));
    assert_non_null(
        strstr(noted(9, "/opt/slurm/srun", "srun -n 8 python"), "the work of srun, executed 1 time:"));
    assert_non_null(strstr(lines.data, "rehearse trace -o FILE -- COMMAND"));
    assert_non_null(strstr(lines.data, "docker"));
}

static void other_programs_are_none(void **state)
{
    (void)state;
    assert_string_equal(noted(1, "/usr/bin/python3", "python3 docker"), "");
    assert_string_equal(noted(2, "/usr/bin/apptainer", "apptainer exec image.sif python"), "");
    assert_string_equal(noted(3, "/usr/bin/docker-init", "docker-init"), "");
}

static void arguments_can_decide(void **state)
{
    (void)state;
    /* its containers are its children, unless it asks a service */
    assert_string_equal(noted(1, "/usr/bin/podman", "podman run image prog --remote"), "");
    assert_string_equal(noted(2, "/usr/bin/systemd-run", "systemd-run --user --scope prog"), "");
    assert_string_equal(noted(3, "/usr/bin/ray", "/usr/bin/python3 /usr/bin/ray start --head"), "");
    assert_non_null(
        strstr(noted(4, "/usr/bin/ray", "/usr/bin/python3 /usr/bin/ray job submit"), "work of ray"));
    assert_non_null(
        strstr(noted(5, "/usr/bin/podman", "podman --url=unix:///s run image"), "work of podman"));
    assert_non_null(strstr(noted(6, "/usr/bin/systemd-run", "systemd-run prog"), "work of systemd-run"));
}

static void a_script_around_another_program_is_none(void **state)
{
    (void)state;
    assert_non_null(strstr(noted(7, "/usr/bin/docker", "/bin/sh /usr/bin/docker run"), "docker"));
    assert_string_equal(noted(7, "/usr/bin/podman", "podman run"), "");
}

static void where_all_processes_are_traced_only_other_hosts_are_missed(void **state)
{
    (void)state;
    clients.system = true;
    assert_string_equal(noted(7, "/usr/bin/docker", "docker run image"), "");
    assert_non_null(strstr(noted(8, "/usr/bin/ssh", "ssh other prog"), "work of ssh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clients_are_told_with_the_option_that_helps, setup, teardown),
        cmocka_unit_test_setup_teardown(other_programs_are_none, setup, teardown),
        cmocka_unit_test_setup_teardown(arguments_can_decide, setup, teardown),
        cmocka_unit_test_setup_teardown(a_script_around_another_program_is_none, setup, teardown),
        cmocka_unit_test_setup_teardown(where_all_processes_are_traced_only_other_hosts_are_missed, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("trace: clients", tests, NULL, NULL);
}
