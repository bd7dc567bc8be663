// Notes on stretches and spans of a run, which the server keeps beside the evaluation.
import { getOnce, routeOf, send } from '../data/source';
import type { SpanDetails } from './types';
import type { View } from './view';

export interface Note {
  id: number;
  run: number;
  from_ns: number;
  to_ns: number;
  span: number | null;
  text: string;
  written_at: string;
}
export interface Notes {
  notes: Note[];
  why_not: string; // why none can be written; empty: it can
}
export type Draft = Omit<Note, 'id' | 'written_at'>;

const of = (evaluation: string) => `${routeOf(evaluation)}/notes`;

// Asks anew each time, because others may have written.
export const notesOf = (evaluation: string, signal: AbortSignal) =>
  getOnce<Notes>(of(evaluation), {}, signal);
export const addNote = (evaluation: string, note: Draft) =>
  send<Notes>('POST', of(evaluation), note);
export const changeNote = (evaluation: string, id: number, text: string) =>
  send<Notes>('POST', `${of(evaluation)}/${id}`, { text });
export const removeNote = (evaluation: string, id: number) =>
  send<Notes>('DELETE', `${of(evaluation)}/${id}`);

export interface Subject {
  span: number | null;
  from: number;
  to: number;
  name: string;
}

// Returns what a new note is on: the marked stretch, else the selected span, else what is in view.
export function noteSubject(
  marked: View | null,
  selected: SpanDetails | null,
  view: View | undefined,
): Subject {
  if (marked) return { span: null, ...marked, name: 'the marked stretch' };
  if (selected) {
    const { span, start_ns, duration_ns, name } = selected;
    return { span, from: start_ns, to: start_ns + duration_ns, name };
  }
  return { span: null, from: view?.from ?? 0, to: view?.to ?? 0, name: 'what is in view' };
}
