#include "core/codegen/staging.hpp"

namespace ost::codegen {

bool are_whole_tiles(const Evaluator& e, const std::vector<Value>& axes, int64_t tile) {
  int64_t points = 1;
  for (const Value axis : axes) {
    const kir::Range r = e.extent_range(axis);
    if (r.lo != r.hi || r.hi < 1 || r.hi > (int64_t{1} << 31) || points > (int64_t{1} << 31))
      return false;
    points *= r.hi;
  }
  return points % tile == 0;
}

Staging::Staging(Evaluator& e, const StagingShape& shape, Value operand, Value axis)
    : e_(e), b_(e.builder()), shape_(shape), operand_(operand), axis_(axis) {
  const kir::Range range = e.extent_range(axis);
  whole_ = range.lo == range.hi && range.hi % shape.visited == 0;
}

// Element n of a block is brought by lane n mod lanes: neighbouring lanes take neighbouring points
// where these are neighbours in memory, else neighbouring steps.
void Staging::begin(const TileSide& side) {
  const Strides strides(e_.kernel(), e_.scope());
  const bool along_steps = side.axes.empty() || !strides.unit(operand_, side.axes.back());
  const int64_t fast = along_steps ? shape_.steps : shape_.size;
  axes_ = side.axes;
  elements_.clear();
  for (int64_t q = 0; q < shape_.size * shape_.steps / shape_.lanes; ++q) {
    Value inner = kNone, outer = kNone;
    if (shape_.lanes % fast == 0) {
      inner = b_.rem(b_.lane(), b_.i64(fast));
      outer = b_.add(b_.div(b_.lane(), b_.i64(fast)), b_.i64(q * (shape_.lanes / fast)));
    } else {
      const Value at = b_.add(b_.lane(), b_.i64(q * shape_.lanes));
      inner = b_.rem(at, b_.i64(fast));
      outer = b_.div(at, b_.i64(fast));
    }
    const Value x = along_steps ? outer : inner;
    Value point = b_.add(side.first, x);
    if (!side.whole) point = b_.min(point, b_.sub(side.count, b_.i64(1)));
    Element element;
    element.digits = e_.digits(point, axes_);
    element.step = along_steps ? inner : outer;
    element.place = b_.add(b_.mul(element.step, b_.i64(shape_.pitch)), x);
    elements_.push_back(std::move(element));
  }
}

std::vector<Value> Staging::fetch(Value first_step) {
  const Value count = e_.count(axis_);
  std::vector<Value> out;
  for (const Element& element : elements_) {
    e_.afresh([&] {
      Value step = b_.add(first_step, element.step), exists = kNone;
      if (!whole_) {
        exists = b_.compare(Op::lt, step, count);
        step = b_.min(step, b_.sub(count, b_.i64(1)));
      }
      e_.bind(axes_, element.digits);
      e_.bind(axis_, step);
      Value x = e_.value(operand_);
      if (exists != kNone) x = b_.where(exists, x, b_.constant(b_.dtype(x), shape_.beyond));
      out.push_back(x);
    });
  }
  return out;
}

void Staging::keep(const std::vector<Value>& values, Value memory, Value base) {
  for (size_t q = 0; q < values.size(); ++q)
    b_.store(memory, b_.add(base, elements_[q].place), values[q]);
}

}  // namespace ost::codegen
