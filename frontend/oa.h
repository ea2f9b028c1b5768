// The whole recording API. A program that records graphs includes this header and links
// oa::frontend.
#ifndef OA_FRONTEND_OA_H_
#define OA_FRONTEND_OA_H_

#include "frontend/attention.h"  // oa::ml::matrix: heads, attention, rotary positions
#include "frontend/autograd.h"   // oa::ml::autograd::Backward
#include "frontend/conv.h"       // oa::ml::matrix: convolution, pooling, resampling
#include "frontend/graph.h"      // oa::Graph, oa::Matrix, oa::Parameter, oa::State
#include "frontend/index.h"      // oa::matrix: top k, scattered and repeated rows
#include "frontend/init.h"       // oa::init
#include "frontend/loss.h"       // oa::ml::loss
#include "frontend/mamba3.h"     // oa::ml::matrix: the Mamba-3 scans
#include "frontend/matrix.h"     // oa::matrix: arithmetic, products, reductions, shape, indexing
#include "frontend/ml_matrix.h"  // oa::ml::matrix: activations, normalisation, attention, ...
#include "frontend/moe.h"        // oa::matrix, oa::ml::matrix: mixtures of experts
#include "frontend/nn/nn.h"      // oa::ml::nn: layers
#include "frontend/norm.h"       // oa::matrix::layer_norm, the norms of oa::ml::matrix
#include "frontend/optim.h"      // oa::ml::optim
#include "frontend/random.h"     // oa::matrix: random numbers, dropout
#include "frontend/recurrent.h"  // oa::ml::matrix: rnn and gru cells and scans
#include "frontend/vq.h"         // oa::ml::matrix: vector quantisation
#include "schema/status_macros.h"

#endif  // OA_FRONTEND_OA_H_
