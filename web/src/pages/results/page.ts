import type { Page } from '../../pages';
import Results from './Results.svelte';

export default {
  name: 'results',
  title: 'Results',
  order: 60,
  component: Results,
  isOfMany: true,
  needs: 'catalogue',
} as Page;
