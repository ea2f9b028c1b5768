#include "schema/closest_names.h"

#include <doctest/doctest.h>

namespace oa {
namespace {

TEST_CASE("closest names: the distance of edits") {
  CHECK_EQ(EditDistance("", "abc"), 3);
  CHECK_EQ(EditDistance("kitten", "sitting"), 3);
  CHECK_EQ(EditDistance("relu", "leaky_relu", /*part=*/true), 0);
  CHECK_EQ(EditDistance("abc", "xyz", /*part=*/true), 3);
}

TEST_CASE("closest names: a mistyped part of a longer name is near") {
  const std::vector<std::string> names = {"detach", "mean", "scaled_dot_product_attention", "relu"};
  CHECK_EQ(ClosestNames("atention", names).find("; the closest names are 'scaled_dot_product_"), 0);
  CHECK_EQ(ClosestNames("rely", names).find("; the closest names are 'relu'"), 0);
  CHECK_EQ(ClosestNames("x", {}), "");
}

}  // namespace
}  // namespace oa
