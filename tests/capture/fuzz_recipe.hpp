// Random functions of tensors: views, kernels, assigns, copies, draws, over a few shapes so that
// kernels repeat. A recipe is data; running it is deterministic.
#pragma once

#include <map>
#include <ostinato/ostinato.hpp>
#include <random>
#include <sstream>

namespace capture_fuzz {

using namespace ostinato;
using Tensors = std::vector<Tensor>;

enum class Kind {
  binary,
  unary,
  total,
  roll,
  flip,
  gram,
  project,
  constant,
  draw,
  cross,
  window,
  head,
  assign,
  assign_row,
  assign_rows,
  assign_part,
  swap,
  mutate
};
inline const char* name_of(Kind k) {
  static const char* names[] = {"binary",      "unary",   "total",    "roll",       "flip",
                                "gram",        "project", "constant", "draw",       "cross",
                                "window",      "head",    "assign",   "assign_row", "assign_rows",
                                "assign_part", "swap",    "mutate"};
  return names[static_cast<int>(k)];
}

// Shapes: 0 [], 1 [4], 2 [3, 4], 3 [n, 4] with n in 0..6; p in 0..5 is a row of the cache [8, 4].
inline const Dims& dims_of(int shape) {
  static const Dims all[] = {{}, {4}, {3, 4}, {"n", 4}};
  return all[shape];
}

struct Instruction {
  Kind kind = Kind::binary;
  uint32_t pick[4] = {};  // values by position, modulo what there is
};

struct Recipe {
  std::vector<Instruction> instructions;
  std::vector<uint32_t> outputs;
  uint32_t mode = OST_JIT_REUSE;
  uint32_t keep = 0;  // a value that outlives the call; 0: none
  uint32_t feed = 0;  // bits: call i gets an output of the call before as its first input

  std::string text() const {
    std::ostringstream out;
    for (const Instruction& i : instructions)
      out << name_of(i.kind) << " " << i.pick[0] << " " << i.pick[1] << " " << i.pick[2] << " "
          << i.pick[3] << "\n";
    out << "outputs";
    for (const uint32_t o : outputs) out << " " << o;
    out << "\nmode " << mode << " keep " << keep << " feed " << feed << "\n";
    return out.str();
  }
};

inline Recipe random_recipe(std::mt19937_64& rng, bool crosses) {
  Recipe r;
  const size_t count = 2 + rng() % 9;
  for (size_t i = 0; i < count; ++i) {
    Instruction in;
    do {
      in.kind = static_cast<Kind>(rng() % 18);
    } while ((in.kind == Kind::cross && (!crosses || rng() % 4 != 0)) ||
             (in.kind == Kind::draw && rng() % 4 != 0));
    for (uint32_t& p : in.pick) p = static_cast<uint32_t>(rng() % 1000);
    r.instructions.push_back(in);
  }
  for (size_t o = 1 + rng() % 3; o > 0; --o) r.outputs.push_back(static_cast<uint32_t>(rng()));
  r.mode = static_cast<uint32_t>(rng() % 3);
  r.keep = rng() % 4 == 0 ? static_cast<uint32_t>(rng() % 1000 + 1) : 0;
  r.feed = r.mode == OST_JIT_DONATE ? 0 : static_cast<uint32_t>(rng() % 32);
  return r;
}

// One execution environment of a recipe: its closed-over tensors live as long as it.
class Execution {
 public:
  struct Value {
    Tensor tensor;
    int shape;
    bool computed;  // not an input or a closed-over tensor, which others may write
  };

  Execution(Session& session, const Recipe& recipe, std::string device, std::string other)
      : s_(session), r_(recipe), device_(std::move(device)), other_(std::move(other)) {
    states_ = {fill({4}, 1), fill({3, 4}, 2), fill({8, 4}, 3)};
  }

  Tensors body(const Tensors& in) {
    values_.clear();
    for (size_t i = 0; i < in.size(); ++i)
      values_.push_back({in[i], static_cast<int>(i) + 1, false});
    values_.push_back({states_[0], 1, false});
    values_.push_back({states_[1], 2, false});
    push(op("add", {in[0], states_[0]}), 1);
    for (const Instruction& i : r_.instructions) run(i);
    Tensors out;
    for (const uint32_t o : r_.outputs) out.push_back(values_[o % values_.size()].tensor);
    // What the closed-over tensors hold, and one value that is fed back.
    out.push_back(op("add", {values_.back().tensor, op("sum", {states_[1]})}));
    out.push_back(op("mul", {op("sum", {states_[2]}, axis(0)), states_[0]}));
    if (r_.keep != 0) {
      for (size_t k = 0; k < values_.size(); ++k) {
        const Value& v = values_[(r_.keep + k) % values_.size()];
        if (!v.computed) continue;
        kept_ = {v.tensor};
        break;
      }
    }
    values_.clear();
    return out;
  }
  const Tensors& kept() const { return kept_; }
  const Tensors& states() const { return states_; }

