#include "engine/random_network.h"

#include <type_traits>

#include "engine/generator.h"
#include "engine/random_elements.h"
#include "tensor/visit.h"

namespace topos::test {

namespace {

Feed number_feed(Symbol symbol, const Tensor& x) {
  return visit_dtype(x.dtype(), [&]<class T>() {
    using Number = std::conditional_t<sizeof(T) == 2, float, T>;
    return Feed(symbol, Number{*reinterpret_cast<const T*>(x.data())});
  });
}

Feed span_feed(Symbol symbol, const Tensor& x) {
  return visit_dtype(x.dtype(),
                     [&]<class T>() { return Feed(symbol, x.span<T>()); });
}

}  // namespace

OwnedFeeds RandomNetwork::feeds(int step, const std::vector<Fed>& some) const {
  OwnedFeeds result;
  Random random(seed * 1000003 + static_cast<std::uint64_t>(step));
  result.storage.reserve(some.size());
  for (const Fed& input : some) {
    Random own(random.bits() + input.symbol.node);
    const Tensor x = random_elements(input.type, own, wild, input.bound);
    result.storage.push_back(x);
    switch (own.below(4)) {
      case 0:
        if (input.type.shape.rank() == 0) {
          result.feeds.push_back(number_feed(input.symbol, x));
          break;
        }
        [[fallthrough]];
      case 1:
        result.feeds.emplace_back(input.symbol, restrided(x, own));
        break;
      case 2:
        result.feeds.push_back(span_feed(input.symbol, x));
        break;
      default:
        result.feeds.emplace_back(input.symbol, x);
    }
  }
  // In any order.
  if (step % 2 == 1) {
    result.feeds =
        std::vector<Feed>(result.feeds.rbegin(), result.feeds.rend());
  }
  return result;
}

RandomNetwork random_network(std::uint64_t seed,
                             const RandomNetworkOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace topos::test
