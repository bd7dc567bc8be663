// Reads a row of model_information: the model's time.
import { number, text, type Row } from './records';

/* True if the call's latency is not the model's time: the program trains, or the call returns early. */
export const isEarly = (row: Row | undefined) => text(row?.['headline']) !== '';

/**
 * If the call returns early, the step of the program (or the time until the device is done, if no step
 * repeats); else the latency.
 */
export function timeOf(row: Row | undefined): number | null {
  if (!isEarly(row)) return number(row?.['latency_ns']);
  return number(row?.['step_ns']) ?? number(row?.['span_ns']);
}

/* Returns the row of a batch size, or the first row. */
export const ofBatch = (rows: Row[], batch: number | undefined): Row | undefined =>
  rows.find((row) => row['batch'] === batch) ?? rows[0];
