/* The list of a model's parameters, and their values in a weights file. */
#ifndef CLF_MODEL_PARAMETERS_H
#define CLF_MODEL_PARAMETERS_H

#include "base/status.h"
#include "model/config/initial.h"
#include "model/config/types.h"
#include "model/weights/weights.h"

/* Canonical names; a model has only the parameters that its configuration requires. SIDE is encoder or
 * decoder, N a layer, ATTENTION self_attn and, in the decoder, encoder_attn.
 *
 *     model.shared.weight                                   (V, D) if source and target share it, else
 *     model.SIDE.embed_tokens.weight                        (V, D)
 *     model.encoder.frontend.{weight,bias}                  (D, feature size) for frames, or
 *     model.encoder.{conv1,conv2}.{weight,bias}             (D, feature size, 3) and (D, D, 3)
 *     model.SIDE.embed_positions.weight                     (max_positions + position_offset, D) if learned
 *     model.SIDE.relative_attention_bias.weight             (buckets, H)
 *     model.encoder.global_relative_attention_bias.weight   (buckets, H) with transient-global attention
 *     model.encoder.layers.N.self_attn.global_input_layer_norm.weight
 *                                                           likewise
 *     model.SIDE.layernorm_embedding.{weight,bias}
 *     model.SIDE.layers.N.ATTENTION.{q,k,v,out}_proj.{weight,bias}
 *     model.SIDE.layers.N.ATTENTION_layer_norm.{weight,bias}
 *     model.decoder.layers.N.rnn.{forget_proj.{weight,bias},in_proj.weight}
 *                                                           instead of self_attn in a recurrent decoder
 * (math/ops/ssru.h)
 *     model.decoder.layers.N.rnn_layer_norm.{weight,bias}
 *     model.decoder.layers.N.average.{fc1,fc2,...,input_gate,mean_gate}.{weight,bias}
 *                                                           likewise with average attention
 * (math/ops/average.h) model.decoder.layers.N.average_layer_norm.{weight,bias}
 *     model.SIDE.layers.N.{fc1,fc_gate,fc2}.{weight,bias}   gated: fc2(activation(fc1 x) * fc_gate x)
 *     model.SIDE.layers.N.final_layer_norm.{weight,bias}
 *     model.SIDE.layer_norm.{weight,bias}                   the final norm
 *     lm_head.weight                                        (V, D) unless tied to the target embedding
 *     final_logits_bias                                     (1, V)
 *
 * A parameter; its canonical name is BART's ("model.encoder.layers.0.self_attn.q_proj.weight"). A vector has
 * 1 row. */
struct clf__parameter {
    char name[96];
    int rows, columns;
    int kernel; /* kernel size of a convolution stored as (rows, columns / kernel, kernel); 0: not a
                   convolution */
    struct clf__initial initial;
    int decays;            /* 1: weight decay applies (matrices, but not biases, norms and relative biases) */
    int follows_precision; /* 1: linear weight or embedding, loaded in the requested precision */
    int is_trained;        /* 0: a constant (MarianMT's final_logits_bias) */
};

/* All parameters of a configuration in a fixed order; shared parameters are listed once. */
struct clf__parameter_list {
    struct clf__parameter *items;
    int count;
};
clf_status clf__parameter_list_create(struct clf__parameter_list *out, const struct clf__config *config);
void clf__parameter_list_free(struct clf__parameter_list *list);

/* Returns the row of the embedding that lookups do not train, like PyTorch's padding_idx; -1: none. A tied
 * projection does train the row. */
int clf__padding_row(const struct clf__config *config);

/* The parameters in a weights file, stored under the architecture's own names (config/architectures/). */
struct clf__parameters;

/* Finds the parameters of *config in the folder's weights and sets whether the projection is tied to the
 * embedding, which depends on the file. Returns CLF_FORMAT, naming tensor and file, for a missing or unknown
 * tensor, a wrong shape, or differing copies of a shared weight. */
clf_status clf__parameters_load(struct clf__parameters **out, struct clf__config *config, const char *folder);
void clf__parameters_free(struct clf__parameters *parameters);
const struct clf__parameter_list *clf__parameters_list(const struct clf__parameters *parameters);

/* Reads a parameter of the list as fp32 into target (rows * columns floats). Logs a warning with the tensor's
 * name if a value is NaN or infinite. MarianMT's final_logits_bias is zero if it is not stored. */
clf_status clf__parameters_read(const struct clf__parameters *parameters, const char *name, float *target);
/* Returns the stored tensor, owned by `parameters`; NULL if the file does not contain the parameter. */
const struct clf__stored_tensor *clf__parameters_stored(const struct clf__parameters *parameters,
                                                        const char *name);
/* Reads some rows of a stored parameter and adds the number of NaN and infinite values to *non_finite. The
 * second function logs a warning if this number is not 0. */
clf_status clf__parameters_read_rows(const struct clf__stored_tensor *stored, int first, int count,
                                     float *target, size_t *non_finite);
void clf__parameters_warn(const struct clf__stored_tensor *stored, size_t non_finite);

#endif
