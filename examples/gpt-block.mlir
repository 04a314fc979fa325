// A GPT block: 4 sequences of 1024 tokens, 1024 wide, 16 heads, bf16.
module @gpt_block {
  func.func public @main(%x: tensor<4x1024x1024xbf16>,
      %ln1_scale: tensor<1024xbf16>,
      %ln1_bias: tensor<1024xbf16>,
      %wq: tensor<1024x1024xbf16>,
      %wk: tensor<1024x1024xbf16>,
      %wv: tensor<1024x1024xbf16>,
      %wo: tensor<1024x1024xbf16>,
      %ln2_scale: tensor<1024xbf16>,
      %ln2_bias: tensor<1024xbf16>,
      %w1: tensor<1024x4096xbf16>,
      %b1: tensor<4096xbf16>,
      %w2: tensor<4096x1024xbf16>,
      %b2: tensor<1024xbf16>) -> tensor<4x1024x1024xbf16> {
    %0 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %1 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %2 = stablehlo.reduce(%x init: %0) applies stablehlo.add across dimensions = [2] : (tensor<4x1024x1024xbf16>, tensor<bf16>) -> tensor<4x1024xbf16>
    %3 = stablehlo.constant dense<1.024000e+03> : tensor<4x1024xbf16>
    %4 = stablehlo.divide %2, %3 : tensor<4x1024xbf16>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<4x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %6 = stablehlo.subtract %x, %5 : tensor<4x1024x1024xbf16>
    %7 = stablehlo.multiply %6, %6 : tensor<4x1024x1024xbf16>
    %8 = stablehlo.reduce(%7 init: %0) applies stablehlo.add across dimensions = [2] : (tensor<4x1024x1024xbf16>, tensor<bf16>) -> tensor<4x1024xbf16>
    %9 = stablehlo.divide %8, %3 : tensor<4x1024xbf16>
    %10 = stablehlo.constant dense<1.001360e-05> : tensor<4x1024xbf16>
    %11 = stablehlo.add %9, %10 : tensor<4x1024xbf16>
    %12 = stablehlo.rsqrt %11 : tensor<4x1024xbf16>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<4x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %14 = stablehlo.multiply %6, %13 : tensor<4x1024x1024xbf16>
    %15 = stablehlo.broadcast_in_dim %ln1_scale, dims = [2] : (tensor<1024xbf16>) -> tensor<4x1024x1024xbf16>
    %16 = stablehlo.multiply %14, %15 : tensor<4x1024x1024xbf16>
    %17 = stablehlo.broadcast_in_dim %ln1_bias, dims = [2] : (tensor<1024xbf16>) -> tensor<4x1024x1024xbf16>
    %18 = stablehlo.add %16, %17 : tensor<4x1024x1024xbf16>
    %19 = stablehlo.dot_general %18, %wq, contracting_dims = [2] x [0] : (tensor<4x1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %20 = stablehlo.reshape %19 : (tensor<4x1024x1024xbf16>) -> tensor<4x1024x16x64xbf16>
    %21 = stablehlo.transpose %20, dims = [0, 2, 1, 3] : (tensor<4x1024x16x64xbf16>) -> tensor<4x16x1024x64xbf16>
    %22 = stablehlo.dot_general %18, %wk, contracting_dims = [2] x [0] : (tensor<4x1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %23 = stablehlo.reshape %22 : (tensor<4x1024x1024xbf16>) -> tensor<4x1024x16x64xbf16>
    %24 = stablehlo.transpose %23, dims = [0, 2, 1, 3] : (tensor<4x1024x16x64xbf16>) -> tensor<4x16x1024x64xbf16>
    %25 = stablehlo.dot_general %18, %wv, contracting_dims = [2] x [0] : (tensor<4x1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %26 = stablehlo.reshape %25 : (tensor<4x1024x1024xbf16>) -> tensor<4x1024x16x64xbf16>
    %27 = stablehlo.transpose %26, dims = [0, 2, 1, 3] : (tensor<4x1024x16x64xbf16>) -> tensor<4x16x1024x64xbf16>
    %28 = stablehlo.dot_general %21, %24, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<4x16x1024x64xbf16>, tensor<4x16x1024x64xbf16>) -> tensor<4x16x1024x1024xbf16>
    %29 = stablehlo.constant dense<1.250000e-01> : tensor<4x16x1024x1024xbf16>
    %30 = stablehlo.multiply %28, %29 : tensor<4x16x1024x1024xbf16>
    %31 = stablehlo.iota dim = 2 : tensor<4x16x1024x1024xi32>
    %32 = stablehlo.iota dim = 3 : tensor<4x16x1024x1024xi32>
    %33 = stablehlo.compare GE, %31, %32, SIGNED : (tensor<4x16x1024x1024xi32>, tensor<4x16x1024x1024xi32>) -> tensor<4x16x1024x1024xi1>
    %34 = stablehlo.constant dense<-1.000000e+09> : tensor<4x16x1024x1024xbf16>
    %35 = stablehlo.select %33, %30, %34 : tensor<4x16x1024x1024xi1>, tensor<4x16x1024x1024xbf16>
    %36 = stablehlo.reduce(%35 init: %1) applies stablehlo.maximum across dimensions = [3] : (tensor<4x16x1024x1024xbf16>, tensor<bf16>) -> tensor<4x16x1024xbf16>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<4x16x1024xbf16>) -> tensor<4x16x1024x1024xbf16>
    %38 = stablehlo.subtract %35, %37 : tensor<4x16x1024x1024xbf16>
    %39 = stablehlo.exponential %38 : tensor<4x16x1024x1024xbf16>
    %40 = stablehlo.reduce(%39 init: %0) applies stablehlo.add across dimensions = [3] : (tensor<4x16x1024x1024xbf16>, tensor<bf16>) -> tensor<4x16x1024xbf16>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<4x16x1024xbf16>) -> tensor<4x16x1024x1024xbf16>
    %42 = stablehlo.divide %39, %41 : tensor<4x16x1024x1024xbf16>
    %43 = stablehlo.dot_general %42, %27, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<4x16x1024x1024xbf16>, tensor<4x16x1024x64xbf16>) -> tensor<4x16x1024x64xbf16>
    %44 = stablehlo.transpose %43, dims = [0, 2, 1, 3] : (tensor<4x16x1024x64xbf16>) -> tensor<4x1024x16x64xbf16>
    %45 = stablehlo.reshape %44 : (tensor<4x1024x16x64xbf16>) -> tensor<4x1024x1024xbf16>
    %46 = stablehlo.dot_general %45, %wo, contracting_dims = [2] x [0] : (tensor<4x1024x1024xbf16>, tensor<1024x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %47 = stablehlo.add %x, %46 : tensor<4x1024x1024xbf16>
    %48 = stablehlo.reduce(%47 init: %0) applies stablehlo.add across dimensions = [2] : (tensor<4x1024x1024xbf16>, tensor<bf16>) -> tensor<4x1024xbf16>
    %49 = stablehlo.constant dense<1.024000e+03> : tensor<4x1024xbf16>
    %50 = stablehlo.divide %48, %49 : tensor<4x1024xbf16>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1] : (tensor<4x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %52 = stablehlo.subtract %47, %51 : tensor<4x1024x1024xbf16>
    %53 = stablehlo.multiply %52, %52 : tensor<4x1024x1024xbf16>
    %54 = stablehlo.reduce(%53 init: %0) applies stablehlo.add across dimensions = [2] : (tensor<4x1024x1024xbf16>, tensor<bf16>) -> tensor<4x1024xbf16>
    %55 = stablehlo.divide %54, %49 : tensor<4x1024xbf16>
    %56 = stablehlo.constant dense<1.001360e-05> : tensor<4x1024xbf16>
    %57 = stablehlo.add %55, %56 : tensor<4x1024xbf16>
    %58 = stablehlo.rsqrt %57 : tensor<4x1024xbf16>
    %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1] : (tensor<4x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %60 = stablehlo.multiply %52, %59 : tensor<4x1024x1024xbf16>
    %61 = stablehlo.broadcast_in_dim %ln2_scale, dims = [2] : (tensor<1024xbf16>) -> tensor<4x1024x1024xbf16>
    %62 = stablehlo.multiply %60, %61 : tensor<4x1024x1024xbf16>
    %63 = stablehlo.broadcast_in_dim %ln2_bias, dims = [2] : (tensor<1024xbf16>) -> tensor<4x1024x1024xbf16>
    %64 = stablehlo.add %62, %63 : tensor<4x1024x1024xbf16>
    %65 = stablehlo.dot_general %64, %w1, contracting_dims = [2] x [0] : (tensor<4x1024x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<4x1024x4096xbf16>
    %66 = stablehlo.broadcast_in_dim %b1, dims = [2] : (tensor<4096xbf16>) -> tensor<4x1024x4096xbf16>
    %67 = stablehlo.add %65, %66 : tensor<4x1024x4096xbf16>
    %68 = stablehlo.multiply %67, %67 : tensor<4x1024x4096xbf16>
    %69 = stablehlo.multiply %68, %67 : tensor<4x1024x4096xbf16>
    %70 = stablehlo.constant dense<4.467773e-02> : tensor<4x1024x4096xbf16>
    %71 = stablehlo.multiply %69, %70 : tensor<4x1024x4096xbf16>
    %72 = stablehlo.add %67, %71 : tensor<4x1024x4096xbf16>
    %73 = stablehlo.constant dense<7.968750e-01> : tensor<4x1024x4096xbf16>
    %74 = stablehlo.multiply %72, %73 : tensor<4x1024x4096xbf16>
    %75 = stablehlo.tanh %74 : tensor<4x1024x4096xbf16>
    %76 = stablehlo.constant dense<5.000000e-01> : tensor<4x1024x4096xbf16>
    %77 = stablehlo.multiply %67, %76 : tensor<4x1024x4096xbf16>
    %78 = stablehlo.constant dense<1.000000e+00> : tensor<4x1024x4096xbf16>
    %79 = stablehlo.add %75, %78 : tensor<4x1024x4096xbf16>
    %80 = stablehlo.multiply %77, %79 : tensor<4x1024x4096xbf16>
    %81 = stablehlo.dot_general %80, %w2, contracting_dims = [2] x [0] : (tensor<4x1024x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<4x1024x1024xbf16>
    %82 = stablehlo.broadcast_in_dim %b2, dims = [2] : (tensor<1024xbf16>) -> tensor<4x1024x1024xbf16>
    %83 = stablehlo.add %81, %82 : tensor<4x1024x1024xbf16>
    %84 = stablehlo.add %47, %83 : tensor<4x1024x1024xbf16>
    return %84 : tensor<4x1024x1024xbf16>
  }
}
