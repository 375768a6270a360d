#include "stablehlo/dialect.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace topos::stablehlo_text {

const OperationRow* find_operation(std::string_view name) {
  static const auto table = [] {
    std::unordered_map<std::string_view, const OperationRow*> rows;
    for (const auto family :
         {elementwise_rows(), conversion_rows(), layout_rows(), product_rows(),
          window_rows(), region_rows(), call_rows()}) {
      for (const OperationRow& row : family) rows.emplace(row.name, &row);
    }
    return rows;
  }();
  const auto at = table.find(name);
  return at == table.end() ? nullptr : at->second;
}

void check_result(const Operation& op, const TensorType& inferred) {
  if (op.results.size() != 1) {
    refuse(op, "declares " + std::to_string(op.results.size()) +
                   " results, it has one");
  }
  if (op.results[0] != inferred) {
    refuse(op, "the result is " + inferred.text() + ", not " +
                   op.results[0].text());
  }
}

void check_axes(const Operation& op, std::string_view what,
                const std::vector<std::int64_t>& axes, int rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank) {
      refuse(op, std::string(what) + " " + text(axes) + " of rank " +
                     std::to_string(rank));
    }
    if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i),
                  axes[i]) != axes.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse(op, std::string(what) + " " + text(axes) + " name an axis twice");
    }
  }
}

void check_ascending(const Operation& op, std::string_view what,
                     const std::vector<std::int64_t>& axes) {
  if (!std::ranges::is_sorted(axes)) {
    refuse(op, std::string(what) + " " + text(axes) + " do not ascend");
  }
}

void check_size(const Operation& op, std::string_view what,
                const std::vector<std::int64_t>& integers, int expected) {
  if (static_cast<int>(integers.size()) != expected) {
    refuse(op, std::string(what) + " " + text(integers) + " are not " +
                   std::to_string(expected));
  }
}

void check_record(const Operation& op, const Attribute& record,
                  std::string_view name,
                  std::span<const std::string_view> lists,
                  std::string_view integer) {
  if (record.text != name) {
    fail(record.at, std::string(op.row->name) + ": a record #" + record.text +
                        ", not #" + std::string(name));
  }
  for (const auto& [key, value] : record.fields) {
    const bool is_list = std::ranges::find(lists, key) != lists.end();
    if (!is_list && (key != integer || integer.empty())) {
      fail(value.at, std::string(op.row->name) + ": no field is called " + key);
    }
    const auto kind =
        is_list ? Attribute::Kind::integers : Attribute::Kind::integer;
    if (value.kind != kind) {
      fail(value.at, std::string(op.row->name) + ": " + key + " is " +
                         std::string(stablehlo_text::name(value.kind)) +
                         ", not " + std::string(stablehlo_text::name(kind)));
    }
  }
}

bool contains(const std::vector<std::int64_t>& integers, std::int64_t x) {
  return std::ranges::find(integers, x) != integers.end();
}

}  // namespace topos::stablehlo_text
