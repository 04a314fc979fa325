module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x32xf32>, %arg1: tensor<4x32x48xf32>, %arg2: tensor<4xi32>) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<64x32xf32> {jax.result_info = "result[1][0]"}, tensor<4x32x48xf32> {jax.result_info = "result[1][1]"}) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<4x64x32xf32>
    %1 = stablehlo.iota dim = 1 : tensor<4x64x32xi32>
    %2 = call @cumsum(%arg2) : (tensor<4xi32>) -> tensor<4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %4 = stablehlo.slice %3 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
    %5 = stablehlo.slice %2 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %6 = stablehlo.concatenate %4, %5, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xi32>) -> tensor<4x64x32xi32>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<4xi32>) -> tensor<4x64x32xi32>
    %9 = stablehlo.compare LE, %8, %1, SIGNED : (tensor<4x64x32xi32>, tensor<4x64x32xi32>) -> tensor<4x64x32xi1>
    %10 = stablehlo.compare LT, %1, %7, SIGNED : (tensor<4x64x32xi32>, tensor<4x64x32xi32>) -> tensor<4x64x32xi1>
    %11 = stablehlo.and %9, %10 : tensor<4x64x32xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x64x32xf32>
    %13 = stablehlo.select %11, %0, %12 : tensor<4x64x32xi1>, tensor<4x64x32xf32>
    %14 = stablehlo.dot_general %13, %arg1, contracting_dims = [2, 0] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x32xf32>, tensor<4x32x48xf32>) -> tensor<64x48xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.reduce(%14 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x48xf32>, tensor<f32>) -> tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x48xf32>
    %17 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<64x32xf32>) -> tensor<4x64x32xf32>
    %18 = stablehlo.iota dim = 1 : tensor<4x64x32xi32>
    %19 = call @cumsum(%arg2) : (tensor<4xi32>) -> tensor<4xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %20 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %21 = stablehlo.slice %20 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
    %22 = stablehlo.slice %19 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %23 = stablehlo.concatenate %21, %22, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %24 = stablehlo.broadcast_in_dim %19, dims = [0] : (tensor<4xi32>) -> tensor<4x64x32xi32>
    %25 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<4xi32>) -> tensor<4x64x32xi32>
    %26 = stablehlo.compare LE, %25, %18, SIGNED : (tensor<4x64x32xi32>, tensor<4x64x32xi32>) -> tensor<4x64x32xi1>
    %27 = stablehlo.compare LT, %18, %24, SIGNED : (tensor<4x64x32xi32>, tensor<4x64x32xi32>) -> tensor<4x64x32xi1>
    %28 = stablehlo.and %26, %27 : tensor<4x64x32xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x64x32xf32>
    %30 = stablehlo.select %28, %17, %29 : tensor<4x64x32xi1>, tensor<4x64x32xf32>
    %31 = stablehlo.broadcast_in_dim %16, dims = [1, 2] : (tensor<64x48xf32>) -> tensor<4x64x48xf32>
    %32 = stablehlo.iota dim = 1 : tensor<4x64x48xi32>
    %33 = call @cumsum(%arg2) : (tensor<4xi32>) -> tensor<4xi32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %34 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %35 = stablehlo.slice %34 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
    %36 = stablehlo.slice %33 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %37 = stablehlo.concatenate %35, %36, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %38 = stablehlo.broadcast_in_dim %33, dims = [0] : (tensor<4xi32>) -> tensor<4x64x48xi32>
    %39 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<4xi32>) -> tensor<4x64x48xi32>
    %40 = stablehlo.compare LE, %39, %32, SIGNED : (tensor<4x64x48xi32>, tensor<4x64x48xi32>) -> tensor<4x64x48xi1>
    %41 = stablehlo.compare LT, %32, %38, SIGNED : (tensor<4x64x48xi32>, tensor<4x64x48xi32>) -> tensor<4x64x48xi1>
    %42 = stablehlo.and %40, %41 : tensor<4x64x48xi1>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x64x48xf32>
    %44 = stablehlo.select %42, %31, %43 : tensor<4x64x48xi1>, tensor<4x64x48xf32>
    %45 = stablehlo.dot_general %30, %44, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x64x32xf32>, tensor<4x64x48xf32>) -> tensor<4x32x48xf32>
    %46 = stablehlo.broadcast_in_dim %16, dims = [1, 2] : (tensor<64x48xf32>) -> tensor<4x64x48xf32>
    %47 = stablehlo.iota dim = 1 : tensor<4x64x48xi32>
    %48 = call @cumsum(%arg2) : (tensor<4xi32>) -> tensor<4xi32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %49 = stablehlo.broadcast_in_dim %c_6, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %50 = stablehlo.slice %49 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
    %51 = stablehlo.slice %48 [0:3] : (tensor<4xi32>) -> tensor<3xi32>
    %52 = stablehlo.concatenate %50, %51, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %53 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<4xi32>) -> tensor<4x64x48xi32>
    %54 = stablehlo.broadcast_in_dim %52, dims = [0] : (tensor<4xi32>) -> tensor<4x64x48xi32>
    %55 = stablehlo.compare LE, %54, %47, SIGNED : (tensor<4x64x48xi32>, tensor<4x64x48xi32>) -> tensor<4x64x48xi1>
    %56 = stablehlo.compare LT, %47, %53, SIGNED : (tensor<4x64x48xi32>, tensor<4x64x48xi32>) -> tensor<4x64x48xi1>
    %57 = stablehlo.and %55, %56 : tensor<4x64x48xi1>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x64x48xf32>
    %59 = stablehlo.select %57, %46, %58 : tensor<4x64x48xi1>, tensor<4x64x48xf32>
    %60 = stablehlo.dot_general %59, %arg1, contracting_dims = [2, 0] x [2, 0], precision = [DEFAULT, DEFAULT] : (tensor<4x64x48xf32>, tensor<4x32x48xf32>) -> tensor<64x32xf32>
    return %15, %60, %45 : tensor<f32>, tensor<64x32xf32>, tensor<4x32x48xf32>
  }
  func.func private @cumsum(%arg0: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}
