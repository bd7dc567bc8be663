xsp_collect(executors Executor executors executors/shared/executor.h)
