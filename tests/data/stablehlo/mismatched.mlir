// A product, a bias and a tanh, on a batch of two.
module @tiny {
  func.func public @main(%arg0: tensor<2x5xf32> loc("x")) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<[[0.5, -0.25, 0.125], [1.0, 0.75, -0.5], [-0.125, 0.25, 1.5], [0.375, -1.0, 0.25]]> : tensor<4x3xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] : (tensor<2x5xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> loc("fc")
    %2 = stablehlo.constant dense<[0.5, 0.25, -0.5]> : tensor<3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32> loc("bias")
    %4 = stablehlo.add %1, %3 : tensor<2x3xf32> loc("add")
    %5 = stablehlo.tanh %4 : tensor<2x3xf32> loc("activation")
    return %5 : tensor<2x3xf32>
  }
}
