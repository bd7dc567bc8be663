// The analyses for the parts of the page of a layer and of a kernel. The most important ones come first; all
// others that have rows about the subject are added automatically.
import type { Kind } from './known';

export const LIST: Record<Kind, string> = {
  layer: 'layer_information',
  kernel: 'kernel_information',
};

export const ROOFLINES: Record<Kind, string[]> = {
  layer: ['layer_counted_roofline', 'layer_roofline'],
  kernel: ['kernel_roofline'],
};

export const WANTED: Record<Kind, string[]> = {
  layer: [
    'layer_information',
    'layer_latency',
    'kernel_information',
    'layer_memory',
    'kernels_by_layer',
    'gpu_by_layer',
    'layer_counted_roofline',
    'layer_roofline',
    'layer_flops',
  ],
  kernel: ['kernel_information', 'kernels_by_name', 'kernel_roofline', 'occupancy'],
};

export const SPREAD: Record<Kind, { analysis: string; columns: string[] }> = {
  layer: {
    analysis: 'layer_latency',
    columns: [
      'batch',
      'latency_ns',
      'min_ns',
      'quartile1_ns',
      'median_ns',
      'quartile3_ns',
      'max_ns',
    ],
  },
  kernel: {
    analysis: 'kernel_information',
    columns: ['batch', 'layer', 'per_inference', 'latency_ns', 'min_ns', 'max_ns'],
  },
};

export const SHARE: Record<Kind, { title: string; analysis: string; column: string }[]> = {
  layer: [
    {
      title: 'share of the time of all layers',
      analysis: 'layer_information',
      column: 'layers_share_pct',
    },
    {
      title: 'its kernels’ share of the model’s latency',
      analysis: 'kernels_by_layer',
      column: 'model_share_pct',
    },
  ],
  kernel: [
    {
      title: 'share of the model’s latency',
      analysis: 'kernels_by_name',
      column: 'model_share_pct',
    },
    {
      title: 'share of the time of all kernels',
      analysis: 'kernels_by_name',
      column: 'kernel_share_pct',
    },
  ],
};

// Columns of kernel_information: for the kernels of a layer, and for the layers of a kernel.
const COUNTED = ['flops', 'dram_read_bytes', 'dram_write_bytes', 'occupancy_pct', 'pipe', 'bound'];
export const PARTS: Record<Kind, string[]> = {
  layer: ['position', 'label', 'per_inference', 'latency_ns', 'min_ns', 'max_ns', ...COUNTED],
  kernel: ['index', 'layer', 'per_inference', 'latency_ns', 'min_ns', 'max_ns', ...COUNTED],
};
