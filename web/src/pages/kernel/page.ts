import type { Page } from '../../pages';
import Kernel from './Kernel.svelte';

export default { name: 'kernel', title: '', order: 91, component: Kernel } as Page;
