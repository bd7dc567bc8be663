import type { Page } from '../../pages';
import Layer from './Layer.svelte';

export default { name: 'layer', title: '', order: 90, component: Layer } as Page;
