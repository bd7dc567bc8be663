-- The attributes of a library call's site, a map of texts, describe the request of the call: loaded after
-- prelude_2_layers.sql.

CREATE OR REPLACE TEMP MACRO why_no_library_calls() AS CASE
  WHEN EXISTS (FROM span WHERE level = 4) THEN NULL
  ELSE coalesce(
    (SELECT concat('level library: ', value) FROM evaluation WHERE key = 'not_measured.library'),
    (SELECT concat('level library: ', reason) FROM run WHERE levels LIKE '%library%' AND reason <> '' LIMIT 1),
    CASE WHEN EXISTS (FROM run WHERE levels LIKE '%library%')
      THEN 'level library: no library that it knows was called' END,
    'level library: record it with --levels model,layer,library') END;

CREATE OR REPLACE TEMP MACRO fact(facts, key) AS map_extract_value(facts, key);
CREATE OR REPLACE TEMP MACRO fact_number(facts, key) AS try_cast(fact(facts, key) AS BIGINT);
CREATE OR REPLACE TEMP MACRO fact_shape(facts, key) AS try_cast(fact(facts, key) AS BIGINT[]);

-- The sizes of a matrix product: m x k times k x n. cublasLt has them in the layouts of its matrices.
CREATE OR REPLACE TEMP MACRO product_m(facts) AS coalesce(fact_number(facts, 'm'), fact_number(facts, 'd_rows'));
CREATE OR REPLACE TEMP MACRO product_n(facts) AS coalesce(fact_number(facts, 'n'), fact_number(facts, 'd_cols'));
CREATE OR REPLACE TEMP MACRO product_k(facts) AS coalesce(fact_number(facts, 'k'),
  CASE WHEN fact(facts, 'transa') LIKE 'N%' THEN fact_number(facts, 'a_cols') ELSE fact_number(facts, 'a_rows') END);
CREATE OR REPLACE TEMP MACRO product_batch(facts) AS
  coalesce(fact_number(facts, 'batch_count'), fact_number(facts, 'd_batch_count'), 1);

CREATE OR REPLACE TEMP MACRO library_dtype(facts) AS coalesce(fact(facts, 'dtype'), fact(facts, 'a_type'),
  fact(facts, 'x_dtype'), fact(facts, 'dy_dtype'), fact(facts, 'src_dtype'), fact(facts, 'q_dtype'),
  fact(facts, 'inputtype'));

-- Types, strides and the library's own choices are not part of a problem's text.
CREATE OR REPLACE TEMP MACRO is_of_problem(key) AS NOT regexp_matches(key,
  '(^|_)(d?type|ld|order)$|^(ld.|inc.*|stride_.|algo.*|engine|implementation|compute.*|rank|.*type|.dist|[io]stride)$');
CREATE OR REPLACE TEMP MACRO library_problem(facts) AS CASE
  WHEN product_m(facts) IS NOT NULL AND product_n(facts) IS NOT NULL AND product_k(facts) IS NOT NULL THEN
    concat('m=', product_m(facts), ' n=', product_n(facts), ' k=', product_k(facts),
      CASE WHEN product_batch(facts) > 1 THEN concat(' batch=', product_batch(facts)) ELSE '' END,
      CASE WHEN fact(facts, 'transa') IS NULL THEN ''
           ELSE concat(' ', fact(facts, 'transa')[1], fact(facts, 'transb')[1]) END,
      CASE WHEN coalesce(fact(facts, 'epilogue'), 'DEFAULT') = 'DEFAULT' THEN ''
           ELSE concat(' ', lower(fact(facts, 'epilogue'))) END)
  ELSE array_to_string(list_transform(
    list_sort(list_filter(map_keys(facts), lambda key: is_of_problem(key))),
    lambda key: concat(regexp_replace(key, '_shape$', ''), '=', fact(facts, key))), ' ') END;

-- A multiplication and an addition count 2; for complex numbers, they count 8.
CREATE OR REPLACE TEMP MACRO convolution_flops(result, weights, outputs) AS
  2.0 * elements(result) * elements(weights) / outputs;
CREATE OR REPLACE TEMP MACRO library_flops(name, facts) AS CASE
  WHEN regexp_matches(name, 'gemm|Gemm|Matmul$') THEN
    CASE WHEN library_dtype(facts) LIKE 'complex%' THEN 8.0 ELSE 2.0 END *
    product_m(facts) * product_n(facts) * product_k(facts) * product_batch(facts)
  WHEN regexp_matches(name, 'gemv') THEN
    CASE WHEN library_dtype(facts) LIKE 'complex%' THEN 8.0 ELSE 2.0 END *
    product_m(facts) * product_n(facts) * product_batch(facts)
  WHEN fact(facts, 'operation') LIKE 'convolution\_%' ESCAPE '\' OR name LIKE 'cudnnConvolution%' THEN
    convolution_flops(coalesce(fact_shape(facts, 'y_shape'), fact_shape(facts, 'dy_shape')),
      coalesce(fact_shape(facts, 'w_shape'), fact_shape(facts, 'dw_shape')),
      coalesce(fact_shape(facts, 'w_shape'), fact_shape(facts, 'dw_shape'))[1])
  -- In oneDNN, the weights of a grouped convolution have the groups as their first dimension.
  WHEN fact(facts, 'operation') = 'convolution' THEN
    convolution_flops(fact_shape(facts, 'dst_shape'), fact_shape(facts, 'weights_shape'),
      fact_shape(facts, 'weights_shape')[1] *
      CASE WHEN len(fact_shape(facts, 'weights_shape')) > len(fact_shape(facts, 'dst_shape'))
           THEN fact_shape(facts, 'weights_shape')[2] ELSE 1 END)
  WHEN fact(facts, 'operation') = 'inner_product' THEN
    convolution_flops(fact_shape(facts, 'dst_shape'), fact_shape(facts, 'weights_shape'),
      fact_shape(facts, 'weights_shape')[1])
  WHEN fact(facts, 'operation') = 'matmul' THEN
    2.0 * elements(fact_shape(facts, 'dst_shape')) * fact_shape(facts, 'src_shape')[-1]
  -- Queries times keys, and the result times values: each is heads x queries x keys x size of a head.
  WHEN fact(facts, 'operation') LIKE 'sdpa\_fwd%' ESCAPE '\' THEN
    4.0 * elements(fact_shape(facts, 'q_shape')) * fact_shape(facts, 'k_shape')[3] END;
