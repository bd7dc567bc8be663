import type { Page } from '../../pages';
import Sweeps from './Sweeps.svelte';

export default {
  name: 'sweeps',
  title: 'Sweeps',
  order: 61,
  component: Sweeps,
  isOfMany: true,
  needs: 'catalogue',
} as Page;
