; out[i] = in[i] + k, with the arguments that kernels of the plugin have.
target triple = "spirv64v1.2-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)

define spir_kernel void @add(ptr addrspace(1) %in, i64 %in_at, ptr addrspace(1) %out, i64 %out_at, i64 %k, i32 %one) !reqd_work_group_size !0 {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %from = getelementptr i8, ptr addrspace(1) %in, i64 %in_at
  %to = getelementptr i8, ptr addrspace(1) %out, i64 %out_at
  %pi = getelementptr i64, ptr addrspace(1) %from, i64 %i
  %po = getelementptr i64, ptr addrspace(1) %to, i64 %i
  %x = load i64, ptr addrspace(1) %pi
  %s = add i64 %x, %k
  store i64 %s, ptr addrspace(1) %po
  ret void
}

!0 = !{i32 16, i32 1, i32 1}