 private:
  static Attrs axis(int64_t a) { return {{"axes", std::vector<int64_t>{a}}}; }
  Tensor op(const std::string& name, const Tensors& in, const Attrs& attrs = {}) {
    return s_.op(name, in, attrs);
  }
  Tensor fill(std::vector<int64_t> shape, int salt) {
    Array a(OST_DTYPE_F32, std::move(shape));
    for (size_t i = 0; i < a.count(); ++i) {
      const float v = static_cast<float>((i * 5 + static_cast<size_t>(salt) * 3) % 7) - 3;
      std::memcpy(a.bytes.data() + 4 * i, &v, 4);
    }
    return s_.tensor(a, device_);
  }
  void push(const Tensor& t, int shape) { values_.push_back({t, shape, true}); }
  const Value& any(uint32_t pick) const { return values_[pick % values_.size()]; }
  // A value of this shape; there always is one of 1 to 3.
  Tensor of(uint32_t pick, int shape) const {
    for (size_t k = 0; k < values_.size(); ++k) {
      const Value& v = values_[(pick + k) % values_.size()];
      if (v.shape == shape) return v.tensor;
    }
    return values_[0].tensor;
  }
  Tensor slice(const Tensor& x, const Dims& from, const Dims& to) {
    return op("slice", {x}, {dims("starts", from), dims("stops", to)});
  }
  Tensor reshape(const Tensor& x, const Dims& shape) {
    return op("reshape", {x}, {dims("shape", shape)});
  }
  Tensor transpose(const Tensor& x) { return op("transpose", {x}); }

  void run(const Instruction& i) {
    const Value a = any(i.pick[0]);
    switch (i.kind) {
      case Kind::binary: {
        static const char* ops[] = {"add", "sub", "mul", "maximum", "minimum"};
        const int other = i.pick[2] % 3 == 0 ? 1 : a.shape;  // [4] goes with every shape
        const Tensor b = a.shape == 0 ? of(i.pick[1], 1) : of(i.pick[1], other);
        return push(op(ops[i.pick[3] % 5], {a.tensor, b}), a.shape == 0 ? 1 : a.shape);
      }
      case Kind::unary: {
        static const char* ops[] = {"neg", "relu", "abs", "tanh", "floor"};
        return push(op(ops[i.pick[3] % 5], {a.tensor}), a.shape);
      }
      case Kind::total:
        return a.shape >= 2 ? push(op("sum", {a.tensor}, axis(0)), 1)
                            : push(op("sum", {a.tensor}), 0);
      case Kind::roll: {
        const Tensor x = of(i.pick[0], 2);
        return push(op("concat", {slice(x, {1}, {3}), slice(x, {0}, {1})}, {{"axis", 0}}), 2);
      }
      case Kind::flip:
        return a.shape == 0 ? push(op("neg", {a.tensor}), 0)
                            : push(op("flip", {a.tensor}, axis(0)), a.shape);
      case Kind::gram: {  // over a symbolic K
        const Tensor x = of(i.pick[0], 3), y = of(i.pick[1], 3);
        return push(op("matmul", {of(i.pick[2], 2), op("matmul", {transpose(x), y})}), 2);
      }
      case Kind::project: {
        const Tensor x = of(i.pick[0], 2), y = of(i.pick[1], 2);
        return push(op("matmul", {op("matmul", {x, transpose(y)}), of(i.pick[2], 2)}), 2);
      }
      case Kind::constant:
        return push(fill({4}, static_cast<int>(i.pick[3] % 7)), 1);
      case Kind::draw:
        return push(s_.random("uniform", dims_of(1), device_), 1);
      case Kind::cross:
        return push(op("neg", {a.tensor.to(other_)}).to(device_), a.shape);
      case Kind::window:
        return push(slice(states_[2], {"p", 0}, {"p + 3", 4}), 2);
      case Kind::head:
        return push(slice(states_[2], {0, 0}, {"n", 4}), 3);
      default:
        return write(i);
    }
  }

  void write(const Instruction& i) {
    switch (i.kind) {
      case Kind::assign:
        if (i.pick[0] % 2) return states_[0].assign(of(i.pick[1], 1));
        return states_[1].assign(of(i.pick[1], 2));
      case Kind::assign_row:
        return states_[2].assign(reshape(of(i.pick[1], 1), {1, 4}), {"p", 0});
      case Kind::assign_rows:
        return i.pick[0] % 2 ? states_[2].assign(of(i.pick[1], 2), {"p", 0})
                             : states_[2].assign(of(i.pick[1], 3), {int64_t{i.pick[0] % 3}, 0});
      case Kind::assign_part:  // a part of itself, overlapping
        return i.pick[0] % 2 ? states_[1].assign(slice(states_[1], {0}, {2}), {1, 0})
                             : states_[2].assign(slice(states_[2], {1}, {8}), {0, 0});
      case Kind::swap: {
        const Tensor old = op("neg", {op("neg", {states_[0]})});
        states_[0].assign(slice(of(i.pick[1], 1), {0}, {4}));
        const Tensor row = reshape(old, {1, 4});
        return states_[1].assign(row, {int64_t{i.pick[2] % 3}, 0});
      }
      default: {  // an input of the caller, or a value of the body
        Value& v = values_[i.pick[0] % values_.size()];
        if (v.shape == 0) return;
        Tensor target = v.tensor;
        const Tensor value = of(i.pick[1], v.shape);
        return target.assign(op("add", {value, op("sum", {of(i.pick[2], 1)})}));
      }
    }
  }

  Session& s_;
  const Recipe& r_;
  const std::string device_, other_;
  Tensors states_, kept_;
  std::vector<Value> values_;
};

}  // namespace capture_fuzz
