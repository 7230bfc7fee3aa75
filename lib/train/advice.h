#ifndef CLF_TRAIN_ADVICE_H
#define CLF_TRAIN_ADVICE_H

/* Advice after training has diverged. */
#define CLF__ADVICE_DIVERGED                                                                                 \
    "start again in another folder with a lower learning-rate, a longer warm-up or a clip-norm"

#endif
