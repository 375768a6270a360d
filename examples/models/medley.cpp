#include "medley.h"

namespace models {

using namespace topos;

namespace {

constexpr int rows = 8;
constexpr int width = 6;

/// ln(1 + e^-m) for all margins m, kept from overflowing.
Value logistic_loss(Value margins) {
  return sum(maximum(-margins, 0) + ln(1 + exp(-abs(margins))));
}

}  // namespace

Recorded record_medley() {
  Tape tape;
  SplitMix random(3);
  const Value weight =
      tape.parameter("weight", uniform({width}, 0.5, random, f64));
  const Value points = tape.input("points", f64, {rows, width});
  const Value labels = tape.input("labels", boolean, {rows});
  const Value seen = tape.input("seen", i64, {});
  Entry forward;
  Entry train;
  const auto result = [&](Entry& entry, const char* name, Value value) {
    tape.name(value, name);
    entry.result(value);
  };

  // The objective: strictly convex, by its second term.
  const Value scores = sum(points * weight, 1);
  const Value margins = select(labels, scores, -scores);
  const Value loss = logistic_loss(margins) + 0.05 * sum(weight * weight);
  result(forward, "loss", loss);
  train.result(loss);

  // The best step along the gradient g: g g over g H g, H g the gradient of
  // g (g held fixed).
  const Value gradient = tape.differentiate(loss, {weight})[0];
  const Value along = sum(gradient * stop_gradient(gradient));
  const Value curved = tape.differentiate(along, {weight})[0];
  const Value length = sum(gradient * gradient) / sum(gradient * curved);
  result(train, "gradient", gradient);
  result(train, "step_length", length);
  train.carry(weight, weight - length * gradient);
  train.carry(seen, seen + rows);

  // What the points look like.
  const Value angle = reduce_max(points, {1}) - reduce_min(points, {1});
  result(forward, "waves", sin(angle) * cos(angle) + erf(angle) - sqrt(angle));
  result(forward, "powers",
         pow(abs(points) + 0.5, 1.5) * rsqrt(abs(points) + 1));
  result(forward, "spread", variance(points, {0}));
  result(forward, "centred", center(relu(points), {1}));
  result(forward, "certainty",
         log_softmax(points) + logsumexp(points, 1, true));
  result(forward, "smooth", tanh(points) * logistic(points) + sign(points));

  // Which of them come first, and how they lie.
  const Value best = argmax(points, 1);
  result(forward, "best", best);
  result(forward, "widest", gather(points, argmax(angle), {.axis = 0}));
  result(forward, "votes",
         scatter_add(full_like(weight, {f64, {width}}, 0), best, angle));
  const Value framed = pad(points, {1, 0}, {0, 2}, -1);
  result(
      forward, "mirrored",
      reverse(concat({framed, narrow(transpose(framed), 1, 0, 8)}, 0), {0, 1}));

  // Integers and booleans.
  const Value agrees = equal(greater(scores, 0), labels);
  result(forward, "agrees", agrees);
  result(forward, "agreeing", sum(cast(agrees, i64)));
  result(forward, "extremes",
         logical_or(logical_not(is_finite(scores)),
                    logical_and(less(scores, 0.25), not_equal(best, 2))));
  const Value places = iota(tape, {i32, {rows}}, 0);
  result(forward, "halves", (places * 7 - 20) / 2 + cast(scores, i32));

  const Feed points_feed(points, uniform({rows, width}, 2, random, f64));
  const Feed labels_feed(labels, Tensor({rows}, {true, false, true, true, false,
                                                 true, false, false}));
  const Network network = tape.seal();
  return {network,
          {{"forward", network.lower(forward), {points_feed, labels_feed}},
           {"train", network.lower(train), {points_feed, labels_feed}}}};
}

}  // namespace models
