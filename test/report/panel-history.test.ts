import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PanelHistory, type PanelState } from '../../src/report/panel-history.ts';
import { STATE } from '../support/panel-state.ts';

const at = (ms: number, more: Partial<PanelState> = {}): PanelState => ({
  ...STATE,
  elapsedMs: ms,
  countedMs: ms,
  ...more,
});

describe('share and time left', () => {
  it('go by tokens, those of streams under way included: 1200 of 10,000 in 10 s leave 8,800 for 73.3 s', () => {
    const { share, leftMs } = new PanelHistory().look(STATE);
    expect(share).toBeCloseTo(0.12, 12);
    expect(leftMs).toBeCloseTo((10_000 * 8800) / 1200, 6);
  });

  it('count frames as the tokens that they stand for', () => {
    // Three tokens in a frame, and answers half as long as asked for: 1/6 of a frame per token asked for.
    const state = at(10_000, { tokenFrames: 200, framesOfEnded: 1000 / 6, tokensPerFrame: 3, framesPerAsked: 1 / 6 });
    const { share, tokensMean } = new PanelHistory().look(state);
    expect(share).toBeCloseTo(0.12, 9);
    expect(tokensMean).toBeCloseTo(60, 9);
  });

  it('go by requests where no length is asked for', () => {
    const asked = { all: 0, begun: 0, succeeded: 0, failed: 0 };
    const { share, leftMs } = new PanelHistory().look({ ...STATE, asked, framesPerAsked: null });
    expect(share).toBeCloseTo(0.1, 12);
    expect(leftMs).toBeCloseTo(90_000, 6);
  });

  it('take failures as done, and not as fast', () => {
    const asked = { all: 10_000, begun: 3400, succeeded: 1000, failed: 2000 };
    const { share, leftMs } = new PanelHistory().look({ ...STATE, failed: 20, asked });
    expect(share).toBeCloseTo(0.32, 12);
    expect(leftMs).toBeCloseTo((10_000 * 6800) / 1200, 6);
  });

  it('go by the plan of an open loop, and by --duration', () => {
    expect(new PanelHistory().look({ ...STATE, lastPlannedMs: 50_000 }).leftMs).toBe(40_000);
    const timed = new PanelHistory().look({ ...STATE, durationMs: 20_000 });
    expect(timed.share).toBe(0.5);
    expect(timed.leftMs).toBe(10_000);
  });

  it('go by the pace of the streams that are left, once no more are begun', () => {
    const history = new PanelHistory();
    const asked = { all: 1400, begun: 1400, succeeded: 1000, failed: 0 };
    history.look(at(9000, { planned: 14, asked, tokenFrames: 1180 }));
    // 20 frames a second in the last three, 200 tokens missing.
    const tail = history.look(at(12_000, { planned: 14, asked, tokenFrames: 1240, framesOfEnded: 1040 }));
    expect(tail.tokensNow).toBeCloseTo(20, 9);
    expect(tail.leftMs).toBeCloseTo(10_000, 6);
    const ended = history.look(at(12_200, { planned: 14, asked, tokenFrames: 1240, isEnding: true }));
    expect(ended.leftMs).not.toBeNull();
  });

  it('say nothing before there is something to go by', () => {
    expect(new PanelHistory().look(at(500)).leftMs).toBeNull();
    const none = { all: 10_000, begun: 400, succeeded: 0, failed: 0 };
    const state = at(5000, { completed: 0, tokenFrames: 0, framesOfEnded: 0, asked: none });
    expect(new PanelHistory().look(state)).toMatchObject({ leftMs: null, share: 0, tokensNow: 0 });
    expect(new PanelHistory().look(at(0, { tokenFrames: 0 }))).toMatchObject({ tokensNow: null, tokensMean: null });
  });

  it('never go back, and are not whole while something is under way', () => {
    const history = new PanelHistory();
    expect(history.look(at(10_000, { durationMs: 10_000 })).share).toBeLessThan(1);
    expect(history.look(STATE).share).toBeGreaterThan(0.9);
    expect(history.look({ ...STATE, inFlight: 0, durationMs: 10_000 }).share).toBe(1);
  });
});

describe('rates', () => {
  it('are those of the last 3 s for tokens, of the last 10 s for requests', () => {
    const history = new PanelHistory();
    let snapshot = history.look(at(0, { tokenFrames: 0, completed: 0 }));
    for (let ms = 200; ms <= 20_000; ms += 200) {
      // 100 tokens/s and 1 request/s, from 15 s on twice as many.
      const late = Math.max(0, ms - 15_000);
      snapshot = history.look(at(ms, { tokenFrames: (ms + late) / 10, completed: Math.floor((ms + late) / 1000) }));
    }
    expect(snapshot.tokensNow).toBeCloseTo(200, 6);
    expect(snapshot.tokensMean).toBeCloseTo(125, 6);
    expect(snapshot.requestsNow).toBeCloseTo(1.5, 6);
    expect(snapshot.requestsMean).toBeCloseTo(1.25, 6);
  });
});

describe('the last minute', () => {
  it('holds the tokens of each whole second', () => {
    const history = new PanelHistory();
    for (const [ms, frames] of [
      [500, 10],
      [1500, 30],
      [2500, 30],
    ] as const) {
      history.look(at(ms, { tokenFrames: frames }));
    }
    const { seconds, secondsEnd } = history.look(at(3000, { tokenFrames: 130 }));
    // By straight lines: 10 and 10 in the first, 10 in the second, then nothing until 2.5 s.
    expect(seconds).toEqual([20, 10, 100]);
    expect(secondsEnd).toBe(3);
  });

  it('keeps sixty seconds, also after a standstill of hours', () => {
    const history = new PanelHistory();
    for (let ms = 0; ms <= 70_000; ms += 500) history.look(at(ms, { tokenFrames: ms / 100 }));
    const steady = history.look(at(70_000, { tokenFrames: 700 }));
    expect(steady.seconds).toHaveLength(60);
    for (const tokens of steady.seconds) expect(tokens).toBeCloseTo(10, 9);
    const later = history.look(at(7_270_000, { tokenFrames: 700 + 7200 }));
    expect(later.seconds).toHaveLength(60);
    expect(later.secondsEnd).toBe(7270);
    for (const tokens of later.seconds) expect(tokens).toBeCloseTo(1, 9);
  });

  it('adds up to what came in it, however irregular the looks', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ ms: fc.integer({ min: 1, max: 900 }), n: fc.nat(50) }), { maxLength: 60 }),
        (steps) => {
          const history = new PanelHistory();
          let [ms, frames] = [0, 0];
          for (const step of steps) {
            ms += step.ms;
            frames += step.n;
            history.look(at(ms, { tokenFrames: frames }));
          }
          const whole = Math.ceil(ms / 1000) * 1000;
          if (whole > ms) history.look(at(whole, { tokenFrames: frames }));
          const { seconds } = history.look(at(whole, { tokenFrames: frames }));
          expect(seconds.reduce((sum, n) => sum + n, 0)).toBeCloseTo(frames, 6);
        },
      ),
    );
  });
});
