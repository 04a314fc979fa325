// A dense layer as jax.export writes it for symbolic shapes: jax.export.export(jax.jit(f))(x of shape (2*b, 1024), w).
module @jit_f attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x1024xf32>, %arg1: tensor<1024x4096xf32>) -> (tensor<?x4096xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x1024xf32>) -> tensor<i32>
    %1 = stablehlo.divide %0, %c : tensor<i32>
    %2 = stablehlo.compare GE, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (2*b, 1024). Obtained dimension variables: 'b' = {0} from specification '2*b' for dimension args[0].shape[0] (= {0}), .", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %3 = call @_wrapped_jax_export_main(%1, %arg0, %arg1) : (tensor<i32>, tensor<?x1024xf32>, tensor<1024x4096xf32>) -> tensor<?x4096xf32>
    return %3 : tensor<?x4096xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?x1024xf32>, %arg2: tensor<1024x4096xf32>) -> (tensor<?x4096xf32> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %c_0 = stablehlo.constant dense<4096> : tensor<1xi32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<?x1024xf32>, tensor<1024x4096xf32>) -> tensor<?x4096xf32>
    %1 = stablehlo.multiply %c, %arg0 : tensor<i32>
    %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
    %3 = stablehlo.concatenate %2, %c_0, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.dynamic_broadcast_in_dim %cst, %3, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4096xf32>
    %5 = stablehlo.maximum %0, %4 : tensor<?x4096xf32>
    return %5 : tensor<?x4096xf32>
  }
}
