// The one layout of a manifest's text. Depth is bounded: what is printed was built by us or passed
// the parser's limit.
#include <algorithm>
#include <vector>

#include "core/manifest/json.hpp"

namespace ost::manifest {
namespace {

constexpr std::size_t kColumns = 100;

std::vector<const json::key_value_pair*> sorted_members(const json::object& object) {
  std::vector<const json::key_value_pair*> members;
  members.reserve(object.size());
  for (const auto& m : object) members.push_back(&m);
  std::ranges::sort(members, [](const auto* a, const auto* b) { return a->key() < b->key(); });
  return members;
}

// Everything on one line, with `space` after separators; nothing for the canonical form.
void inline_text(const json::value& value, std::string_view space, std::string& out) {
  if (const auto* object = value.if_object()) {
    out += '{';
    bool first = true;
    for (const auto* m : sorted_members(*object)) {
      if (!first) (out += ',') += space;
      first = false;
      out += json::serialize(m->key());
      (out += ':') += space;
      inline_text(m->value(), space, out);
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    bool first = true;
    for (const auto& v : *array) {
      if (!first) (out += ',') += space;
      first = false;
      inline_text(v, space, out);
    }
    out += ']';
  } else {
    out += json::serialize(value);
  }
}

bool is_scalar(const json::value& v) { return !v.is_object() && !v.is_array(); }
bool is_flat_array(const json::value& v) {
  return v.is_array() && std::ranges::all_of(v.get_array(), is_scalar);
}

// Flat: an array of scalars, or an object of scalars and such arrays.
bool is_flat(const json::value& v) {
  if (is_scalar(v) || is_flat_array(v)) return true;
  if (!v.is_object()) return false;
  return std::ranges::all_of(v.get_object(), [](const auto& m) {
    return m.key() != "kir" && (is_scalar(m.value()) || is_flat_array(m.value()));
  });
}

struct Printer {
  std::string out;

  void indent(int depth) { out.append(2 * static_cast<std::size_t>(depth), ' '); }

  // `column` is where the value starts on its line.
  void print(const json::value& value, int depth, std::size_t column, bool broken) {
    const bool empty = (value.is_array() && value.get_array().empty()) ||
                       (value.is_object() && value.get_object().empty());
    if (empty || is_scalar(value) || (!broken && is_flat(value))) {
      std::string line;
      inline_text(value, " ", line);
      if (empty || is_scalar(value) || column + line.size() + 1 <= kColumns) {
        out += line;
        return;
      }
    }
    if (const auto* object = value.if_object())
      print_object(*object, depth);
    else
      print_array(value.get_array(), depth);
  }

  void print_object(const json::object& object, int depth) {
    out += "{\n";
    const auto members = sorted_members(object);
    for (std::size_t i = 0; i < members.size(); ++i) {
      indent(depth + 1);
      const std::string key = json::serialize(members[i]->key()) + ": ";
      out += key;
      print(members[i]->value(), depth + 1, 2 * static_cast<std::size_t>(depth + 1) + key.size(),
            members[i]->key() == "kir");
      out += i + 1 < members.size() ? ",\n" : "\n";
    }
    indent(depth);
    out += '}';
  }

  void print_array(const json::array& array, int depth) {
    out += "[\n";
    for (std::size_t i = 0; i < array.size(); ++i) {
      indent(depth + 1);
      print(array[i], depth + 1, 2 * static_cast<std::size_t>(depth + 1), false);
      out += i + 1 < array.size() ? ",\n" : "\n";
    }
    indent(depth);
    out += ']';
  }
};

}  // namespace

std::string to_pretty(const json::value& value) {
  Printer printer;
  printer.print(value, 0, 0, true);
  printer.out += '\n';
  return std::move(printer.out);
}

std::string to_canonical(const json::value& value) {
  std::string out;
  inline_text(value, "", out);
  return out;
}

json::value json_int(int64_t value) {
  if (value > kMaxJsonInt || value < -kMaxJsonInt) return json::value(std::to_string(value));
  return json::value(value);
}

json::value json_uint(uint64_t value) {
  if (value > static_cast<uint64_t>(kMaxJsonInt)) return json::value(std::to_string(value));
  return json::value(static_cast<int64_t>(value));
}

}  // namespace ost::manifest
