import type { Page } from '../../pages';
import Analysis from './Analysis.svelte';

export default { name: 'analysis', title: 'Analyses', order: 30, component: Analysis } as Page;
