module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<50x16xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4x12x16xf32>) -> (tensor<4xi32> {jax.result_info = "result[0][0]"}, tensor<4x12x16xf32> {jax.result_info = "result[0][1]"}, tensor<i32> {jax.result_info = "result[0][2]"}, tensor<8x4x2xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4x2xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1:6 = stablehlo.while(%iterArg = %arg0, %iterArg_1 = %c_0, %iterArg_2 = %arg1, %iterArg_3 = %arg2, %iterArg_4 = %c, %iterArg_5 = %0) : tensor<50x16xf32>, tensor<i32>, tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<8x4x2xf32>
    cond {
      %c_6 = stablehlo.constant dense<8> : tensor<i32>
      %2 = stablehlo.compare LT, %iterArg_1, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2:4 = func.call @closed_call(%iterArg, %iterArg_2, %iterArg_3, %iterArg_4) : (tensor<50x16xf32>, tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>) -> (tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<4x2xf32>)
      %3 = func.call @dynamic_update_index_in_dim(%iterArg_5, %2#3, %iterArg_1) : (tensor<8x4x2xf32>, tensor<4x2xf32>, tensor<i32>) -> tensor<8x4x2xf32>
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg_1, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %4, %2#0, %2#1, %2#2, %3 : tensor<50x16xf32>, tensor<i32>, tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<8x4x2xf32>
    }
    return %1#2, %1#3, %1#4, %1#5 : tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<8x4x2xf32>
  }
  func.func private @closed_call(%arg0: tensor<50x16xf32>, %arg1: tensor<4xi32>, %arg2: tensor<4x12x16xf32>, %arg3: tensor<i32>) -> (tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<4x2xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %c_0 = stablehlo.constant dense<50> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4xi1>, tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<50x16xf32>, tensor<4x1xi32>) -> tensor<4x16xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 2] : (tensor<4x16xf32>) -> tensor<4x1x16xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %arg3, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.convert %arg3 : tensor<i32>
    %c_2 = stablehlo.constant dense<12> : tensor<i32>
    %10 = stablehlo.add %9, %c_2 : tensor<i32>
    %11 = stablehlo.select %8, %10, %arg3 : tensor<i1>, tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %12 = stablehlo.dynamic_update_slice %arg2, %7, %c_3, %11, %c_4 : (tensor<4x12x16xf32>, tensor<4x1x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x12x16xf32>
    %13 = stablehlo.dot_general %12, %6, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x12x16xf32>, tensor<4x16xf32>) -> tensor<4x12xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %16 = stablehlo.maximum %15, %14 : tensor<4xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x12xf32>
    %19 = stablehlo.subtract %13, %18 : tensor<4x12xf32>
    %20 = stablehlo.exponential %19 : tensor<4x12xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_6) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x12xf32>
    %24 = stablehlo.divide %20, %23 : tensor<4x12xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%12 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<4x12x16xf32>, tensor<f32>) -> tensor<12x16xf32>
    %26 = stablehlo.dot_general %24, %25, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x12xf32>, tensor<12x16xf32>) -> tensor<4x16xf32>
    %values, %indices = chlo.top_k(%26, k = 2) : tensor<4x16xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %27 = stablehlo.slice %indices [0:4, 0:1] : (tensor<4x2xi32>) -> tensor<4x1xi32>
    %28 = stablehlo.reshape %27 : (tensor<4x1xi32>) -> tensor<4xi32>
    %c_8 = stablehlo.constant dense<1> : tensor<i32>
    %29 = stablehlo.add %arg3, %c_8 : tensor<i32>
    return %28, %12, %29, %values : tensor<4xi32>, tensor<4x12x16xf32>, tensor<i32>, tensor<4x2xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<8x4x2xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<i32>) -> tensor<8x4x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x2xf32>) -> tensor<1x4x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<8x4x2xf32>, tensor<1x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x2xf32>
    return %1 : tensor<8x4x2xf32>
  }
}
