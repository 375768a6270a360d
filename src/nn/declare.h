#pragma once

#include <topos/error.h>
#include <topos/shape.h>
#include <topos/site.h>
#include <topos/tape.h>

#include <string>
#include <string_view>

namespace topos::nn {

/// Runs what declares a layer's parameters: all of them, or none. An error that
/// does not know its line yet leaves with the user's, and with the layer's
/// name.
template <class F>
Value declare(Tape& tape, std::string_view layer, std::string_view name,
              Site site, F&& f) {
  try {
    Transaction transaction(tape, site);
    const Value declared = f();
    transaction.keep();
    return declared;
  } catch (Error& error) {
    error.add_context(site.text() + ": " + std::string(layer) + " \"" +
                      std::string(name) + "\": ");
    throw;
  }
}

/// \return the type of a parameter
/// \throws DTypeError  it is not floating
/// \throws ShapeError  an extent is negative, or the size overflows
inline Type parameter_type(DType dtype, const Shape& shape) {
  const Type type{dtype, shape};
  if (!is_floating(dtype)) {
    throw DTypeError("a parameter of type " + type.text() +
                     " cannot be trained: its dtype is not floating");
  }
  type.size_bytes();
  return type;
}

}  // namespace topos::nn
