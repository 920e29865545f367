#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "exit_codes.hpp"
#include "suggest.hpp"

namespace {

constexpr const char* kAbout =
    "Capture a tensor program once, replay it on any device, bit for bit.\n"
    "Data goes to stdout, everything else to stderr. Exit codes: 0 ok, 1 differs, 2 usage, 3 bad "
    "input,\n"
    "4 device or plugin unavailable, 5 compile error, 70 internal error, 130 interrupted.";

class CommandLine {
 public:
  explicit CommandLine(Options& o) : o_(o), app_(kAbout, "ost") {
    app_.require_subcommand(1);
    app_.footer(
        "Examples:\n  ost run 'softmax(matmul(A,B))' --shape A=4,8 --shape B=8,4\n  ost devices "
        "--json");
    for (void (CommandLine::*add)() :
         {&CommandLine::add_devices, &CommandLine::add_run, &CommandLine::add_capture,
          &CommandLine::add_replay, &CommandLine::add_verify, &CommandLine::add_explain,
          &CommandLine::add_reports, &CommandLine::add_bench, &CommandLine::add_cache,
          &CommandLine::add_trace, &CommandLine::add_plugin}) {
      (this->*add)();
    }
  }

  std::optional<int> parse(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
      for (const auto& [texts, list, flag] : named_) split(*texts, *list, flag);
      for (const CLI::App* c : app_.get_subcommands()) {
        o_.command = c->get_name();
        if (o_.command == "trace") o_.traced = c->remaining();
      }
      return std::nullopt;
    } catch (const CLI::Success& e) {  // help was asked for
      return app_.exit(e);
    } catch (const CLI::ParseError& e) {
      return usage_error(argc, argv, e.what());
    }
  }

 private:
  CLI::App* command(const std::string& name, const std::string& about,
                    const std::string& examples) {
    CLI::App* c = app_.add_subcommand(name, about);
    c->footer("Examples:\n" + examples);
    c->add_flag("--json", o_.json, "one JSON object on stdout");
    c->add_flag("-v,--verbose", o_.verbose, "say on stderr what happens");
    c->add_flag("-q,--quiet", o_.quiet, "no warnings on stderr");
    c->add_option("--cache", o_.cache, "folder of the compile cache, or off")->type_name("DIR");
    c->add_option("--plugin", o_.plugins, "a plugin or its discovery file; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    add_named(c, "--option", "NAME=VALUE",
              "an option of all drivers (threads) or of one (cpu.threads)", o_.driver_options);
    return c;
  }

  void add_named(CLI::App* c, const std::string& flag, const std::string& type,
                 const std::string& about, std::vector<NamedText>& list) {
    texts_.push_back(std::make_unique<std::vector<std::string>>());
    c->add_option(flag, *texts_.back(), about + "; may be repeated")
        ->type_name(type)
        ->allow_extra_args(false);
    named_.emplace_back(texts_.back().get(), &list, flag);
  }

  static void split(const std::vector<std::string>& texts, std::vector<NamedText>& list,
                    const std::string& flag) {
    for (const std::string& t : texts) {
      const auto at = t.find('=');
      if (at == 0 || at == std::string::npos)
        throw CLI::ValidationError(flag, fmt::format("'{}' found, NAME=VALUE wanted", t));
      list.push_back({t.substr(0, at), t.substr(at + 1)});
    }
  }

