#include "topos/plan.h"

namespace topos {

Entry& Entry::result(Symbol value, Site site) {
  results_.push_back({value, site});
  return *this;
}

Entry& Entry::carry(Symbol input, Symbol next, Site site) {
  carries_.push_back({input, next, site});
  return *this;
}

}  // namespace topos
