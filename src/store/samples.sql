-- Two more tables of an .xsp file: where each thread was when it was looked at, many times a second, and its stacks: a
-- tree, in which the path to a stack is the chain of its parents. Where a run has no rows, nobody looked. A file from
-- before these tables is read as one in which they are empty, one from before the last columns as if they were NULL.
CREATE TABLE sample(
  run_id INTEGER NOT NULL,
  process INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  time_ns BIGINT NOT NULL,
  state VARCHAR NOT NULL,         -- 'running', 'runnable' (in the queue for a processor), 'waiting'
  gil VARCHAR,                    -- of a thread of Python's: its interpreter's lock is 'held' or 'waited' for by it
  stack_id INTEGER,               -- the innermost frame; NULL: not known
  waits_in VARCHAR,               -- the system call: 'futex', 'read', 'poll', ...; NULL: it does not wait in one
  duration_ns BIGINT NOT NULL,    -- that it stands for: the time since the look before
  system_ns BIGINT,               -- in the kernel since the look before, to a tick (10 ms), so that sums are right
  faults BIGINT);                 -- pages of memory that it touched first since then
CREATE TABLE stack(
  run_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,      -- unique within a run, from 1; a parent's is smaller than its children's
  parent_id INTEGER,              -- who called it; NULL: the outermost
  function VARCHAR NOT NULL,
  file VARCHAR,                   -- NULL: not known
  line INTEGER,                   -- that it is at, or calls from; NULL: not known
  kind VARCHAR NOT NULL);
--'python', 'native', 'kernel'
