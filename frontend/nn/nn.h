// All layers. They compose operators of frontend/oa.h and add no semantics of their own.
#ifndef OA_FRONTEND_NN_NN_H_
#define OA_FRONTEND_NN_NN_H_

#include "frontend/nn/attention.h"  // MultiHeadAttention
#include "frontend/nn/conv.h"       // Conv2d
#include "frontend/nn/layer.h"      // what layers have in common; Mode
#include "frontend/nn/linear.h"     // Linear, Embedding, SwiGluMlp
#include "frontend/nn/mamba3.h"     // Mamba3Block
#include "frontend/nn/moe.h"        // SparseMoe
#include "frontend/nn/norm.h"       // BatchNorm2d, LayerNorm, RmsNorm
#include "frontend/nn/recurrent.h"  // Gru
#include "frontend/nn/vq.h"         // VectorQuantizer

#endif  // OA_FRONTEND_NN_NN_H_
