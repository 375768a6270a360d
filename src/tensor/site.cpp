#include "topos/site.h"

#include <fmt/format.h>

#include <string_view>

namespace topos {

namespace {
thread_local Site outermost_site;
}

std::string Site::text() const {
  if (!known()) return {};
  std::string_view path = file;
  if (auto slash = path.rfind('/'); slash != path.npos) {
    path.remove_prefix(slash + 1);
  }
  return fmt::format("{}:{}", path, line);
}

Frame::Frame(Site site) noexcept
    : opened_(!outermost_site.known() && site.known()) {
  if (opened_) outermost_site = site;
}

Frame::~Frame() {
  if (opened_) outermost_site = {};
}

Site Frame::outermost() noexcept { return outermost_site; }

}  // namespace topos
