module @topos attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @devices = <["device"=2]>
  func.func public @main(
      %table: tensor<5x4xf32> {sdy.sharding = #sdy.sharding<@devices, [{}, {}]>, tf.aliasing_output = 2 : i32},
      %bias: tensor<4xf32> {sdy.sharding = #sdy.sharding<@devices, [{}]>, tf.aliasing_output = 3 : i32},
      %letters: tensor<2xi32> {sdy.sharding = #sdy.sharding<@devices, [{"device"}]>},
      %steps_taken: tensor<i64> {sdy.sharding = #sdy.sharding<@devices, []>, tf.aliasing_output = 4 : i32}) -> (
      tensor<f32> {jax.result_info = "loss", sdy.sharding = #sdy.sharding<@devices, []>},
      tensor<2xi32> {jax.result_info = "%25", sdy.sharding = #sdy.sharding<@devices, [{}]>},
      tensor<5x4xf32> {jax.result_info = "table", sdy.sharding = #sdy.sharding<@devices, [{}, {}]>},
      tensor<4xf32> {jax.result_info = "bias", sdy.sharding = #sdy.sharding<@devices, [{}]>},
      tensor<i64> {jax.result_info = "steps taken", sdy.sharding = #sdy.sharding<@devices, []>}) {
    %4 = stablehlo.constant dense<[[true, false, true, true], [true, true, false, true]]> : tensor<2x4xi1>
    %5 = "stablehlo.gather"(%table, %letters) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>} : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %6 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %7 = stablehlo.add %5, %6 : tensor<2x4xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<2x4xf32>
    %9 = stablehlo.constant dense<0.071354814> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %11 = stablehlo.multiply %10, %8 : tensor<2x4xf32>
    %12 = stablehlo.constant dense<1.5957692> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %14 = stablehlo.add %13, %11 : tensor<2x4xf32>
    %15 = stablehlo.multiply %7, %14 : tensor<2x4xf32>
    %16 = stablehlo.logistic %15 : tensor<2x4xf32>
    %17 = stablehlo.multiply %7, %16 : tensor<2x4xf32>
    %18 = stablehlo.constant dense<0.1> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %20 = stablehlo.select %4, %17, %19 : tensor<2x4xi1>, tensor<2x4xf32>
    %21 = stablehlo.constant dense<0.0> : tensor<f32>
    %25 = "stablehlo.reduce"(%20, %21) ({
    ^bb0(%22: tensor<f32>, %23: tensor<f32>):
      %24 = stablehlo.add %22, %23 : tensor<f32>
      "stablehlo.return"(%24) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %26 = stablehlo.constant dense<14.5> : tensor<f32>
    %27 = stablehlo.add %25, %26 : tensor<f32>
    %28 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %29 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %30 = stablehlo.constant dense<0> : tensor<i32>
    %35:2 = "stablehlo.reduce"(%20, %28, %29, %30) ({
    ^bb0(%31: tensor<f32>, %32: tensor<i32>, %33: tensor<f32>, %34: tensor<i32>):
      %36 = stablehlo.compare GT, %31, %33, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %37 = stablehlo.compare EQ, %31, %33, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %38 = stablehlo.compare NE, %31, %31, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %39 = stablehlo.compare NE, %33, %33, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %40 = stablehlo.compare EQ, %33, %33, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %41 = stablehlo.and %38, %40 : tensor<i1>
      %42 = stablehlo.or %36, %41 : tensor<i1>
      %43 = stablehlo.and %38, %39 : tensor<i1>
      %44 = stablehlo.or %37, %43 : tensor<i1>
      %45 = stablehlo.minimum %32, %34 : tensor<i32>
      %46 = stablehlo.select %42, %31, %33 : tensor<i1>, tensor<f32>
      %47 = stablehlo.select %44, %45, %34 : tensor<i1>, tensor<i32>
      %48 = stablehlo.select %42, %32, %47 : tensor<i1>, tensor<i32>
      "stablehlo.return"(%46, %48) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    %50 = stablehlo.constant dense<1.0> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %52 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %53 = stablehlo.select %4, %51, %52 : tensor<2x4xi1>, tensor<2x4xf32>
    %54 = stablehlo.multiply %53, %16 : tensor<2x4xf32>
    %55 = stablehlo.multiply %53, %7 : tensor<2x4xf32>
    %56 = stablehlo.subtract %51, %16 : tensor<2x4xf32>
    %57 = stablehlo.multiply %16, %56 : tensor<2x4xf32>
    %58 = stablehlo.multiply %55, %57 : tensor<2x4xf32>
    %59 = stablehlo.multiply %58, %14 : tensor<2x4xf32>
    %60 = stablehlo.multiply %58, %7 : tensor<2x4xf32>
    %61 = stablehlo.add %54, %59 : tensor<2x4xf32>
    %62 = stablehlo.multiply %60, %10 : tensor<2x4xf32>
    %63 = stablehlo.multiply %62, %7 : tensor<2x4xf32>
    %64 = stablehlo.add %61, %63 : tensor<2x4xf32>
    %65 = stablehlo.add %64, %63 : tensor<2x4xf32>
    %69 = "stablehlo.reduce"(%65, %21) ({
    ^bb0(%66: tensor<f32>, %67: tensor<f32>):
      %68 = stablehlo.add %66, %67 : tensor<f32>
      "stablehlo.return"(%68) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %70 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %74 = "stablehlo.scatter"(%70, %letters, %65) ({
    ^bb0(%71: tensor<f32>, %72: tensor<f32>):
      %73 = stablehlo.add %71, %72 : tensor<f32>
      "stablehlo.return"(%73) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<5x4xf32>, tensor<2xi32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    %75 = stablehlo.constant dense<0.25> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %77 = stablehlo.multiply %76, %74 : tensor<5x4xf32>
    %78 = stablehlo.subtract %table, %77 : tensor<5x4xf32>
    %79 = stablehlo.broadcast_in_dim %75, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %80 = stablehlo.multiply %79, %69 : tensor<4xf32>
    %81 = stablehlo.subtract %bias, %80 : tensor<4xf32>
    %82 = stablehlo.constant dense<1> : tensor<i64>
    %83 = stablehlo.add %steps_taken, %82 : tensor<i64>
    return %27, %35#1, %78, %81, %83 : tensor<f32>, tensor<2xi32>, tensor<5x4xf32>, tensor<4xf32>, tensor<i64>
  }
}

module @topos {
  func.func public @main(
      %table: tensor<5x4xf32> {tf.aliasing_output = 2 : i32},
      %bias: tensor<4xf32> {tf.aliasing_output = 3 : i32},
      %letters: tensor<2xi32>,
      %steps_taken: tensor<i64> {tf.aliasing_output = 4 : i32},
      %constant.5: tensor<40x30xf32>) -> (
      tensor<f32> {jax.result_info = "loss"},
      tensor<2xi32> {jax.result_info = "%25"},
      tensor<5x4xf32> {jax.result_info = "table"},
      tensor<4xf32> {jax.result_info = "bias"},
      tensor<i64> {jax.result_info = "steps taken"}) {
    %5 = stablehlo.constant dense<[[true, false, true, true], [true, true, false, true]]> : tensor<2x4xi1>
    %6 = "stablehlo.gather"(%table, %letters) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>} : (tensor<5x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    %7 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %8 = stablehlo.add %6, %7 : tensor<2x4xf32>
    %9 = stablehlo.multiply %8, %8 : tensor<2x4xf32>
    %10 = stablehlo.constant dense<0.071354814> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %12 = stablehlo.multiply %11, %9 : tensor<2x4xf32>
    %13 = stablehlo.constant dense<1.5957692> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %15 = stablehlo.add %14, %12 : tensor<2x4xf32>
    %16 = stablehlo.multiply %8, %15 : tensor<2x4xf32>
    %17 = stablehlo.logistic %16 : tensor<2x4xf32>
    %18 = stablehlo.composite "topos.gelu" %8 {composite_attributes = {fields = "form=tanh"}, decomposition = @gelu_18} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %19 = stablehlo.constant dense<0.1> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %21 = stablehlo.select %5, %18, %20 : tensor<2x4xi1>, tensor<2x4xf32>
    %22 = stablehlo.constant dense<0.0> : tensor<f32>
    %26 = "stablehlo.reduce"(%21, %22) ({
    ^bb0(%23: tensor<f32>, %24: tensor<f32>):
      %25 = stablehlo.add %23, %24 : tensor<f32>
      "stablehlo.return"(%25) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %27 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %31 = "stablehlo.reduce"(%constant.5, %27) ({
    ^bb0(%28: tensor<f32>, %29: tensor<f32>):
      %30 = stablehlo.maximum %28, %29 : tensor<f32>
      "stablehlo.return"(%30) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<40x30xf32>, tensor<f32>) -> tensor<f32>
    %32 = stablehlo.add %26, %31 : tensor<f32>
    %33 = stablehlo.iota dim = 1 : tensor<2x4xi32>
    %34 = stablehlo.constant dense<0> : tensor<i32>
    %39:2 = "stablehlo.reduce"(%21, %33, %27, %34) ({
    ^bb0(%35: tensor<f32>, %36: tensor<i32>, %37: tensor<f32>, %38: tensor<i32>):
      %40 = stablehlo.compare GT, %35, %37, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %41 = stablehlo.compare EQ, %35, %37, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %42 = stablehlo.compare NE, %35, %35, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %43 = stablehlo.compare NE, %37, %37, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %44 = stablehlo.compare EQ, %37, %37, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %45 = stablehlo.and %42, %44 : tensor<i1>
      %46 = stablehlo.or %40, %45 : tensor<i1>
      %47 = stablehlo.and %42, %43 : tensor<i1>
      %48 = stablehlo.or %41, %47 : tensor<i1>
      %49 = stablehlo.minimum %36, %38 : tensor<i32>
      %50 = stablehlo.select %46, %35, %37 : tensor<i1>, tensor<f32>
      %51 = stablehlo.select %48, %49, %38 : tensor<i1>, tensor<i32>
      %52 = stablehlo.select %46, %36, %51 : tensor<i1>, tensor<i32>
      "stablehlo.return"(%50, %52) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    %54 = stablehlo.constant dense<1.0> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %56 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %57 = stablehlo.select %5, %55, %56 : tensor<2x4xi1>, tensor<2x4xf32>
    %58 = stablehlo.multiply %57, %17 : tensor<2x4xf32>
    %59 = stablehlo.multiply %57, %8 : tensor<2x4xf32>
    %60 = stablehlo.subtract %55, %17 : tensor<2x4xf32>
    %61 = stablehlo.multiply %17, %60 : tensor<2x4xf32>
    %62 = stablehlo.multiply %59, %61 : tensor<2x4xf32>
    %63 = stablehlo.multiply %62, %15 : tensor<2x4xf32>
    %64 = stablehlo.multiply %62, %8 : tensor<2x4xf32>
    %65 = stablehlo.add %58, %63 : tensor<2x4xf32>
    %66 = stablehlo.multiply %64, %11 : tensor<2x4xf32>
    %67 = stablehlo.multiply %66, %8 : tensor<2x4xf32>
    %68 = stablehlo.add %65, %67 : tensor<2x4xf32>
    %69 = stablehlo.add %68, %67 : tensor<2x4xf32>
    %73 = "stablehlo.reduce"(%69, %22) ({
    ^bb0(%70: tensor<f32>, %71: tensor<f32>):
      %72 = stablehlo.add %70, %71 : tensor<f32>
      "stablehlo.return"(%72) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>
    %74 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %78 = "stablehlo.scatter"(%74, %letters, %69) ({
    ^bb0(%75: tensor<f32>, %76: tensor<f32>):
      %77 = stablehlo.add %75, %76 : tensor<f32>
      "stablehlo.return"(%77) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<5x4xf32>, tensor<2xi32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    %79 = stablehlo.constant dense<0.25> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %81 = stablehlo.multiply %80, %78 : tensor<5x4xf32>
    %82 = stablehlo.subtract %table, %81 : tensor<5x4xf32>
    %83 = stablehlo.broadcast_in_dim %79, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %84 = stablehlo.multiply %83, %73 : tensor<4xf32>
    %85 = stablehlo.subtract %bias, %84 : tensor<4xf32>
    %86 = stablehlo.constant dense<1> : tensor<i64>
    %87 = stablehlo.add %steps_taken, %86 : tensor<i64>
    return %32, %39#1, %82, %85, %87 : tensor<f32>, tensor<2xi32>, tensor<5x4xf32>, tensor<4xf32>, tensor<i64>
  }

  func.func private @gelu_18(%x0: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %1 = stablehlo.multiply %x0, %x0 : tensor<2x4xf32>
    %2 = stablehlo.constant dense<0.071354814> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %4 = stablehlo.multiply %3, %1 : tensor<2x4xf32>
    %5 = stablehlo.constant dense<1.5957692> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %7 = stablehlo.add %6, %4 : tensor<2x4xf32>
    %8 = stablehlo.multiply %x0, %7 : tensor<2x4xf32>
    %9 = stablehlo.logistic %8 : tensor<2x4xf32>
    %10 = stablehlo.multiply %x0, %9 : tensor<2x4xf32>
    return %10 : tensor<2x4xf32>
  }
}
