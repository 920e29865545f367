; A module that needs double.
target triple = "spirv64v1.2-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)

define spir_kernel void @twice(ptr addrspace(1) %p) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %at = getelementptr double, ptr addrspace(1) %p, i64 %i
  %x = load double, ptr addrspace(1) %at
  %s = fadd double %x, %x
  store double %s, ptr addrspace(1) %at
  ret void
}
