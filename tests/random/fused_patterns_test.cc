// The patterns of the table in ir/passes/README.md: each becomes one dispatch, the report says by
// which rule and how many bytes that saves, and the outputs keep every bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "ir/compile.h"
#include "tests/ir/graph_fixture.h"
#include "tests/support/device.h"
#include "tests/support/run_graph.h"
#include "tests/support/tensors.h"

namespace oa::testing {
namespace {

using ir::Attributes;
using ir::ValueId;

// A graph whose inputs are filled with numbers.
class Pattern {
 public:
  Pattern() : graph_("pattern") {}

  ValueId In(const Shape& shape, double low = -2, double high = 2) {
    const std::string name = "in" + std::to_string(inputs_.size());
    inputs_[name] = ToBytes(Fill(reference::Uniform(shape, low, high), inputs_.size() + 1));
    return ir::Declare(graph_, BufferKind::kInput, name, shape);
  }

  ValueId Op(const std::string& op, const std::vector<ValueId>& operands,
             const Attributes& attributes = {}) {
    return ir::Call(graph_, op, operands, attributes);
  }

  void Out(ValueId value) {
    REQUIRE(graph_.AddOutput("out" + std::to_string(outputs_++), value).ok());
  }

  // Fusion makes exactly the dispatches `labels`; the one note says `rule` and `bytes_saved`.
  void Check(const std::vector<std::string>& labels, const std::string& rule,
             uint64_t bytes_saved) {
    for (const ir::Compiled& compiled : CheckLabels(labels)) {
      REQUIRE_EQ(compiled.fusions.size(), 1);
      CHECK_EQ(compiled.fusions[0].rule, rule);
      CHECK_EQ(compiled.fusions[0].bytes_saved, bytes_saved);
    }
    CheckBits();
  }

  // The outputs are those without fusion, bit for bit.
  void CheckBits() {
    if (TestDevice() == nullptr) return;
    for (bool as_gpu : {false, true}) {
      INFO("as_gpu ", as_gpu);
      RunOptions options;
      options.as_gpu = as_gpu;
      const exec::TensorMap fused = ir::Must(RunGraph(graph_, inputs_, options));
      options.fuse = false;
      CHECK((fused == ir::Must(RunGraph(graph_, inputs_, options))));
    }
  }

  // The plans for a GPU and for a CPU have exactly the dispatches `labels`, in any order.
  std::vector<ir::Compiled> CheckLabels(std::vector<std::string> labels) {
    std::sort(labels.begin(), labels.end());
    std::vector<ir::Compiled> both;
    for (bool is_cpu : {false, true}) {
      ir::CompileOptions options;
      options.profile.is_cpu = is_cpu;
      if (is_cpu) {
        options.profile.subgroup_size = 8;
        options.profile.features = {"subgroup_arithmetic"};
      }
      both.push_back(ir::Must(ir::Compile(graph_, TestKernels(), options)));
      std::vector<std::string> got;
      for (const PlanDispatch& d : both.back().plan.dispatches) got.push_back(d.label);
      std::sort(got.begin(), got.end());
      CHECK_EQ(absl::StrJoin(got, ", "), absl::StrJoin(labels, ", "));
    }
    return both;
  }