  void add_data(CLI::App* c) {
    add_named(c, "--input", "NAME=FILE[:KEY]",
              "data of an input: .npy, or an array of a .npz or .safetensors file", o_.inputs);
    add_named(c, "--var", "NAME=N", "value of a variable", o_.vars);
    c->add_option("--seed", o_.seed, "seed of the numbers that stand in for inputs without data")
        ->capture_default_str();
  }
  void add_compile(CLI::App* c) {
    c->add_option("expression", o_.subject,
                  "for example 'matmul(A,relu(B))+softmax(C)'; @FILE and - (stdin) read it")
        ->required();
    add_expression(c);
  }
  void add_expression(CLI::App* c) {
    add_named(c, "--shape", "NAME=DIMS",
              "type of an input: 64,64 or n:1..64,64 or f16[n:1..64, 64]", o_.shapes);
    c->add_option("--weights", o_.weights,
                  "names that this .safetensors or .npz file has become constants; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
    c->add_option("--numerics", o_.numerics, "strict (same bits everywhere) or fast")
        ->check(CLI::IsMember({"strict", "fast"}))
        ->capture_default_str();
    c->add_option("--memory-budget", o_.memory_budget,
                  "elements: a larger intermediate is stored; 0 stores all")
        ->check(CLI::NonNegativeNumber);
    c->add_option("--arena-limit", o_.arena_limit, "bytes: a hard cap on the arena of each device")
        ->type_name("BYTES");
    c->add_option("--tile-size", o_.tile_size, "elements: longer loops over results are split; never changes a bit")
        ->check(CLI::PositiveNumber);
    c->add_flag("!--no-fuse", o_.fuse, "one kernel an operation");
  }
  void add_device(CLI::App* c, const std::string& about) {
    c->add_option("--device", o_.device, about)->type_name("DEVICE");
    c->add_option("--threads", o_.threads, "threads of the device")->check(CLI::PositiveNumber);
  }
  void add_manifest(CLI::App* c, bool trust = true) {
    c->add_option("program", o_.subject, "a program that ost capture wrote")->required();
    add_load(c, trust);
  }
  void add_load(CLI::App* c, bool trust = true) {
    if (trust)
      c->add_flag("--trust", o_.trust,
                  "run native code that is in the manifest; only if you trust its author");
    c->add_flag("--accept-edited", o_.accept_edited,
                "open a manifest that does not match its program id");
  }

  void add_devices() {
    command("devices", "list the devices", "  ost devices\n  ost devices --json");
    command("plugins", "list the plugins that were looked at, and what became of them",
            "  ost plugins\n  ost plugins --plugin ./libmine.so");
    command("doctor", "check plugins, devices, cache and environment",
            "  ost doctor\n  OSTINATO_PLUGIN_PATH=/opt/plugins ost doctor");
    command("env", "list the environment variables that are read", "  ost env\n  ost env --json");
    command("version", "print the version", "  ost version\n  ost version --json");
  }
  void add_run() {
    CLI::App* c =
        command("run", "evaluate an expression",
                "  ost run 'matmul(A,relu(B))+softmax(C)' --input A=a.npy --input B=b.npy --input "
                "C=c.npy --output y.npy\n"
                "  ost run 'sum(x*x, axis=-1)' --shape x=n:1..64,64 --var n=7 --device ref:0");
    add_compile(c);
    add_data(c);
    add_device(c, "where it runs");
    c->add_option("--output", o_.outputs, "file of the result, or NAME=FILE; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
  }
  void add_capture() {
    CLI::App* c = command(
        "capture", "compile an expression into a program and save it",
        "  ost capture 'softmax(matmul(x,W)+b)' --weights w.safetensors --shape x=n:0..1797,64 -o "
        "m.ost.json\n"
        "  ost capture 'relu(x)+y' --shape x=n:1..1024 --shape y=n --device cpu:0 -o m.ost.json");
    add_compile(c);
    add_data(c);
    add_device(c, "compile for this device too, so that its cache has the kernels");
    c->add_option("-o,--manifest", o_.manifest, "the file to write")->type_name("FILE")->required();
  }
  void add_replay() {
    CLI::App* c = command("replay", "run a saved program",
                          "  ost replay m.ost.json --input x=x.npy --output y.npy --device cpu:0\n"
                          "  ost replay m.ost.json --var n=7 --repeat 20 --json");
    add_manifest(c);
    add_data(c);
    add_device(c, "where it runs");
    c->add_option("--map", o_.map, "devices by logical device: 0=cpu:0,1=ref:0")
        ->type_name("I=DEVICE,...");
    c->add_option("--repeat", o_.repeat, "how many times it runs")->check(CLI::PositiveNumber);
    c->add_option("--output", o_.outputs, "file of the result, or NAME=FILE; may be repeated")
        ->type_name("FILE")
        ->allow_extra_args(false);
  }
  void add_verify() {
    CLI::App* c = command(
        "verify", "run a saved program on two devices, kernel by kernel, and compare all bits",
        "  ost verify m.ost.json --devices ref:0,cpu:0\n"
        "  ost verify m.ost.json --devices cpu:0,ref:0 --input x=x.npy --json");
    add_manifest(c);
    add_data(c);
    c->add_option("--devices", o_.devices, "the two devices")->type_name("A,B")->required();
    c->add_option("--threads", o_.threads, "threads of the devices")->check(CLI::PositiveNumber);
    bool* ignored = &bisect_;
    c->add_flag("--bisect", *ignored, "find the first kernel that differs (which is always done)");
  }
  void add_explain() {
    CLI::App* c = command("explain", "say why each kernel is what it is",
                          "  ost explain m.ost.json\n  ost explain 'softmax(matmul(x,y))' --shape "
                          "x=8,8 --shape y=8,8");
    c->add_option("subject", o_.subject, "a manifest or an expression")->required();
    add_load(c, false);
    add_expression(c);
    add_named(c, "--input", "NAME=FILE[:KEY]", "takes the type of an input from a file", o_.inputs);
  }
  void add_reports() {
    CLI::App* inspect =
        command("inspect", "show what is in a saved program",
                "  ost inspect m.ost.json\n  ost inspect m.ost.json --kir --dot m.dot");
    add_manifest(inspect, false);
    inspect->add_flag("--kir", o_.kir, "with the instructions of each kernel");
    inspect->add_option("--dot", o_.dot, "write the steps as a Graphviz file")->type_name("FILE");
    inspect->add_option("--html", o_.html, "write a page")->type_name("FILE");
    CLI::App* diff =
        command("diff", "compare two saved programs by structure",
                "  ost diff a.ost.json b.ost.json\n  ost diff a.ost.json b.ost.json --json");
    diff->add_option("a", o_.subject, "a manifest")->required();
    diff->add_option("b", o_.other, "a manifest")->required();
    add_load(diff, false);
    CLI::App* link = command("link", "put compiled kernels into a saved program",
                             "  ost link m.ost.json --targets cpu:0\n  ost link m.ost.json "
                             "--targets cpu:0,cpu:KEY -o linked.ost.json");
    add_manifest(link);
    link->add_option("--targets", o_.targets,
                     "DRIVER, DRIVER:INDEX or DRIVER:TARGET-KEY, separated by commas")
        ->type_name("T,U")
        ->required();
    link->add_option("-o,--manifest", o_.manifest,
                     "the file to write; the manifest itself if not given")
        ->type_name("FILE");
  }
  void add_bench() {
    CLI::App* c =
        command("bench", "time a saved program or an expression",
                "  ost bench m.ost.json --device cpu:0 --threads 1\n"
                "  ost bench 'silu(x)*y' --shape x=1048576 --shape y=1048576 --repeat 200");
    c->add_option("subject", o_.subject, "a manifest or an expression")->required();
    add_load(c);
    add_expression(c);
    add_data(c);
    add_device(c, "where it runs");
    c->add_option("--map", o_.map, "devices by logical device: 0=cpu:0,1=ref:0")
        ->type_name("I=DEVICE,...");
    c->add_option("--repeat", o_.repeat, "how many times it runs (100)")
        ->check(CLI::PositiveNumber);
  }
  void add_cache() {
    CLI::App* c = command("cache", "list or empty the compile cache",
                          "  ost cache ls\n  ost cache prune --max-bytes 100000000");
    c->add_option("action", o_.cache_action, "ls, prune or clear")
        ->required()
        ->check(CLI::IsMember({"ls", "prune", "clear"}));
    c->add_option("--max-bytes", o_.max_bytes, "prune: what may stay (1 GiB)")->type_name("N");
  }

  void add_trace() {
    CLI::App* c = app_.add_subcommand(
        "trace", "run another command and write what the devices did when, for ui.perfetto.dev");
    c->footer(
        "Examples:\n  ost trace -o t.json replay m.ost.json --device cpu:0\n"
        "  ost trace run 'sum(x*x)' --shape x=1000 --json");
    c->add_option("-o,--trace-file", o_.trace_file, "the file to write (ostinato-trace.json)")
        ->type_name("FILE");
    c->prefix_command();
  }
  void add_plugin() {
    CLI::App* c = command("plugin", "start a device plugin of your own",
                          "  ost plugin new mine\n  ost plugin new npu --dir src/npu-driver");
    c->add_option("action", o_.plugin_action, "new")->required()->check(CLI::IsMember({"new"}));
    c->add_option("name", o_.subject, "name of the driver: a-z, 0-9 and _")->required();
    c->add_option("--dir", o_.folder, "folder to make; NAME-plugin if not given")
        ->type_name("FOLDER");
  }

  std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const CLI::App* c : app_.get_subcommands({})) names.push_back(c->get_name());
    return names;
  }
  static std::vector<std::string> flag_names(const CLI::App& c) {
    std::vector<std::string> names;
    for (const CLI::Option* option : c.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    return names;
  }

  int usage_error(int argc, char** argv, std::string message) const {
    const std::string word = argc > 1 ? argv[1] : "";
    const auto names = command_names();
    const CLI::App* c = std::find(names.begin(), names.end(), word) == names.end()
                            ? nullptr
                            : app_.get_subcommand(word);
    if (argc > 1 && c == nullptr && !word.starts_with("-")) {
      message = fmt::format("no command '{}'{}", word, did_you_mean(word, names));
    }
    for (int i = 2; c != nullptr && i < argc; ++i) {
      const std::string flag = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
      const auto known = flag_names(*c);
      if (!flag.starts_with("--") || flag == "--help" || flag == "--" ||
          std::find(known.begin(), known.end(), flag) != known.end())
        continue;
      message = fmt::format("ost {} has no flag '{}'{}", word, flag, did_you_mean(flag, known));
      break;
    }
    fmt::print(stderr, "ost: {}\nost: see ost {}--help\n", message, c != nullptr ? word + " " : "");
    return kUsage;
  }

  Options& o_;
  CLI::App app_;
  bool bisect_ = false;
  std::vector<std::unique_ptr<std::vector<std::string>>> texts_;
  std::vector<std::tuple<std::vector<std::string>*, std::vector<NamedText>*, std::string>> named_;
};

}  // namespace

std::optional<int> parse_command_line(int argc, char** argv, Options& options) {
  return CommandLine(options).parse(argc, argv);
}
