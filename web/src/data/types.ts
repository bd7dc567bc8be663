// The answers of the API, version 1; docs/http_api.md describes them.

export interface Param {
  name: string;
  type: 'integer' | 'double' | 'text';
  default: string | null;
  description: string;
}

export interface Column {
  name: string;
  unit: string; // one of Catalogue.units
  description: string;
}

export interface View {
  kind: string; // a file of src/views/kinds
  options: Record<string, string>; // lists are joined by commas
}

export interface Analysis {
  id: string;
  name: string;
  title: string;
  question: string;
  description: string;
  needs: string[];
  params: Param[];
  columns: Column[];
  views: View[];
}

export interface Catalogue {
  analyses: Analysis[];
  levels: string[]; // level n has the name levels[n - 1]
}

// Describes one .xsp file of the folder. `id` is its path in the folder.
export interface EvaluationEntry {
  id: string;
  size_bytes: number;
  modified: string; // ISO 8601
  status: 'ok' | 'unreadable';
  reason: string; // empty if ok
  facts: Record<string, string>; // model, framework, device, machine, ... if known
  batches: number[];
}

export interface EvaluationList {
  evaluations: EvaluationEntry[];
  offers: string[]; // 'catalogue', 'predictions'
  left_out: number | null; // files that are not listed; null: the folder is too large to count them
}

export interface Run {
  run_id: number;
  levels: string;
  batch: number | null;
  counters: string | null;
  framework: string | null;
  framework_version: string | null;
  device: string | null;
  threads: number | null;
  warmup_iterations: number | null;
  iterations: number | null;
  status: string;
  reason: string | null;
  stopped_by: string | null;
  spans: number;
}

export interface Peak {
  device: string;
  name: string;
  value: number;
  source: string;
}

export interface Evaluation extends EvaluationEntry {
  runs: Run[];
  peaks: Peak[];
}

export type Cell = string | number | boolean | null;

// Holds rows of an analysis. `not_measured` has the reason if there are none.
export interface Rows {
  analysis: string;
  parameters: Record<string, Cell>; // all parameters, with defaults filled in
  columns: { name: string; unit: string }[];
  rows: Cell[][];
  total_rows: number; // larger than rows.length if rows were left out
  not_measured?: string;
  doubts?: string[]; // why the numbers are less certain than intended
}

// A page of the catalogue's rows.
export interface Listing {
  columns: { name: string; unit: string }[];
  rows: Cell[][];
  total_rows: number;
  next?: string; // the cursor of the rows that follow; absent: there are none
}

// A model that may answer an upload.
export interface PredictionModel {
  name: string;
  version: string;
  task: string;
  from: string; // what its first input is made of: bytes, image, text, ...
}

export interface Prediction {
  model: string;
  system: string; // 'here': the server's own machine
  status: 'ok' | 'failed';
  reason: string; // empty if ok
  evaluation?: string; // its trace's id
  outputs?: { output: string; rank: number | null; label: string; score: number | null }[];
  trace?: Listing;
}
