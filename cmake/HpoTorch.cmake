# hpo_libtorch: LibTorch as one imported target, from the system (Debian's libtorch-dev) or from a PyPI wheel.
add_library(hpo_libtorch INTERFACE)
if(HPO_TORCH_WHEEL)
  set(hpo_torch_dir ${HPO_TORCH_WHEEL}/torch)
  set(HPO_CUDA_HOME /usr/local/cuda CACHE PATH "CUDA toolkit that the wheel is linked against")
  if(NOT EXISTS ${hpo_torch_dir}/lib/libtorch_cpu.so)
    message(FATAL_ERROR "HPO_TORCH_WHEEL: no torch/lib/libtorch_cpu.so below ${HPO_TORCH_WHEEL}; give the folder that pip installed torch into")
  endif()
  find_file(HPO_CUDART NAMES libcudart.so.13 libcudart.so.12
            PATHS ${HPO_TORCH_WHEEL}/nvidia/cu13/lib ${HPO_CUDA_HOME}/lib64 NO_DEFAULT_PATH REQUIRED)
  set(hpo_torch_path ${hpo_torch_dir}/lib)
  foreach(part cudnn nvshmem nccl cusparselt cufile cu13)
    list(APPEND hpo_torch_path ${HPO_TORCH_WHEEL}/nvidia/${part}/lib)
  endforeach()
  list(APPEND hpo_torch_path ${HPO_CUDA_HOME}/lib64)
  list(JOIN hpo_torch_path ":" hpo_torch_rpath)
  target_include_directories(hpo_libtorch SYSTEM INTERFACE ${hpo_torch_dir}/include
                             ${hpo_torch_dir}/include/torch/csrc/api/include ${HPO_CUDA_HOME}/include)
  # DT_RPATH, not RUNPATH: the wheel's own libraries find each other through it.
  target_link_options(hpo_libtorch INTERFACE
                      "LINKER:--disable-new-dtags,-rpath,${hpo_torch_rpath},-rpath-link,${hpo_torch_rpath}")
  target_link_libraries(hpo_libtorch INTERFACE "-Wl,--no-as-needed" ${hpo_torch_dir}/lib/libtorch_cuda.so
                        ${hpo_torch_dir}/lib/libc10_cuda.so ${HPO_CUDART} "-Wl,--as-needed"
                        ${hpo_torch_dir}/lib/libtorch_cpu.so ${hpo_torch_dir}/lib/libc10.so)
  target_compile_definitions(hpo_libtorch INTERFACE HPO_TORCH_CUDA=1)
  set(HPO_TORCH_VERSION "wheel")
else()
  find_package(Torch QUIET)
  if(NOT Torch_FOUND)
    message(FATAL_ERROR "LibTorch is missing: install libtorch-dev and libopenblas0-pthread, give HPO_TORCH_WHEEL, or configure with -DHPO_WITHOUT_TORCH=ON")
  endif()
  target_include_directories(hpo_libtorch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(hpo_libtorch INTERFACE ${TORCH_LIBRARIES})
  set(HPO_TORCH_VERSION ${Torch_VERSION})
endif()
