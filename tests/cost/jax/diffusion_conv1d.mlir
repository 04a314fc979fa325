module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x8x32xf32>, %arg1: tensor<3x32x8xf32>, %arg2: tensor<2x32x8xf32>, %arg3: tensor<2xf32>) -> (tensor<2x128x8xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.iota dim = 0 : tensor<16xi32>
    %1 = stablehlo.negate %0 : tensor<16xi32>
    %2 = stablehlo.convert %1 : (tensor<16xi32>) -> tensor<16xf32>
    %cst = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %4 = stablehlo.divide %2, %3 : tensor<16xf32>
    %cst_0 = stablehlo.constant dense<9.21034049> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %6 = stablehlo.multiply %4, %5 : tensor<16xf32>
    %7 = stablehlo.exponential %6 : tensor<16xf32>
    %8 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x16xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<2x16xf32>
    %12 = stablehlo.multiply %10, %11 : tensor<2x16xf32>
    %13 = stablehlo.sine %12 : tensor<2x16xf32>
    %14 = stablehlo.cosine %12 : tensor<2x16xf32>
    %15 = stablehlo.concatenate %13, %14, dim = 1 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
    %16 = stablehlo.convolution(%arg2, %arg0) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[2, 2]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x32x8xf32>, tensor<5x8x32xf32>) -> tensor<2x32x32xf32>
    %17 = stablehlo.broadcast_in_dim %15, dims = [0, 2] : (tensor<2x32xf32>) -> tensor<2x1x32xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x1x32xf32>) -> tensor<2x32x32xf32>
    %19 = stablehlo.add %16, %18 : tensor<2x32x32xf32>
    %20 = call @_resize(%19) : (tensor<2x32x32xf32>) -> tensor<2x64x32xf32>
    %21 = stablehlo.convolution(%20, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[2, 1]], lhs_dilate = [2], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x64x32xf32>, tensor<3x32x8xf32>) -> tensor<2x128x8xf32>
    return %21 : tensor<2x128x8xf32>
  }
  func.func private @_resize(%arg0: tensor<2x32x32xf32>) -> tensor<2x64x32xf32> {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.maximum %cst, %cst_0 : tensor<f32>
    %1 = stablehlo.iota dim = 0 : tensor<64xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %3 = stablehlo.add %1, %2 : tensor<64xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %5 = stablehlo.multiply %3, %4 : tensor<64xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %7 = stablehlo.subtract %5, %6 : tensor<64xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %9 = stablehlo.subtract %7, %8 : tensor<64xf32>
    %10 = stablehlo.iota dim = 0 : tensor<32xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %12 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x64xf32>
    %15 = stablehlo.subtract %13, %14 : tensor<32x64xf32>
    %16 = stablehlo.abs %15 : tensor<32x64xf32>
    %17 = stablehlo.convert %0 : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %19 = stablehlo.divide %16, %18 : tensor<32x64xf32>
    %20 = stablehlo.abs %19 : tensor<32x64xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %22 = stablehlo.subtract %21, %20 : tensor<32x64xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %24 = stablehlo.maximum %23, %22 : tensor<32x64xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_7) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %27 = stablehlo.abs %26 : tensor<1x64xf32>
    %cst_8 = stablehlo.constant dense<1.1920929E-4> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %29 = stablehlo.compare GT, %27, %28, FLOAT : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xi1>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %31 = stablehlo.compare NE, %26, %30, FLOAT : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xi1>
    %c = stablehlo.constant dense<1> : tensor<i32>
    %32 = call @_where(%31, %26, %c) : (tensor<1x64xi1>, tensor<1x64xf32>, tensor<i32>) -> tensor<1x64xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<32x64xf32>
    %34 = stablehlo.divide %24, %33 : tensor<32x64xf32>
    %c_10 = stablehlo.constant dense<0> : tensor<i32>
    %35 = call @_where_0(%29, %34, %c_10) : (tensor<1x64xi1>, tensor<32x64xf32>, tensor<i32>) -> tensor<32x64xf32>
    %cst_11 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %37 = stablehlo.compare GE, %9, %36, FLOAT : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
    %cst_12 = stablehlo.constant dense<3.150000e+01> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %39 = stablehlo.compare LE, %9, %38, FLOAT : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
    %40 = stablehlo.and %37, %39 : tensor<64xi1>
    %41 = stablehlo.broadcast_in_dim %40, dims = [1] : (tensor<64xi1>) -> tensor<1x64xi1>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %42 = call @_where_0(%41, %35, %c_13) : (tensor<1x64xi1>, tensor<32x64xf32>, tensor<i32>) -> tensor<32x64xf32>
    %43 = stablehlo.dot_general %42, %arg0, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<32x64xf32>, tensor<2x32x32xf32>) -> tensor<64x2x32xf32>
    %44 = stablehlo.transpose %43, dims = [1, 0, 2] : (tensor<64x2x32xf32>) -> tensor<2x64x32xf32>
    return %44 : tensor<2x64x32xf32>
  }
  func.func private @_where(%arg0: tensor<1x64xi1>, %arg1: tensor<1x64xf32>, %arg2: tensor<i32>) -> tensor<1x64xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x64xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<1x64xi1>, tensor<1x64xf32>
    return %2 : tensor<1x64xf32>
  }
  func.func private @_where_0(%arg0: tensor<1x64xi1>, %arg1: tensor<32x64xf32>, %arg2: tensor<i32>) -> tensor<32x64xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x64xi1>) -> tensor<32x64xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<32x64xi1>, tensor<32x64xf32>
    return %3 : tensor<32x64xf32>
  }
}
