// The files of sdk/template, which the build puts into the tool.
#pragma once

#include <span>
#include <string_view>

struct TemplateFile {
  std::string_view name, text;
};
std::span<const TemplateFile> plugin_template();
