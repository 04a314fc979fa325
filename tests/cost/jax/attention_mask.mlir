module @jit_g attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x32x4x16xbf16>, %arg1: tensor<2x32x4x16xbf16>, %arg2: tensor<2x32x4x16xbf16>, %arg3: tensor<2xi32>) -> (tensor<2x32x4x16xbf16> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x32x4x16xbf16>, tensor<2x32x4x16xbf16>) -> tensor<2x4x32x32xbf16>
    %1 = stablehlo.convert %0 : (tensor<2x4x32x32xbf16>) -> tensor<2x4x32x32xf32>
    %cst = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x32x32xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %5 = call @tril(%4) : (tensor<32x32xi1>) -> tensor<32x32xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %6:2 = call @_where(%5, %3, %cst_0) : (tensor<32x32xi1>, tensor<2x4x32x32xf32>, tensor<f32>) -> (tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>)
    %7 = stablehlo.iota dim = 0 : tensor<32xi32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [3] : (tensor<32xi32>) -> tensor<1x1x1x32xi32>
    %9 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xi32>) -> tensor<2x1x1x1xi32>
    %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x32xi32>) -> tensor<2x1x1x32xi32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x1x1x1xi32>) -> tensor<2x1x1x32xi32>
    %12 = stablehlo.compare LT, %10, %11, SIGNED : (tensor<2x1x1x32xi32>, tensor<2x1x1x32xi32>) -> tensor<2x1x1x32xi1>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13:2 = call @_where_0(%12, %6#0, %cst_1) : (tensor<2x1x1x32xi1>, tensor<2x4x32x32xf32>, tensor<f32>) -> (tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>)
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %14 = stablehlo.reduce(%13#0 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x32x32xf32>, tensor<f32>) -> tensor<2x4x32xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x32xf32>
    %16 = stablehlo.maximum %15, %14 : tensor<2x4x32xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x4x32xf32>) -> tensor<2x4x32x1xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x32xf32>
    %19 = stablehlo.subtract %13#0, %18 : tensor<2x4x32x32xf32>
    %20 = stablehlo.exponential %19 : tensor<2x4x32x32xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<2x4x32x32xf32>, tensor<f32>) -> tensor<2x4x32xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<2x4x32xf32>) -> tensor<2x4x32x1xf32>
    %23 = stablehlo.multiply %22, %22 : tensor<2x4x32x1xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x32x1xf32>
    %25 = stablehlo.divide %24, %23 : tensor<2x4x32x1xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x32x4x16xf32>
    %27 = stablehlo.transpose %26, dims = [0, 2, 3, 1] : (tensor<2x32x4x16xf32>) -> tensor<2x4x16x32xf32>
    %28 = stablehlo.convert %27 : tensor<2x4x16x32xf32>
    %29 = stablehlo.convert %arg2 : (tensor<2x32x4x16xbf16>) -> tensor<2x32x4x16xf32>
    %30 = stablehlo.dot_general %28, %29, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16x32xf32>, tensor<2x32x4x16xf32>) -> tensor<2x4x32x32xf32>
    %31 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x32xf32>
    %32 = stablehlo.multiply %30, %31 : tensor<2x4x32x32xf32>
    %33 = stablehlo.multiply %32, %20 : tensor<2x4x32x32xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%33 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<2x4x32x32xf32>, tensor<f32>) -> tensor<2x4x32xf32>
    %35 = stablehlo.reshape %34 : (tensor<2x4x32xf32>) -> tensor<2x4x32x1xf32>
    %36 = stablehlo.negate %35 : tensor<2x4x32x1xf32>
    %37 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x4x32x1xf32>) -> tensor<2x4x32x32xf32>
    %38 = stablehlo.divide %30, %37 : tensor<2x4x32x32xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %39 = stablehlo.reduce(%36 init: %cst_8) applies stablehlo.add across dimensions = [3] : (tensor<2x4x32x1xf32>, tensor<f32>) -> tensor<2x4x32xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1, 2] : (tensor<2x4x32xf32>) -> tensor<2x4x32x32xf32>
    %41 = stablehlo.add %38, %40 : tensor<2x4x32x32xf32>
    %42 = stablehlo.multiply %41, %20 : tensor<2x4x32x32xf32>
    %43 = call @_where_1(%13#1, %42) : (tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %44 = call @_where_2(%6#1, %43) : (tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32>
    %cst_9 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %46 = stablehlo.divide %44, %45 : tensor<2x4x32x32xf32>
    %47 = stablehlo.convert %46 : (tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xbf16>
    %48 = stablehlo.dot_general %47, %arg1, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x32x32xbf16>, tensor<2x32x4x16xbf16>) -> tensor<2x4x32x16xbf16>
    %49 = stablehlo.transpose %48, dims = [0, 2, 1, 3] : (tensor<2x4x32x16xbf16>) -> tensor<2x32x4x16xbf16>
    return %49 : tensor<2x32x4x16xbf16>
  }
  func.func private @tril(%arg0: tensor<32x32xi1>) -> tensor<32x32xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %2 = stablehlo.add %0, %1 : tensor<32x32xi32>
    %3 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<32x32xi1>, tensor<32x32xi1>
    return %6 : tensor<32x32xi1>
  }
  func.func private @_where(%arg0: tensor<32x32xi1>, %arg1: tensor<2x4x32x32xf32>, %arg2: tensor<f32>) -> (tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<2x4x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>
    return %3, %1 : tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>
  }
  func.func private @_where_0(%arg0: tensor<2x1x1x32xi1>, %arg1: tensor<2x4x32x32xf32>, %arg2: tensor<f32>) -> (tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x1x32xi1>) -> tensor<2x4x32x32xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>
    return %3, %1 : tensor<2x4x32x32xf32>, tensor<2x4x32x32xi1>
  }
  func.func private @_where_1(%arg0: tensor<2x4x32x32xi1>, %arg1: tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>
    return %1 : tensor<2x4x32x32xf32>
  }
  func.func private @_where_2(%arg0: tensor<2x4x32x32xi1>, %arg1: tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x32x32xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x4x32x32xi1>, tensor<2x4x32x32xf32>
    return %1 : tensor<2x4x32x32xf32>
  }
}
