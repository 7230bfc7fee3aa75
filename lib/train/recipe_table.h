/* The choices of a recipe, one row each: KEY(kind, name, value, group, field of the settings, low, high,
 * default, when it may change later, meaning with the default in brackets). No include guard: included
 * once for each table generated from it. */
KEY(CLF__WORD, "preset", PRESETS, MODEL, preset, 0, 0, CLF__DEFAULT_PRESET, FIXED,
    "published system whose model and training settings are the defaults (marian; with from, that of "
    "the folder)")
KEY(CLF__WORD, "size", "tiny|small|base|big", MODEL, size, 0, 0, "base", OF_MODEL,
    "layers, width, inner width and heads: tiny 4+4 128 256 4, small 3+3 256 1024 4, base 6+6 512 2048 8, "
    "big 6+6 1024 4096 16 (base)")
KEY(CLF__PAIRS, "config", "KEY=VALUE", MODEL, config, 0, 0, NULL, FIXED,
    "any key of config.json or generation_config.json, such as dropout=0.3; overrides preset and size; can "
    "be given several times (none)")
KEY(CLF__TEXT, "from", "FOLDER", MODEL, from, 0, 0, NULL, FIXED,
    "fine-tunes this model: starts from its weights, configuration and tokenizer, on new data; a resumed run "
    "no longer needs the folder (none)")

KEY(CLF__TEXTS, "train", "FILE [FILE]", DATA, train, 0, 0, NULL, FIXED,
    "source and target text, one sentence per line; or one file with source, tab, target. For speech one "
    "file with the path of a recording or of a .npy file of frames, tab, transcript (required)")
KEY(CLF__TEXTS, "valid", "FILE [FILE]", DATA, valid, 0, 0, NULL, FIXED, "the same for validation (none)")
KEY(CLF__SWITCH, "tokens", NULL, DATA, tokens, 0, 0, "false", FIXED,
    "lines are already split into tokens separated by white space (false)")
KEY(CLF__WHOLE_NUMBER, "vocabulary", "N", DATA, vocabulary, 0, CLF__MAX_VOCABULARY, "8000", OF_MODEL,
    "number of subwords to learn, or of most frequent words or characters, including special tokens; 0: all "
    "words; not with a given vocabulary (8000; 0 with tokens or for speech)")
KEY(CLF__SWITCH, "separate-vocabularies", NULL, DATA, separate_vocabularies, 0, 0, "false", OF_MODEL,
    "separate vocabularies for source and target, without shared weights (false)")
KEY(CLF__TEXT, "source-vocabulary", "FILE", DATA, source_vocabulary, 0, 0, NULL, OF_MODEL,
    "a vocab.json, or a text file whose lines begin with a token, to use instead of a vocabulary learned "
    "from the text; requires tokens or a speech model; without separate-vocabularies, it applies to both "
    "sides (none)")
KEY(CLF__TEXT, "target-vocabulary", "FILE", DATA, target_vocabulary, 0, 0, NULL, OF_MODEL,
    "the same for the target (none)")
KEY(CLF__TEXT, "source-language", "CODE", DATA, source_language, 0, 0, NULL, FIXED,
    "source language for tokenizer_config.json, such as en (none)")
KEY(CLF__TEXT, "target-language", "CODE", DATA, target_language, 0, 0, NULL, FIXED,
    "target language for tokenizer_config.json, such as de (none)")
KEY(CLF__WHOLE_NUMBER, "max-source-length", "N", DATA, max_source_length, 1, MANY, "200", FIXED,
    "pairs with more source tokens or frames are left out (200; 3000 for speech and whisper)")
KEY(CLF__WHOLE_NUMBER, "max-target-length", "N", DATA, max_target_length, 1, MANY, "200", FIXED,
    "pairs with more target tokens are left out (200)")

KEY(CLF__WHOLE_NUMBER, "seed", "N", BATCHES, seed, 0, WIDE, "1", FIXED,
    "seed of initial weights, shuffling and dropout (1)")
KEY(CLF__WHOLE_NUMBER, "batch-tokens", "N", BATCHES, batch_tokens, 1, MANY, "4096", FIXED,
    "tokens per batch, on the side with more tokens (4096)")
