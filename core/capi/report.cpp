// Reports about programs, and programs with compiled kernels in them.
#include <fmt/ranges.h>

#include "core/capi/explain.hpp"
#include "core/capi/handles.hpp"
#include "core/manifest/diff.hpp"
#include "core/manifest/inspect.hpp"
#include "core/runtime/target.hpp"

using namespace ost;
using namespace ost::capi;

namespace {

std::unexpected<Error> wrong_format(uint32_t format) {
  return fail(OST_INVALID_ARGUMENT, "this report has no format {} (OST_FORMAT_*)", format);
}

Result<std::string> inspect(const manifest::Document& d, uint32_t format) {
  switch (format) {
    case OST_FORMAT_TEXT:
      return manifest::inspect_text(d);
    case OST_FORMAT_KIR:
      return manifest::inspect_text(d, true);
    case OST_FORMAT_DOT:
      return manifest::inspect_dot(d.program);
    case OST_FORMAT_HTML:
      return manifest::inspect_html(d);
    case OST_FORMAT_MANIFEST:
      return manifest::to_text(d);
    case OST_FORMAT_JSON: {
      boost::json::object object = manifest::inspect_json(d);
      object["schema_version"] = 1;
      return manifest::to_pretty(object);
    }
    default:
      return wrong_format(format);
  }
}

Result<> link_kernel(KernelDesc& kernel, runtime::Compiler& compiler,
                     const runtime::Target& target) {
  auto made = compiler.make_variant(kernel, *target.driver, target.info);
  if (!made)
    return std::unexpected(
        made.error().in(fmt::format("kernel '{}' for {}", kernel.name, target.info.target)));
  std::erase_if(kernel.variants, [&](const KernelVariant& v) {
    return v.driver == made->driver && v.target == made->target &&
           v.compiler_key == made->compiler_key;
  });
  kernel.variants.push_back(std::move(*made));
  return {};
}

}  // namespace

extern "C" {

ost_status_t ost_program_inspect(const ost_program_t* program, uint32_t format,
                                 const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    OST_TRY_ASSIGN(const std::string text, inspect(program->state->document, format));
    return write_text(sink, text);
  });
}

ost_status_t ost_program_explain(const ost_program_t* program, uint32_t format,
                                 const ost_sink_t* sink, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(program, "program"));
    const Program& p = program->state->document.program;
    if (format == OST_FORMAT_TEXT) return write_text(sink, explain_text(p));
    if (format == OST_FORMAT_JSON) return write_text(sink, manifest::to_pretty(explain_json(p)));
    return wrong_format(format);
  });
}

ost_status_t ost_program_diff(const ost_program_t* a, const ost_program_t* b, uint32_t format,
                              const ost_sink_t* sink, uint32_t* out_count, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(a, "a"));
    OST_TRY(require(b, "b"));
    OST_TRY(require(out_count, "out_count"));
    const auto differences = manifest::diff(a->state->document.program, b->state->document.program);
    if (format == OST_FORMAT_JSON) {
      const boost::json::object object{{"schema_version", 1},
                                       {"equal", differences.empty()},
                                       {"a", a->state->id},
                                       {"b", b->state->id},
                                       {"differences", manifest::diff_json(differences)}};
      OST_TRY(write_text(sink, manifest::to_pretty(object)));
    } else if (format == OST_FORMAT_TEXT) {
      OST_TRY(write_text(sink, manifest::diff_text(differences)));
    } else {
      return wrong_format(format);
    }
    *out_count = static_cast<uint32_t>(differences.size());
    return {};
  });
}

ost_status_t ost_program_link(const ost_program_t* program, ost_context_t* context,
                              const char* const* targets, uint32_t target_count,
                              ost_program_t** out_program, ost_error_t* error) {
  return guard(error, [&]() -> Result<> {
    OST_TRY(require(out_program, "out_program"));
    *out_program = nullptr;
    OST_TRY(require(program, "program"));
    OST_TRY(require(context, "context"));
    OST_TRY_ASSIGN(const auto names, list(targets, target_count, "targets"));
    manifest::Document document = program->state->document;
    for (const char* name : names) {
      OST_TRY(require(name, "a target"));
      OST_TRY_ASSIGN(const auto target, runtime::find_target(*context->state->registry, name));
      for (KernelDesc& k : document.program.kernels)
        OST_TRY(link_kernel(k, *context->state->compiler, target));
    }
    OST_TRY_ASSIGN(auto state, ProgramState::make(std::move(document)));
    *out_program = new ost_program_t{1, std::move(state)};
    return {};
  });
}

}  // extern "C"
