#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace examples {

/// The means of `losses` over windows of that many steps; the last window is
/// what is left.
inline std::vector<double> window_means(std::span<const float> losses,
                                        std::size_t window) {
  std::vector<double> means;
  for (std::size_t begin = 0; begin < losses.size(); begin += window) {
    const std::size_t end = std::min(begin + window, losses.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += losses[i];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

/// A picture of a training run as SVG: every step's loss in the background, the
/// means of `window` steps in front.
class LossCurve {
 public:
  LossCurve(std::string title, std::string subtitle,
            std::span<const float> losses, std::size_t window)
      : title_(std::move(title)),
        subtitle_(std::move(subtitle)),
        losses_(losses),
        window_(window),
        means_(window_means(losses, window)) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const float loss : losses_) {
      if (!std::isfinite(loss)) continue;  // a diverged run leaves a gap
      low = std::min<double>(low, loss);
      high = std::max<double>(high, loss);
    }
    if (!(low <= high)) low = high = 0;
    y_step_ = nice_step(std::max(high - low, 1e-3), 6);
    y_low_ = std::floor(low / y_step_) * y_step_;
    y_high_ = std::ceil(high / y_step_) * y_step_;
    if (y_high_ <= y_low_) y_high_ = y_low_ + y_step_;
  }

  std::string svg() const {
    std::string out;
    add(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
        "width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
        "font-size=\"13\" fill=\"#222\">\n",
        width, height, width, height);
    add(out, "<title>%s</title>\n", escaped(title_).c_str());
    add(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width,
        height);
    add(out, "<text x=\"%d\" y=\"26\" font-size=\"18\">%s</text>\n", left,
        escaped(title_).c_str());
    add(out, "<text x=\"%d\" y=\"46\" fill=\"#666\">%s</text>\n", left,
        escaped(subtitle_).c_str());
    draw_axes(out);
    draw_steps(out);
    draw_means(out);
    draw_legend(out);
    out += "</svg>\n";
    return out;
  }

 private:
  static constexpr int width = 860;
  static constexpr int height = 480;
  static constexpr int left = 70;
  static constexpr int right = width - 30;
  static constexpr int top = 66;
  static constexpr int bottom = height - 60;
  static constexpr const char* step_color = "#b9cde5";
  static constexpr const char* mean_color = "#1f4e8c";

  /// 1, 2 or 5 times a power of ten, so that about `ticks` fit.
  static double nice_step(double range, int ticks) {
    const double rough = range / ticks;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= rough) return factor * power;
    }
    return 10 * power;
  }

  template <class... Arguments>
  static void add(std::string& out, const char* format,
                  Arguments... arguments) {
    const int size = std::snprintf(nullptr, 0, format, arguments...);
    std::vector<char> buffer(static_cast<std::size_t>(size) + 1);
    std::snprintf(buffer.data(), buffer.size(), format, arguments...);
    out += buffer.data();
  }

  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
      switch (c) {
        case '&':
          out += "&amp;";
          break;
        case '<':
          out += "&lt;";
          break;
        case '>':
          out += "&gt;";
          break;
        default:
          out += c;
      }
    }
    return out;
  }

  double x_of(double step) const {
    const double last =
        std::max<double>(static_cast<double>(losses_.size()), 1);
    return left + (right - left) * step / last;
  }
  double y_of(double loss) const {
    return bottom - (bottom - top) * (loss - y_low_) / (y_high_ - y_low_);
  }

  void draw_axes(std::string& out) const {
    const int digits =
        std::clamp(-static_cast<int>(std::floor(std::log10(y_step_))), 0, 6);
    for (int i = 0;; ++i) {
      const double loss = y_low_ + i * y_step_;
      if (loss > y_high_ + y_step_ / 2) break;
      add(out,
          "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
          "stroke=\"#e4e4e4\"/><text x=\"%d\" y=\"%.1f\" "
          "text-anchor=\"end\">%.*f</text>\n",
          left, right, y_of(loss), y_of(loss), left - 8, y_of(loss) + 4.5,
          digits, loss);
    }
    const auto steps = static_cast<double>(losses_.size());
    const double x_step = std::max(1.0, nice_step(std::max(steps, 1.0), 10));
    for (double step = 0; step <= steps; step += x_step) {
      add(out,
          "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
          "stroke=\"#444\"/><text x=\"%.1f\" y=\"%d\" "
          "text-anchor=\"middle\">%.0f</text>\n",
          x_of(step), x_of(step), bottom, bottom + 5, x_of(step), bottom + 20,
          step);
    }
    add(out, "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"#444\"/>\n",
        left, top, bottom, right);
    add(out,
        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">training step</text>\n",
        (left + right) / 2, bottom + 44);
    add(out,
        "<text transform=\"translate(22 %d) rotate(-90)\" "
        "text-anchor=\"middle\">loss (nats a character)</text>\n",
        (top + bottom) / 2);
  }

  /// At most one stroke from least to greatest loss for each pixel column.
  void draw_steps(std::string& out) const {
    const auto columns = static_cast<std::size_t>(right - left);
    const std::size_t bucket = losses_.size() / columns + 1;
    std::string path;
    bool connected = false;
    for (std::size_t begin = 0; begin < losses_.size(); begin += bucket) {
      const auto part =
          losses_.subspan(begin, std::min(bucket, losses_.size() - begin));
      const auto [low, high] = std::minmax_element(part.begin(), part.end());
      if (!std::isfinite(*low) || !std::isfinite(*high)) {
        connected = false;
        continue;
      }
      add(path, "%c%.1f %.1f", connected ? 'L' : 'M',
          x_of(static_cast<double>(begin)), y_of(*low));
      if (part.size() > 1) add(path, "V%.1f", y_of(*high));
      connected = true;
    }
    add(out, "<path d=\"%s\" fill=\"none\" stroke=\"%s\"/>\n", path.c_str(),
        step_color);
  }

  void draw_means(std::string& out) const {
    std::string points;
    std::string dots;
    for (std::size_t i = 0; i < means_.size(); ++i) {
      if (!std::isfinite(means_[i])) continue;
      const std::size_t begin = i * window_;
      const std::size_t end = std::min(begin + window_, losses_.size());
      const double x = x_of(static_cast<double>(begin + end) / 2);
      add(points, "%.1f,%.1f ", x, y_of(means_[i]));
      add(dots,
          "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\">"
          "<title>steps %zu to %zu: %.4f</title></circle>\n",
          x, y_of(means_[i]), mean_color, begin, end - 1, means_[i]);
    }
    add(out,
        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" "
        "stroke-width=\"2\"/>\n%s",
        points.c_str(), mean_color, dots.c_str());
  }

  void draw_legend(std::string& out) const {
    const int x = right - 190;
    add(out,
        "<path d=\"M%d %d h24\" stroke=\"%s\" stroke-width=\"5\"/>"
        "<text x=\"%d\" y=\"%d\">each step</text>\n",
        x, top + 12, step_color, x + 32, top + 17);
    add(out,
        "<path d=\"M%d %d h24\" stroke=\"%s\" stroke-width=\"2\"/>"
        "<text x=\"%d\" y=\"%d\">mean of %zu steps</text>\n",
        x, top + 32, mean_color, x + 32, top + 37, window_);
  }

  std::string title_;
  std::string subtitle_;
  std::span<const float> losses_;
  std::size_t window_;
  std::vector<double> means_;
  double y_step_ = 1;
  double y_low_ = 0;
  double y_high_ = 1;
};

}  // namespace examples
