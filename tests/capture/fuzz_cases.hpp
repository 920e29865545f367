// Programs with calls and their results, handed to another process in one file.
#pragma once

#include <cstring>
#include <fstream>
#include <ostinato/ostinato.hpp>

namespace capture_fuzz {

struct CaseCall {
  ostinato::VarValues vars;
  std::vector<ostinato::Array> inputs, outputs, written;  // `written`: the inputs after the call
};
struct Case {
  uint64_t number = 0;
  std::string manifest;
  std::vector<CaseCall> calls;
};

// NaNs have no specified payload: one stands for all.
inline ostinato::Array canonical(ostinato::Array a) {
  if (a.dtype != OST_DTYPE_F32) return a;
  for (size_t i = 0; i + 4 <= a.bytes.size(); i += 4) {
    uint32_t bits;
    std::memcpy(&bits, a.bytes.data() + i, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) bits = 0x7fc00000;
    std::memcpy(a.bytes.data() + i, &bits, 4);
  }
  return a;
}

class CaseWriter {
 public:
  explicit CaseWriter(const std::string& path) : out_(path, std::ios::binary) {}
  void add(const Case& c) {
    number(1);
    number(c.number);
    text(c.manifest);
    number(c.calls.size());
    for (const CaseCall& call : c.calls) {
      number(call.vars.size());
      for (const auto& v : call.vars) {
        text(v.name);
        number(static_cast<uint64_t>(v.value));
      }
      for (const auto* list : {&call.inputs, &call.outputs, &call.written}) {
        number(list->size());
        for (const ostinato::Array& a : *list) array(a);
      }
    }
  }
  bool finish() {
    number(0);
    out_.close();
    return out_.good();
  }

 private:
  void number(uint64_t v) { out_.write(reinterpret_cast<const char*>(&v), 8); }
  void text(const std::string& s) {
    number(s.size());
    out_.write(s.data(), static_cast<std::streamsize>(s.size()));
  }
  void array(const ostinato::Array& a) {
    number(a.dtype);
    number(a.shape.size());
    for (const int64_t d : a.shape) number(static_cast<uint64_t>(d));
    text(std::string(a.bytes.begin(), a.bytes.end()));
  }
  std::ofstream out_;
};

class CaseReader {
 public:
  explicit CaseReader(const std::string& path) : in_(path, std::ios::binary) {}
  // False at the end.
  bool next(Case& c) {
    if (number() == 0 || !in_) return false;
    c = {};
    c.number = number();
    c.manifest = text();
    c.calls.resize(number());
    for (CaseCall& call : c.calls) {
      call.vars.resize(number());
      for (auto& v : call.vars) {
        v.name = text();
        v.value = static_cast<int64_t>(number());
      }
      for (auto* list : {&call.inputs, &call.outputs, &call.written}) {
        list->resize(number());
        for (ostinato::Array& a : *list) a = array();
      }
    }
    return true;
  }

 private:
  uint64_t number() {
    uint64_t v = 0;
    in_.read(reinterpret_cast<char*>(&v), 8);
    return v;
  }
  std::string text() {
    std::string s(number(), '\0');
    in_.read(s.data(), static_cast<std::streamsize>(s.size()));
    return s;
  }
  ostinato::Array array() {
    ostinato::Array a;
    a.dtype = static_cast<ost_dtype_t>(number());
    a.shape.resize(number());
    for (int64_t& d : a.shape) d = static_cast<int64_t>(number());
    const std::string bytes = text();
    a.bytes.assign(bytes.begin(), bytes.end());
    return a;
  }
  std::ifstream in_;
};

}  // namespace capture_fuzz
