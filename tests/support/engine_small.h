/* Small systems for sim/engine, made by hand: devices whose templates get tasks one by one. */
#ifndef REHEARSE_TESTS_ENGINE_SMALL_H
#define REHEARSE_TESTS_ENGINE_SMALL_H

#include "sim/engine/engine.h"

#define SMALL_MAX 64

enum { SMALL_KERNEL, SMALL_TRANSFER, SMALL_LABELS };

/* A system of devices with one pass each, whose tasks are added one by one. */
struct small_system {
    struct engine_system system;
    struct engine_template templates[SMALL_MAX];
    struct engine_task tasks[SMALL_MAX][SMALL_MAX];
    struct engine_pass passes[SMALL_MAX][SMALL_MAX];
    struct engine_order orders[SMALL_MAX];
    struct engine_device devices[SMALL_MAX];
    struct engine_group groups[SMALL_MAX];
    struct engine_route routes[SMALL_MAX];
    struct engine_link links[SMALL_MAX];
    int numbers[SMALL_MAX];
};

extern struct small_system small;

/* Every device has all ports, groups and routes, by their own numbers plus 1, and does its template `passes` times. */
void small_begin(int devices, int passes);
void small_add(int device, struct engine_task task);
void small_link(double capacity);
void small_route(int first, int count); /* over `count` links from `first` on */
void small_group(int members, int route);
void small_allow_all(void); /* lets all devices have all ports, groups and routes that there are by now */

#endif
