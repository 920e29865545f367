#include "core/manifest/writer.hpp"

#include <algorithm>
#include <array>

#include "core/base/sha256.hpp"

namespace ost::manifest {
namespace {

json::string text(std::string_view s) {
  return json::string(json::string_view(s.data(), s.size()));
}

template <typename T>
json::array indices(const std::vector<T>& values) {
  json::array out;
  for (const auto v : values) out.push_back(json_uint(v));
  return out;
}

json::array strings(const auto& values) {
  json::array out;
  for (const auto& v : values) out.emplace_back(text(v));
  return out;
}

json::array shape_json(const Shape& shape) {
  json::array out;
  for (const Sym& d : shape) out.emplace_back(text(d.str()));
  return out;
}

// An optional index is left out when there is none.
void put_index(json::object& out, std::string_view key, uint32_t value) {
  if (value != kNoIndex) out[json::string_view(key.data(), key.size())] = value;
}

json::object signature_json(const std::string& name, DType dtype, const Shape& shape,
                            uint32_t device) {
  json::object out;
  out["name"] = text(name);
  out["dtype"] = text(name_of(dtype));
  out["shape"] = shape_json(shape);
  out["device"] = device;
  return out;
}

json::array inputs_json(const Program& p) {
  json::array out;
  for (const InputDesc& i : p.inputs) {
    json::object o = signature_json(i.name, i.dtype, i.shape, i.device);
    if (i.written) o["written"] = true;
    out.push_back(std::move(o));
  }
  return out;
}

json::array outputs_json(const Program& p) {
  json::array out;
  for (const OutputDesc& d : p.outputs) {
    json::object o = signature_json(d.name, d.dtype, d.shape, d.device);
    put_index(o, "buffer", d.buffer);
    out.push_back(std::move(o));
  }
  return out;
}

Result<json::array> constants_json(const Program& p, StoragePlan& storage) {
  json::array out;
  for (std::size_t i = 0; i < p.constants.size(); ++i) {
    const ConstantDesc& c = p.constants[i];
    if (!c.data) return fail(OST_INVALID_ARGUMENT, "/constants/{}: '{}' has no data", i, c.name);
    json::object o = data_to_json(
        *c.data, storage.place(c.data, c.tensor.empty() ? c.name : c.tensor, c.file, c.tensor));
    o["name"] = text(c.name);
    out.push_back(std::move(o));
  }
  return out;
}

json::array states_json(const Program& p, StoragePlan& storage) {
  json::array out;
  for (const StateDesc& s : p.states) {
    json::object o = signature_json(s.name, s.dtype, s.shape, s.device);
    if (s.initial)
      o["initial"] =
          data_to_json(*s.initial, storage.place(s.initial, "initial." + s.name, "", ""));
    out.push_back(std::move(o));
  }
  return out;
}

constexpr std::array<std::string_view, 5> kKinds = {"input", "output", "constant", "state", "temp"};

json::array buffers_json(const Program& p) {
  json::array out;
  for (const BufferDesc& b : p.buffers) {
    json::object o;
    o["kind"] = text(kKinds.at(static_cast<std::size_t>(b.kind)));
    o["device"] = b.device;
    o["dtype"] = text(name_of(b.dtype));
    o["elements"] = text(b.elements.str());
    if (b.kind == BufferKind::temp) {
      o["arena"] = b.arena;
      o["offset"] = json_uint(b.offset);
    } else {
      o["slot"] = b.slot;
    }
    out.push_back(std::move(o));
  }
  return out;
}

json::array kernels_json(const Program& p, std::string_view images) {
  json::array out;
  for (const KernelDesc& k : p.kernels) {
    json::object o;
    o["name"] = text(k.name);
    o["id"] = kir::hash_of(k.kir);
    o["kir"] = strings(kir::to_lines(k.kir));
    json::array variants;
    for (const KernelVariant& v : k.variants) {
      if (images.empty() || v.image.empty()) continue;
      json::object variant;
      variant["driver"] = text(v.driver);
      variant["target"] = text(v.target);
      variant["compiler_key"] = text(v.compiler_key);
      variant["sha256"] = text(v.image_sha256);
      variant["bytes"] = json_uint(v.image.size());
      variant["file"] = fmt::format("{}/{}.img", images, v.image_sha256);
      variants.push_back(std::move(variant));
    }
    if (!variants.empty()) o["variants"] = std::move(variants);
    out.push_back(std::move(o));
  }
  return out;
}

json::array steps_json(const Program& p) {
  json::array out;
  for (const Step& s : p.steps) {
    json::object o;
    o["device"] = s.device;
    o["args"] = indices(s.args);
    o["after"] = indices(s.after);
    if (s.kind == StepKind::launch) {
      o["op"] = "launch";
      o["kernel"] = text(p.kernels.at(s.kernel).name);
      json::array vars;
      for (const uint32_t v : s.vars) vars.emplace_back(text(p.vars.at(v).name));
      if (!vars.empty()) o["vars"] = std::move(vars);
    } else {
      o["op"] = "copy";
    }
    out.push_back(std::move(o));
  }
  return out;
}

json::array groups_json(const Program& p) {
  json::array out;
  for (const Group& g : p.groups) {
    json::object o;
    if (g.kind != GroupKind::other) o["kind"] = text(name_of(g.kind));
    o["ops"] = strings(g.ops);
    if (g.kernel != kNoIndex) o["kernel"] = text(p.kernels.at(g.kernel).name);
    put_index(o, "step", g.step);
    o["why"] = text(g.why);
    o["ended"] = text(g.ended);
    o["bytes_saved"] = text(g.bytes_saved.str());
    if (!g.tiles.empty()) o["tiles"] = strings(g.tiles);
    out.push_back(std::move(o));
  }
  return out;
}

Result<json::array> tests_json(const Document& d, StoragePlan& storage) {
  const auto list = [&](const std::vector<LiteralPtr>& data, std::string_view what,
                        std::size_t test) -> Result<json::array> {
    json::array out;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!data[i]) return fail(OST_INVALID_ARGUMENT, "/tests/{}/{}s/{}: no data", test, what, i);
      out.push_back(data_to_json(
          *data[i], storage.place(data[i], fmt::format("test{}.{}{}", test, what, i), "", "")));
    }
    return out;
  };
  json::array out;
  for (std::size_t t = 0; t < d.tests.size(); ++t) {
    json::object vars;
    for (const auto& [name, value] : d.tests[t].vars) vars[name] = json_int(value);
    json::object o;
    o["vars"] = std::move(vars);
    OST_TRY_ASSIGN(o["inputs"], list(d.tests[t].inputs, "input", t));
    OST_TRY_ASSIGN(o["outputs"], list(d.tests[t].outputs, "output", t));
    out.push_back(std::move(o));
  }
  return out;
}

