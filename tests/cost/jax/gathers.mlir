module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<100x8xf32>, %arg1: tensor<32xi32>, %arg2: tensor<32x8xf32>) -> (tensor<32x8xf32> {jax.result_info = "result[0]"}, tensor<100x8xf32> {jax.result_info = "result[1]"}, tensor<100x8xf32> {jax.result_info = "result[2]"}, tensor<32x1xf32> {jax.result_info = "result[3]"}, tensor<9x8xf32> {jax.result_info = "result[4]"}, tensor<100x8xf32> {jax.result_info = "result[5]"}, tensor<4x8xf32> {jax.result_info = "result[6]"}, tensor<100x8xf32> {jax.result_info = "result[7]"}, tensor<96x8xf32> {jax.result_info = "result[8]"}, tensor<35x11xf32> {jax.result_info = "result[9]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_0 = stablehlo.constant dense<100> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<32xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<32xi1>, tensor<32xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<100x8xf32>, tensor<32x1xi32>) -> tensor<32x8xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %8 = stablehlo.compare LT, %arg1, %7, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_2 = stablehlo.constant dense<100> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %10 = stablehlo.add %arg1, %9 : tensor<32xi32>
    %11 = stablehlo.select %8, %10, %arg1 : tensor<32xi1>, tensor<32xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %13 = "stablehlo.scatter"(%arg0, %12, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %49 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %49 : tensor<f32>
    }) : (tensor<100x8xf32>, tensor<32x1xi32>, tensor<32x8xf32>) -> tensor<100x8xf32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %14 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %15 = stablehlo.compare LT, %arg1, %14, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_4 = stablehlo.constant dense<100> : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %17 = stablehlo.add %arg1, %16 : tensor<32xi32>
    %18 = stablehlo.select %15, %17, %arg1 : tensor<32xi1>, tensor<32xi32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %20 = "stablehlo.scatter"(%arg0, %19, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %49 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %49 : tensor<f32>
    }) : (tensor<100x8xf32>, tensor<32x1xi32>, tensor<32x8xf32>) -> tensor<100x8xf32>
    %c_5 = stablehlo.constant dense<8> : tensor<i32>
    %21 = call @remainder(%arg1, %c_5) : (tensor<32xi32>, tensor<i32>) -> tensor<32xi32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %23 = call @take_along_axis(%arg2, %22) : (tensor<32x8xf32>, tensor<32x1xi32>) -> tensor<32x1xf32>
    %24 = stablehlo.slice %arg0 [3:20:2, 0:8] : (tensor<100x8xf32>) -> tensor<9x8xf32>
    %25 = stablehlo.reverse %24, dims = [1] : tensor<9x8xf32>
    %26 = call @_roll_static(%arg0) : (tensor<100x8xf32>) -> tensor<100x8xf32>
    %27 = stablehlo.slice %arg1 [0:1] : (tensor<32xi32>) -> tensor<1xi32>
    %28 = stablehlo.reshape %27 : (tensor<1xi32>) -> tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %29 = stablehlo.compare LT, %28, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_7 = stablehlo.constant dense<100> : tensor<i32>
    %30 = stablehlo.add %28, %c_7 : tensor<i32>
    %31 = stablehlo.select %29, %30, %28 : tensor<i1>, tensor<i32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %32 = stablehlo.dynamic_slice %arg0, %31, %c_8, sizes = [4, 8] : (tensor<100x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_9, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %34 = stablehlo.compare LT, %arg1, %33, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_10 = stablehlo.constant dense<100> : tensor<i32>
    %35 = stablehlo.broadcast_in_dim %c_10, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %36 = stablehlo.add %arg1, %35 : tensor<32xi32>
    %37 = stablehlo.select %34, %36, %arg1 : tensor<32xi1>, tensor<32xi32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<32xi32>) -> tensor<32x1xi32>
    %39 = "stablehlo.gather"(%arg0, %38) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<100x8xf32>, tensor<32x1xi32>) -> tensor<32x8xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %41 = stablehlo.multiply %40, %39 : tensor<32x8xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<32x8xf32>
    %43 = stablehlo.multiply %42, %41 : tensor<32x8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<100x8xf32>
    %45 = "stablehlo.scatter"(%44, %38, %43) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %49 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %49 : tensor<f32>
    }) : (tensor<100x8xf32>, tensor<32x1xi32>, tensor<32x8xf32>) -> tensor<100x8xf32>
    %46 = stablehlo.broadcast_in_dim %arg2, dims = [0, 2] : (tensor<32x8xf32>) -> tensor<32x3x8xf32>
    %47 = stablehlo.reshape %46 : (tensor<32x3x8xf32>) -> tensor<96x8xf32>
    %48 = call @_pad(%arg2) : (tensor<32x8xf32>) -> tensor<35x11xf32>
    return %6, %13, %20, %23, %25, %26, %32, %45, %47, %48 : tensor<32x8xf32>, tensor<100x8xf32>, tensor<100x8xf32>, tensor<32x1xf32>, tensor<9x8xf32>, tensor<100x8xf32>, tensor<4x8xf32>, tensor<100x8xf32>, tensor<96x8xf32>, tensor<35x11xf32>
  }
  func.func private @remainder(%arg0: tensor<32xi32>, %arg1: tensor<i32>) -> tensor<32xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare EQ, %0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = call @_where(%1, %c_0, %0) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<32xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.compare LT, %2, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i1>) -> tensor<32xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<32xi1>, tensor<32xi1>) -> tensor<32xi1>
    %12 = stablehlo.and %11, %6 : tensor<32xi1>
    %13 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<32xi32>
    %14 = stablehlo.add %4, %13 : tensor<32xi32>
    %15 = stablehlo.select %12, %14, %4 : tensor<32xi1>, tensor<32xi32>
    return %15 : tensor<32xi32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @take_along_axis(%arg0: tensor<32x8xf32>, %arg1: tensor<32x1xi32>) -> tensor<32x1xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<32x1xi32>, tensor<32x1xi32>) -> tensor<32x1xi1>
    %c_0 = stablehlo.constant dense<8> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<32x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<32x1xi1>, tensor<32x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<32x1xi32>) -> tensor<32x1x1xi32>
    %c_1 = stablehlo.constant dense<7> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<32x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<32x1x1xi32>, tensor<32x1x1xi32>) -> tensor<32x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<32x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<32x1x1xi1>, tensor<i1>) -> tensor<32x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<32x8xf32>, tensor<32x1x1xi32>) -> tensor<32x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<32x1xi1>, tensor<32x1xf32>
    return %15 : tensor<32x1xf32>
  }
  func.func private @_roll_static(%arg0: tensor<100x8xf32>) -> tensor<100x8xf32> {
    %0 = stablehlo.slice %arg0 [97:100, 0:8] : (tensor<100x8xf32>) -> tensor<3x8xf32>
    %1 = stablehlo.slice %arg0 [0:97, 0:8] : (tensor<100x8xf32>) -> tensor<97x8xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x8xf32>, tensor<97x8xf32>) -> tensor<100x8xf32>
    return %2 : tensor<100x8xf32>
  }
  func.func private @_pad(%arg0: tensor<32x8xf32>) -> tensor<35x11xf32> {
    %0 = stablehlo.slice %arg0 [1:2, 0:8] : (tensor<32x8xf32>) -> tensor<1x8xf32>
    %1 = call @_flip(%0) : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %2 = stablehlo.concatenate %1, %arg0, dim = 0 : (tensor<1x8xf32>, tensor<32x8xf32>) -> tensor<33x8xf32>
    %3 = stablehlo.slice %2 [30:32, 0:8] : (tensor<33x8xf32>) -> tensor<2x8xf32>
    %4 = call @_flip_0(%3) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %5 = stablehlo.concatenate %2, %4, dim = 0 : (tensor<33x8xf32>, tensor<2x8xf32>) -> tensor<35x8xf32>
    %6 = stablehlo.slice %5 [0:35, 4:7] : (tensor<35x8xf32>) -> tensor<35x3xf32>
    %7 = call @_flip_1(%6) : (tensor<35x3xf32>) -> tensor<35x3xf32>
    %8 = stablehlo.concatenate %5, %7, dim = 1 : (tensor<35x8xf32>, tensor<35x3xf32>) -> tensor<35x11xf32>
    return %8 : tensor<35x11xf32>
  }
  func.func private @_flip(%arg0: tensor<1x8xf32>) -> tensor<1x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<1x8xf32>
    return %0 : tensor<1x8xf32>
  }
  func.func private @_flip_0(%arg0: tensor<2x8xf32>) -> tensor<2x8xf32> {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<2x8xf32>
    return %0 : tensor<2x8xf32>
  }
  func.func private @_flip_1(%arg0: tensor<35x3xf32>) -> tensor<35x3xf32> {
    %0 = stablehlo.reverse %arg0, dims = [1] : tensor<35x3xf32>
    return %0 : tensor<35x3xf32>
  }
}
