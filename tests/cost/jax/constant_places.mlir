module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x32xf32>, %arg1: tensor<4x3x3xf32>) -> (tensor<16x1xf32> {jax.result_info = "result[0]"}, tensor<1xf32> {jax.result_info = "result[1]"}, tensor<4x3x3xf32> {jax.result_info = "result[2]"}, tensor<f32> {jax.result_info = "result[3]"}, tensor<16x16xf32> {jax.result_info = "result[4]"}) {
    %c = stablehlo.constant dense<2> : tensor<1xi32>
    %c_0 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.compare LT, %c, %0, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %c_3 = stablehlo.constant dense<32> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.add %c, %2 : tensor<1xi32>
    %4 = stablehlo.select %1, %3, %c : tensor<1xi1>, tensor<1xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<1xi32>) -> tensor<1x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 16, 1>}> : (tensor<16x32xf32>, tensor<1x1xi32>) -> tensor<16x1xf32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %8 = stablehlo.compare LT, %c_0, %7, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %c_5 = stablehlo.constant dense<16> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %10 = stablehlo.add %c_0, %9 : tensor<1xi32>
    %11 = stablehlo.select %8, %10, %c_0 : tensor<1xi1>, tensor<1xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %13 = stablehlo.compare LT, %c_1, %12, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
    %c_7 = stablehlo.constant dense<32> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c_7, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %15 = stablehlo.add %c_1, %14 : tensor<1xi32>
    %16 = stablehlo.select %13, %15, %c_1 : tensor<1xi1>, tensor<1xi32>
    %17 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<1xi32>) -> tensor<1x1xi32>
    %18 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<1xi32>) -> tensor<1x1xi32>
    %19 = stablehlo.concatenate %17, %18, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
    %20 = "stablehlo.gather"(%arg0, %19) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x32xf32>, tensor<1x2xi32>) -> tensor<1xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x9xf32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %22 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %23 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %24 = stablehlo.concatenate %22, %23, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %25 = "stablehlo.scatter"(%21, %24, %arg1) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1, 2], scatter_dims_to_operand_dims = [1, 2]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      stablehlo.return %arg3 : tensor<f32>
    }) : (tensor<4x8x9xf32>, tensor<2xi32>, tensor<4x3x3xf32>) -> tensor<4x8x9xf32>
    %cst_10 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x8x9xf32>
    %27 = stablehlo.multiply %26, %25 : tensor<4x8x9xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x8x9xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<4x8x9xf32>
    %c_12 = stablehlo.constant dense<[5, 6]> : tensor<2xi32>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %30 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %31 = stablehlo.compare GE, %24, %30, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %32 = stablehlo.compare LE, %24, %c_12, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %33 = stablehlo.and %31, %32 : tensor<2xi1>
    %c_14 = stablehlo.constant dense<true> : tensor<i1>
    %34 = stablehlo.reduce(%33 init: %c_14) applies stablehlo.and across dimensions = [0] : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
    %35 = "stablehlo.gather"(%29, %24) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1, 2], start_index_map = [1, 2]>, indices_are_sorted = false, slice_sizes = array<i64: 4, 3, 3>}> : (tensor<4x8x9xf32>, tensor<2xi32>) -> tensor<4x3x3xf32>
    %36 = stablehlo.broadcast_in_dim %34, dims = [] : (tensor<i1>) -> tensor<4x3x3xi1>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x3x3xf32>
    %38 = stablehlo.select %36, %35, %37 : tensor<4x3x3xi1>, tensor<4x3x3xf32>
    %39 = stablehlo.slice %arg0 [1:2, 3:4] : (tensor<16x32xf32>) -> tensor<1x1xf32>
    %40 = stablehlo.reshape %39 : (tensor<1x1xf32>) -> tensor<f32>
    %c_16 = stablehlo.constant dense<0> : tensor<i32>
    %41 = stablehlo.broadcast_in_dim %c_16, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16x2xf32>
    %43 = "stablehlo.scatter"(%arg0, %41, %42) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>, unique_indices = true}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      stablehlo.return %arg3 : tensor<f32>
    }) : (tensor<16x32xf32>, tensor<1xi32>, tensor<16x2xf32>) -> tensor<16x32xf32>
    %44 = stablehlo.slice %43 [0:16, 0:32:2] : (tensor<16x32xf32>) -> tensor<16x16xf32>
    return %6, %20, %38, %40, %44 : tensor<16x1xf32>, tensor<1xf32>, tensor<4x3x3xf32>, tensor<f32>, tensor<16x16xf32>
  }
}
