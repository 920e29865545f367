// From an expression on the command line to a program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <set>

#include "subject.hpp"
#include "suggest.hpp"

namespace {

namespace fs = std::filesystem;

// "relative/path" of a file within the folder that the manifest will be in; "" if it lies
// elsewhere.
std::string relative_to_manifest(const std::string& file, const std::string& manifest) {
  if (manifest.empty() || !file.ends_with(".safetensors")) return "";
  std::error_code ec;
  const fs::path folder = fs::weakly_canonical(fs::path(manifest).parent_path() / ".", ec);
  const fs::path relative = fs::weakly_canonical(file, ec).lexically_relative(folder);
  const std::string text = relative.generic_string();
  return ec || text.empty() || text.starts_with("..") || relative.is_absolute() ? "" : text;
}

// The type of an array as --shape would say it.
std::string type_text(const ost_array_t& a) {
  return fmt::format("{}[{}]", ost_dtype_text(a.dtype), fmt::join(a.shape, a.shape + a.rank, ", "));
}

class ExpressionBuilder {
 public:
  ExpressionBuilder(const Options& options, const std::string& text, InputFiles& files)
      : options_(options),
        text_(text),
        files_(files),
        names_(ostinato::expression_names(text)),
        declared_(ostinato::expression_inputs(text)) {}

  ostinato::Program build() {
    check_names();
    declare_vars();
    for (const std::string& name : declared_) add_declared(name);
    for (const std::string& name : names_) add_name(name);
    graph_.outputs_of(text_);
    auto how = ostinato::sized<ost_compile_options_t>();
    how.numerics = options_.numerics == "fast" ? OST_NUMERICS_FAST : OST_NUMERICS_STRICT;
    how.no_fuse = !options_.fuse || options_.memory_budget == 0;
    how.memory_budget = options_.memory_budget.value_or(0);
    how.arena_limit = options_.arena_limit;
    how.tile_size = options_.tile_size.value_or(0);
    try {
      ostinato::Program program = graph_.compile(how);
      check_vars(program);
      return program;
    } catch (const ostinato::Error& e) {
      if (e.status() != OST_OUT_OF_MEMORY) throw;
      throw Failure(kCompileError, e.what());  // the plan, not this machine, needs too much
    }
  }

 private:
  const NamedText* find(const std::vector<NamedText>& list, const std::string& name) const {
    const auto it = std::ranges::find(list, name, &NamedText::name);
    return it == list.end() ? nullptr : &*it;
  }

  void check_names() const {
    for (const auto& [list, flag] :
         {std::pair(&options_.shapes, "--shape"), std::pair(&options_.inputs, "--input")}) {
      std::set<std::string> seen;
      for (const NamedText& n : *list) {
        if (!seen.insert(n.name).second)
          throw Failure(kUsage, fmt::format("{} {} is given twice", flag, n.name));
        std::vector<std::string> known = names_;
        known.insert(known.end(), declared_.begin(), declared_.end());
        if (std::ranges::find(known, n.name) != known.end()) continue;
        throw Failure(kUsage, fmt::format("{} {}: the expression has no name '{}'{}", flag, n.name,
                                          n.name, did_you_mean(n.name, known)));
      }
    }
  }

  // Before any input, so that --shape may name a variable which a later --shape declares.
  void declare_vars() {
    static const std::regex kDeclaration(R"(([A-Za-z_]\w*)\s*:\s*(\d+)\s*\.\.\s*(\d+))");
    for (const NamedText& s : options_.shapes) {
      for (std::sregex_iterator it(s.value.begin(), s.value.end(), kDeclaration), end; it != end;
           ++it) {
        graph_.var((*it)[1], parse_integer((*it)[2], "--shape " + s.name),
                   parse_integer((*it)[3], "--shape " + s.name));
        vars_.insert((*it)[1]);
      }
    }
  }

  void check_vars(const ostinato::Program& program) const {
    std::set<std::string> known = vars_;
    for (const ost_var_t& v : program.vars()) known.insert(v.name);
    for (const NamedText& v : options_.vars) {
      if (!known.contains(v.name)) {
        throw Failure(
            kUsage,
            fmt::format("--var {}: no --shape declares the variable, as in --shape x={}:1..64",
                        v.name, v.name));
      }
    }
  }

  void add_name(const std::string& name) {
    const NamedText* shape = find(options_.shapes, name);
    const NamedText* input = find(options_.inputs, name);
    if (shape == nullptr && input == nullptr) {
      if (vars_.contains(name) || add_weight(name)) return;
      throw Failure(kUsage, fmt::format("'{}' has no type: give --input {}=FILE, --shape {}=DIMS, "
                                        "or a --weights file that has it",
                                        name, name, name));
    }
    graph_.input(name, shape != nullptr ? shape->value : type_text(files_.read(input->value)));
  }

  // The program says the type; --shape may fix its sizes, and --weights make it a constant.
  void add_declared(const std::string& name) {
    if (const NamedText* shape = find(options_.shapes, name))
      graph_.input(name, shape->value);
    else if (find(options_.inputs, name) == nullptr)
      add_weight(name);
  }

  bool add_weight(const std::string& name) {
    for (const std::string& path : options_.weights) {
      const ostinato::Archive& archive = files_.open(path);
      if (!archive.has(name)) continue;
      graph_.constant(name, archive.array(name), relative_to_manifest(path, options_.manifest),
                      name);
      return true;
    }
    return false;
  }

  const Options& options_;
  const std::string& text_;
  InputFiles& files_;
  const std::vector<std::string> names_, declared_;
  std::set<std::string> vars_;
  ostinato::Graph graph_;
};

}  // namespace

namespace {

std::string read_all(std::istream& in) { return {std::istreambuf_iterator<char>(in), {}}; }

// Errors of the language in the file's name: "block.ost:3:7: ..." for "dsl: 3:7: ...".
ostinato::Program compile_file(const Options& options, const std::string& path, InputFiles& files) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Failure(kBadInput, fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  const std::string text = read_all(file);
  try {
    return ExpressionBuilder(options, text, files).build();
  } catch (const ostinato::Error& e) {
    const std::string what = e.what();
    if (!what.starts_with("dsl: ")) throw;
    throw Failure(kBadInput, fmt::format("{}:{}", path, what.substr(5)));
  }
}

}  // namespace

ostinato::Program compile_expression(const Options& options, const std::string& text,
                                     InputFiles& files) {
  if (text.starts_with('@')) return compile_file(options, text.substr(1), files);
  if (text != "-") return ExpressionBuilder(options, text, files).build();
  const std::string from_stdin = read_all(std::cin);
  return ExpressionBuilder(options, from_stdin, files).build();
}

ostinato::Program load_manifest(const Options& options, const std::string& path) {
  return ostinato::Program::load(path, options.trust, options.accept_edited);
}

ostinato::Program load_or_compile(const Options& options, InputFiles& files) {
  std::error_code ec;
  if (options.subject.ends_with(".json") || fs::exists(options.subject, ec))
    return load_manifest(options, options.subject);
  return compile_expression(options, options.subject, files);
}
