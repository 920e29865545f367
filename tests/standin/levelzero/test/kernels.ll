; Kernels of the test driver's own test, for the target spirv64.
target triple = "spirv64v1.2-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)

; out[i] = a[i] + b[i]
define spir_kernel void @add(ptr addrspace(1) %out, ptr addrspace(1) %a, ptr addrspace(1) %b) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %i
  %po = getelementptr float, ptr addrspace(1) %out, i64 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %s = fadd float %x, %y
  store float %s, ptr addrspace(1) %po
  ret void
}

; p[i] = p[i] * k + 1
define spir_kernel void @step(ptr addrspace(1) %p, float %k) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %at = getelementptr float, ptr addrspace(1) %p, i64 %i
  %x = load float, ptr addrspace(1) %at
  %m = fmul float %x, %k
  %s = fadd float %m, 1.0
  store float %s, ptr addrspace(1) %at
  ret void
}

; p[i + n] = 0: with n the size of the allocation it writes outside of it
define spir_kernel void @outside(ptr addrspace(1) %p, i64 %n) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %k = add i64 %i, %n
  %at = getelementptr i32, ptr addrspace(1) %p, i64 %k
  store i32 0, ptr addrspace(1) %at
  ret void
}
