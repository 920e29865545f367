// L0: what holds before and around a device: negotiation, the table, device_info, the compiler, and
// that what is wrong is refused with words.
#include <boost/dll/shared_library.hpp>
#include <cstring>
#include <thread>

#include "core/kir/kernel.hpp"
#include "core/runtime/call.hpp"
#include "core/runtime/ref_driver.hpp"
#include "elf_exports.hpp"
#include "lab.hpp"

namespace ost::conform {
namespace {

Check opens(Lab& lab) {
  if (lab.device_ptr()) return {};
  if ((lab.info().flags & OST_DEVICE_COMPILE_ONLY) != 0)
    return unsupported("the device only compiles: {}", lab.why_no_device());
  return failed("{}", lab.why_no_device());
}

// --- negotiation

Result<ost_plugin_negotiate_fn> negotiate_of(Lab& lab) {
  const std::string& library = lab.driver()->plugin().library;
  if (library.empty()) return &runtime::ref_negotiate;
  try {
    boost::dll::shared_library l(library, boost::dll::load_mode::rtld_now);
    auto* entry = &l.get<ost_status_t(const ost_negotiate_in_t*, ost_negotiate_out_t*)>(
        OST_PLUGIN_ENTRY_NAME);
    return entry;  // the loader keeps the library open
  } catch (const std::exception& e) {
    return fail(OST_INTERNAL, "{}", e.what());
  }
}

ost_negotiate_out_t ask(ost_plugin_negotiate_fn negotiate, uint32_t low, uint32_t high,
                        ost_status_t* status) {
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  const ost_negotiate_in_t in{sizeof in, low, high, 0};
  *status = negotiate(&in, &out);
  return out;
}

Check negotiates_again(Lab& lab) {
  OST_TRY_ASSIGN(const auto negotiate, negotiate_of(lab));
  ost_status_t status = OST_OK;
  const ost_negotiate_out_t first =
      ask(negotiate, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, &status);
  for (int i = 0; i < 3; ++i) {
    const ost_negotiate_out_t again =
        ask(negotiate, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, &status);
    CONFORM_EXPECT(status == OST_OK, "ost_plugin_negotiate fails when called again (rule 12)");
    CONFORM_EXPECT(std::memcmp(&first, &again, sizeof first) == 0,
                   "ost_plugin_negotiate does not answer the same twice (rule 12)");
  }
  return {};
}

Check refuses_other_abis(Lab& lab) {
  OST_TRY_ASSIGN(const auto negotiate, negotiate_of(lab));
  for (const auto& [low, high] : {std::pair{0x7fff0000u, 0x7fff0001u}, {0x1u, 0x2u}}) {
    ost_status_t status = OST_OK;
    const ost_negotiate_out_t out = ask(negotiate, low, high, &status);
    CONFORM_EXPECT(status != OST_OK && out.abi == 0,
                   "a host with ABI {:#x} to {:#x} is accepted (rule 15)", low, high);
    CONFORM_EXPECT(out.reason[0] != '\0',
                   "a host with ABI {:#x} to {:#x} is refused without a reason (rule 15)", low,
                   high);
  }
  return {};
}

Check picks_from_a_range(Lab& lab) {
  OST_TRY_ASSIGN(const auto negotiate, negotiate_of(lab));
  ost_status_t status = OST_OK;
  const ost_negotiate_out_t out = ask(negotiate, 0x00010000u, 0x7fffffffu, &status);
  CONFORM_EXPECT(status == OST_OK && (out.abi >> 16) >= 1,
                 "a host with ABI 1.0 and everything later is refused: {} (rule 15)", out.reason);
  return {};
}

Check checks_sizes_of_negotiation(Lab& lab) {
  OST_TRY_ASSIGN(const auto negotiate, negotiate_of(lab));
  struct {
    ost_negotiate_in_t in;
    uint32_t tail[4];
  } longer{{sizeof longer, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0}, {}};
  ost_negotiate_out_t out{};
  out.size = sizeof out;
  CONFORM_EXPECT(negotiate(&longer.in, &out) == OST_OK,
                 "a longer ost_negotiate_in_t with a tail of zeros is refused (rule 2)");
  longer.tail[2] = 1;
  out = {};
  out.size = sizeof out;
  CONFORM_EXPECT(negotiate(&longer.in, &out) != OST_OK,
                 "a field that the plugin cannot know is set, and it is accepted (rule 2)");
  const ost_negotiate_in_t cut{8, OST_PLUGIN_ABI_VERSION, OST_PLUGIN_ABI_VERSION, 0};
  CONFORM_EXPECT(negotiate(&cut, &out) != OST_OK,
                 "an ost_negotiate_in_t of 8 bytes is accepted (rule 2)");
  return {};
}

Check exports_one_symbol(Lab& lab) {
  const std::string& library = lab.driver()->plugin().library;
  if (library.empty()) return unsupported("the driver is built in");
  OST_TRY_ASSIGN(const auto symbols, exported_symbols(library));
  std::string others;
  for (const std::string& symbol : symbols) {
    // A sanitizer needs some of its own to be seen.
    const bool tool = symbol.starts_with("__asan") || symbol.starts_with("__tsan") ||
                      symbol.starts_with("__ubsan") || symbol.starts_with("__odr_asan");
    if (symbol != OST_PLUGIN_ENTRY_NAME && !tool) others += " " + symbol;
  }
  CONFORM_EXPECT(others.empty(), "exports more than {}:{} (rule 14; build with hidden visibility)",
                 OST_PLUGIN_ENTRY_NAME, others.substr(0, 300));
  return {};
}

// --- devices

Check info_is_stable(Lab& lab) {
  const auto& t = lab.table();
  for (int i = 0; i < 2; ++i) {
    ost_device_info_t info{};
    info.size = sizeof info;
    OST_TRY(lab.call("device_info", [&](ost_error_t* e) {
      return t.device_info(lab.driver()->handle(), lab.index(), &info, e);
    }));
    CONFORM_EXPECT(std::memcmp(&info, &lab.info(), sizeof info) == 0,
                   "device_info does not answer the same twice");
  }
  return {};
}

Check info_makes_sense(Lab& lab) {
  const ost_device_info_t& info = lab.info();
  CONFORM_EXPECT(info.kind >= OST_DEVICE_KIND_CPU && info.kind <= OST_DEVICE_KIND_REFERENCE,
                 "kind {} is not known (rule 1)", info.kind);
  CONFORM_EXPECT(info.name[0] != '\0', "the device has no name");
  CONFORM_EXPECT(info.target[0] != '\0', "the device has no target key (rule 9)");
  for (uint32_t i = 0; i < info.form_count; ++i) {
    CONFORM_EXPECT(codegen::form_name(info.forms[i]) != "unknown form",
                   "form {} is not known (rule 1)", info.forms[i]);
  }
  constexpr uint32_t kKnown = (2u << OST_DTYPE_F64) - 2;
  CONFORM_EXPECT((info.dtypes & ~kKnown) == 0, "dtypes has unknown bits: {:#x} (rule 1)",
                 info.dtypes & ~kKnown);
  CONFORM_EXPECT(info.dtypes != 0, "the device declares no element type");
  const bool runs = (info.flags & OST_DEVICE_COMPILE_ONLY) == 0;
  CONFORM_EXPECT(!runs || info.max_alloc != 0, "max_alloc is 0, wanted the largest buffer");
  for (const uint32_t r : info.reserved)
    CONFORM_EXPECT(r == 0, "a reserved field is not 0 (rule 2)");
  return {};
}

Check info_checks_arguments(Lab& lab) {
  const auto& t = lab.table();
  ost_device_info_t info{};
  info.size = 8;
  ost_error_t error{};
  error.size = sizeof error;
  CONFORM_EXPECT(t.device_info(lab.driver()->handle(), lab.index(), &info, &error) != OST_OK,
                 "an ost_device_info_t of 8 bytes is accepted (rule 2)");
  info.size = sizeof info;
  error.message[0] = '\0';
  const uint32_t count = static_cast<uint32_t>(lab.driver()->devices().size());
  CONFORM_EXPECT(t.device_info(lab.driver()->handle(), count, &info, &error) != OST_OK,
                 "device_info has device {} of {}", count, count);
  CONFORM_EXPECT(error.message[0] != '\0', "the error of device_info has no message");
  CONFORM_EXPECT(std::memchr(error.message, 0, sizeof error.message) != nullptr,
                 "the message of an error has no end (rule 5)");
  CONFORM_EXPECT(t.device_info(lab.driver()->handle(), count, &info, nullptr) != OST_OK,
                 "device_info without an ost_error_t succeeds where it should fail");
  return {};
}

Check destroys_null(Lab& lab) {
  const auto& t = lab.table();
  t.driver_destroy(nullptr);
  t.device_destroy(nullptr);
  t.queue_destroy(nullptr);
  t.timeline_destroy(nullptr);
  t.executable_unload(nullptr);
  t.cmdlist_destroy(nullptr);
  if (lab.device_ptr()) t.buffer_free(lab.device().handle(), nullptr);
  return {};
}

Check opens_again(Lab& lab) {
  if (!lab.device_ptr()) return unsupported("the device does not open");
  const auto& t = lab.table();
  for (int i = 0; i < 3; ++i) {
    ost_device_t* second = nullptr;
    const auto made = lab.call("device_create", [&](ost_error_t* e) {
      return t.device_create(lab.driver()->handle(), lab.index(), &second, e);
    });
    if (!made && made.error().status == OST_BUSY)
      return unsupported("one device at a time: {}", made.error().message);
    OST_TRY(made);
    OST_TRY(lab.call("device_status", [&](ost_error_t* e) { return t.device_status(second, e); }));
    t.device_destroy(second);
  }
  return {};
}

Check unknown_extension(Lab& lab) {
  const char kName[] = "ostinato.there_is_no_such_thing";
  CONFORM_EXPECT(
      lab.table().get_extension(lab.driver()->handle(), {kName, sizeof kName - 1}, 1) == nullptr,
      "get_extension has \"{}\" (rule 10)", kName);
  return {};
}

// --- the compiler

Result<runtime::Recipe> small_recipe(Lab& lab) {
  OST_TRY_ASSIGN(const kir::Kernel kernel, Lab::small_kernel());
  return runtime::recipe_for(kernel, *lab.driver(), lab.info());
}

Check has_a_form(Lab& lab) {
  OST_TRY(small_recipe(lab));
  return {};
}

Check compiler_key_is_stable(Lab& lab) {
  OST_TRY_ASSIGN(const std::string first, lab.driver()->compiler_key(lab.info().target));
  CONFORM_EXPECT(!first.empty(), "the compiler key is empty (rule 9)");
  OST_TRY_ASSIGN(const std::string second, lab.driver()->compiler_key(lab.info().target));
  CONFORM_EXPECT(first == second, "the compiler key was \"{}\" and is \"{}\" (rule 9)", first,
                 second);
  return {};
}

Check compiles_the_same(Lab& lab) {
  OST_TRY_ASSIGN(const runtime::Recipe recipe, small_recipe(lab));
  OST_TRY_ASSIGN(const Bytes first, runtime::compile(recipe, *lab.driver()));
  std::vector<Result<Bytes>> images(4, Bytes{});
  {
    std::vector<std::jthread> threads;
    for (auto& image : images)
      threads.emplace_back([&] { image = runtime::compile(recipe, *lab.driver()); });
  }
  for (const auto& image : images) {
    OST_TRY(image);
    CONFORM_EXPECT(*image == first, "equal jobs give images that differ: {} and {} bytes (rule 9)",
                   first.size(), image->size());
  }
  return {};
}

Check checks_sizes_of_compile(Lab& lab) {
  OST_TRY_ASSIGN(const runtime::Recipe recipe, small_recipe(lab));
  struct {
    ost_compile_t job;
    uint64_t tail[2];
  } longer{};
  runtime::Collect<Bytes> image;
  runtime::Collect<std::string> messages;
  ost_compile_t& job = longer.job;
  job.size = sizeof longer;
  job.form = recipe.form;
  job.code = {recipe.code.data(), recipe.code.size()};
  job.entry = runtime::str(recipe.entry);
  job.target = runtime::str(recipe.target);
  job.options = runtime::str(recipe.options);
  job.image = image.sink();
  job.log = messages.sink();
  const auto compile = [&] {
    return lab.call("compile", [&](ost_error_t* e) {
      return lab.table().compile(lab.driver()->handle(), &job, e);
    });
  };
  if (const auto ok = compile(); !ok)
    return failed("a longer ost_compile_t with a tail of zeros is refused (rule 2): {}",
                  ok.error().message);
  CONFORM_EXPECT(!image.take().empty(), "compile succeeds and writes no image");
  longer.tail[1] = 1;
  const auto unknown = compile();
  CONFORM_EXPECT(!unknown,
                 "a field that the plugin cannot know is set, and compile accepts it "
                 "(rule 2)");
  CONFORM_EXPECT(unknown.error().status == OST_INCOMPATIBLE,
                 "an unknown field of ost_compile_t: found {}, wanted {} (rule 2)",
                 status_name(unknown.error().status), status_name(OST_INCOMPATIBLE));
  job.size = sizeof job - 8;
  CONFORM_EXPECT(!compile(), "an ost_compile_t that is too short is accepted (rule 2)");
  return {};
}

Check compile_refuses(Lab& lab) {
  OST_TRY_ASSIGN(const runtime::Recipe good, small_recipe(lab));
  const auto refused = [&](const char* what, const runtime::Recipe& recipe) -> Check {
    const auto image = runtime::compile(recipe, *lab.driver());
    CONFORM_EXPECT(!image, "compile accepts {}", what);
    return {};
  };
  runtime::Recipe bad = good;
  bad.code = {'?', '!', '#', 0, 7};
  OST_TRY(refused("five bytes of nonsense", bad));
  bad = good;
  bad.form = 4711;
  OST_TRY(refused("form 4711 (rule 1)", bad));
  bad = good;
  bad.target = "no such target";
  return refused("the target \"no such target\"", bad);
}

Check judges_images(Lab& lab) {
  OST_TRY_ASSIGN(const runtime::Recipe recipe, small_recipe(lab));
  OST_TRY_ASSIGN(const Bytes image, runtime::compile(recipe, *lab.driver()));
  OST_TRY_ASSIGN(const runtime::Fit fit, lab.driver()->image_check(lab.info(), image));
  CONFORM_EXPECT(fit.fit == OST_FIT_OPTIMAL, "an image for this very device is not OPTIMAL: {}",
                 fit.reason);
  Bytes flipped = image;
  flipped[0] ^= 0xff;
  const std::pair<const char*, Bytes> damaged[] = {
      {"an empty image", {}},
      {"an image with another first byte", flipped},
      {"half an image",
       Bytes(image.begin(), image.begin() + static_cast<int64_t>(image.size() / 2))}};
  for (const auto& [what, bytes] : damaged) {
    auto verdict = lab.driver()->image_check(lab.info(), bytes);
    if (!verdict)
      return failed("{} is an error, wanted UNUSABLE: {}", what, verdict.error().message);
    CONFORM_EXPECT(verdict->fit == OST_FIT_UNUSABLE, "{} is not UNUSABLE", what);
    CONFORM_EXPECT(!verdict->reason.empty(), "{} is UNUSABLE without a reason", what);
    if (!lab.device_ptr()) continue;
    CONFORM_EXPECT(!lab.device().load(bytes, "", recipe.entry), "executable_load takes {}", what);
  }
  if (lab.device_ptr()) {
    const auto other = lab.device().load(image, "", "no_such_entry");
    CONFORM_EXPECT(!other && other.error().status == OST_NOT_FOUND,
                   "executable_entry for \"no_such_entry\" is not OST_NOT_FOUND");
  }
  return {};
}

}  // namespace

void add_load_cases(std::vector<Case>& out) {
  const std::pair<const char*, Check (*)(Lab&)> kCases[] = {
      {"opens", opens},
      {"negotiate.repeat", negotiates_again},
      {"negotiate.other_abi", refuses_other_abis},
      {"negotiate.range", picks_from_a_range},
      {"negotiate.sizes", checks_sizes_of_negotiation},
      {"exports", exports_one_symbol},
      {"device_info.stable", info_is_stable},
      {"device_info.fields", info_makes_sense},
      {"device_info.arguments", info_checks_arguments},
      {"destroy_null", destroys_null},
      {"device.again", opens_again},
      {"extension.unknown", unknown_extension},
      {"compile.form", has_a_form},
      {"compile.key", compiler_key_is_stable},
      {"compile.deterministic", compiles_the_same},
      {"compile.sizes", checks_sizes_of_compile},
      {"compile.refuses", compile_refuses},
      {"image_check", judges_images},
  };
  for (const auto& [name, run] : kCases) out.push_back({0, name, "", run});
}

}  // namespace ost::conform
