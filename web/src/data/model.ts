// A row of model_information: how long the model takes.
import { number, text, type Row } from './records';

/** The call returns before the device is done, so that its latency alone does not say how long the model takes. */
export const isEarly = (row: Row | undefined) => text(row?.['headline']) !== '';

/** The step of the program where the call returns early (none repeats: until the device is done), else the latency. */
export function timeOf(row: Row | undefined): number | null {
  if (!isEarly(row)) return number(row?.['latency_ns']);
  return number(row?.['step_ns']) ?? number(row?.['span_ns']);
}

/** The row of a batch size, or the first. */
export const ofBatch = (rows: Row[], batch: number | undefined): Row | undefined =>
  rows.find((row) => row['batch'] === batch) ?? rows[0];
