#pragma once

#include "ops/catalog.h"

/// \file
/// The reference evaluation of one operation: what the interpreter runs.

namespace topos::ops {

/// The result of an operation on operands that `infer` accepts; of a view, a
/// tensor that shares the operand's storage wherever a layout can express it.
/// \throws IndexError, RuntimeError
Tensor evaluate(const Any& op, const Type& type, Operands<Tensor> x);

/// The same into given storage, row-major without gaps.
void evaluate_into(const Any& op, Operands<Tensor> x, Output y);

/// The result's type. \throws ShapeError, DTypeError  the bare clause
Type infer(const Any& op, Operands<Type> x);

std::string_view name_of(const Any& op);
/// The attributes as printed; empty if there are none.
std::string fields_of(const Any& op);

}  // namespace topos::ops
