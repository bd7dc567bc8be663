xsp_collect(importers Importer importers importers/shared/importer.h)
