// JSON document -> Program, section by section. What is checked here is the form of each field;
// what the fields mean together is verify()'s.
#pragma once

#include "core/manifest/manifest.hpp"
#include "core/manifest/storage.hpp"

namespace ost::manifest {

class Loader {
 public:
  Loader(const json::value& document, DataSource& data, const LoadOptions& options)
      : root_(document), data_(data), options_(options) {}

  Result<Document> load();

 private:
  Result<> header();
  Result<> known_fields() const;
  Result<> identity() const;
  Result<> vars();
  Result<> inputs();
  Result<> outputs();
  Result<> constants();
  Result<> states();
  Result<> arenas();
  Result<> buffers();
  Result<> kernels();
  Result<> kernel_variants(const Cursor& at, KernelDesc& kernel);
  Result<> steps();
  Result<> groups();
  Result<> guards();
  Result<> tests();
  template <typename T>  // InputDesc, OutputDesc
  Result<> test_data(const Cursor& at, std::string_view key, const std::vector<T>& signature,
                     const Bindings& vars, std::vector<LiteralPtr>& out);
  Result<> provenance();
  Result<> devices() const;

  // Members of a list at the top; `known` fields only, unless the file is of a newer minor version.
  Result<std::vector<Cursor>> list(std::string_view key,
                                   std::span<const std::string_view> known) const;
  Result<> only(const Cursor& at, std::span<const std::string_view> known) const;
  Result<std::string> name(const Cursor& at, std::string_view key = "name") const;
  Result<uint32_t> device(const Cursor& at) const;
  Result<uint32_t> kernel_named(const Cursor& at) const;
  Result<std::vector<uint32_t>> index_list(const Cursor& at, uint64_t count,
                                           std::string_view what) const;
  // name, dtype, shape and device of an input, output or state.
  template <typename T>
  Result<> signature(const Cursor& at, T& out) const;

  Cursor root_;
  DataSource& data_;
  const LoadOptions& options_;
  Document document_;
  bool newer_minor_ = false;
};

}  // namespace ost::manifest
