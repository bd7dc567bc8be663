import type { Page } from '../../pages';
import QueryPage from './QueryPage.svelte';

export default {
  name: 'query',
  title: 'Ask',
  order: 40,
  component: QueryPage,
  needs: 'queries',
} as Page;
