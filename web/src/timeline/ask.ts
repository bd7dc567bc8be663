// The timeline's requests. A report has only the recorded part of a run.
import { get, getOnce, routeOf } from '../data/source';
import type { Matches, SpanDetails, Tile, Timeline } from './types';

const of = (evaluation: string) => `${routeOf(evaluation)}/timeline`;

export const timelineOf = (evaluation: string, run: number) =>
  get<Timeline>(of(evaluation), { run });

export const tileOf = (
  evaluation: string,
  run: number,
  zoom: number,
  tile: number,
  signal: AbortSignal,
) => getOnce<Tile>(`${of(evaluation)}/tile`, { run, zoom, tile }, signal);

export const spanOf = (evaluation: string, run: number, span: number) =>
  get<SpanDetails>(`${of(evaluation)}/span`, { run, span });

export const searchFor = (
  evaluation: string,
  run: number,
  text: string,
  where: { from?: number; before?: number },
  signal: AbortSignal,
) =>
  getOnce<Matches>(
    `${of(evaluation)}/search`,
    { run, text, from: where.from, before: where.before },
    signal,
  );
