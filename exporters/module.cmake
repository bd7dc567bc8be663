xsp_collect(exporters Exporter exporters exporters/shared/exporter.h)
