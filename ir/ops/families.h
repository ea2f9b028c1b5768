// The families of the operator table, one function a file in this folder.
#ifndef OA_IR_OPS_FAMILIES_H_
#define OA_IR_OPS_FAMILIES_H_

#include <vector>

#include "ir/op.h"

namespace oa::ir {

std::vector<OpDef> ActivationOps();      // activation.cc
std::vector<OpDef> ElementwiseOps();     // elementwise.cc: broadcasting arithmetic, unary, scalar
std::vector<OpDef> CastOps();            // cast.cc: cast, fill, detach
std::vector<OpDef> ConvOps();            // conv.cc: convolutions, plain and transposed
std::vector<OpDef> BlasOps();            // blas.cc: matmul, mat_mul_nt, linear
std::vector<OpDef> BatchedProductOps();  // bmm.cc: bmm, bmm_nt, bmm_tn
std::vector<OpDef> NormOps();            // norm.cc, batch_norm.cc: row, channel and batch norms
std::vector<OpDef> ReduceOps();          // reduce.cc: sum, mean, max, argmax, softmax, accuracy
std::vector<OpDef> ShapeOps();           // shape.cc: reshape, transpose, slice, concat
std::vector<OpDef> IndexOps();           // index.cc: gather
std::vector<OpDef> TopKOps();            // top_k.cc: top_k, top_k_mask, gather_last_dim
std::vector<OpDef> RepeatOps();          // repeat.cc: repeat_interleave, causal_mask
std::vector<OpDef> AttentionOps();       // attention.cc: heads, masked softmax, attention
std::vector<OpDef> RopeOps();            // rope.cc
std::vector<OpDef> LossOps();            // loss.cc
std::vector<OpDef> PoolOps();            // pool.cc: average and max pooling, upsampling
std::vector<OpDef> MoePlanOps();         // moe_plan.cc: expert plan, routing bias
std::vector<OpDef> MoeOps();             // moe.cc: route weights, gather, combine
std::vector<OpDef> GroupedProductOps();  // grouped.cc: grouped_gemm_m, grouped_linear_m
std::vector<OpDef> VqOps();              // vq.cc: vector quantisation
std::vector<OpDef> Mamba3Ops();          // mamba3.cc, mamba3_preprocess.cc: selective scans
std::vector<OpDef> OptimiserOps();       // optimiser.cc: sgd, adam, adamw, clip_grad_norm
std::vector<OpDef> RandomOps();          // random.cc: random_uniform, random_normal, dropout
std::vector<OpDef> RecurrentOps();       // recurrent.cc: rnn and gru cells and scans

}  // namespace oa::ir

#endif  // OA_IR_OPS_FAMILIES_H_
