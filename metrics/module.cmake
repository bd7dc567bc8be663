xsp_collect(metrics Metric metrics metrics/shared/metric.h)
