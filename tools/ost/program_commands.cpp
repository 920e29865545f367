// verify, inspect, explain, diff, link: the commands that look at a program.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "interrupt.hpp"
#include "json.hpp"
#include "subject.hpp"

namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void write_file(const std::string& path, const std::string& text) {
  check_interrupt();
  if (path == "-") return print(text);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Failure(kBadInput, fmt::format("{}: cannot be written", path));
}

std::string bits_text(std::uint64_t bits, ost_dtype_t dtype) {
  return fmt::format("0x{:0{}x}", bits, 2 * ost_dtype_bytes(dtype));
}

Json difference_json(const ost_difference_t& d) {
  if (d.equal != 0) return Json();
  Json j = Json::object();
  j.add("kernel", d.kernel).add("op", d.op).add("index", d.index);
  j.add("bits",
        Json::array().add(bits_text(d.bits[0], d.dtype)).add(bits_text(d.bits[1], d.dtype)));
  j.add("ulp", d.ulp)
      .add("dtype", ost_dtype_text(d.dtype))
      .add("buffer", d.buffer)
      .add("different", d.different);
  j.add("step", d.step == UINT32_MAX ? Json() : Json(d.step));
  return j;
}

}  // namespace

int run_verify(const Options& options) {
  InputFiles files;
  const auto names = split_list(options.devices);
  if (names.size() != 2) {
    throw Failure(kUsage,
                  fmt::format("--devices {}: {} devices found, two wanted, as in ref:0,cpu:0",
                              options.devices, names.size()));
  }
  const ostinato::Program program = load_manifest(options, options.subject);
  const ostinato::Context context = make_context(options);
  const std::string a = open_device(context, names[0]), b = open_device(context, names[1]);
  CallData data = call_data(options, program, files);
  const auto d = ostinato::verify(context, program, {a}, {b}, data.inputs, data.vars);
  if (options.json) {
    Json j = answer();
    j.add("program_id", program.id()).add("devices", Json::array().add(a).add(b));
    j.add("equal", d.equal != 0)
        .add("kernels", d.compared)
        .add("first_difference", difference_json(d));
    print_json(j);
  } else if (d.equal != 0) {
    fmt::print("equal: {} launches and the whole program have the same bits on {} and {}\n",
               d.compared, a, b);
  } else {
    fmt::print(
        "differs at launch {} of {}: kernel {}{}\n  {} element {}: {} on {}, {} on {}, {} ulp "
        "apart; {} elements "
        "differ\n",
        d.step == UINT32_MAX ? std::string("none") : std::to_string(d.step),
        program.describe().launches, d.kernel,
        *d.op != '\0' ? fmt::format(" ({})", d.op) : std::string(), d.buffer, d.index,
        bits_text(d.bits[0], d.dtype), a, bits_text(d.bits[1], d.dtype), b, d.ulp, d.different);
  }
  return d.equal != 0 ? kOk : kDiffers;
}

int run_inspect(const Options& options) {
  const ostinato::Program program = load_manifest(options, options.subject);
  if (!options.dot.empty()) write_file(options.dot, program.inspect(OST_FORMAT_DOT));
  if (!options.html.empty()) write_file(options.html, program.inspect(OST_FORMAT_HTML));
  if (options.json)
    print(program.inspect(OST_FORMAT_JSON));
  else if (options.kir)
    print(program.inspect(OST_FORMAT_KIR));
  else if (options.dot.empty() && options.html.empty())
    print(program.inspect());
  return kOk;
}

int run_explain(const Options& options) {
  InputFiles files;
  print(load_or_compile(options, files).explain(options.json ? OST_FORMAT_JSON : OST_FORMAT_TEXT));
  return kOk;
}

int run_diff(const Options& options) {
  const ostinato::Program a = load_manifest(options, options.subject),
                          b = load_manifest(options, options.other);
  const auto difference = ostinato::diff(a, b, options.json ? OST_FORMAT_JSON : OST_FORMAT_TEXT);
  print(difference.text);
  if (difference.count == 0) note(options, "the programs do the same in the same way");
  return difference.count == 0 ? kOk : kDiffers;
}

int run_link(const Options& options) {
  const ostinato::Program program = load_manifest(options, options.subject);
  const ostinato::Context context = make_context(options);
  const auto targets = split_list(options.targets);
  const ostinato::Program linked = program.link(context, targets);
  const std::string& path = options.manifest.empty() ? options.subject : options.manifest;
  check_interrupt();
  linked.save(path);
  const auto desc = linked.describe();
  const auto compiles = context.compile_stats().compiles;
  if (options.json) {
    Json list = Json::array();
    for (const std::string& t : targets) list.add(t);
    print_json(answer()
                   .add("program_id", desc.id)
                   .add("manifest", path)
                   .add("targets", list)
                   .add("images", desc.images)
                   .add("compiles", compiles));
  } else {
    fmt::print("{}: {} images, {} compiles; replay them with --trust\n", path, desc.images,
               compiles);
  }
  return kOk;
}
