import type { Page } from '../../pages';
import TimelinePage from './TimelinePage.svelte';

export default { name: 'timeline', title: 'Timeline', order: 20, component: TimelinePage } as Page;
