// Subscripts: x[i], x[a:b:c], x[..., none], with sizes as bounds; an integer tensor gathers.
#include "core/dsl/emitter.hpp"

namespace ost::dsl {
Result<std::optional<Sym>> Emitter::bound(const ExprPtr& expr) {
  if (!expr) return std::nullopt;
  OST_TRY_ASSIGN(const Value value, eval(*expr));
  if (value.as<None>()) return std::nullopt;
  const auto size = as_size(value);
  if (!size)
    return source.fail(expr->position, "wanted an integer or a variable as slice bound, found {}",
                       describe(graph, value));
  return size;
}

Result<Value> Emitter::index(const Expr& expr) {
  OST_TRY_ASSIGN(const Value object, eval(*expr.args[0]));
  if (const Tuple* tuple = object.as<Tuple>()) return index_tuple(expr, *tuple);
  if (!object.as<Tensor>())
    return source.fail(expr.position, "{} has no elements to select", describe(graph, object));
  return index_tensor(expr, object.as<Tensor>()->id);
}

Result<Value> Emitter::index_tuple(const Expr& expr, const Tuple& tuple) {
  if (expr.items.size() != 1 || expr.items[0].kind != Expr::Item::Kind::index)
    return source.fail(expr.position, "wanted one integer as index of a tuple");
  OST_TRY_ASSIGN(const Value at, eval(*expr.items[0].index));
  const Number* number = at.as<Number>();
  if (!number || !number->is_int)
    return source.fail(at.position, "wanted an integer, found {}", describe(graph, at));
  const auto count = static_cast<int64_t>(tuple.size());
  if (number->whole < -count || number->whole >= count)
    return source.fail(at.position, "index {} is out of range for a tuple of {}", number->whole,
                       count);
  return tuple[static_cast<size_t>(number->whole < 0 ? number->whole + count : number->whole)];
}

namespace {

// x[i] as the slice of one element; `i` must be inside for all values of its variables.
Result<ir::Slice> single(const Source& source, const Value& at, const Sym& i, const Sym& size) {
  const Sym from_start = i.upper() < 0 ? i + size : i;
  if (from_start.is_const() && size.is_const() &&
      (from_start.lower() < 0 || from_start.lower() >= size.lower()))
    return source.fail(at.position, "index {} is out of range for an axis of size {}", i.str(),
                       size.str());
  if (from_start.lower() < 0 || !provably_lt(from_start, size))
    return source.fail(at.position,
                       "index {} is not provably inside of an axis of size {}; tighten the bounds "
                       "of its variables",
                       i.str(), size.str());
  return ir::Slice{from_start, from_start + 1, 1};
}

}  // namespace

Result<Value> Emitter::index_tensor(const Expr& expr, ir::NodeId x) {
  using Kind = Expr::Item::Kind;
  const Shape shape = graph.node(x).shape;
  std::vector<std::optional<Value>> values;
  size_t axes = 0, ellipses = 0;
  for (const Expr::Item& item : expr.items) {
    std::optional<Value> value;
    if (item.kind == Kind::index) {
      OST_TRY_ASSIGN(value, eval(*item.index));
    }
    ellipses += item.kind == Kind::ellipsis;
    axes += item.kind == Kind::slice || (value && !value->as<None>());
    values.push_back(std::move(value));
  }
  if (expr.items.size() == 1 && values[0] && values[0]->as<Tensor>())
    return take(expr, x, *values[0]);
  if (ellipses > 1) return source.fail(expr.position, "more than one '...'");
  if (axes > shape.size())
    return source.fail(expr.position, "{} indices for {}{}, which has {} axes", axes,
                       name_of(graph.node(x).dtype), to_string(shape), shape.size());

  std::vector<ir::Slice> slices;
  enum class Fate : uint8_t { keep, drop, insert };
  std::vector<Fate> fates;
  for (size_t i = 0; i < expr.items.size(); ++i) {
    const Expr::Item& item = expr.items[i];
    if (item.kind == Kind::ellipsis) {
      slices.resize(slices.size() + shape.size() - axes);
      fates.insert(fates.end(), shape.size() - axes, Fate::keep);
    } else if (item.kind == Kind::slice) {
      ir::Slice slice;
      OST_TRY_ASSIGN(slice.start, bound(item.start));
      OST_TRY_ASSIGN(slice.stop, bound(item.stop));
      OST_TRY_ASSIGN(const auto step, bound(item.step));
      if (step && !step->constant())
        return source.fail(item.step->position, "a step must be a constant, found {}", step->str());
      slice.step = step ? *step->constant() : 1;
      if (slice.step == 0) return source.fail(item.step->position, "a step must not be 0");
      slices.push_back(std::move(slice));
      fates.push_back(Fate::keep);
    } else if (values[i]->as<None>()) {
      fates.push_back(Fate::insert);
    } else if (const auto at = as_size(*values[i])) {
      OST_TRY_ASSIGN(ir::Slice slice, single(source, *values[i], *at, shape[slices.size()]));
      slices.push_back(std::move(slice));
      fates.push_back(Fate::drop);
    } else {
      return source.fail(values[i]->position,
                         "wanted an integer, a slice, none or '...' as index, found {}",
                         describe(graph, *values[i]));
    }
  }

  OST_TRY_ASSIGN(const Value sliced, done(expr.position, ir::slice(graph, x, slices)));
  const ir::NodeId part = sliced.as<Tensor>()->id;
  const Shape& kept = graph.node(part).shape;
  Shape result;
  size_t axis = 0;
  for (const Fate fate : fates) {
    if (fate == Fate::insert) result.push_back(1);
    if (fate == Fate::keep) result.push_back(kept[axis]);
    if (fate != Fate::insert) ++axis;
  }
  result.insert(result.end(), kept.begin() + static_cast<ptrdiff_t>(axis), kept.end());
  return done(expr.position, ir::reshape(graph, part, std::move(result)));
}

Result<Value> Emitter::take(const Expr& expr, ir::NodeId x, const Value& at) {
  const ir::NodeId index = at.as<Tensor>()->id;
  if (graph.node(index).dtype == DType::boolean)
    return source.fail(
        at.position,
        "a bool mask selects a number of elements that is not known here; use where(mask, x, 0)");
  return done(expr.position, ir::gather(graph, x, index, 0));
}

}  // namespace ost::dsl
