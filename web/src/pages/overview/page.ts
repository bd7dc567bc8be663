import type { Page } from '../../pages';
import Overview from './Overview.svelte';

export default {
  name: 'overview',
  title: 'Overview',
  order: 10,
  component: Overview,
  isWhole: true,
} as Page;
