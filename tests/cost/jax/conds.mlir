module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<32x32xf32>, %arg3: tensor<32x32xf32>) -> (tensor<32x32xf32> {jax.result_info = "result[0]"}, tensor<32x32xf32> {jax.result_info = "result[1]"}, tensor<32x32xf32> {jax.result_info = "result[2]"}, tensor<32x32xf32> {jax.result_info = "result[3][0]"}, tensor<i32> {jax.result_info = "result[3][1]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1 = "stablehlo.case"(%0) ({
      %6 = stablehlo.sine %arg2 : tensor<32x32xf32>
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %8 = stablehlo.multiply %6, %7 : tensor<32x32xf32>
      stablehlo.return %8 : tensor<32x32xf32>
    }, {
      %6 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      stablehlo.return %6 : tensor<32x32xf32>
    }) : (tensor<i32>) -> tensor<32x32xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.clamp %c, %arg1, %c_0 : tensor<i32>
    %3 = "stablehlo.case"(%2) ({
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %7 = stablehlo.add %arg2, %6 : tensor<32x32xf32>
      stablehlo.return %7 : tensor<32x32xf32>
    }, {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %7 = stablehlo.multiply %arg2, %6 : tensor<32x32xf32>
      stablehlo.return %7 : tensor<32x32xf32>
    }, {
      %6 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
      stablehlo.return %7 : tensor<32x32xf32>
    }) : (tensor<i32>) -> tensor<32x32xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %4:4 = stablehlo.while(%iterArg = %arg3, %iterArg_4 = %c_2, %iterArg_5 = %c_1, %iterArg_6 = %arg2) : tensor<32x32xf32>, tensor<i32>, tensor<i32>, tensor<32x32xf32>
    cond {
      %c_7 = stablehlo.constant dense<10> : tensor<i32>
      %6 = stablehlo.compare LT, %iterArg_4, %c_7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6:2 = func.call @closed_call(%iterArg, %iterArg_5, %iterArg_6) : (tensor<32x32xf32>, tensor<i32>, tensor<32x32xf32>) -> (tensor<i32>, tensor<32x32xf32>)
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %7 = stablehlo.add %iterArg_4, %c_7 : tensor<i32>
      stablehlo.return %iterArg, %7, %6#0, %6#1 : tensor<32x32xf32>, tensor<i32>, tensor<i32>, tensor<32x32xf32>
    }
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %5:3 = stablehlo.while(%iterArg = %arg2, %iterArg_4 = %arg2, %iterArg_5 = %c_3) : tensor<32x32xf32>, tensor<32x32xf32>, tensor<i32>
    cond {
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.reduce(%iterArg_4 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<f32>
      %cst_6 = stablehlo.constant dense<1.000000e+02> : tensor<f32>
      %7 = stablehlo.compare LT, %6, %cst_6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
      %7 = stablehlo.multiply %iterArg_4, %6 : tensor<32x32xf32>
      %8 = stablehlo.add %7, %iterArg : tensor<32x32xf32>
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %9 = stablehlo.add %iterArg_5, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %8, %9 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<i32>
    }
    return %1, %3, %4#3, %5#1, %5#2 : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<32x32xf32>, %arg1: tensor<i32>, %arg2: tensor<32x32xf32>) -> (tensor<i32>, tensor<32x32xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg1, %c : tensor<i32>
    %1 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
    %2 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<32x32xf32>
    %4 = stablehlo.add %1, %3 : tensor<32x32xf32>
    return %0, %4 : tensor<i32>, tensor<32x32xf32>
  }
}
