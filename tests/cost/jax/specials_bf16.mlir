module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x32xbf16>) -> (tensor<64x32xbf16> {jax.result_info = "result[0]"}, tensor<64x32xbf16> {jax.result_info = "result[1]"}, tensor<64x32xbf16> {jax.result_info = "result[2]"}, tensor<64x32xbf16> {jax.result_info = "result[3]"}, tensor<64x32xbf16> {jax.result_info = "result[4]"}, tensor<64x32xbf16> {jax.result_info = "result[5]"}, tensor<64x32xbf16> {jax.result_info = "result[6]"}, tensor<64x32xbf16> {jax.result_info = "result[7]"}, tensor<64x32xbf16> {jax.result_info = "result[8]"}, tensor<64x32xbf16> {jax.result_info = "result[9]"}, tensor<64x32xbf16> {jax.result_info = "result[10]"}, tensor<64x32xbf16> {jax.result_info = "result[11]"}) {
    %0 = chlo.lgamma %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %1 = chlo.erfc %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %2 = chlo.erf_inv %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %3 = chlo.erf %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %4 = chlo.cosh %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %5 = chlo.asin %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    %6 = call @arccosh(%arg0) : (tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %7 = stablehlo.tan %arg0 : tensor<64x32xbf16>
    %8 = stablehlo.cbrt %arg0 : tensor<64x32xbf16>
    %9 = call @sinc(%arg0) : (tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %11 = stablehlo.add %arg0, %10 : tensor<64x32xbf16>
    %12 = chlo.zeta %11, %arg0 : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<bf16>
    %13 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %14 = chlo.polygamma %13, %arg0 : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x32xbf16>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %12, %14 : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<64x32xbf16>
  }
  func.func private @arccosh(%arg0: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %0 = chlo.acosh %arg0 : tensor<64x32xbf16> -> tensor<64x32xbf16>
    return %0 : tensor<64x32xbf16>
  }
  func.func private @sinc(%arg0: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %1 = stablehlo.compare EQ, %arg0, %0, FLOAT : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xi1>
    %cst_0 = stablehlo.constant dense<3.140630e+00> : tensor<bf16>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %3 = stablehlo.multiply %2, %arg0 : tensor<64x32xbf16>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %4 = call @_where(%1, %cst_1, %3) : (tensor<64x32xi1>, tensor<bf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %6 = stablehlo.multiply %3, %5 : tensor<64x32xbf16>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %7 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %8 = stablehlo.add %6, %7 : tensor<64x32xbf16>
    %9 = stablehlo.sine %4 : tensor<64x32xbf16>
    %10 = stablehlo.divide %9, %4 : tensor<64x32xbf16>
    %11 = call @_where_0(%1, %8, %10) : (tensor<64x32xi1>, tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    return %11 : tensor<64x32xbf16>
  }
  func.func private @_where(%arg0: tensor<64x32xi1>, %arg1: tensor<bf16>, %arg2: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<bf16>) -> tensor<64x32xbf16>
    %1 = stablehlo.select %arg0, %0, %arg2 : tensor<64x32xi1>, tensor<64x32xbf16>
    return %1 : tensor<64x32xbf16>
  }
  func.func private @_where_0(%arg0: tensor<64x32xi1>, %arg1: tensor<64x32xbf16>, %arg2: tensor<64x32xbf16>) -> tensor<64x32xbf16> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<64x32xi1>, tensor<64x32xbf16>
    return %0 : tensor<64x32xbf16>
  }
}
