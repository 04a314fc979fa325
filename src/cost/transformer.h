/* The kernels, transfers and bytes of a transformer's layers on one device. */
#ifndef REHEARSE_COST_TRANSFORMER_H
#define REHEARSE_COST_TRANSFORMER_H

#include "cost/layer_work.h"

void transformer_embedding(struct layer_work *work, const struct architecture *model,
                           const struct layer_split *split);
void transformer_block(struct layer_work *work, const struct architecture *model, int block,
                       const struct layer_split *split);
/* The join of a further token's embedding with the last block's output, before a block that predicts further tokens
 * (arXiv:2412.19437, section 2.2). */
void transformer_join(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split);
void transformer_head(struct layer_work *work, const struct architecture *model,
                      const struct layer_split *split);

#endif
