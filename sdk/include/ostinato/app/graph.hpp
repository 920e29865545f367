// Graphs: inputs, operations by name, expressions. Part of ostinato.hpp.
#ifndef OSTINATO_APP_GRAPH_HPP_
#define OSTINATO_APP_GRAPH_HPP_

#include <string>
#include <vector>

#include "program.hpp"

namespace ostinato {

// One attribute of an operation: {"axis", 1}, {"eps", 1e-5}, {"axes", {0, 2}}, dims("shape", {"n",
// 64}).
struct Attr {
  Attr(std::string n, int64_t v) : name(std::move(n)), kind(OST_ATTR_INT), integer(v) {}
  Attr(std::string n, int v) : Attr(std::move(n), static_cast<int64_t>(v)) {}
  Attr(std::string n, uint32_t v) : Attr(std::move(n), static_cast<int64_t>(v)) {}
  Attr(std::string n, double v) : name(std::move(n)), kind(OST_ATTR_FLOAT), number(v) {}
  Attr(std::string n, std::vector<int64_t> v)
      : name(std::move(n)), kind(OST_ATTR_INTS), ints(std::move(v)) {}
  std::string name;
  uint32_t kind;
  int64_t integer = 0;
  double number = 0;
  std::vector<int64_t> ints;
  Dims dims;
};
using Attrs = std::vector<Attr>;
inline Attr dims(std::string name, Dims values) {
  Attr a(std::move(name), 0);
  a.kind = OST_ATTR_DIMS;
  a.dims = std::move(values);
  return a;
}

// The C form of attributes; valid as long as both objects live and are unchanged.
class AttrList {
 public:
  explicit AttrList(const Attrs& attrs) : dims_(attrs.size()) {
    for (size_t i = 0; i < attrs.size(); ++i) {
      const Attr& a = attrs[i];
      dims_[i] = to_c(a.dims);
      const uint32_t count =
          a.kind == OST_ATTR_DIMS ? size32(a.dims.size()) : size32(a.ints.size());
      list_.push_back(
          {a.name.c_str(), a.kind, count, a.integer, a.number, a.ints.data(), dims_[i].data()});
    }
  }
  const ost_attr_t* data() const { return list_.data(); }
  uint32_t size() const { return size32(list_.size()); }

 private:
  std::vector<std::vector<ost_dim_t>> dims_;
  std::vector<ost_attr_t> list_;
};

using Node = ost_node_t;

class Graph {
 public:
  Graph() {
    ost_graph_t* graph = nullptr;
    call(ost_graph_create, &graph);
    handle_ = UniqueHandle<ost_graph_t, ost_graph_destroy>(graph);
  }
  ost_graph_t* get() const { return handle_.get(); }

  void var(const std::string& name, int64_t min, int64_t max) {
    const ost_var_t v{name.c_str(), min, max};
    call(ost_graph_var, get(), &v);
  }
  Node input(const std::string& name, ost_dtype_t dtype, const Dims& shape, uint32_t device = 0) {
    const auto c = to_c(shape);
    Node node = 0;
    call(ost_graph_input, get(), name.c_str(), dtype, c.data(), size32(c.size()), device, &node);
    return node;
  }
  // The type as text: "n:1..64, 32".
  Node input(const std::string& name, const std::string& type) {
    Node node = 0;
    call(ost_graph_input_text, get(), name.c_str(), type.c_str(), 0u, &node);
    return node;
  }
  Node constant(const std::string& name, const ost_array_t& data, const std::string& file = "",
                const std::string& tensor = "") {
    Node node = 0;
    call(ost_graph_constant, get(), name.c_str(), &data, file.empty() ? nullptr : file.c_str(),
         tensor.empty() ? nullptr : tensor.c_str(), &node);
    return node;
  }
  Node constant(const std::string& name, const Array& data) { return constant(name, data.view()); }
  Node state(const std::string& name, ost_dtype_t dtype, const Dims& shape,
             const Array* initial = nullptr) {
    const auto c = to_c(shape);
    const ost_array_t view = initial == nullptr ? ost_array_t{} : initial->view();
    Node node = 0;
    call(ost_graph_state, get(), name.c_str(), dtype, c.data(), size32(c.size()),
         initial == nullptr ? nullptr : &view, 0u, &node);
    return node;
  }
  Node op(const std::string& name, const std::vector<Node>& inputs, const Attrs& attrs = {}) {
    const AttrList list(attrs);
    Node node = 0;
    call(ost_graph_op, get(), name.c_str(), inputs.data(), size32(inputs.size()), list.data(),
         list.size(), &node);
    return node;
  }
  Node expression(const std::string& text) {
    Node node = 0;
    call(ost_graph_expression, get(), text.c_str(), &node);
    return node;
  }
  // The results become outputs.
  void outputs_of(const std::string& text) {
    call(ost_graph_expression, get(), text.c_str(), nullptr);
  }
  void output(const std::string& name, Node node) {
    call(ost_graph_output, get(), name.c_str(), node);
  }
  Type type(Node node) const { return type_at(ost_graph_node_type, get(), node); }
  std::string text() const {
    return collect([&](const ost_sink_t* sink) { call(ost_graph_text, get(), sink); });
  }
  Program compile(ost_compile_options_t options = sized<ost_compile_options_t>()) const {
    ost_program_t* program = nullptr;
    call(ost_graph_compile, get(), &options, &program);
    return Program(program);
  }

 private:
  UniqueHandle<ost_graph_t, ost_graph_destroy> handle_;
};

// One string for each write of a sink.
template <typename Function>
std::vector<std::string> collect_each(Function function) {
  std::vector<std::string> texts;
  const ost_sink_t sink{&texts, [](void* context, const void* data, uint64_t size) {
                          static_cast<std::vector<std::string>*>(context)->emplace_back(
                              static_cast<const char*>(data), size);
                        }};
  function(&sink);
  return texts;
}

// What must be bound before an expression can be built.
inline std::vector<std::string> expression_names(const std::string& text) {
  return collect_each([&](const ost_sink_t* s) { call(ost_expression_names, text.c_str(), s); });
}

// The inputs that a program declares with their types.
inline std::vector<std::string> expression_inputs(const std::string& text) {
  return collect_each([&](const ost_sink_t* s) { call(ost_expression_inputs, text.c_str(), s); });
}

}  // namespace ostinato

#endif  // OSTINATO_APP_GRAPH_HPP_
