/* The makers of orders: `make` of struct schedule, one per row of schedule.c.
 *
 * The order is empty, with the stages and chains of the row, and stage s on device s mod devices. A maker changes
 * device_of where the placement differs, and adds the passes of each device. */
#ifndef REHEARSE_SCHEDULE_MAKE_MAKE_H
#define REHEARSE_SCHEDULE_MAKE_MAKE_H

#include "schedule/shape.h"

bool maker_gpipe(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

/* alternate.c */
bool maker_1f1b(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_eager_1f1b(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_interleaved(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_pipedream(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_2bw(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_zb_h1(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_zb_h2(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_interleaved_zb(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

bool maker_chimera(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

/* dualpipe.c */
bool maker_dualpipe(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_dualpipev(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

/* vshape.c */
bool maker_zb_v(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_v_half(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_v_min(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

bool maker_hanayo(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

/* ../best.c: searched, with the makespan as objective */
bool maker_zb_1p(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_zb_2p(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_v_1p(const struct schedule_shape *shape, struct pass_order *order, struct error *err);
bool maker_best(const struct schedule_shape *shape, struct pass_order *order, struct error *err);

#endif
