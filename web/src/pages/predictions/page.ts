import type { Page } from '../../pages';
import Predictions from './Predictions.svelte';

export default {
  name: 'predictions',
  title: 'Predictions',
  order: 62,
  component: Predictions,
  isOfMany: true,
  needs: 'predictions',
} as Page;
