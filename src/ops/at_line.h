#pragma once

#include <string>
#include <string_view>

#include "topos/error.h"
#include "topos/site.h"

/// \file
/// How an error gets the line that the user wrote.

namespace topos::ops {

/// `user.cpp:88: in linear.h:31: `, of what is known.
inline std::string where(Site site) {
  const Site frame = Frame::outermost();
  std::string result;
  if (frame.known()) {
    result = frame.text() + ": ";
    if (site.known() && site.text() != frame.text()) {
      result += "in " + site.text() + ": ";
    }
  } else if (site.known()) {
    result = site.text() + ": ";
  }
  return result;
}

/// Runs `body`; an error leaves with the line before it, and with what was
/// `asked` there, if that says anything.
template <class F>
decltype(auto) at_line(Site site, std::string_view asked, F&& body) {
  try {
    return body();
  } catch (Error& error) {
    std::string before = where(site);
    if (!asked.empty()) before.append(asked).append(": ");
    error.add_context(before);
    throw;
  }
}

}  // namespace topos::ops