// Where data is kept is not part of what it is.
void drop_places(json::object& data) {
  for (const char* field : {"data", "file", "tensor"}) data.erase(field);
}

}  // namespace

std::vector<std::string_view> needs_of(const Program& program, uint32_t device) {
  uint32_t used = 0;
  const auto use = [&](DType t) { used |= 1u << static_cast<unsigned>(t); };
  for (const BufferDesc& b : program.buffers)
    if (b.device == device) use(b.dtype);
  for (const Step& s : program.steps)
    if (s.device == device && s.kind == StepKind::launch)
      for (const kir::Inst& inst : program.kernels.at(s.kernel).kir.insts)
        use(static_cast<DType>(inst.dtype));
  std::vector<std::string_view> out;
  for (const DType t : kAllDTypes)
    if (used & (1u << static_cast<unsigned>(t))) out.push_back(name_of(t));
  return out;
}

std::string id_of(const json::object& document) {
  json::object id = document;
  for (const char* field : {"program_id", "provenance", "tests"}) id.erase(field);
  const auto each = [&](const char* key, auto&& change) {
    json::value* list = id.if_contains(key);
    if (!list || !list->is_array()) return;
    for (json::value& v : list->get_array())
      if (v.is_object()) change(v.get_object());
  };
  // "id" stands for the instructions: it is checked against them, and does not depend on how they
  // are spelled.
  each("kernels", [](json::object& k) {
    k.erase("kir");
    k.erase("variants");
  });
  each("constants", drop_places);
  each("states", [](json::object& s) {
    if (json::value* initial = s.if_contains("initial"); initial && initial->is_object())
      drop_places(initial->get_object());
  });
  return sha256_hex(to_canonical(id));
}

Result<json::object> to_json(const Document& document, StoragePlan& storage,
                             std::string_view images) {
  const Program& p = document.program;
  try {
    json::object out;
    out["format"] = "ostinato";
    out["version"] = json::array{kVersionMajor, kVersionMinor};
    out["requires"] = json::array{"kir-1"};
    out["numerics"] = p.numerics == kir::Numerics::strict ? "strict" : "fast";
    json::array devices, vars, arenas, guards;
    for (uint32_t d = 0; d < p.device_count; ++d)
      devices.push_back(json::object{{"needs", strings(needs_of(p, d))}});
    for (const Var& v : p.vars)
      vars.push_back(
          json::object{{"name", text(v.name)}, {"min", json_int(v.min)}, {"max", json_int(v.max)}});
    for (const Arena& a : p.arenas)
      arenas.push_back(json::object{{"device", a.device}, {"bytes", json_uint(a.bytes)}});
    for (const Guard& g : p.guards)
      guards.push_back(json::object{
          {"low", text(g.low.str())}, {"high", text(g.high.str())}, {"why", text(g.why)}});
    out["devices"] = std::move(devices);
    out["vars"] = std::move(vars);
    out["inputs"] = inputs_json(p);
    out["outputs"] = outputs_json(p);
    OST_TRY_ASSIGN(out["constants"], constants_json(p, storage));
    out["states"] = states_json(p, storage);
    out["arenas"] = std::move(arenas);
    out["buffers"] = buffers_json(p);
    out["kernels"] = kernels_json(p, images);
    out["steps"] = steps_json(p);
    out["groups"] = groups_json(p);
    out["guards"] = std::move(guards);
    if (!document.tests.empty()) {
      OST_TRY_ASSIGN(out["tests"], tests_json(document, storage));
    }
    if (!document.provenance.empty()) {
      json::object provenance;
      for (const auto& [key, value] : document.provenance) provenance[key] = value;
      out["provenance"] = std::move(provenance);
    }
    out["program_id"] = id_of(out);
    return out;
  } catch (const std::exception& e) {
    return fail(OST_OUT_OF_MEMORY, "the manifest's text cannot be made: {}", e.what());
  }
}

Result<std::string> program_id(const Program& program) {
  StoragePlan everything_inline;
  OST_TRY_ASSIGN(const json::object document, to_json({program, {}, {}}, everything_inline, ""));
  return std::string(document.at("program_id").as_string());
}

Result<std::string> to_text(const Document& document) {
  OST_TRY(verify(document.program));
  StoragePlan everything_inline;
  OST_TRY_ASSIGN(json::object object, to_json(document, everything_inline, ""));
  return to_pretty(std::move(object));
}

}  // namespace ost::manifest
