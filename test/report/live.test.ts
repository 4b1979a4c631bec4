import { afterEach, describe, expect, it, vi } from 'vitest';
import { LiveView, liveKind, progressLine } from '../../src/report/live.ts';
import { leftMs, TimeLeft } from '../../src/report/live-left.ts';

const state = { planned: 100, completed: 20, failed: 0, inFlight: 10, elapsedMs: 4000 };

describe('time left', () => {
  it('goes by the speed of successes: 20 in 4 s leave 80 for 16 s', () => {
    expect(leftMs(state)).toBe(16_000);
  });

  it('is not driven by failures: 60 refused at once leave 20 at the speed of the 20 that succeeded', () => {
    expect(leftMs({ ...state, failed: 60 })).toBe(4000);
    expect(leftMs({ ...state, completed: 0, failed: 60 })).toBeNull();
  });

  it('knows --duration and its tail', () => {
    expect(leftMs({ ...state, durationMs: 10_000 })).toBe(6000);
    expect(leftMs({ ...state, completed: 0, durationMs: 10_000 })).toBe(6000);
    expect(leftMs({ ...state, durationMs: 60_000 })).toBe(16_000);
    expect(leftMs({ ...state, elapsedMs: 10_001, durationMs: 10_000 })).toBeNull();
  });

  it('knows the plan of --request-rate', () => {
    expect(leftMs({ ...state, lastPlannedMs: 50_000 })).toBe(46_000);
  });

  it('runs down in the tail, while one slow answer is out', () => {
    const left = new TimeLeft();
    const tail = { planned: 10, completed: 9, failed: 0, inFlight: 1, elapsedMs: 9000 };
    expect(left.next(tail)).toBe(1000);
    expect(left.next({ ...tail, elapsedMs: 9400 })).toBe(600);
    expect(left.next({ ...tail, elapsedMs: 20_000 })).toBeNull();
  });
});

describe('the line', () => {
  const line = progressLine({ ...state, failed: 2, tokenFrames: 9, ttftMs: 12.34, itlMs: 5.678 }, 99.6, 121_000);

  it('has its fields in the order of their weight', () => {
    expect(line).toBe(
      '22/100 done · 2 failed · 10 in flight · 100 tok/s · TTFT 12.3 ms · ITL 5.68 ms · 2 min 1 s left',
    );
  });
});

describe('off a terminal', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  it.each(['live', 'auto'] as const)('--ui %s writes no cursor codes', (mode) => {
    vi.useFakeTimers();
    vi.stubEnv('NO_COLOR', '1');
    const written: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    const view = new LiveView(mode, {
      title: ['run'],
      line: () => ({ ...state, tokenFrames: 0, ttftMs: null, itlMs: null }),
      panel: () => {
        throw new Error('nobody draws a panel here');
      },
    });
    vi.advanceTimersByTime(5000);
    view.stop();
    vi.unstubAllEnvs();
    const all = written.join('');
    expect(all).toContain('tabby-load: 20/100 done');
    expect(all.includes('\u001b') || all.includes('\r')).toBe(false);
    expect(all.includes('--ui live needs a terminal')).toBe(mode === 'live');
  });

  it.each([
    ['auto', true, {}, 'panel'],
    ['live', true, {}, 'panel'],
    ['live', true, { NO_COLOR: '1' }, 'plain'],
    ['live', true, { NO_COLOR: '' }, 'panel'],
    ['auto', true, { TERM: 'dumb' }, 'plain'],
    ['auto', false, {}, 'plain'],
    ['plain', true, {}, 'plain'],
    ['none', true, {}, 'none'],
  ] as const)('--ui %s with a terminal: %s, %o is %s', (mode, isTty, env, kind) => {
    const before = process.stderr.isTTY;
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('TERM', 'xterm');
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    Object.defineProperty(process.stderr, 'isTTY', { value: isTty, configurable: true });
    try {
      expect(liveKind(mode)).toBe(kind);
    } finally {
      Object.defineProperty(process.stderr, 'isTTY', { value: before, configurable: true });
      vi.unstubAllEnvs();
    }
  });
});
