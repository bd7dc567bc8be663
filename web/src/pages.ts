// The pages: every src/pages/NAME/page.ts, found by the build. Its default export describes the page.
import type { Component } from 'svelte';

export interface Page {
  name: string; // in the address: #/NAME
  title: string; // in the navigation; empty: not there (a page about one layer, for example)
  order: number; // position, from left to right
  component: Component;
  isOfMany?: true; // it is about several evaluations, not about the chosen one
  isWhole?: true; // it shows the whole model, whatever layer or kernel is selected
  needs?: string; // what the server must offer for the page to be in the navigation
}

const found = import.meta.glob<{ default: Page }>('./pages/*/page.ts', { eager: true });

export const pages: Page[] = Object.values(found)
  .map((module) => module.default)
  .sort((a, b) => a.order - b.order);
