// The selection that a chart shares with every other view: the layer and the kernel.
import type { Analysis, Cell } from '../../data/types';
import { place } from '../../state.svelte';
import { onSecondClick } from '../double_click';
import { choiceOf, isChoiceAbout, isChosen, labelOf, subjectOf } from '../subject';

export class Linked {
  readonly subject;
  readonly canChoose: boolean;

  constructor(
    analysis: Analysis,
    private readonly rows: Cell[][],
  ) {
    this.subject = subjectOf(analysis.needs, analysis.columns);
    this.canChoose = this.subject.own !== null;
  }

  private get chosen() {
    return { layer: place.layer, kernel: place.kernel };
  }
  // Returns whether the selection distinguishes the rows.
  get isAbout(): boolean {
    return isChoiceAbout(this.subject, this.rows, this.chosen);
  }
  isDimmed(row: Cell[] | undefined): boolean {
    return this.isAbout && !(row && isChosen(this.subject, row, this.chosen));
  }
  isChosen(row: Cell[] | undefined): boolean {
    return this.isAbout && row !== undefined && isChosen(this.subject, row, this.chosen);
  }
  title(row: Cell[] | undefined): string {
    return (row && labelOf(this.subject, row)) ?? '';
  }
  // Returns the callbacks of a Scrub whose points stand for rows.
  picks(rowAt: (index: number) => Cell[] | undefined) {
    if (!this.canChoose) return {};
    return {
      onchoose: (index: number) => this.choose(rowAt(index)),
    };
  }
  // A double click opens what its first click selects. On the page of a layer or a kernel, a selection opens the page
  // of another one.
  choose(row: Cell[] | undefined) {
    if (this.subject.own === place.page) this.open(row);
    else if (row) {
      onSecondClick(() => this.open(row));
      place.set(choiceOf(this.subject, row, this.chosen));
    }
  }
  private open(row: Cell[] | undefined) {
    const own = this.subject.own;
    const name = own && row?.[this.subject[own] as number];
    if (own && typeof name === 'string') window.location.hash = place.href(own, name);
  }
}