 private:
  ir::Graph graph_;
  std::map<std::string, Bytes> inputs_;
  int outputs_ = 0;
};

Attributes Epsilon() { return Attributes().F32("epsilon", 1e-5f); }
Attributes Window() { return Attributes().I64("stride", 1).I64("padding", 1); }

// Bytes of the value between two dispatches: written by the first, read by the second.
constexpr uint64_t Between(uint64_t elements) { return 2 * 4 * elements; }

// value + four more, one of them a vector: as many inputs as an epilogue has.
ValueId AddFour(Pattern& p, ValueId value, const Shape& shape) {
  value = p.Op("add", {value, p.In({shape.back()})});
  for (int i = 0; i < 3; ++i) value = p.Op("add", {value, p.In(shape)});
  return value;
}

TEST_CASE("a product or a norm and four values added to it") {
  Pattern product, norm;
  const ValueId c = product.Op("mat_mul_nt", {product.In({5, 7}), product.In({6, 7})});
  product.Out(AddFour(product, c, {5, 6}));
  product.Check({"mat_mul_nt+add+add+add+add"}, "epilogue", 4 * Between(5 * 6));
  const ValueId y = norm.Op("rms_norm", {norm.In({5, 7}), norm.In({7})}, Epsilon());
  norm.Out(AddFour(norm, y, {5, 7}));
  norm.Check({"rms_norm+add+add+add+add"}, "epilogue", 4 * Between(5 * 7));
}

// Extents of rows that the kernels read in every way they have: one by one and in vectors, held in
// registers and read again.
constexpr uint64_t kRowExtents[] = {6, 8, 102, 5000};

TEST_CASE("rms_norm and its activation") {
  for (uint64_t n : kRowExtents) {
    INFO(n);
    Pattern p;
    const ValueId x = p.In({5, n});
    p.Out(p.Op("silu", {p.Op("rms_norm", {x, p.In({n})}, Epsilon())}));
    p.Check({"rms_norm+silu"}, "epilogue", Between(5 * n));
  }
}

TEST_CASE("layer_norm, its activation and a residual") {
  Pattern p;
  const ValueId x = p.In({5, 12});
  const ValueId y = p.Op("layer_norm", {x, p.In({12}), p.In({12})}, Epsilon());
  p.Out(p.Op("add", {p.Op("gelu", {y}), p.In({5, 12})}));
  p.Check({"layer_norm+gelu+add"}, "epilogue", 2 * Between(5 * 12));
}

TEST_CASE("gated rms_norm and its activation") {
  Pattern p;
  const ValueId x = p.In({4, 8});
  const ValueId y = p.Op("rms_norm_gated", {x, p.In({8}), p.In({8}), p.In({4, 8})}, Epsilon());
  p.Out(p.Op("relu", {y}));
  p.Check({"rms_norm_gated+relu"}, "epilogue", Between(4 * 8));
}

TEST_CASE("channel_norm and its activation") {
  Pattern p;
  const ValueId x = p.In({2, 5, 7});
  p.Out(p.Op("tanh", {p.Op("channel_norm", {x, p.In({5}), p.In({5})}, Epsilon())}));
  p.Check({"channel_norm+tanh"}, "epilogue", Between(2 * 5 * 7));
}

TEST_CASE("batch_norm with the statistics of the batch and its activation") {
  Pattern p;
  const ValueId x = p.In({2, 3, 4, 5});
  p.Out(p.Op("relu", {p.Op("batch_norm_2d", {x, p.In({3}), p.In({3})}, Epsilon())}));
  p.Check({"batch_norm_2d", "batch_norm_2d+relu"}, "epilogue", Between(2 * 3 * 4 * 5));
}

// batch_norm_2d_with_stats of 3 channels.
ValueId BatchNorm(Pattern& p, ValueId x) {
  const ValueId mean = p.In({3}), variance = p.In({3}, 0.5, 2);
  return p.Op("batch_norm_2d_with_stats", {x, mean, variance, p.In({3}), p.In({3})}, Epsilon());
}

TEST_CASE("batch_norm with given statistics and its activation") {
  Pattern p;
  p.Out(p.Op("relu", {BatchNorm(p, p.In({2, 3, 4, 5}))}));
  p.Check({"batch_norm_2d_with_stats", "batch_norm_2d_with_stats+relu"}, "chain",
          Between(2 * 3 * 4 * 5));
}

TEST_CASE("convolution, batch_norm with given statistics and activation") {
  Pattern p;
  const ValueId x = p.In({2, 2, 4, 5}), weight = p.In({3, 2, 3, 3}), bias = p.In({3});
  const ValueId y = p.Op("conv_2d", {x, weight, bias}, Window().I64("groups", 1));
  p.Out(p.Op("relu", {BatchNorm(p, y)}));
  p.Check({"batch_norm_2d_with_stats", "conv_2d+batch_norm_2d_with_stats+relu"}, "epilogue",
          2 * Between(2 * 3 * 4 * 5));
}

TEST_CASE("convolution, batch_norm with given statistics, residual and activation") {
  Pattern p;
  const ValueId x = p.In({2, 2, 4, 5}), weight = p.In({3, 2, 3, 3}), bias = p.In({3});
  const ValueId y = p.Op("conv_2d", {x, weight, bias}, Window().I64("groups", 1));
  p.Out(p.Op("relu", {p.Op("add", {BatchNorm(p, y), p.In({2, 3, 4, 5})})}));
  p.Check({"batch_norm_2d_with_stats", "conv_2d+batch_norm_2d_with_stats+add+relu"}, "epilogue",
          3 * Between(2 * 3 * 4 * 5));
}

TEST_CASE("transposed convolution, batch_norm with given statistics and activation") {
  Pattern p;
  const ValueId x = p.In({2, 2, 4, 5}), weight = p.In({2, 3, 3, 3}), bias = p.In({3});
  const ValueId y = p.Op("conv_transpose_2d", {x, weight, bias}, Window());
  p.Out(p.Op("relu", {BatchNorm(p, y)}));
  p.Check({"batch_norm_2d_with_stats", "conv_transpose_2d+batch_norm_2d_with_stats+relu"},
          "epilogue", 2 * Between(2 * 3 * 4 * 5));
}

TEST_CASE("conv_1d, its bias and its activation") {
  Pattern p;
  const ValueId x = p.In({2, 3, 7}), weight = p.In({5, 3, 3}), bias = p.In({5});
  p.Out(p.Op("gelu", {p.Op("conv_1d", {x, weight, bias}, Window().I64("dilation", 1))}));
  p.Check({"conv_1d+gelu"}, "epilogue", Between(2 * 5 * 7));
}

TEST_CASE("conv_transpose_1d, a bias and an activation") {
  Pattern p;
  const ValueId x = p.In({2, 3, 7}), weight = p.In({3, 5, 3}), bias = p.In({5, 1});
  const ValueId y = p.Op("conv_transpose_1d", {x, weight}, Window().I64("dilation", 1));
  p.Out(p.Op("relu", {p.Op("add", {y, bias})}));
  p.Check({"conv_transpose_1d+add+relu"}, "epilogue", 2 * Between(2 * 5 * 7));
}

TEST_CASE("conv_2d, its bias, a residual and its activation") {
  Pattern p;
  const ValueId x = p.In({2, 4, 4, 5}), weight = p.In({6, 2, 3, 3}), bias = p.In({6});
  const ValueId y = p.Op("conv_2d", {x, weight, bias}, Window().I64("groups", 2));
  p.Out(p.Op("relu", {p.Op("add", {y, p.In({2, 6, 4, 5})})}));
  p.Check({"conv_2d+add+relu"}, "epilogue", 2 * Between(2 * 6 * 4 * 5));
}

TEST_CASE("the gradient of a convolution and that of the activation in front of it") {
  Pattern p;
  const ValueId y = p.In({2, 4, 4, 5}), g = p.In({2, 6, 4, 5}), weight = p.In({6, 4, 3, 3});
  const ValueId dx = p.Op("conv_2d_backward", {g, y, weight}, Window().I64("groups", 1));
  p.Out(p.Op("relu_backward", {y, dx}));
  // The other two are the gradients of weight and bias.
  p.Check({"conv_2d_backward", "conv_2d_backward", "conv_2d_backward+relu_backward"}, "epilogue",
          Between(2 * 4 * 4 * 5));
}

TEST_CASE("linear, its bias and its activation") {
  Pattern p;
  const ValueId x = p.In({5, 7}), weight = p.In({6, 7}), bias = p.In({6});
  p.Out(p.Op("gelu", {p.Op("linear", {x, weight, bias})}));
  p.Check({"linear+gelu"}, "epilogue", Between(5 * 6));
}

TEST_CASE("a product, a bias and an activation") {
  Pattern p;
  const ValueId y = p.Op("mat_mul_nt", {p.In({5, 7}), p.In({6, 7})});
  p.Out(p.Op("silu", {p.Op("add", {y, p.In({6})})}));
  p.Check({"mat_mul_nt+add+silu"}, "epilogue", 2 * Between(5 * 6));
}

TEST_CASE("a residual and rms_norm") {
  for (uint64_t n : kRowExtents) {
    INFO(n);
    Pattern p;
    const ValueId sum = p.Op("add", {p.In({3, n}), p.In({3, n})});
    p.Out(p.Op("rms_norm", {sum, p.In({n})}, Epsilon()));
    p.Check({"add+rms_norm"}, "prologue", Between(3 * n));
  }
}

TEST_CASE("a residual whose sum is needed, and layer_norm with its activation") {
  for (uint64_t n : kRowExtents) {
    INFO(n);
    Pattern p;
    const ValueId sum = p.Op("add", {p.In({3, n}), p.In({3, n})});
    p.Out(sum);
    p.Out(p.Op("gelu", {p.Op("layer_norm", {sum, p.In({n}), p.In({n})}, Epsilon())}));
    p.Check({"add+layer_norm+gelu"}, "epilogue, prologue", Between(3 * n) + 4 * 3 * n);
  }
}

TEST_CASE("a residual whose sum is needed, and channel_norm") {
  Pattern p;
  const ValueId sum = p.Op("add", {p.In({2, 5, 7}), p.In({2, 5, 7})});
  p.Out(sum);
  p.Out(p.Op("channel_norm", {sum, p.In({5}), p.In({5})}, Epsilon()));
  p.Check({"add+channel_norm"}, "prologue", 4 * 2 * 5 * 7);
}

TEST_CASE("scale, mask and softmax, scaled again") {
  for (uint64_t n : kRowExtents) {
    INFO(n);
    Pattern p;
    const ValueId scaled = p.Op("scale", {p.In({2, 3, n})}, Attributes().F32("scalar", 0.125f));
    const ValueId masked = p.Op("add", {scaled, p.In({3, n})});  // one mask for both
    const ValueId y = p.Op("softmax", {masked}, Attributes().I64("axis", 2));
    p.Out(p.Op("scale", {y}, Attributes().F32("scalar", 3)));
    p.Check({"scale+add+softmax+scale"}, "epilogue, prologue", 3 * Between(2 * 3 * n));
  }
}

TEST_CASE("scale and log_softmax along the first axis, and what is needed between") {
  Pattern p;
  const ValueId scaled = p.Op("scale", {p.In({5, 7})}, Attributes().F32("scalar", 0.125f));
  p.Out(scaled);
  p.Out(p.Op("neg", {p.Op("log_softmax", {scaled}, Attributes().I64("axis", 0))}));
  p.Check({"scale+log_softmax+neg"}, "epilogue, prologue", Between(5 * 7) + 4 * 5 * 7);
}

// Everything a prologue can do that has an operator, each in front of a softmax of its own.
TEST_CASE("cheap instructions become prologues, others do not") {
  Pattern p;
  std::vector<std::string> labels;
  const auto softmax = [&](const std::string& op, const std::vector<ValueId>& operands,
                           const Attributes& attributes = {}) {
    const ValueId made = p.Op(op, operands, attributes);
    p.Out(p.Op("softmax", {made}, Attributes().I64("axis", 1)));
    labels.push_back(op + "+softmax");
  };
  for (const char* op : {"relu", "neg", "abs", "sqrt", "reciprocal"}) {
    softmax(op, {p.In({3, 8}, std::string(op) == "sqrt" ? 0 : -2)});
  }
  for (const char* op : {"scale", "add_scalar", "clamp_min", "clamp_max"}) {
    softmax(op, {p.In({3, 8})}, Attributes().F32("scalar", 0.3f));
  }
  softmax("leaky_relu", {p.In({3, 8})}, Attributes().F32("alpha", 0.3f));
  for (const char* op : {"add", "sub", "mul", "div"}) softmax(op, {p.In({3, 8}), p.In({3, 8})});
  softmax("tanh", {p.In({3, 8})});
  labels.back() = "tanh";
  labels.push_back("softmax");
  p.CheckLabels(labels);
  p.CheckBits();
}

}  // namespace
}  // namespace oa::testing
