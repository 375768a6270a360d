#include <topos/error.h>
#include <topos/nn.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace topos::nn {

namespace {

/// Both projections, or none. They draw from `random` if it is there.
std::pair<Linear, Linear> projections(Tape& tape, std::string_view name,
                                      std::int64_t width, std::int64_t heads,
                                      SplitMix* random,
                                      const AttentionOptions& options,
                                      Site site) {
  constexpr std::int64_t widest = std::numeric_limits<std::int64_t>::max() / 3;
  if (!(heads > 0 && width <= widest && width % heads == 0)) {
    throw ShapeError(site.text() + ": MultiHeadAttention \"" +
                     std::string(name) + "\": a width of " +
                     std::to_string(width) + " cannot be cut into " +
                     std::to_string(heads) + " heads");
  }
  const LinearOptions own = {.bias = options.bias,
                             .dtype = options.dtype,
                             .initializer = options.initializer};
  const auto projection = [&](std::string_view part, std::int64_t out) {
    const std::string full = dotted(name, part);
    return random != nullptr
               ? Linear(tape, full, width, out, *random, own, site)
               : Linear(tape, full, width, out, own, site);
  };
  Transaction transaction(tape, site);
  std::pair<Linear, Linear> result = {projection("query_key_value", 3 * width),
                                      projection("output", width)};
  transaction.keep();
  return result;
}

/// [T, T], boolean: position i sees j <= i.
Value earlier(const Operand& like, std::int64_t time) {
  return greater_equal(iota_like(like, {i32, {time, 1}}, 0),
                       iota_like(like, {i32, {1, time}}, 1));
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Tape& tape, std::string_view name,
                                       std::int64_t width,
                                       std::int64_t head_count,
                                       SplitMix& random,
                                       const AttentionOptions& options,
                                       Site site)
    : MultiHeadAttention(
          head_count, options.causal,
          projections(tape, name, width, head_count, &random, options, site)) {}

MultiHeadAttention::MultiHeadAttention(Tape& tape, std::string_view name,
                                       std::int64_t width,
                                       std::int64_t head_count,
                                       const AttentionOptions& options,
                                       Site site)
    : MultiHeadAttention(
          head_count, options.causal,
          projections(tape, name, width, head_count, nullptr, options, site)) {}

MultiHeadAttention::MultiHeadAttention(std::int64_t head_count, bool is_causal,
                                       std::pair<Linear, Linear> both)
    : heads(head_count),
      causal(is_causal),
      query_key_value(both.first),
      output(both.second) {}

Value MultiHeadAttention::operator()(Operand x) const {
  const Frame frame(x.site);
  const Shape shape = x.type().shape;
  const std::int64_t width = output.weight.shape()[0];
  if (shape.rank() != 3 || shape[2] != width) {
    throw ShapeError(x.site.text() + ": MultiHeadAttention: " + shape.text() +
                     " is not [batch, time, " + std::to_string(width) + "]");
  }
  const std::int64_t batch = shape[0];
  const std::int64_t time = shape[1];
  const std::int64_t depth = width / heads;
  // [B, T, 3 H D] to three of [B, H, T, D].
  const Value all =
      permute(reshape(query_key_value(x), {batch, time, 3, heads, depth}),
              {2, 0, 3, 1, 4});
  const auto part = [&](int which) {
    return reshape(narrow(all, 0, which, 1), {batch, heads, time, depth});
  };
  const Value query = part(0) * (1 / std::sqrt(static_cast<double>(depth)));
  Value scores = matmul(query, transpose(part(1)));
  if (causal) {
    constexpr double never = -std::numeric_limits<double>::infinity();
    scores = select(earlier(x, time), scores, never);
  }
  const Value mixed = matmul(softmax(scores), part(2));
  return output(reshape(permute(mixed, {0, 2, 1, 3}), shape));
}

}  // namespace topos::nn
