// Reports of a verified program for people: a text, a graph of its steps, a page.
#pragma once

#include <string>

#include "core/manifest/manifest.hpp"

namespace ost::manifest {

// Tables of variables, inputs, outputs, constants, states, arenas, kernels, steps and groups. With
// `kir`, the kernels' instructions as well.
std::string inspect_text(const Document& document, bool kir = false);
// Graphviz: steps as boxes, an edge for each dependency, dashed lines from inputs and to outputs.
std::string inspect_dot(const Program& program);
// One self-contained page: the same tables, and the instructions behind each kernel.
std::string inspect_html(const Document& document);
// Everything of inspect_text as JSON, for `ost inspect --json`.
json::object inspect_json(const Document& document);

}  // namespace ost::manifest
