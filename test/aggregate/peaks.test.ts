import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PeakCounter, PeakEstimate } from '../../src/aggregate/peaks.ts';

interface Sent {
  start: number;
  ttft: number;
  gaps: number[];
}

const sent = fc.record({
  start: fc.double({ min: 100, max: 106, noNaN: true }),
  ttft: fc.double({ min: 0.01, max: 2, noNaN: true }),
  gaps: fc.array(fc.double({ min: 0, max: 0.4, noNaN: true }), { maxLength: 12 }),
});

function latency({ ttft, gaps }: Sent): number {
  return gaps.reduce((a, b) => a + b, ttft);
}

/** The same by walking over every second, as it is defined. */
function naive(requests: readonly Sent[]): { tokensPerS: number; concurrentRequests: number } {
  const origin = Math.min(...requests.map(({ start }) => start));
  const tokens = new Array<number>(30).fill(0);
  const active = new Array<number>(30).fill(0);
  for (const request of requests) {
    let at = request.start + request.ttft;
    for (const gap of [0, ...request.gaps]) {
      at += gap;
      tokens[Math.trunc(at - origin)]! += 1;
    }
    const last = Math.trunc(request.start + latency(request) - origin);
    for (let second = Math.trunc(request.start - origin); second <= last; second++) active[second]! += 1;
  }
  return { tokensPerS: Math.max(...tokens), concurrentRequests: Math.max(...active) };
}

describe('peaks', () => {
  it('are those of the definition', () => {
    fc.assert(
      fc.property(fc.array(sent, { minLength: 1, maxLength: 25 }), (requests) => {
        const origin = Math.min(...requests.map(({ start }) => start));
        const end = Math.max(...requests.map((r) => r.start + latency(r)));
        const counter = new PeakCounter(origin, end);
        for (const r of requests) counter.add({ start: r.start, ttft: r.ttft, latency: latency(r) }, r.gaps);
        expect(counter.peaks()).toEqual(naive(requests));
      }),
    );
  });

  it('can be estimated without an origin: right to the tokens near the border of a second', () => {
    fc.assert(
      fc.property(fc.array(sent, { minLength: 1, maxLength: 25 }), (requests) => {
        const estimate = new PeakEstimate((requests[0] as Sent).start);
        for (const r of requests) estimate.add({ start: r.start, ttft: r.ttft, latency: latency(r) }, r.gaps);
        const exact = naive(requests);
        const got = estimate.peaks();
        // At most what lies in the slice of 10 ms at either border moves to another second.
        expect(Math.abs(got.concurrentRequests - exact.concurrentRequests)).toBeLessThanOrEqual(
          requests.length / 2 + 1,
        );
        expect(got.tokensPerS).toBeGreaterThan(0);
        const total = requests.reduce((sum, r) => sum + r.gaps.length + 1, 0);
        expect(got.tokensPerS).toBeLessThanOrEqual(total);
      }),
    );
  });

  it('are the same estimated when every time is a tenth of a second', () => {
    const requests = [
      { start: 10, ttft: 0.2, gaps: [0.1, 0.5, 0.7] },
      { start: 11.25, ttft: 0.25, gaps: [0.25, 0.25] },
      { start: 10.5, ttft: 2.25, gaps: [] },
    ];
    const estimate = new PeakEstimate(11.25);
    for (const r of requests) estimate.add({ start: r.start, ttft: r.ttft, latency: latency(r) }, r.gaps);
    expect(estimate.peaks()).toEqual(naive(requests));
  });

  it('are estimated over a run of any length', () => {
    const estimate = new PeakEstimate(0);
    // 400,000 requests, one a second: more slices than are held, so that they become coarser twice.
    for (let i = 0; i < 400_000; i++) estimate.add({ start: i, ttft: 0.25, latency: 0.75 }, [0.25, 0.25]);
    estimate.add({ start: 77_777, ttft: 0.25, latency: 0.25 }, []);
    expect(estimate.peaks()).toEqual({ tokensPerS: 4, concurrentRequests: 2 });
  });

  it('do not walk over the seconds between, however far apart', () => {
    const counter = new PeakCounter(0, 1e15);
    counter.add({ start: 0, ttft: 1, latency: 1e15 }, [1e15]);
    counter.add({ start: 5e14, ttft: 1, latency: 1 }, []);
    expect(counter.peaks().concurrentRequests).toBe(2);
  });
});
