// Programs: loaded, saved, described. Part of ostinato.hpp.
#ifndef OSTINATO_APP_PROGRAM_HPP_
#define OSTINATO_APP_PROGRAM_HPP_

#include <string>
#include <vector>

#include "context.hpp"
#include "values.hpp"

namespace ostinato {

// Why a launch is what it is.
struct Group {
  std::string kernel, kind, ops, why, ended, tiles;
  uint64_t bytes_saved = 0;
};

class Program {
 public:
  explicit Program(ost_program_t* handle) : handle_(handle) {}  // takes over the caller's reference
  ost_program_t* get() const { return handle_.get(); }

  static Program load(const std::string& path, bool trust = false, bool accept_edited = false) {
    auto options = sized<ost_load_options_t>();
    options.trust = trust;
    options.accept_edited = accept_edited;
    ost_program_t* program = nullptr;
    call(ost_program_load, path.c_str(), &options, &program);
    return Program(program);
  }
  static Program parse(const std::string& text) {
    ost_program_t* program = nullptr;
    call(ost_program_parse, text.data(), text.size(), nullptr, &program);
    return Program(program);
  }
  void save(const std::string& path, bool images = true) const {
    auto options = sized<ost_save_options_t>();
    options.no_images = !images;
    call(ost_program_save, get(), path.c_str(), &options);
  }

  ost_program_desc_t describe() const {
    auto desc = sized<ost_program_desc_t>();
    call(ost_program_describe, get(), &desc);
    return desc;
  }
  std::string id() const { return describe().id; }
  std::vector<ost_var_t> vars() const {
    std::vector<ost_var_t> out(describe().vars);
    for (uint32_t i = 0; i < out.size(); ++i) call(ost_program_var_at, get(), i, &out[i]);
    return out;
  }
  std::vector<Type> inputs() const { return types(describe().inputs, ost_program_input_at); }
  std::vector<Type> outputs() const { return types(describe().outputs, ost_program_output_at); }
  std::vector<Type> states() const { return types(describe().states, ost_program_state_at); }
  std::vector<int64_t> input_shape(uint32_t index, const VarValues& values) const {
    int64_t shape[OST_MAX_RANK] = {};
    const auto c = to_c(values);
    call(ost_program_input_shape, get(), index, c.data(), size32(c.size()), shape);
    return {shape, shape + type_at(ost_program_input_at, get(), index).dims.size()};
  }
  std::string kernel_name(uint32_t index) const {
    const char* name = ost_program_kernel_name(get(), index);
    return name == nullptr ? "" : name;
  }

  std::vector<Group> groups() const {
    std::vector<Group> out;
    for (uint32_t i = 0; i < describe().groups; ++i) {
      auto g = sized<ost_group_desc_t>();
      call(ost_program_group_at, get(), i, &g);
      out.push_back({g.kernel, g.kind, g.ops, g.why, g.ended, g.tiles, g.bytes_saved});
    }
    return out;
  }

  std::string inspect(uint32_t format = OST_FORMAT_TEXT) const {
    return collect([&](const ost_sink_t* sink) { call(ost_program_inspect, get(), format, sink); });
  }
  std::string explain(uint32_t format = OST_FORMAT_TEXT) const {
    return collect([&](const ost_sink_t* sink) { call(ost_program_explain, get(), format, sink); });
  }
  Program link(const Context& context, const std::vector<std::string>& targets) const {
    std::vector<const char*> names;
    for (const std::string& t : targets) names.push_back(t.c_str());
    ost_program_t* linked = nullptr;
    call(ost_program_link, get(), context.get(), names.data(), size32(names.size()), &linked);
    return Program(linked);
  }

 private:
  template <typename At>
  std::vector<Type> types(uint32_t count, At at) const {
    std::vector<Type> out;
    for (uint32_t i = 0; i < count; ++i) out.push_back(type_at(at, get(), i));
    return out;
  }
  SharedHandle<ost_program_t, ost_program_retain, ost_program_release> handle_;
};

struct Difference {
  uint32_t count = 0;  // 0: the programs do the same in the same way
  std::string text;
};
inline Difference diff(const Program& a, const Program& b, uint32_t format = OST_FORMAT_TEXT) {
  Difference out;
  out.text = collect([&](const ost_sink_t* sink) {
    call(ost_program_diff, a.get(), b.get(), format, sink, &out.count);
  });
  return out;
}

}  // namespace ostinato

#endif  // OSTINATO_APP_PROGRAM_HPP_
