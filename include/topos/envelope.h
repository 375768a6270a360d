#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "topos/network.h"
#include "topos/plan.h"
#include "topos/site.h"
#include "topos/tensor.h"

/// \file
/// How far an engine that does not keep the interpreter's bits may be from it.
/// XLA may sum in any order, fuse a product and a sum into one rounding, flush
/// subnormals to zero and use elementary functions of its own. Each of these
/// has a known error, so how far the results may drift apart follows from the
/// program and its feeds, element by element; nobody picks a tolerance.
///
///     const auto expected = envelopes(network, plan, parameters, feeds);
///     const Difference d = compare(expected[0], run.of(loss));
///     if (!d.inside) throw std::runtime_error(d.text());
///
/// `docs/envelope.md` has the rules and where their constants come from.

namespace topos {

/// The interpreter's result, and how far another engine's may be from it.
struct Envelope {
  Tensor value;
  /// Of the value's shape, in f64. 0: the same number. Infinite: nothing can be
  /// said, because a decision that this element hangs on (a comparison, an
  /// argmax, an overflow) lies within the error of its operands.
  Tensor bound;
};

/// Of each result of the plan's entry, then of the next value of each carry.
/// The interpreter's work once more, and several times that of its elementwise
/// operations: linear in the size of the program.
///
/// There is no session behind it: every input is fed, carried ones with their
/// present state, and `parameters` are the present ones.
///
/// \throws UsageError, ShapeError, DTypeError, IndexError  as Session::step
std::vector<Envelope> envelopes(const Network& network, const Plan& plan,
                                const Parameters& parameters,
                                std::initializer_list<Feed> feeds = {},
                                Site site = Site::here());
std::vector<Envelope> envelopes(const Network& network, const Plan& plan,
                                const Parameters& parameters, Feeds feeds,
                                Site site = Site::here());

/// How another engine's result lies in an envelope.
struct Difference {
  /// No element is farther from the value than the bound. Where the value is
  /// infinite or NaN and decided, the other must be the same.
  bool inside = true;
  /// The greatest |other - value| of all decided elements.
  double largest = 0;
  /// The greatest |other - value| / bound, infinite where elements with bound
  /// 0 differ, and its row-major position.
  double ratio = 0;
  std::int64_t position = 0;
  /// Elements of which nothing can be said.
  std::int64_t undecided = 0;
  /// Both elements at `position`, and the bound there.
  double expected = 0;
  double found = 0;
  double bound = 0;

  /// One line for an error.
  std::string text() const;
};

/// \throws ShapeError, DTypeError  `other` is not of the value's type
Difference compare(const Envelope& envelope, const Tensor& other,
                   Site site = Site::here());

}  // namespace topos
