module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<i32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64x64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<i32>, %arg8: tensor<16x64xf32>) -> (tensor<64x64xf32> {jax.result_info = "result[0]['a']"}, tensor<64xf32> {jax.result_info = "result[0]['b']"}, tensor<i32> {jax.result_info = "result[1][1][0].count"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].mu['a']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['b']"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].nu['a']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['b']"}, tensor<i32> {jax.result_info = "result[1][1][2].count"}) {
    %0 = stablehlo.dot_general %arg8, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %3 = stablehlo.add %0, %2 : tensor<16x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %5 = stablehlo.compare GT, %3, %4, FLOAT : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xi1>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %6 = stablehlo.divide %cst_0, %cst_1 : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %9 = stablehlo.select %5, %7, %8 : tensor<16x64xi1>, tensor<16x64xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
    %11 = stablehlo.reshape %10 : (tensor<64xf32>) -> tensor<1x64xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %12 = stablehlo.reduce(%11 init: %cst_4) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %13 = stablehlo.dot_general %9, %arg8, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
    %14 = stablehlo.transpose %13, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %15 = chlo.square %14 : tensor<64x64xf32> -> tensor<64x64xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %17 = chlo.square %16 : tensor<64x64xf32> -> tensor<64x64xf32>
    %18 = stablehlo.add %15, %17 : tensor<64x64xf32>
    %19 = chlo.square %12 : tensor<64xf32> -> tensor<64xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %21 = chlo.square %20 : tensor<64xf32> -> tensor<64xf32>
    %22 = stablehlo.add %19, %21 : tensor<64xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%18 init: %cst_7) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%22 init: %cst_8) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.add %cst_9, %23 : tensor<f32>
    %26 = stablehlo.add %25, %24 : tensor<f32>
    %27 = stablehlo.sqrt %26 : tensor<f32>
    %cst_10 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.compare LT, %27, %cst_10, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %29 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %30 = stablehlo.divide %14, %29 : tensor<64x64xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %32 = stablehlo.multiply %30, %31 : tensor<64x64xf32>
    %33 = stablehlo.select %28, %14, %32 : tensor<i1>, tensor<64x64xf32>
    %34 = stablehlo.broadcast_in_dim %27, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %35 = stablehlo.divide %12, %34 : tensor<64xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %37 = stablehlo.multiply %35, %36 : tensor<64xf32>
    %38 = stablehlo.select %28, %12, %37 : tensor<i1>, tensor<64xf32>
    %cst_13 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %40 = stablehlo.multiply %39, %33 : tensor<64x64xf32>
    %cst_14 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %42 = stablehlo.multiply %41, %arg3 : tensor<64x64xf32>
    %43 = stablehlo.add %40, %42 : tensor<64x64xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %45 = stablehlo.multiply %44, %38 : tensor<64xf32>
    %cst_16 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %47 = stablehlo.multiply %46, %arg4 : tensor<64xf32>
    %48 = stablehlo.add %45, %47 : tensor<64xf32>
    %49 = stablehlo.multiply %33, %33 : tensor<64x64xf32>
    %cst_17 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %51 = stablehlo.multiply %50, %49 : tensor<64x64xf32>
    %cst_18 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %53 = stablehlo.multiply %52, %arg5 : tensor<64x64xf32>
    %54 = stablehlo.add %51, %53 : tensor<64x64xf32>
    %55 = stablehlo.multiply %38, %38 : tensor<64xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %57 = stablehlo.multiply %56, %55 : tensor<64xf32>
    %cst_20 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %59 = stablehlo.multiply %58, %arg6 : tensor<64xf32>
    %60 = stablehlo.add %57, %59 : tensor<64xf32>
    %c = stablehlo.constant dense<2147483647> : tensor<i32>
    %61 = stablehlo.compare LT, %arg2, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_21 = stablehlo.constant dense<1> : tensor<i32>
    %62 = stablehlo.add %arg2, %c_21 : tensor<i32>
    %c_22 = stablehlo.constant dense<2147483647> : tensor<i32>
    %63 = call @_where(%61, %62, %c_22) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %cst_23 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %64 = stablehlo.convert %63 : (tensor<i32>) -> tensor<f32>
    %65 = stablehlo.power %cst_23, %64 : tensor<f32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %66 = stablehlo.subtract %cst_24, %65 : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %68 = stablehlo.divide %43, %67 : tensor<64x64xf32>
    %69 = stablehlo.broadcast_in_dim %66, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %70 = stablehlo.divide %48, %69 : tensor<64xf32>
    %cst_25 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %71 = stablehlo.convert %63 : (tensor<i32>) -> tensor<f32>
    %72 = stablehlo.power %cst_25, %71 : tensor<f32>
    %cst_26 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %73 = stablehlo.subtract %cst_26, %72 : tensor<f32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %75 = stablehlo.divide %54, %74 : tensor<64x64xf32>
    %76 = stablehlo.broadcast_in_dim %73, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %77 = stablehlo.divide %60, %76 : tensor<64xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %79 = stablehlo.add %75, %78 : tensor<64x64xf32>
    %80 = stablehlo.sqrt %79 : tensor<64x64xf32>
    %cst_28 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %82 = stablehlo.add %80, %81 : tensor<64x64xf32>
    %83 = stablehlo.divide %68, %82 : tensor<64x64xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %85 = stablehlo.add %77, %84 : tensor<64xf32>
    %86 = stablehlo.sqrt %85 : tensor<64xf32>
    %cst_30 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %87 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %88 = stablehlo.add %86, %87 : tensor<64xf32>
    %89 = stablehlo.divide %70, %88 : tensor<64xf32>
    %cst_31 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %90 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %91 = stablehlo.multiply %90, %arg0 : tensor<64x64xf32>
    %92 = stablehlo.add %83, %91 : tensor<64x64xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %93 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %94 = stablehlo.multiply %93, %arg1 : tensor<64xf32>
    %95 = stablehlo.add %89, %94 : tensor<64xf32>
    %96 = stablehlo.convert %arg7 : (tensor<i32>) -> tensor<f32>
    %cst_33 = stablehlo.constant dense<1.000000e+03> : tensor<f32>
    %97 = stablehlo.minimum %96, %cst_33 : tensor<f32>
    %cst_34 = stablehlo.constant dense<3.14159274> : tensor<f32>
    %98 = stablehlo.multiply %cst_34, %97 : tensor<f32>
    %cst_35 = stablehlo.constant dense<1.000000e+03> : tensor<f32>
    %99 = stablehlo.divide %98, %cst_35 : tensor<f32>
    %100 = stablehlo.cosine %99 : tensor<f32>
    %cst_36 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %101 = stablehlo.add %cst_36, %100 : tensor<f32>
    %cst_37 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %102 = stablehlo.multiply %cst_37, %101 : tensor<f32>
    %cst_38 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %103 = stablehlo.power %102, %cst_38 : tensor<f32>
    %cst_39 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %104 = stablehlo.multiply %cst_39, %103 : tensor<f32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %105 = stablehlo.add %104, %cst_40 : tensor<f32>
    %cst_41 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %106 = stablehlo.multiply %cst_41, %105 : tensor<f32>
    %cst_42 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %107 = stablehlo.multiply %cst_42, %106 : tensor<f32>
    %108 = stablehlo.convert %107 : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %108, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %110 = stablehlo.multiply %109, %92 : tensor<64x64xf32>
    %111 = stablehlo.convert %107 : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %111, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %113 = stablehlo.multiply %112, %95 : tensor<64xf32>
    %c_43 = stablehlo.constant dense<2147483647> : tensor<i32>
    %114 = stablehlo.compare LT, %arg7, %c_43, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_44 = stablehlo.constant dense<1> : tensor<i32>
    %115 = stablehlo.add %arg7, %c_44 : tensor<i32>
    %c_45 = stablehlo.constant dense<2147483647> : tensor<i32>
    %116 = call @_where(%114, %115, %c_45) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %117 = stablehlo.add %arg0, %110 : tensor<64x64xf32>
    %118 = stablehlo.add %arg1, %113 : tensor<64xf32>
    return %117, %118, %63, %43, %48, %54, %60, %116 : tensor<64x64xf32>, tensor<64xf32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
}
