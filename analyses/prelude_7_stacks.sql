-- These macros tell which code a thread was in when its stack was sampled. They are loaded before prelude_8_causes.sql.

-- Returns whether a Python file is not part of the program: the standard library, packages, frozen modules, compiled
-- output, and xsp's own files.
CREATE OR REPLACE TEMP MACRO is_of_library(file) AS
  file IS NULL OR file LIKE '<%' OR file LIKE '%/site-packages/%' OR file LIKE '%/dist-packages/%'
    OR file LIKE '%/lib/python3%' OR file LIKE '%/xsp/python/%' OR file LIKE '%/torchinductor\_%' ESCAPE '\'
    OR regexp_matches(file, concat('/(torch|torchvision|jax|jaxlib|flax|optax|numpy|scipy|pandas|tensorflow|keras|',
      'transformers|onnxruntime|PIL|sklearn)/'));

-- Returns text like 'train.py:12' for a frame.
CREATE OR REPLACE TEMP MACRO place_of(frame) AS concat(parse_filename(frame.file), ':' || frame.line);

-- Returns whether a function only calls the one that it stands for: what a decorator made, or a framework's own way to
-- a module's `forward`.
CREATE OR REPLACE TEMP MACRO is_wrapper(function) AS coalesce(regexp_matches(function,
  '(<locals>\.(wrapper|wrapped|inner|decorate\w*|_use_grad|_?fn)|(^|\.)(_wrapped)?_call_impl|(^|\.)Module\.__call__)$'),
  false);

-- Returns whether a library does linear algebra or transforms: a thread in it computes, whatever code called it.
CREATE OR REPLACE TEMP MACRO is_of_arithmetic(library) AS coalesce(regexp_matches(lower(library),
  'openblas|^lib(c?blas|lapack|mkl|blis|flexiblas|armpl|dnnl|onednn|fftw|tblis|xsmm)|pocketfft'), false);

-- Returns one row for each stack. `place` is the innermost line of the program's own code ('train.py:12'), and
-- own_function is its function. `callee` is the function that this line called; NULL: the stack ends in the program's
-- own code. `writes`, `compiles`, `locks` and `loads` tell whether it is in code that saves or prints, in a compiler of
-- models, in a function that takes a lock, or in a loader of data. place and own_function are NULL if no frame is known
-- to be the program's own; in a thread without Python, `callee` is the innermost function with a name. native_function
-- and native_library are those of the innermost frame, if that is compiled code. is_standard: the program called a
-- function of Python's library that works on its data (standard_call: copy, pickle, json, re, ...), whatever that
-- function called. is_torn: the thread is in Python's interpreter, and none of its Python frames could be read, because
-- they changed meanwhile.
CREATE OR REPLACE TEMP MACRO stack_facts(wanted_run) AS TABLE
  WITH RECURSIVE frame AS (
    SELECT stack_id, parent_id, function, kind = 'python' AND NOT is_of_library(file) AS is_own,
      kind <> 'python' OR coalesce(file LIKE '%/xsp/python/%' OR file LIKE '<frozen%', false)
        OR is_of_library(file) AND is_wrapper(function) AS is_transparent, kind, file,
      place_of(struct_pack(file := file, line := line)) AS place,
      kind = 'python' AND regexp_matches(coalesce(file, ''), '(serialization|logging/__init__|csv|json/__init__)\.py$')
        AND regexp_matches(function, '(save|dump|emit|write|flush|print)') AS writes,
      kind = 'python' AND regexp_matches(coalesce(file, ''), concat('(torch/_dynamo/convert_frame|torch/_inductor/',
        '(compile_fx|scheduler|ir|graph|lowering|codegen/\w+)|jax/_src/compiler|jax/_src/interpreters/',
        '(mlir|partial_eval))\.py$')) AS compiles,
      kind = 'native' AND regexp_matches(function,
        'mutex_(timed|clock)?lock|rwlock_(timed|clock)?(rd|wr)lock|lll_lock') AS locks,
      kind = 'python' AND contains(coalesce(file, ''), '/torch/utils/data/') AS loads,
      kind = 'python' AND regexp_matches(coalesce(file, ''), concat('/lib/python3[.\d]*/(copy|copyreg|pickle|re|',
        'sre_\w+|json/\w+|csv|random|statistics|difflib|textwrap|string|decimal|fractions|hashlib|gzip|base64)\.py$'))
        AS is_standard
    FROM stack WHERE run_id = wanted_run),
  path AS (
    SELECT stack_id, CASE WHEN is_own THEN place END AS place, CASE WHEN is_own THEN function END AS own_function,
      CASE WHEN (kind <> 'python' AND parse_filename(file) NOT LIKE '%python%') OR NOT (is_own OR is_transparent)
        THEN function END AS callee, writes, compiles, locks, loads, kind = 'native' AS is_native,
      CASE WHEN kind = 'native' THEN function END AS native_function,
      CASE WHEN kind = 'native' THEN parse_filename(file) END AS native_library,
      is_standard, CASE WHEN is_standard THEN function END AS standard_call, kind = 'python' AS has_python,
      kind = 'native' AND contains(parse_filename(file), 'python') AS interprets
    FROM frame WHERE parent_id IS NULL
    UNION ALL
    SELECT f.stack_id, CASE WHEN f.is_own THEN f.place ELSE p.place END,
      CASE WHEN f.is_own THEN f.function ELSE p.own_function END,
      CASE WHEN f.is_own THEN NULL WHEN p.is_native AND f.kind = 'native' AND f.function NOT LIKE '[%' THEN f.function
        WHEN f.is_transparent THEN p.callee ELSE coalesce(p.callee, f.function) END,
      f.writes OR p.writes, f.compiles OR p.compiles, f.locks OR p.locks, f.loads OR p.loads,
      p.is_native AND f.kind = 'native',
      CASE WHEN f.kind = 'native' THEN f.function END, CASE WHEN f.kind = 'native' THEN parse_filename(f.file) END,
      NOT f.is_own AND (f.is_standard OR p.is_standard),
      CASE WHEN NOT f.is_own THEN coalesce(p.standard_call, CASE WHEN f.is_standard THEN f.function END) END,
      f.kind = 'python' OR p.has_python,
      p.interprets OR (f.kind = 'native' AND contains(parse_filename(f.file), 'python'))
    FROM frame f JOIN path p ON p.stack_id = f.parent_id)
  SELECT * EXCLUDE (is_native, has_python, interprets),
    interprets AND NOT has_python AND (SELECT bool_or(kind = 'python') FROM frame) AS is_torn
  FROM path;
