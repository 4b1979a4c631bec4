import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareDelivery, type SentRequest } from '../../src/aggregate/delivery.ts';
import type { RequestRecord } from '../../src/record/record.ts';
import { request } from '../record/builder.ts';

/** A record of a request sent at `startMs` whose events were seen at these times. */
function seen(id: string, startMs: number, eventsMs: readonly number[]): RequestRecord {
  const itl = eventsMs.slice(1).map((ms, k) => (ms - (eventsMs[k] as number)) / 1000);
  const [first = startMs] = eventsMs;
  const more = {
    request_id: id,
    start_time: startMs / 1000,
    ttft: (first - startMs) / 1000,
    itl: Float64Array.from(itl),
  };
  return request(0, more);
}

const sent = (id: string, arrivedMs: number, framesMs: readonly number[]): SentRequest => ({
  id,
  arrivedMs,
  framesMs: Float64Array.from(framesMs),
});

const rounded = (figures: object) =>
  Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, Math.round(value * 1e6) / 1e6]));

describe('what was measured against what was sent', () => {
  it('is delay by delay the arrival less the write', () => {
    // Delays of request a: 1, 2, 0.5, 1 ms; of request b: 3, 3 ms.
    const records = [seen('a', 1000, [1051, 1062, 1070.5, 1081]), seen('b', 1001, [1054, 1064])];
    const truth = [sent('b', 1001.5, [1051, 1061]), sent('a', 1000.25, [1050, 1060, 1070, 1080])];
    const result = compareDelivery(records, truth);
    expect([result.sent, result.lost, result.failed, result.unmatched, result.firstError]).toEqual([6, 0, 0, 0, '']);
    // 10.5 / 6; median of 0.5 1 1 2 3 3; σ² = (1 + 4 + 0.25 + 1 + 9 + 9) / 6 − 1.75².
    expect(rounded(result.deliveryMs)).toEqual({
      count: 6,
      mean: 1.75,
      p50: 1.5,
      p99: 3,
      max: 3,
      std: rounded({ x: Math.sqrt(24.25 / 6 - 1.75 ** 2) })['x'],
    });
    expect(rounded(result.ttftErrorMs)).toMatchObject({ count: 2, mean: 2, p50: 2, max: 3, std: 1 });
    // a: +1, −1.5, +0.5; b: 0.
    expect(rounded(result.gapErrorMs)).toMatchObject({ count: 4, mean: 0.75, p50: 0.75, max: 1.5 });
    expect(rounded(result.gapBiasMs)).toMatchObject({ count: 4, mean: 0, max: 1 });
    expect(rounded(result.requestPathMs)).toMatchObject({ count: 2, mean: 0.375, max: 0.5 });
    // From 1051 to 1081.
    expect(result.spanS).toBeCloseTo(0.03, 9);
  });

  it('counts what was lost, and compares nothing of a request that lost something', () => {
    const failed = { ...seen('c', 1000, []), success: false, error: 'gone', itl: new Float64Array(0) };
    const records = [seen('a', 1000, [1051, 1062]), failed, seen('d', 1000, [1050, 1051, 1052]), seen('x', 0, [1])];
    const truth = [
      sent('a', 1000, [1050, 1060, 1070]),
      sent('c', 1000, [1050, 1060]),
      sent('d', 1000, [1050]),
      sent('e', 1000, [1, 2, 3, 4]),
    ];
    const result = compareDelivery(records, truth);
    // a lost 1, c lost 2, d saw 2 that were not sent, e was never recorded; x was never sent.
    expect([result.sent, result.lost, result.failed, result.unmatched]).toEqual([10, 9, 1, 1]);
    expect(result.firstError).toBe('gone');
    expect(result.deliveryMs.count).toBe(0);
    expect(result.spanS).toBe(0);
  });

  it('can be limited to a part of the run', () => {
    const record = seen('a', 1000, [1051, 1062, 1070.5, 1081]);
    const result = compareDelivery([record], [sent('a', 1000, [1050, 1060, 1070, 1080])], { fromMs: 1055, toMs: 1075 });
    expect(result.lost).toBe(0);
    expect(rounded(result.deliveryMs)).toMatchObject({ count: 2, mean: 1.25 });
    // The gap to the event before the window counts: its end is in it.
    expect(rounded(result.gapErrorMs)).toMatchObject({ count: 2, max: 1.5 });
    expect([result.ttftErrorMs.count, result.requestPathMs.count]).toEqual([0, 0]);
  });

  it('finds every delay again, whatever the gaps', () => {
    const event = fc.tuple(fc.double({ min: 0, max: 50, noNaN: true }), fc.double({ min: 0, max: 9, noNaN: true }));
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 0, max: 1e9 }),
        (events, originMs) => {
          let wroteMs = originMs;
          const writes = events.map(([gap]) => (wroteMs += gap));
          // A client sees events in order: a later one is never dated before an earlier one.
          let seenMs = 0;
          const arrivals = writes.map((ms, k) => (seenMs = Math.max(seenMs, ms + (events[k] as [number, number])[1])));
          const delays = arrivals.map((ms, k) => ms - (writes[k] as number));
          const result = compareDelivery([seen('a', originMs, arrivals)], [sent('a', originMs, writes)]);
          // A double holds a billion milliseconds to a ten-thousandth of a microsecond; sums of gaps lose a little.
          expect(result.deliveryMs.max).toBeCloseTo(Math.max(...delays), 3);
          expect(result.deliveryMs.mean).toBeCloseTo(delays.reduce((a, b) => a + b, 0) / delays.length, 3);
          expect(result.ttftErrorMs.mean).toBeCloseTo(delays[0] as number, 3);
        },
      ),
    );
  });
});
