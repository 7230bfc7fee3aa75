/* The table of a model's parameters, and their values from a checkpoint. */
#ifndef CLF_MODEL_PARAMETERS_H
#define CLF_MODEL_PARAMETERS_H

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "config/initial.h"

/* Canonical names, each only where the configuration has it. SIDE is encoder or decoder, N a layer, ATTENTION
 * self_attn, and in the decoder encoder_attn too.
 *
 *   model.shared.weight                               (V, D), where source and target share it; else
 *   model.SIDE.embed_tokens.weight                    (V, D)
 *   model.encoder.frontend.{weight,bias}              (D, feature size), for frames; or
 *   model.encoder.{conv1,conv2}.{weight,bias}         (D, feature size, 3) and (D, D, 3)
 *   model.SIDE.embed_positions.weight                 (max_positions + position_offset, D), where learned
 *   model.SIDE.relative_attention_bias.weight         (buckets, H)
 *   model.encoder.global_relative_attention_bias.weight
 *                                                     (buckets, H), of transient-global attention
 *   model.encoder.layers.N.self_attn.global_input_layer_norm.weight
 *                                                     likewise
 *   model.SIDE.layernorm_embedding.{weight,bias}
 *   model.SIDE.layers.N.ATTENTION.{q,k,v,out}_proj.{weight,bias}
 *   model.SIDE.layers.N.ATTENTION_layer_norm.{weight,bias}
 *   model.decoder.layers.N.rnn.{forget_proj.{weight,bias},in_proj.weight}
 *                                                     in the place of self_attn, where the decoder is
 *                                                     recurrent (ops/ssru.h)
 *   model.decoder.layers.N.rnn_layer_norm.{weight,bias}
 *   model.decoder.layers.N.average.{fc1,fc2,...,input_gate,mean_gate}.{weight,bias}
 *                                                     likewise, with average attention (ops/average.h)
 *   model.decoder.layers.N.average_layer_norm.{weight,bias}
 *   model.SIDE.layers.N.{fc1,fc_gate,fc2}.{weight,bias}
 *                                                     fc_gate where gated: fc2(activation(fc1 x) * fc_gate x)
 *   model.SIDE.layers.N.final_layer_norm.{weight,bias}
 *   model.SIDE.layer_norm.{weight,bias}               the final norm
 *   lm_head.weight                                    (V, D), where the target embedding does not serve
 *   final_logits_bias                                 (1, V)
 *
 * One parameter: its canonical name is the BART family's ("model.encoder.layers.0.self_attn.q_proj.weight").
 * A vector has rows 1. */
struct clf__parameter {
    char name[96];
    int rows, columns;
    int kernel; /* above 0: a convolution's, stored as (rows, columns / kernel, kernel) */
    struct clf__initial initial;
    int decays;     /* under weight decay: matrices do; biases, norms and relative biases do not */
    int is_product; /* a weight of products, or an embedding: loaded in the precision that is asked for */
    int is_trained; /* 0: a constant that the family stores (MarianMT's final_logits_bias) */
};

/* Every parameter that a configuration has, shared ones once, in a fixed order: walked by loading,
 * inspection, training and the tests. */
struct clf__parameter_list {
    struct clf__parameter *items;
    int count;
};
clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config);
void clf__parameter_list_free(struct clf__parameter_list *list);

/* The row of the embeddings that looking up the pad token does not train, as PyTorch's padding_idx has it in
 * MarianMT's and jadore's code; -1: none. A tied projection trains it all the same. */
int clf__padding_row(const struct clf__config *config);

/* The values of all parameters, found in a checkpoint through the system's own names (family/). */
struct clf__parameters;

/* Checks the whole checkpoint against the list, by the system's own names, or by the canonical ones where a
 * stored name begins with "model.": a missing, unknown or wrongly shaped tensor, or one whose
 * copies of a shared weight differ, is CLF_FORMAT naming tensor and file. Ignored: the system's buffers and
 * frozen tables. Settles in *config what a family leaves to the file: whether the projection is the
 * embedding. */
clf_status clf__parameters_load(struct clf__parameters **out, struct clf__config *config, const char *folder);
void clf__parameters_free(struct clf__parameters *parameters);
const struct clf__parameter_list *clf__parameters_list(const struct clf__parameters *parameters);

/* Reads one parameter by canonical name as fp32 into target (rows * columns floats); the name must be in the
 * list. A value that is NaN or infinite is logged as a warning that names the stored tensor. MarianMT's
 * final_logits_bias is zeros where the file has none. */
clf_status clf__parameters_read(const struct clf__parameters *parameters, const char *name, float *target);
/* Where it came from, borrowed; NULL where the file has none. */
const struct clf__stored_tensor *clf__parameters_stored(const struct clf__parameters *parameters,
                                                        const char *name);
/* Reads some rows of a parameter that the file has, and adds to *odd how many values are NaN or infinite;
 * then the warning that says so. */
clf_status clf__parameters_read_rows(const struct clf__stored_tensor *stored, int first, int count,
                                     float *target, size_t *odd);
void clf__parameters_warn(const struct clf__stored_tensor *stored, size_t odd);

#endif
