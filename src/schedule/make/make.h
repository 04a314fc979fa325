/* The makers of orders: `make` of struct schedule, one per row of schedule.c.
 *
 * The order is empty, with the stages and chains of the row, and stage s on device s mod devices. A maker changes
 * device_of where the placement differs, and adds the passes of each device. */
#ifndef REHEARSE_SCHEDULE_MAKE_MAKE_H
#define REHEARSE_SCHEDULE_MAKE_MAKE_H

#include "schedule/shape.h"

schedule_maker maker_gpipe;

/* alternate.c */
schedule_maker maker_1f1b, maker_seq_1f1b, maker_eager_1f1b, maker_interleaved, maker_group_interleaved,
    maker_pipedream, maker_2bw, maker_zb_h1, maker_zb_h2, maker_interleaved_zb;

schedule_maker maker_chimera;

/* dualpipe.c */
schedule_maker maker_dualpipe, maker_dualpipev;

/* vshape.c */
schedule_maker maker_zb_v, maker_v_half, maker_v_min;

schedule_maker maker_hanayo;

/* ../best.c: searched, with the makespan as objective */
schedule_maker maker_zb_1p, maker_zb_2p, maker_v_1p, maker_best;

#endif
