import type { Page } from '../../pages';
import Compare from './Compare.svelte';

export default {
  name: 'compare',
  title: 'Compare',
  order: 50,
  component: Compare,
  isOfMany: true,
} as Page;
