/* Positional encodings: adds a row of a table to each row. */
#ifndef CLF_OPS_POSITIONS_H
#define CLF_OPS_POSITIONS_H

#include "math/tensor/tensor.h"

/* y[n] = x[n] + table[positions[n]]; y may be x. A position outside the table adds nothing. */
clf_status clf__positions_forward(struct clf__tensor y,          /* (N, D) */
                                  struct clf__tensor x,          /* (N, D) */
                                  struct clf__tensor table,      /* (positions, D) */
                                  struct clf__tensor positions); /* (1, N) i32 */

struct clf__id_groups;

/* dtable[position] += the sum of dy over the rows of that position, for learned tables. */
clf_status clf__positions_backward(struct clf__tensor dtable, /* (positions, D) */
                                   struct clf__tensor dy,     /* (N, D) */
                                   const struct clf__id_groups *id_groups);

enum clf__sinusoid_layout { CLF__SINUSOID_INTERLEAVED, CLF__SINUSOID_HALVES };
/* The angle of position p in pair i of h = ceil(D/2): p * 10000^(-2i/D) (Vaswani 2017, 3.5), or p *
 * 10000^(-i/(h-1)). */
enum clf__sinusoid_frequency { CLF__SINUSOID_BY_WIDTH, CLF__SINUSOID_BY_LAST };

/* Fills rows for positions first, first + 1, ... of a host table (positions, width), computed in double:
 * sines and cosines interleaved, or all sines, then all cosines. An odd width has one more sine than
 * cosines. */
void clf__sinusoid_table(float *table, int first, int positions, int width, enum clf__sinusoid_layout layout,
                         enum clf__sinusoid_frequency frequency);

#endif
