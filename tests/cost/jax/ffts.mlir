module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x64xcomplex<f32>>, %arg1: tensor<8x32x32xf32>) -> (tensor<16x64xcomplex<f32>> {jax.result_info = "result[0]"}, tensor<8x32x17xcomplex<f32>> {jax.result_info = "result[1]"}, tensor<16x64xcomplex<f32>> {jax.result_info = "result[2]"}, tensor<16x126xf32> {jax.result_info = "result[3]"}, tensor<16x64xf32> {jax.result_info = "result[4]"}, tensor<16x64xcomplex<f32>> {jax.result_info = "result[5]"}, tensor<16x64xcomplex<f32>> {jax.result_info = "result[6]"}, tensor<16x64xcomplex<f32>> {jax.result_info = "result[7]"}, tensor<16x64xcomplex<f32>> {jax.result_info = "result[8]"}) {
    %0 = call @fft(%arg0) : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>>
    %1 = call @fft_0(%arg1) : (tensor<8x32x32xf32>) -> tensor<8x32x17xcomplex<f32>>
    %2 = call @fft_1(%arg0) : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>>
    %3 = call @fft_2(%arg0) : (tensor<16x64xcomplex<f32>>) -> tensor<16x126xf32>
    %4 = stablehlo.abs %arg0 : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xf32>
    %5 = stablehlo.exponential %arg0 : tensor<16x64xcomplex<f32>>
    %6 = stablehlo.log %arg0 : tensor<16x64xcomplex<f32>>
    %7 = stablehlo.sqrt %arg0 : tensor<16x64xcomplex<f32>>
    %8 = stablehlo.multiply %arg0, %arg0 : tensor<16x64xcomplex<f32>>
    %cst = stablehlo.constant dense<(1.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<16x64xcomplex<f32>>
    %10 = stablehlo.add %arg0, %9 : tensor<16x64xcomplex<f32>>
    %11 = stablehlo.divide %8, %10 : tensor<16x64xcomplex<f32>>
    return %0, %1, %2, %3, %4, %5, %6, %7, %11 : tensor<16x64xcomplex<f32>>, tensor<8x32x17xcomplex<f32>>, tensor<16x64xcomplex<f32>>, tensor<16x126xf32>, tensor<16x64xf32>, tensor<16x64xcomplex<f32>>, tensor<16x64xcomplex<f32>>, tensor<16x64xcomplex<f32>>, tensor<16x64xcomplex<f32>>
  }
  func.func private @fft(%arg0: tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = FFT, length = [64] : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>>
    return %0 : tensor<16x64xcomplex<f32>>
  }
  func.func private @fft_0(%arg0: tensor<8x32x32xf32>) -> tensor<8x32x17xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [32, 32] : (tensor<8x32x32xf32>) -> tensor<8x32x17xcomplex<f32>>
    return %0 : tensor<8x32x17xcomplex<f32>>
  }
  func.func private @fft_1(%arg0: tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = IFFT, length = [64] : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>>
    return %0 : tensor<16x64xcomplex<f32>>
  }
  func.func private @fft_2(%arg0: tensor<16x64xcomplex<f32>>) -> tensor<16x126xf32> {
    %0 = stablehlo.fft %arg0, type = IRFFT, length = [126] : (tensor<16x64xcomplex<f32>>) -> tensor<16x126xf32>
    return %0 : tensor<16x126xf32>
  }
}
