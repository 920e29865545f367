// Program -> JSON document, before any file is written.
#pragma once

#include "core/manifest/manifest.hpp"
#include "core/manifest/storage.hpp"

namespace ost::manifest {

// The whole document, with its program_id. `images`: the folder of the variants' files, relative;
// "": no variants.
Result<json::object> to_json(const Document& document, StoragePlan& storage,
                             std::string_view images);

// The id of a document that is in JSON form: what both the writer records and the loader compares.
std::string id_of(const json::object& document);

// Element types that a logical device must have, in order of the type: those of its kernels and
// buffers.
std::vector<std::string_view> needs_of(const Program& program, uint32_t device);

}  // namespace ost::manifest
