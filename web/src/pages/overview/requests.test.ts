import { expect, test } from 'vitest';
import { highestRange, latencyOf, loadOf, partsOf, verdictsOf } from './requests';

const rows = [
  { part: 'latency', is_part: false, requests: 12, mean_ns: 1000 },
  { part: 'queue', is_part: true, requests: 12, mean_ns: 250 },
  { part: 'model', is_part: true, requests: 12, mean_ns: 750 },
  { part: 'first_token', is_part: false, requests: 12, mean_ns: 900 },
];

test('the parts of a request add up to its latency, and times of tokens are none', () => {
  const { segments, shares } = partsOf(rows);
  expect(segments.map((one) => one.name)).toEqual(['queue', 'model']);
  expect(segments.map((one) => one.share)).toEqual([0.25, 0.75]);
  expect(shares).toEqual([25, 75]);
});

test('without a mean latency there are no parts', () => {
  expect(partsOf([{ part: 'queue', is_part: true, mean_ns: 900 }]).segments).toEqual([]);
});

test('a load is told by its scenario, and by what was answered of it', () => {
  const latency = latencyOf(rows);
  const facts = (requests: string) => ({ scenario: 'server', 'scenario.requests': requests });
  expect(loadOf(facts('12'), latency)).toBe('scenario server, 12 requests');
  expect(loadOf(facts('1000'), latency)).toBe('scenario server, 12 of 1000 requests');
  expect(loadOf({ scenario: 'offline' }, latency)).toBe('scenario offline, 12 requests');
});

test('the highest rate has the interval of its searches, if there were enough', () => {
  expect(highestRange({ low_per_s: 448, high_per_s: 561.2 })).toBe('448 /s to 561 /s');
  expect(highestRange({ low_per_s: null, high_per_s: null })).toBe('');
});

test('the verdicts are those of the bound, of LoadGen, and of an interrupt', () => {
  expect(
    verdictsOf({ 'scenario.loadgen': 'INVALID', 'scenario.verdict': 'met: p99', scenario: 'x' }),
  ).toEqual(['met: p99', 'INVALID']);
});
