// The image format of the cpu plugin: an ELF64 file (ET_DYN, x86-64) that was linked once, when it
// was compiled. It has no relocation, no import, no writable data and no dynamic section, so
// loading is one mmap of its only segment.
//
// Layout: page 0 holds ELF header and program header; one PT_LOAD (R+X) with p_offset = p_vaddr =
// kImageTextOffset holds code, then constants; behind it .symtab (one global STT_FUNC per kernel;
// local ones for its helpers, for perf and gdb), .strtab, kImageNote and .shstrtab. The note is
// text, "key=value" lines in this order:
//   image=1                      kImageVersion
//   kernel_abi=1                 OST_CPU_KERNEL_ABI
//   target=x86_64:avx,avx2,...   the target key that it was compiled for
//   compiler=llvm-22.1.8/1
// objdump -d, nm, readelf, perf and gdb read the file as it is.
#pragma once

#include <cstdint>

namespace ost_cpu {

inline constexpr uint32_t kImageVersion = 1;
inline constexpr uint64_t kImageTextOffset = 4096;
inline constexpr uint64_t kImagePage = 4096;
inline constexpr char kImageNote[] =
    ".ostinato";  // name of the section with the note, type SHT_PROGBITS, not allocated

}  // namespace ost_cpu
