module @jit_back attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x128x768xf32>, %arg1: tensor<8x128x768xf32>, %arg2: tensor<768x768xf32>, %arg3: tensor<768xf32>, %arg4: tensor<768x768xf32>, %arg5: tensor<768xf32>, %arg6: tensor<768x768xf32>, %arg7: tensor<768xf32>, %arg8: tensor<768x768xf32>, %arg9: tensor<768xf32>, %arg10: tensor<768xf32>, %arg11: tensor<768xf32>, %arg12: tensor<768x3072xf32>, %arg13: tensor<3072xf32>, %arg14: tensor<3072x768xf32>, %arg15: tensor<768xf32>, %arg16: tensor<768xf32>) -> (tensor<8x128x768xf32> {jax.result_info = "result[0]"}, tensor<768x768xf32> {jax.result_info = "result[1]"}, tensor<768xf32> {jax.result_info = "result[2]"}, tensor<768x768xf32> {jax.result_info = "result[3]"}, tensor<768xf32> {jax.result_info = "result[4]"}, tensor<768x768xf32> {jax.result_info = "result[5]"}, tensor<768xf32> {jax.result_info = "result[6]"}, tensor<768x768xf32> {jax.result_info = "result[7]"}, tensor<768xf32> {jax.result_info = "result[8]"}, tensor<768xf32> {jax.result_info = "result[9]"}, tensor<768xf32> {jax.result_info = "result[10]"}, tensor<768x3072xf32> {jax.result_info = "result[11]"}, tensor<3072xf32> {jax.result_info = "result[12]"}, tensor<3072x768xf32> {jax.result_info = "result[13]"}, tensor<768xf32> {jax.result_info = "result[14]"}, tensor<768xf32> {jax.result_info = "result[15]"}, tensor<768xf32> {jax.result_info = "result[16]"}) {
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %1 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %3 = stablehlo.add %0, %2 : tensor<8x128x768xf32>
    %4 = stablehlo.reshape %3 : (tensor<8x128x768xf32>) -> tensor<8x128x12x64xf32>
    %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : (tensor<8x128x12x64xf32>) -> tensor<8x12x128x64xf32>
    %6 = stablehlo.dot_general %arg1, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %7 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %9 = stablehlo.add %6, %8 : tensor<8x128x768xf32>
    %10 = stablehlo.reshape %9 : (tensor<8x128x768xf32>) -> tensor<8x128x12x64xf32>
    %11 = stablehlo.transpose %10, dims = [0, 2, 1, 3] : (tensor<8x128x12x64xf32>) -> tensor<8x12x128x64xf32>
    %12 = stablehlo.dot_general %arg1, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %13 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %15 = stablehlo.add %12, %14 : tensor<8x128x768xf32>
    %16 = stablehlo.reshape %15 : (tensor<8x128x768xf32>) -> tensor<8x128x12x64xf32>
    %17 = stablehlo.transpose %16, dims = [0, 2, 1, 3] : (tensor<8x128x12x64xf32>) -> tensor<8x12x128x64xf32>
    %18 = stablehlo.dot_general %5, %11, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x64xf32>, tensor<8x12x128x64xf32>) -> tensor<8x12x128x128xf32>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x12x128x128xf32>
    %20 = stablehlo.divide %18, %19 : tensor<8x12x128x128xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<8x12x128x128xf32>, tensor<f32>) -> tensor<8x12x128xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x12x128xf32>
    %23 = stablehlo.maximum %22, %21 : tensor<8x12x128xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<8x12x128xf32>) -> tensor<8x12x128x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<8x12x128x1xf32>) -> tensor<8x12x128x128xf32>
    %26 = stablehlo.subtract %20, %25 : tensor<8x12x128x128xf32>
    %27 = stablehlo.exponential %26 : tensor<8x12x128x128xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<8x12x128x128xf32>, tensor<f32>) -> tensor<8x12x128xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<8x12x128xf32>) -> tensor<8x12x128x1xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<8x12x128x1xf32>) -> tensor<8x12x128x128xf32>
    %31 = stablehlo.divide %27, %30 : tensor<8x12x128x128xf32>
    %32 = stablehlo.multiply %29, %29 : tensor<8x12x128x1xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x12x128x1xf32>
    %34 = stablehlo.divide %33, %32 : tensor<8x12x128x1xf32>
    %35 = stablehlo.dot_general %31, %17, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x128xf32>, tensor<8x12x128x64xf32>) -> tensor<8x12x128x64xf32>
    %36 = stablehlo.transpose %35, dims = [0, 2, 1, 3] : (tensor<8x12x128x64xf32>) -> tensor<8x128x12x64xf32>
    %37 = stablehlo.reshape %36 : (tensor<8x128x12x64xf32>) -> tensor<8x128x768xf32>
    %38 = stablehlo.dot_general %37, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %39 = stablehlo.add %arg1, %38 : tensor<8x128x768xf32>
    %40 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %42 = stablehlo.add %39, %41 : tensor<8x128x768xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.reduce(%42 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_5 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %46 = stablehlo.divide %44, %45 : tensor<8x128x1xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %48 = stablehlo.subtract %42, %47 : tensor<8x128x768xf32>
    %49 = stablehlo.multiply %48, %48 : tensor<8x128x768xf32>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8x128x768xf32>
    %51 = stablehlo.multiply %50, %48 : tensor<8x128x768xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %52 = stablehlo.reduce(%49 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_8 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %55 = stablehlo.divide %53, %54 : tensor<8x128x1xf32>
    %56 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %57 = stablehlo.subtract %42, %56 : tensor<8x128x768xf32>
    %cst_9 = stablehlo.constant dense<9.99999996E-13> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %59 = stablehlo.add %55, %58 : tensor<8x128x1xf32>
    %60 = stablehlo.rsqrt %59 : tensor<8x128x1xf32>
    %61 = stablehlo.divide %60, %59 : tensor<8x128x1xf32>
    %cst_10 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %63 = stablehlo.multiply %62, %61 : tensor<8x128x1xf32>
    %64 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %65 = stablehlo.multiply %57, %64 : tensor<8x128x768xf32>
    %66 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %68 = stablehlo.multiply %65, %67 : tensor<8x128x768xf32>
    %69 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %71 = stablehlo.add %68, %70 : tensor<8x128x768xf32>
    %72 = stablehlo.dot_general %71, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x3072xf32>) -> tensor<8x128x3072xf32>
    %73 = stablehlo.broadcast_in_dim %arg13, dims = [2] : (tensor<3072xf32>) -> tensor<1x1x3072xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<1x1x3072xf32>) -> tensor<8x128x3072xf32>
    %75 = stablehlo.add %72, %74 : tensor<8x128x3072xf32>
    %cst_11 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8x128x3072xf32>
    %77 = stablehlo.multiply %76, %75 : tensor<8x128x3072xf32>
    %78 = stablehlo.negate %75 : tensor<8x128x3072xf32>
    %cst_12 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %79 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<8x128x3072xf32>
    %80 = stablehlo.multiply %78, %79 : tensor<8x128x3072xf32>
    %81 = chlo.erfc %80 : tensor<8x128x3072xf32> -> tensor<8x128x3072xf32>
    %82 = chlo.square %80 : tensor<8x128x3072xf32> -> tensor<8x128x3072xf32>
    %83 = stablehlo.negate %82 : tensor<8x128x3072xf32>
    %84 = stablehlo.exponential %83 : tensor<8x128x3072xf32>
    %85 = stablehlo.multiply %77, %81 : tensor<8x128x3072xf32>
    %86 = stablehlo.dot_general %85, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x128x3072xf32>, tensor<3072x768xf32>) -> tensor<8x128x768xf32>
    %87 = stablehlo.add %71, %86 : tensor<8x128x768xf32>
    %88 = stablehlo.broadcast_in_dim %arg15, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %90 = stablehlo.add %87, %89 : tensor<8x128x768xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %91 = stablehlo.reduce(%90 init: %cst_13) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %92 = stablehlo.broadcast_in_dim %91, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_14 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %93 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %94 = stablehlo.divide %92, %93 : tensor<8x128x1xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %96 = stablehlo.subtract %90, %95 : tensor<8x128x768xf32>
    %97 = stablehlo.multiply %96, %96 : tensor<8x128x768xf32>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<8x128x768xf32>
    %99 = stablehlo.multiply %98, %96 : tensor<8x128x768xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %100 = stablehlo.reduce(%97 init: %cst_16) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %101 = stablehlo.broadcast_in_dim %100, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_17 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %102 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %103 = stablehlo.divide %101, %102 : tensor<8x128x1xf32>
    %104 = stablehlo.broadcast_in_dim %94, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %105 = stablehlo.subtract %90, %104 : tensor<8x128x768xf32>
    %cst_18 = stablehlo.constant dense<9.99999996E-13> : tensor<f32>
    %106 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %107 = stablehlo.add %103, %106 : tensor<8x128x1xf32>
    %108 = stablehlo.rsqrt %107 : tensor<8x128x1xf32>
    %109 = stablehlo.divide %108, %107 : tensor<8x128x1xf32>
    %cst_19 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %111 = stablehlo.multiply %110, %109 : tensor<8x128x1xf32>
    %112 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %113 = stablehlo.multiply %105, %112 : tensor<8x128x768xf32>
    %114 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %115 = stablehlo.reduce(%arg0 init: %cst_20) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %116 = stablehlo.reshape %115 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %117 = stablehlo.reduce(%116 init: %cst_21) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %118 = stablehlo.multiply %113, %arg0 : tensor<8x128x768xf32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %119 = stablehlo.reduce(%118 init: %cst_22) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %120 = stablehlo.reshape %119 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %121 = stablehlo.broadcast_in_dim %114, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %122 = stablehlo.multiply %arg0, %121 : tensor<8x128x768xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %123 = stablehlo.reduce(%120 init: %cst_23) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %124 = stablehlo.multiply %105, %122 : tensor<8x128x768xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %125 = stablehlo.reduce(%124 init: %cst_24) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %126 = stablehlo.reshape %125 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %127 = stablehlo.broadcast_in_dim %108, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %128 = stablehlo.multiply %122, %127 : tensor<8x128x768xf32>
    %129 = stablehlo.multiply %126, %111 : tensor<8x128x1xf32>
    %130 = stablehlo.negate %128 : tensor<8x128x768xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %131 = stablehlo.reduce(%130 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %132 = stablehlo.reshape %131 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_26 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %133 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %134 = stablehlo.divide %129, %133 : tensor<8x128x1xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %135 = stablehlo.reduce(%134 init: %cst_27) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %136 = stablehlo.broadcast_in_dim %135, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x768xf32>
    %137 = stablehlo.multiply %136, %99 : tensor<8x128x768xf32>
    %138 = stablehlo.negate %137 : tensor<8x128x768xf32>
    %cst_28 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %139 = stablehlo.reduce(%138 init: %cst_28) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %140 = stablehlo.reshape %139 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %141 = stablehlo.add %128, %137 : tensor<8x128x768xf32>
    %142 = stablehlo.add %132, %140 : tensor<8x128x1xf32>
    %cst_29 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %144 = stablehlo.divide %142, %143 : tensor<8x128x1xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %145 = stablehlo.reduce(%144 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %146 = stablehlo.broadcast_in_dim %145, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x768xf32>
    %147 = stablehlo.add %141, %146 : tensor<8x128x768xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %148 = stablehlo.reduce(%147 init: %cst_31) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %149 = stablehlo.reshape %148 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %150 = stablehlo.reduce(%149 init: %cst_32) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %151 = stablehlo.dot_general %147, %85, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x3072xf32>) -> tensor<768x3072xf32>
    %152 = stablehlo.transpose %151, dims = [1, 0] : (tensor<768x3072xf32>) -> tensor<3072x768xf32>
    %153 = stablehlo.dot_general %147, %arg14, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<3072x768xf32>) -> tensor<8x128x3072xf32>
    %154 = stablehlo.multiply %77, %153 : tensor<8x128x3072xf32>
    %155 = stablehlo.multiply %153, %81 : tensor<8x128x3072xf32>
    %cst_33 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %156 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<8x128x3072xf32>
    %157 = stablehlo.multiply %156, %154 : tensor<8x128x3072xf32>
    %158 = stablehlo.multiply %157, %84 : tensor<8x128x3072xf32>
    %cst_34 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %159 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<8x128x3072xf32>
    %160 = stablehlo.multiply %158, %159 : tensor<8x128x3072xf32>
    %161 = stablehlo.negate %160 : tensor<8x128x3072xf32>
    %cst_35 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %162 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<8x128x3072xf32>
    %163 = stablehlo.multiply %162, %155 : tensor<8x128x3072xf32>
    %164 = stablehlo.add %161, %163 : tensor<8x128x3072xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %165 = stablehlo.reduce(%164 init: %cst_36) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x3072xf32>, tensor<f32>) -> tensor<3072xf32>
    %166 = stablehlo.reshape %165 : (tensor<3072xf32>) -> tensor<1x1x3072xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %167 = stablehlo.reduce(%166 init: %cst_37) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x3072xf32>, tensor<f32>) -> tensor<3072xf32>
    %168 = stablehlo.dot_general %164, %71, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x3072xf32>, tensor<8x128x768xf32>) -> tensor<3072x768xf32>
    %169 = stablehlo.transpose %168, dims = [1, 0] : (tensor<3072x768xf32>) -> tensor<768x3072xf32>
    %170 = stablehlo.dot_general %164, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x3072xf32>, tensor<768x3072xf32>) -> tensor<8x128x768xf32>
    %171 = stablehlo.add %147, %170 : tensor<8x128x768xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %172 = stablehlo.reduce(%171 init: %cst_38) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %173 = stablehlo.reshape %172 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %174 = stablehlo.reduce(%173 init: %cst_39) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %175 = stablehlo.multiply %65, %171 : tensor<8x128x768xf32>
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %176 = stablehlo.reduce(%175 init: %cst_40) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %177 = stablehlo.reshape %176 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %178 = stablehlo.broadcast_in_dim %66, dims = [0, 1, 2] : (tensor<1x1x768xf32>) -> tensor<8x128x768xf32>
    %179 = stablehlo.multiply %171, %178 : tensor<8x128x768xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %180 = stablehlo.reduce(%177 init: %cst_41) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %181 = stablehlo.multiply %57, %179 : tensor<8x128x768xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %182 = stablehlo.reduce(%181 init: %cst_42) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %183 = stablehlo.reshape %182 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %184 = stablehlo.broadcast_in_dim %60, dims = [0, 1, 2] : (tensor<8x128x1xf32>) -> tensor<8x128x768xf32>
    %185 = stablehlo.multiply %179, %184 : tensor<8x128x768xf32>
    %186 = stablehlo.multiply %183, %63 : tensor<8x128x1xf32>
    %187 = stablehlo.negate %185 : tensor<8x128x768xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %188 = stablehlo.reduce(%187 init: %cst_43) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %189 = stablehlo.reshape %188 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %cst_44 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %190 = stablehlo.broadcast_in_dim %cst_44, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %191 = stablehlo.divide %186, %190 : tensor<8x128x1xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %192 = stablehlo.reduce(%191 init: %cst_45) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %193 = stablehlo.broadcast_in_dim %192, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x768xf32>
    %194 = stablehlo.multiply %193, %51 : tensor<8x128x768xf32>
    %195 = stablehlo.negate %194 : tensor<8x128x768xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %196 = stablehlo.reduce(%195 init: %cst_46) applies stablehlo.add across dimensions = [2] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<8x128xf32>
    %197 = stablehlo.reshape %196 : (tensor<8x128xf32>) -> tensor<8x128x1xf32>
    %198 = stablehlo.add %185, %194 : tensor<8x128x768xf32>
    %199 = stablehlo.add %189, %197 : tensor<8x128x1xf32>
    %cst_47 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %200 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<8x128x1xf32>
    %201 = stablehlo.divide %199, %200 : tensor<8x128x1xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.reduce(%201 init: %cst_48) applies stablehlo.add across dimensions = [2] : (tensor<8x128x1xf32>, tensor<f32>) -> tensor<8x128xf32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [0, 1] : (tensor<8x128xf32>) -> tensor<8x128x768xf32>
    %204 = stablehlo.add %198, %203 : tensor<8x128x768xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %205 = stablehlo.reduce(%204 init: %cst_49) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %206 = stablehlo.reshape %205 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %207 = stablehlo.reduce(%206 init: %cst_50) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %208 = stablehlo.dot_general %204, %37, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x768xf32>) -> tensor<768x768xf32>
    %209 = stablehlo.transpose %208, dims = [1, 0] : (tensor<768x768xf32>) -> tensor<768x768xf32>
    %210 = stablehlo.dot_general %204, %arg8, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %211 = stablehlo.reshape %210 : (tensor<8x128x768xf32>) -> tensor<8x128x12x64xf32>
    %212 = stablehlo.transpose %211, dims = [0, 2, 1, 3] : (tensor<8x128x12x64xf32>) -> tensor<8x12x128x64xf32>
    %213 = stablehlo.dot_general %212, %31, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x64xf32>, tensor<8x12x128x128xf32>) -> tensor<8x12x64x128xf32>
    %214 = stablehlo.transpose %213, dims = [0, 1, 3, 2] : (tensor<8x12x64x128xf32>) -> tensor<8x12x128x64xf32>
    %215 = stablehlo.dot_general %212, %17, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x64xf32>, tensor<8x12x128x64xf32>) -> tensor<8x12x128x128xf32>
    %216 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<8x12x128x1xf32>) -> tensor<8x12x128x128xf32>
    %217 = stablehlo.multiply %215, %216 : tensor<8x12x128x128xf32>
    %218 = stablehlo.multiply %217, %27 : tensor<8x12x128x128xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %219 = stablehlo.reduce(%218 init: %cst_51) applies stablehlo.add across dimensions = [3] : (tensor<8x12x128x128xf32>, tensor<f32>) -> tensor<8x12x128xf32>
    %220 = stablehlo.reshape %219 : (tensor<8x12x128xf32>) -> tensor<8x12x128x1xf32>
    %221 = stablehlo.negate %220 : tensor<8x12x128x1xf32>
    %222 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<8x12x128x1xf32>) -> tensor<8x12x128x128xf32>
    %223 = stablehlo.divide %215, %222 : tensor<8x12x128x128xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %224 = stablehlo.reduce(%221 init: %cst_52) applies stablehlo.add across dimensions = [3] : (tensor<8x12x128x1xf32>, tensor<f32>) -> tensor<8x12x128xf32>
    %225 = stablehlo.broadcast_in_dim %224, dims = [0, 1, 2] : (tensor<8x12x128xf32>) -> tensor<8x12x128x128xf32>
    %226 = stablehlo.add %223, %225 : tensor<8x12x128x128xf32>
    %227 = stablehlo.multiply %226, %27 : tensor<8x12x128x128xf32>
    %cst_53 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %228 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<8x12x128x128xf32>
    %229 = stablehlo.divide %227, %228 : tensor<8x12x128x128xf32>
    %230 = stablehlo.dot_general %229, %5, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x128xf32>, tensor<8x12x128x64xf32>) -> tensor<8x12x128x64xf32>
    %231 = stablehlo.dot_general %229, %11, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x12x128x128xf32>, tensor<8x12x128x64xf32>) -> tensor<8x12x128x64xf32>
    %232 = stablehlo.transpose %214, dims = [0, 2, 1, 3] : (tensor<8x12x128x64xf32>) -> tensor<8x128x12x64xf32>
    %233 = stablehlo.reshape %232 : (tensor<8x128x12x64xf32>) -> tensor<8x128x768xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %234 = stablehlo.reduce(%233 init: %cst_54) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %235 = stablehlo.reshape %234 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %236 = stablehlo.reduce(%235 init: %cst_55) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %237 = stablehlo.dot_general %233, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x768xf32>) -> tensor<768x768xf32>
    %238 = stablehlo.transpose %237, dims = [1, 0] : (tensor<768x768xf32>) -> tensor<768x768xf32>
    %239 = stablehlo.dot_general %233, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %240 = stablehlo.add %204, %239 : tensor<8x128x768xf32>
    %241 = stablehlo.transpose %230, dims = [0, 2, 1, 3] : (tensor<8x12x128x64xf32>) -> tensor<8x128x12x64xf32>
    %242 = stablehlo.reshape %241 : (tensor<8x128x12x64xf32>) -> tensor<8x128x768xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %243 = stablehlo.reduce(%242 init: %cst_56) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %244 = stablehlo.reshape %243 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%244 init: %cst_57) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %246 = stablehlo.dot_general %242, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x768xf32>) -> tensor<768x768xf32>
    %247 = stablehlo.transpose %246, dims = [1, 0] : (tensor<768x768xf32>) -> tensor<768x768xf32>
    %248 = stablehlo.dot_general %242, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %249 = stablehlo.add %240, %248 : tensor<8x128x768xf32>
    %250 = stablehlo.transpose %231, dims = [0, 2, 1, 3] : (tensor<8x12x128x64xf32>) -> tensor<8x128x12x64xf32>
    %251 = stablehlo.reshape %250 : (tensor<8x128x12x64xf32>) -> tensor<8x128x768xf32>
    %cst_58 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %252 = stablehlo.reduce(%251 init: %cst_58) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x128x768xf32>, tensor<f32>) -> tensor<768xf32>
    %253 = stablehlo.reshape %252 : (tensor<768xf32>) -> tensor<1x1x768xf32>
    %cst_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %254 = stablehlo.reduce(%253 init: %cst_59) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x768xf32>, tensor<f32>) -> tensor<768xf32>
    %255 = stablehlo.dot_general %251, %arg1, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<8x128x768xf32>) -> tensor<768x768xf32>
    %256 = stablehlo.transpose %255, dims = [1, 0] : (tensor<768x768xf32>) -> tensor<768x768xf32>
    %257 = stablehlo.dot_general %251, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x128x768xf32>, tensor<768x768xf32>) -> tensor<8x128x768xf32>
    %258 = stablehlo.add %249, %257 : tensor<8x128x768xf32>
    return %258, %256, %254, %247, %245, %238, %236, %209, %207, %180, %174, %169, %167, %152, %150, %123, %117 : tensor<8x128x768xf32>, tensor<768x768xf32>, tensor<768xf32>, tensor<768x768xf32>, tensor<768xf32>, tensor<768x768xf32>, tensor<768xf32>, tensor<768x768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768x3072xf32>, tensor<3072xf32>, tensor<3072x768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
  }
}