KEY(CLF__WHOLE_NUMBER, "max-pairs", "N", BATCHES, max_pairs, 0, MANY, "0", FIXED,
    "maximum number of pairs per batch; 0: no limit (0)")
KEY(CLF__WHOLE_NUMBER, "accumulate", "N", BATCHES, accumulate, 1, FEW, "1", FIXED,
    "batches per update, or per micro-batch (1)")
KEY(CLF__WHOLE_NUMBER, "micro-batches", "N", BATCHES, micro_batches, 1, 65536, "1", FIXED,
    "parts of an update, whose gradients are summed in a fixed tree: any number of ranks that divides N "
    "gives bit-identical results (1)")
KEY(CLF__SWITCH, "fast-reduce", NULL, BATCHES, fast_reduce, 0, 0, "false", FREE,
    "sum gradients in the fastest order: the result then depends on the number of ranks (false)")
KEY(CLF__WORD, "reduce-precision", "fp32|bf16", BATCHES, reduce_precision, 0, 0, "fp32", FIXED,
    "precision of gradients sent between ranks; bf16 halves the bytes and rounds the gradients of each "
    "micro-batch and their sums, in the same way for any number of ranks (fp32)")
KEY(CLF__SWITCH, "shard-optimizer", NULL, BATCHES, shard_optimizer, 0, 0, "false", FREE,
    "shard the optimizer's state: each rank updates its share of the weights and sends it to the others; "
    "saves memory without changing the result (false)")
KEY(CLF__SWITCH, "count-padding", NULL, BATCHES, count_padding, 0, 0, "false", FIXED,
    "batch-tokens counts padding: each line of a batch counts as much as the longest (false)")

KEY(CLF__WORD, "loss", "cross-entropy|kl", OPTIMIZER, loss, 0, 0, "cross-entropy", FIXED,
    "label-smoothed cross-entropy, or The Annotated Transformer's KL divergence (cross-entropy; kl "
    "for annotated)")
KEY(CLF__WORD, "normalize", "labels|none", OPTIMIZER, normalize, 0, 0, "labels", FIXED,
    "whether to divide the loss of an update by its number of labels (labels; none for jadore)")
KEY(CLF__NUMBER, "label-smoothing", "X", OPTIMIZER, label_smoothing, 0, 0.999, "0.1", FIXED,
    "probability moved from the label to the other words (0.1; 0 for speech and whisper)")
KEY(CLF__WORD, "optimizer", "adam|adamw", OPTIMIZER, optimizer, 0, 0, "adam", FIXED,
    "adam adds weight decay to the gradient; adamw applies it directly to the weights (adam)")
KEY(CLF__NUMBER, "beta1", "X", OPTIMIZER, beta1, 0, 0.999999, "0.9", FIXED, "decay of the first moment (0.9)")
KEY(CLF__NUMBER, "beta2", "X", OPTIMIZER, beta2, 0, 0.9999999, "0.98", FIXED,
    "decay of the second moment (0.98)")
KEY(CLF__NUMBER, "epsilon", "X", OPTIMIZER, epsilon, LEAST_EPSILON, 1, "1e-9", FIXED,
    "added to the root of the second moment (1e-9)")
KEY(CLF__NUMBER, "decay", "X", OPTIMIZER, decay, 0, 1, "0", FIXED, "weight decay of the matrices (0)")
KEY(CLF__NUMBER, "clip-norm", "X", OPTIMIZER, clip_norm, 0, WIDE, "0", FIXED,
    "gradients with a larger global norm are scaled down to it; 0: none (0)")
KEY(CLF__WORD, "precision", "fp32|bf16", OPTIMIZER, precision, 0, 0, "fp32", FIXED,
    "precision of matrix multiplications; weights are kept in fp32 (fp32)")
KEY(CLF__WHOLE_NUMBER, "bad-updates", "N", OPTIMIZER, bad_updates, 1, FEW, "10", FREE,
    "stop after this many consecutive updates without finite gradients (10)")

KEY(CLF__WORD, "schedule", "noam|inverse-sqrt|linear|constant", SCHEDULE, schedule, 0, 0, "noam", FIXED,
    "learning rate schedule after a linear warm-up (noam; inverse-sqrt for marian, speech and whisper)")
