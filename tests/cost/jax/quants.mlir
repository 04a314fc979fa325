module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x64xbf16>, %arg1: tensor<64x128xi8>, %arg2: tensor<64x128xi4>, %arg3: tensor<128xbf16>, %arg4: tensor<64x128xf8E4M3FN>) -> (tensor<16x128xbf16> {jax.result_info = "result[0]"}, tensor<16x128xbf16> {jax.result_info = "result[1]"}, tensor<16x128xf32> {jax.result_info = "result[2]"}, tensor<16x128xi32> {jax.result_info = "result[3]"}, tensor<16x64xf4E2M1FN> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.convert %arg1 : (tensor<64x128xi8>) -> tensor<64x128xbf16>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<128xbf16>) -> tensor<1x128xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x128xbf16>) -> tensor<64x128xbf16>
    %3 = stablehlo.multiply %0, %2 : tensor<64x128xbf16>
    %4 = stablehlo.dot_general %arg0, %3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xbf16>, tensor<64x128xbf16>) -> tensor<16x128xbf16>
    %5 = stablehlo.convert %arg2 : (tensor<64x128xi4>) -> tensor<64x128xbf16>
    %6 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<128xbf16>) -> tensor<1x128xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x128xbf16>) -> tensor<64x128xbf16>
    %8 = stablehlo.multiply %5, %7 : tensor<64x128xbf16>
    %9 = stablehlo.dot_general %arg0, %8, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xbf16>, tensor<64x128xbf16>) -> tensor<16x128xbf16>
    %10 = stablehlo.convert %arg0 : (tensor<16x64xbf16>) -> tensor<16x64xf8E4M3FN>
    %11 = stablehlo.dot_general %10, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf8E4M3FN>, tensor<64x128xf8E4M3FN>) -> tensor<16x128xf32>
    %cst = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<16x64xbf16>
    %13 = stablehlo.divide %arg0, %12 : tensor<16x64xbf16>
    %14 = call @round(%13) : (tensor<16x64xbf16>) -> tensor<16x64xbf16>
    %c = stablehlo.constant dense<-127> : tensor<i32>
    %c_0 = stablehlo.constant dense<127> : tensor<i32>
    %15 = call @clip(%14, %c, %c_0) : (tensor<16x64xbf16>, tensor<i32>, tensor<i32>) -> tensor<16x64xbf16>
    %16 = stablehlo.convert %15 : (tensor<16x64xbf16>) -> tensor<16x64xi8>
    %17 = stablehlo.dot_general %16, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xi8>, tensor<64x128xi8>) -> tensor<16x128xi32>
    %cst_1 = stablehlo.constant dense<8.000000e+00> : tensor<bf16>
    %18 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<16x64xbf16>
    %19 = stablehlo.multiply %arg0, %18 : tensor<16x64xbf16>
    %20 = stablehlo.convert %19 : (tensor<16x64xbf16>) -> tensor<16x64xf4E2M1FN>
    return %4, %9, %11, %17, %20 : tensor<16x128xbf16>, tensor<16x128xbf16>, tensor<16x128xf32>, tensor<16x128xi32>, tensor<16x64xf4E2M1FN>
  }
  func.func private @round(%arg0: tensor<16x64xbf16>) -> tensor<16x64xbf16> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<16x64xbf16>
    return %0 : tensor<16x64xbf16>
  }
  func.func private @clip(%arg0: tensor<16x64xbf16>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<16x64xbf16> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<bf16>) -> tensor<16x64xbf16>
    %2 = stablehlo.maximum %1, %arg0 : tensor<16x64xbf16>
    %3 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<bf16>) -> tensor<16x64xbf16>
    %5 = stablehlo.minimum %4, %2 : tensor<16x64xbf16>
    return %5 : tensor<16x64xbf16>
  }
}
