import type { Page } from '../../pages';
import Home from './Home.svelte';

export default {
  name: 'home',
  title: 'Evaluations',
  order: 0,
  component: Home,
  isOfMany: true,
} as Page;
