-- Two more tables of an .xsp file. `sample` has the position of each thread at regular times, many times a second.
-- `stack` has the stacks as a tree: the path of a stack is the chain of its parents. A run that was not sampled has no
-- rows. In a file that is older than these tables, they count as empty; in one that is older than the last columns,
-- these count as NULL.
CREATE TABLE sample(
  run_id INTEGER NOT NULL,
  process INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  time_ns BIGINT NOT NULL,
  state VARCHAR NOT NULL,         -- 'running', 'runnable' (in the queue for a processor), 'waiting'
  gil VARCHAR,                    -- for a Python thread: it holds ('held') or awaits ('waited') the interpreter's lock
  stack_id INTEGER,               -- the innermost frame; NULL: not known
  waits_in VARCHAR,               -- the system call: 'futex', 'read', 'poll', ...; NULL: not waiting in one
  duration_ns BIGINT NOT NULL,    -- time that it stands for: since the sample before
  system_ns BIGINT,               -- kernel time since the sample before, to a tick (10 ms), so that sums are right
  faults BIGINT);                 -- pages of memory that it touched for the first time since then
CREATE TABLE stack(
  run_id INTEGER NOT NULL,
  stack_id INTEGER NOT NULL,      -- unique within a run, from 1; a parent's is smaller than its children's
  parent_id INTEGER,              -- the caller's; NULL: the outermost
  function VARCHAR NOT NULL,
  file VARCHAR,                   -- NULL: not known
  line INTEGER,                   -- line at which it is, or from which it calls; NULL: not known
  kind VARCHAR NOT NULL);
--'python', 'native', 'kernel'
