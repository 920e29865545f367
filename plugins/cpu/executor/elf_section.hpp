// Reads one section of an ELF file without loading it.
#pragma once

#include <string>

namespace ost_cpu {

// The bytes up to the first NUL; "" if the file or the section is missing, damaged or longer than a
// page.
std::string read_elf_section(const std::string& path, const char* section);

}  // namespace ost_cpu
