// The source of answers: the server that sent this page or, in a report, the answers recorded in it.
import type { Catalogue, Evaluation, EvaluationList, Listing, Rows } from './types';

export const API = '/api/v1';

export type Query = Record<string, string | number | undefined | (string | number)[]>;

// Returns the only spelling of a request, by which a report's answers are found: without undefined parts of
// the query, and with the names in order.
export function requestOf(route: string, query: Query = {}): string {
  const pairs: [string, string][] = [];
  for (const name of Object.keys(query).sort()) {
    const value = query[name];
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) pairs.push([name, String(one)]);
    }
  }
  const text = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  return API + route + (text ? `?${text}` : '');
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

type Recorded = Record<string, unknown>;

async function readRecorded(): Promise<Recorded | null> {
  const element = document.getElementById('xsp-recorded');
  if (!element) return null;
  const bytes = Uint8Array.from(atob(element.textContent ?? ''), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(stream).json()) as Recorded;
}

let recorded: Promise<Recorded | null> | undefined;
const recordedAnswers = () => (recorded ??= readRecorded());

export const isReport = async () => (await recordedAnswers()) !== null;

const TOKEN = 'xsp-token';

// The server's token comes once, in the page's own address. From there it moves to the tab's memory, so that
// no link which is passed on contains it.
function token(): string | null {
  const address = new URL(window.location.href);
  const given = address.searchParams.get('token');
  if (given !== null) {
    sessionStorage.setItem(TOKEN, given);
    address.searchParams.delete('token');
    window.history.replaceState(null, '', address);
  }
  return sessionStorage.getItem(TOKEN);
}

export const hasToken = () => token() !== null;
export const rememberToken = (secret: string) => sessionStorage.setItem(TOKEN, secret);

// A server whose turns are taken by others says 503. What only reads is asked again after these times.
const AGAIN_MS = [1000, 3000];

async function ask(request: string, init: RequestInit = {}, tries = 0): Promise<unknown> {
  const answers = await recordedAnswers();
  if (answers) {
    if (request in answers) return answers[request];
    throw new ApiError('not in this report: open the .xsp file with xsp serve for it', 404);
  }
  const headers: Record<string, string> = {};
  const secret = token();
  if (secret) headers['Authorization'] = `Bearer ${secret}`;
  const response = await fetch(request, { ...init, headers });
  const pause = AGAIN_MS[tries];
  if (response.status === 503 && !init.method && pause !== undefined) {
    await new Promise((done) => setTimeout(done, pause));
    return ask(request, init, tries + 1);
  }
  const body = (await response.json().catch(() => null)) as { error?: string } | null;
  if (!response.ok) throw new ApiError(body?.error ?? response.statusText, response.status);
  return body;
}

// Recent answers, so that a view which is opened again has its answer at once.
const kept = new Map<string, Promise<unknown>>();
const KEEP = 200;

// Throws ApiError with the server's one line. An answer is requested once, however often it is needed.
export function get<T>(route: string, query: Query = {}): Promise<T> {
  const request = requestOf(route, query);
  const known = kept.get(request);
  if (known) return known as Promise<T>;
  const answer = ask(request);
  kept.set(request, answer);
  answer.catch(() => kept.delete(request));
  if (kept.size > KEEP) kept.delete(kept.keys().next().value as string);
  return answer as Promise<T>;
}

// Works like get(), for answers that the caller keeps, and may cancel before they arrive.
export const getOnce = <T>(route: string, query: Query, signal: AbortSignal): Promise<T> =>
  ask(requestOf(route, query), { signal }) as Promise<T>;

// Sends a file. The answer is not kept.
export const post = <T>(route: string, query: Query, body: Blob): Promise<T> =>
  ask(requestOf(route, query), { method: 'POST', body }) as Promise<T>;

// Asks the server to change something. The answer is not kept.
export const send = <T>(method: 'POST' | 'DELETE', route: string, body?: object): Promise<T> =>
  ask(requestOf(route), {
    method,
    ...(body ? { body: JSON.stringify(body) } : {}),
  }) as Promise<T>;

const of = (evaluation: string) => `/evaluations/${encodeURIComponent(evaluation)}`;

export const catalogue = () => get<Catalogue>('/catalogue');
export const evaluations = () => get<EvaluationList>('/evaluations');
// Asks anew, whatever answer is kept.
export function evaluationsNow(): Promise<EvaluationList> {
  kept.delete(requestOf('/evaluations'));
  return evaluations();
}
export const evaluation = (id: string) => get<Evaluation>(of(id));
export const analysis = (id: string, name: string, parameters: Query = {}) =>
  get<Rows>(`${of(id)}/analyses/${name}`, parameters);
export const listing = (name: string, query: Query = {}, signal?: AbortSignal) =>
  ask(requestOf(`/${name}`, query), signal ? { signal } : {}) as Promise<Listing>;
export const routeOf = of;