KEY(CLF__NUMBER, "learning-rate", "X", SCHEDULE, learning_rate, 0, 1e3, "0.0005", FIXED,
    "peak learning rate, at the end of the warm-up; unused with noam (0.0005)")
KEY(CLF__NUMBER, "initial-learning-rate", "X", SCHEDULE, initial_learning_rate, 0, 1e3, "0", FIXED,
    "learning rate at the start of the warm-up; unused with noam (0)")
KEY(CLF__WHOLE_NUMBER, "warm-up", "N", SCHEDULE, warm_up, 0, MANY, "4000", FIXED,
    "updates of the warm-up (4000; 3000 for annotated)")
KEY(CLF__NUMBER, "noam-factor", "X", SCHEDULE, noam_factor, 0, 1e6, "1", FIXED,
    "noam: factor / sqrt(d_model) * min(1 / sqrt(update), update / warm-up^1.5) (1; 2 for jadore; annotated "
    "lags "
    "by one update, as its code does)")
KEY(CLF__WHOLE_NUMBER, "max-updates", "N", SCHEDULE, max_updates, 0, WIDE, "100000", FREE,
    "maximum number of updates; 0: no limit (100000)")
KEY(CLF__WHOLE_NUMBER, "max-epochs", "N", SCHEDULE, max_epochs, 0, FEW, "0", FREE,
    "maximum number of epochs; 0: no limit (0)")
KEY(CLF__NUMBER, "minutes", "X", SCHEDULE, minutes, 0, 1e6, "0", FREE,
    "after this many minutes, run a last validation, write the final model and stop; the same command "
    "continues the run for as many minutes again; 0: no limit (0)")

KEY(CLF__WHOLE_NUMBER, "save-every", "N", VALIDATION, save_every, 0, WIDE, "500", FREE,
    "updates between checkpoints; 0: only with each validation (500)")
KEY(CLF__WHOLE_NUMBER, "validate-every", "N", VALIDATION, validate_every, 0, WIDE, "0", FREE,
    "updates between validations; 0: at the end of each epoch (0)")
KEY(CLF__WORD, "best", "loss|bleu", VALIDATION, best, 0, 0, "bleu", FREE,
    "metric that decides which validation is better, for patience, keep-best and the final model; if BLEU is "
    "equal, loss decides (bleu; loss if bleu is none)")
KEY(CLF__WHOLE_NUMBER, "patience", "N", VALIDATION, patience, 0, FEW, "10", FREE,
    "stop after this many validations without an improvement; 0: no limit (10)")
KEY(CLF__WHOLE_NUMBER, "keep-best", "N", VALIDATION, keep_best, 0, FEW, "1", FREE,
    "number of best checkpoints to keep (1)")
KEY(CLF__WHOLE_NUMBER, "keep-last", "N", VALIDATION, keep_last, 1, FEW, "2", FREE,
    "number of last checkpoints to keep (2)")
KEY(CLF__WHOLE_NUMBER, "average", "N", VALIDATION, average, 0, FEW, "0", FREE,
    "the final model is the mean of the last N validated checkpoints, except one of an unfinished epoch; "
    "0: the best checkpoint (0)")
KEY(CLF__WHOLE_NUMBER, "beam", "N", VALIDATION, beam, 1, CLF__SEARCH_BEAMS_LIMIT, "1", FREE,
    "beam size for validation translations (1)")
KEY(CLF__NUMBER, "length-penalty", "X", VALIDATION, length_penalty, -1000, 1000, "1", FREE,
    "length penalty for validation translations (1)")
KEY(CLF__WORD, "bleu", "13a|spaces|none", VALIDATION, bleu, 0, 0, "13a", FIXED,
    "tokenization of validation lines for BLEU; none: only the loss is computed (13a; spaces with tokens)")
KEY(CLF__SWITCH, "lower-case", NULL, VALIDATION, lower_case, 0, 0, "false", FIXED,
    "compute BLEU on lower-case text (false)")
KEY(CLF__TEXT, "joiner", "TEXT", VALIDATION, joiner, 0, 0, NULL, FIXED,
    "end of a token that is joined to the next token before BLEU, such as @@ (none)")
KEY(CLF__WHOLE_NUMBER, "samples", "N", VALIDATION, samples, 0, FEW, "3", FREE,
    "number of translations to show in each validation (3)")
