// A profile for people, and for the viewers of traces.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "topos/profile.h"

namespace topos {

namespace {

/// What JSON may hold between quotes.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

/// At most `width` characters.
std::string shortened(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  return text.substr(0, width - 3) + "...";
}

}  // namespace

std::string Profile::table() const {
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return groups[a].milliseconds > groups[b].milliseconds;
  });
  double in_groups = 0;
  double flops = 0;
  for (const Group& group : groups) {
    in_groups += group.milliseconds;
    flops += group.flops;
  }
  std::string text = fmt::format(
      "{} steps of {:.4f} ms, {:.4f} of them in {} groups; {} threads, limits "
      "{:.0f} Gflop/s and {:.1f} GB/s; {:.1f} Gflop/s reached\n",
      steps, step_milliseconds, in_groups, groups.size(), limits.threads,
      limits.gigaflops, limits.gigabytes,
      step_milliseconds > 0 ? flops * 1e-6 / step_milliseconds : 0);
  text += fmt::format("{:>5} {:>10} {:>6} {:>10} {:>10} {:>7}  {:<12} {}\n",
                      "group", "ms", "time", "MB", "Mflop", "limit", "kind",
                      "operations");
  for (const std::size_t g : order) {
    const Group& group = groups[g];
    const double of_step = step_milliseconds > 0
                               ? 100 * group.milliseconds / step_milliseconds
                               : 0;
    text += fmt::format(
        "{:>5} {:>10.5f} {:>5.1f}% {:>10.3f} {:>10.3f} {:>6.1f}%  {:<12} {}, "
        "{}\n",
        g, group.milliseconds, of_step, group.bytes * 1e-6, group.flops * 1e-6,
        100 * group.share, group.kind, shortened(group.operations, 60),
        group.line);
  }
  return text;
}

std::string Profile::trace() const {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  int threads = 0;
  for (const Span& span : spans) threads = std::max(threads, span.thread + 1);
  for (int thread = 0; thread < threads; ++thread) {
    text += fmt::format(
        "{}\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":{},"
        "\"args\":{{\"name\":\"thread {}\"}}}}",
        thread == 0 ? "" : ",", thread, thread);
  }
  for (const Span& span : spans) {
    const Group& group = groups[span.group];
    text += fmt::format(
        ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},"
        "\"ts\":{:.3f},\"dur\":{:.3f},\"args\":{{\"step\":{},\"group\":{},"
        "\"line\":\"{}\",\"bytes\":{:.0f},\"flops\":{:.0f}}}}}",
        escaped(shortened(group.operations, 60)), group.kind, span.thread,
        span.begin_microseconds,
        span.end_microseconds - span.begin_microseconds, span.step, span.group,
        escaped(group.line), group.bytes, group.flops);
  }
  return text + "\n]}\n";
}

}  // namespace topos
