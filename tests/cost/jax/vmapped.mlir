module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x16xf32>, %arg1: tensor<8x16xf32>) -> (tensor<8x16x16xf32> {jax.result_info = "result[0]"}, tensor<16x16x16xf32> {jax.result_info = "result[1]"}, tensor<8x16xf32> {jax.result_info = "result[2][0]"}, tensor<8x16xf32> {jax.result_info = "result[2][1]"}) {
    %0 = stablehlo.iota dim = 0 : tensor<16x16xi32>
    %1 = stablehlo.iota dim = 1 : tensor<16x16xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x16xi32>
    %3 = stablehlo.add %0, %2 : tensor<16x16xi32>
    %4 = stablehlo.compare EQ, %3, %1, SIGNED : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %5 = stablehlo.convert %4 : (tensor<16x16xi1>) -> tensor<16x16xf32>
    %6 = stablehlo.slice %5 [0:16, 0:16] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %7 = stablehlo.convert %6 : tensor<16x16xf32>
    %8 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<8x16xf32>) -> tensor<16x8xf32>
    %9 = stablehlo.dot_general %arg0, %7, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    %10 = stablehlo.tanh %8 : tensor<16x8xf32>
    %11 = stablehlo.transpose %9, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %12 = stablehlo.transpose %10, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x1x16xf32>
    %14 = stablehlo.broadcast_in_dim %11, dims = [1, 2] : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<1x16x16xf32>) -> tensor<8x16x16xf32>
    %16 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<8x1x16xf32>) -> tensor<8x16x16xf32>
    %17 = stablehlo.multiply %15, %16 : tensor<8x16x16xf32>
    %18 = stablehlo.transpose %9, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [1, 2] : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<1x16x16xf32>) -> tensor<8x16x16xf32>
    %21 = stablehlo.add %20, %17 : tensor<8x16x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %23 = stablehlo.subtract %22, %10 : tensor<16x8xf32>
    %24 = stablehlo.transpose %23, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x1x16xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<8x1x16xf32>) -> tensor<8x16x16xf32>
    %27 = stablehlo.multiply %21, %26 : tensor<8x16x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %29 = stablehlo.subtract %28, %10 : tensor<16x8xf32>
    %30 = stablehlo.negate %27 : tensor<8x16x16xf32>
    %31 = stablehlo.iota dim = 0 : tensor<1x1xi32>
    %32 = stablehlo.iota dim = 1 : tensor<1x1xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %33 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<1x1xi32>
    %34 = stablehlo.add %31, %33 : tensor<1x1xi32>
    %35 = stablehlo.compare EQ, %34, %32, SIGNED : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x1xi1>
    %36 = stablehlo.convert %35 : (tensor<1x1xi1>) -> tensor<1x1xf32>
    %37 = stablehlo.slice %36 [0:1, 0:1] : (tensor<1x1xf32>) -> tensor<1x1xf32>
    %38 = stablehlo.reshape %37 : (tensor<1x1xf32>) -> tensor<1xf32>
    %39 = stablehlo.convert %38 : tensor<1xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0] : (tensor<1xf32>) -> tensor<1x16xf32>
    %41 = stablehlo.transpose %29, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x1x16xf32>
    %43 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 3] : (tensor<8x16x16xf32>) -> tensor<8x16x1x16xf32>
    %44 = stablehlo.broadcast_in_dim %40, dims = [1, 2] : (tensor<1x16xf32>) -> tensor<1x1x16xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<8x1x16xf32>
    %46 = stablehlo.multiply %45, %42 : tensor<8x1x16xf32>
    %47 = stablehlo.broadcast_in_dim %40, dims = [1, 2] : (tensor<1x16xf32>) -> tensor<1x1x16xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [1, 2, 3] : (tensor<1x1x16xf32>) -> tensor<1x1x1x16xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<8x16x1x16xf32>
    %50 = stablehlo.multiply %49, %43 : tensor<8x16x1x16xf32>
    %51 = stablehlo.transpose %10, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 2] : (tensor<8x16xf32>) -> tensor<8x1x16xf32>
    %53 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 3] : (tensor<8x16x16xf32>) -> tensor<8x16x1x16xf32>
    %54 = stablehlo.broadcast_in_dim %52, dims = [0, 2, 3] : (tensor<8x1x16xf32>) -> tensor<8x1x1x16xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3] : (tensor<8x1x1x16xf32>) -> tensor<8x16x1x16xf32>
    %56 = stablehlo.multiply %50, %55 : tensor<8x16x1x16xf32>
    %57 = stablehlo.broadcast_in_dim %46, dims = [0, 2, 3] : (tensor<8x1x16xf32>) -> tensor<8x1x1x16xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<8x1x1x16xf32>) -> tensor<8x16x1x16xf32>
    %59 = stablehlo.multiply %58, %53 : tensor<8x16x1x16xf32>
    %60 = stablehlo.add %56, %59 : tensor<8x16x1x16xf32>
    %61 = stablehlo.add %50, %60 : tensor<8x16x1x16xf32>
    %62 = stablehlo.dot_general %61, %arg0, contracting_dims = [3] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16x1x16xf32>, tensor<16x16xf32>) -> tensor<8x16x1x16xf32>
    %63 = stablehlo.slice %62 [0:8, 0:16, 0:1, 0:16] : (tensor<8x16x1x16xf32>) -> tensor<8x16x1x16xf32>
    %64 = stablehlo.reshape %63 : (tensor<8x16x1x16xf32>) -> tensor<8x16x16xf32>
    %65 = stablehlo.transpose %64, dims = [0, 2, 1] : (tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
    %66 = stablehlo.slice %65 [0:8, 0:16, 0:16] : (tensor<8x16x16xf32>) -> tensor<8x16x16xf32>
    %67 = stablehlo.iota dim = 0 : tensor<256x256xi32>
    %68 = stablehlo.iota dim = 1 : tensor<256x256xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %69 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<256x256xi32>
    %70 = stablehlo.add %67, %69 : tensor<256x256xi32>
    %71 = stablehlo.compare EQ, %70, %68, SIGNED : (tensor<256x256xi32>, tensor<256x256xi32>) -> tensor<256x256xi1>
    %72 = stablehlo.convert %71 : (tensor<256x256xi1>) -> tensor<256x256xf32>
    %73 = stablehlo.slice %72 [0:256, 0:256] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %74 = stablehlo.reshape %73 : (tensor<256x256xf32>) -> tensor<256x16x16xf32>
    %75 = stablehlo.convert %74 : tensor<256x16x16xf32>
    %76 = stablehlo.slice %arg1 [0:1, 0:16] : (tensor<8x16xf32>) -> tensor<1x16xf32>
    %77 = stablehlo.reshape %76 : (tensor<1x16xf32>) -> tensor<16xf32>
    %78 = stablehlo.dot_general %arg0, %77, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %79 = stablehlo.dot_general %75, %77, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x16x16xf32>, tensor<16xf32>) -> tensor<256x16xf32>
    %80 = stablehlo.cosine %78 : tensor<16xf32>
    %81 = stablehlo.broadcast_in_dim %80, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %82 = stablehlo.broadcast_in_dim %81, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<256x16xf32>
    %83 = stablehlo.multiply %79, %82 : tensor<256x16xf32>
    %84 = stablehlo.transpose %83, dims = [1, 0] : (tensor<256x16xf32>) -> tensor<16x256xf32>
    %85 = stablehlo.slice %84 [0:16, 0:256] : (tensor<16x256xf32>) -> tensor<16x256xf32>
    %86 = stablehlo.reshape %85 : (tensor<16x256xf32>) -> tensor<16x16x16xf32>
    %87 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %88 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    return %66, %86, %87, %88 : tensor<8x16x16xf32>, tensor<16x16x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
}
