import type { Page } from '../../pages';
import Results from './Results.svelte';

export default {
  name: 'results',
  title: 'Results',
  order: 60,
  component: Results,
  needs: 'catalogue',
} as Page;
