import { expect, test } from 'vitest';
import { loadOf, partsOf } from './requests';

const rows = [
  { part: 'latency', mean_ns: 1000 },
  { part: 'queue', mean_ns: 250 },
  { part: 'model', mean_ns: 750 },
  { part: 'first_token', mean_ns: 900 },
];

test('the parts of a request add up to its latency', () => {
  const { segments, shares } = partsOf(rows);
  expect(segments.map((one) => one.name)).toEqual(['queue', 'model']);
  expect(segments.map((one) => one.share)).toEqual([0.25, 0.75]);
  expect(shares).toEqual([25, 75]);
});

test('a load without a mean latency has no parts', () => {
  expect(partsOf([{ part: 'first_token', p50_ns: 900 }]).segments).toEqual([]);
});

test('a load is told by its scenario, and by its requests where they are counted', () => {
  expect(loadOf({ scenario: 'server', 'scenario.requests': '12' })).toBe(
    'scenario server, 12 requests',
  );
  expect(loadOf({ scenario: 'offline' })).toBe('scenario offline');
});
