#pragma once

#include <string>

namespace topos::ops {

/// The catalogue as a table, a line an operation and then a line a composite:
/// name, operands, attributes, kind, the dtypes of the leading operand that it
/// accepts, and where its derivative comes from. Nothing in it is written down:
/// dtypes are found by asking `infer`, derivatives by running the rule.
///
///   kind        `elementwise`, `view` (another layout of its operand),
///               `tensor` (over whole tensors), or `composite`
///   derivative  `rule`: its own; `formula`: that of its parts; `-`: none, or
///               zero everywhere
std::string op_table();

}  // namespace topos::ops
