// The kinds of views of an analysis: every src/views/kinds/KIND.svelte, found by the build. `@view KIND` in
// the header of an analysis names one. Other interfaces draw the kinds that have no file here.
import type { Component } from 'svelte';
import type { Analysis, Rows, View } from '../data/types';

export interface ViewProps {
  analysis: Analysis;
  view: View;
  rows: Rows;
  evaluation: string; // its id, for views that request more facts
  only?: boolean; // leave out rows of layers and kernels that are not selected
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
