// The ways to draw the rows of an analysis: every src/views/kinds/KIND.svelte, found by the build.
// `@view KIND` in the header of an analysis names one. A kind that none of them draws is left to other faces.
import type { Component } from 'svelte';
import type { Analysis, Rows, View } from '../data/types';

export interface ViewProps {
  analysis: Analysis;
  view: View;
  rows: Rows;
  evaluation: string; // its id: what else is known of it, a view may ask for
  only?: boolean; // leave out the rows of other layers and kernels than the chosen ones
}

const found = import.meta.glob<{ default: Component<ViewProps> }>('./kinds/*.svelte', {
  eager: true,
});

const byName = new Map(
  Object.entries(found).map(([path, module]) => [
    path.replace(/^.*\/|\.svelte$/g, ''),
    module.default,
  ]),
);

export const drawerOf = (kind: string): Component<ViewProps> | undefined => byName.get(kind);
