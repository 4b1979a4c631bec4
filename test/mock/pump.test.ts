import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { IntervalQueue } from '../../src/mock/context.ts';
import { Pump } from '../../src/mock/pump.ts';
import { nowMs } from '../../src/record/clock.ts';

// Time stands still but for what the tests let pass: the clock of the run is the faked one.
vi.mock('../../src/record/clock.ts', async (original) => ({ ...(await original<object>()), nowMs: () => Date.now() }));
beforeEach(
  () => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] }),
);
afterEach(() => void vi.useRealTimers());

describe('the clockwork', () => {
  it('runs everything in the order it is due, never early, at most a timer step late, without drift', () => {
    const pump = new Pump(false);
    const begun = nowMs();
    const fired: { due: number; at: number }[] = [];
    // 3,000 deadlines 0.37 ms apart, queued in a mixed-up order (1,789 and 3,000 have no common factor).
    for (let i = 0; i < 3000; i++) {
      const due = begun + ((i * 1789) % 3000) * 0.37;
      pump.at(due, () => fired.push({ due, at: nowMs() }));
    }
    vi.advanceTimersByTime(1200);
    expect(fired).toHaveLength(3000);
    expect(fired.map(({ due }) => due)).toEqual(fired.map(({ due }) => due).toSorted((a, b) => a - b));
    for (const { due, at } of fired) {
      expect(at).toBeGreaterThanOrEqual(due);
      expect(at - due).toBeLessThanOrEqual(1);
    }
    pump.stop();
  });

  it('keeps a job that puts itself in again to its own schedule', () => {
    const pump = new Pump(false);
    const begun = nowMs();
    let count = 0;
    const item = {
      due: begun,
      fire: () => {
        count++;
        item.due += 2.5;
        pump.add(item);
      },
    };
    pump.add(item);
    vi.advanceTimersByTime(1000);
    // At 0, 2.5, … 1000.
    expect(count).toBe(401);
    expect(item.due).toBe(begun + 401 * 2.5);
    pump.stop();
  });

  it('does work without a deadline in order, and what is due in between', () => {
    const pump = new Pump(false);
    const order: string[] = [];
    for (let i = 0; i < 5; i++) {
      pump.soon(() => {
        order.push(`w${i}`);
        if (i === 1) pump.at(nowMs(), () => order.push('due'));
      });
    }
    pump.at(nowMs() + 50, () => order.push('later'));
    vi.advanceTimersByTime(20);
    expect(order).toEqual(['w0', 'w1', 'due', 'w2', 'w3', 'w4']);
    vi.advanceTimersByTime(50);
    expect(order.at(-1)).toBe('later');
    pump.stop();
  });

  it('does nothing more once it is stopped', () => {
    const pump = new Pump(false);
    let count = 0;
    pump.at(nowMs() + 5, () => count++);
    pump.soon(() => count++);
    pump.stop();
    vi.advanceTimersByTime(100);
    pump.at(nowMs(), () => count++);
    vi.advanceTimersByTime(100);
    expect(count).toBe(0);
  });

  it('lets sockets be looked at, and other work be done, while something is due again and again', () => {
    const pump = new Pump(false);
    let fired = 0;
    let isOver = false;
    const endless = {
      due: nowMs(),
      fire: () => {
        fired++;
        // Time passes while it works: a hundred to the millisecond.
        if (fired % 100 === 0) vi.setSystemTime(nowMs() + 1);
        if (!isOver && fired < 50_000) pump.add(endless);
      },
    };
    pump.add(endless);
    const looks: number[] = [];
    setImmediate(() => looks.push(fired));
    pump.soon(() => looks.push(-fired));
    vi.advanceTimersToNextTimer();
    vi.advanceTimersToNextTimer();
    vi.advanceTimersToNextTimer();
    isOver = true;
    // After 10 ms, and at most another 256 items to notice.
    for (const look of looks) expect(Math.abs(look)).toBeLessThanOrEqual(2 * (1000 + 256));
    expect(looks).toHaveLength(2);
    pump.stop();
  });

  it('goes on after a piece of work that throws', () => {
    const pump = new Pump(false);
    let count = 0;
    pump.at(nowMs() + 1, () => {
      throw new Error('x');
    });
    pump.at(nowMs() + 2, () => count++);
    expect(() => vi.advanceTimersByTime(5)).toThrow('x');
    vi.advanceTimersByTime(5);
    expect(count).toBe(1);
    pump.stop();
  });
});

describe('a queue of equal delays', () => {
  it('fires each after the delay, again for those that want it, never for those taken out or put in anew', () => {
    const pump = new Pump(false);
    const begun = nowMs();
    const fired: string[] = [];
    const queue = new IntervalQueue<{ name: string; again: boolean }>(pump, 100, (item) => {
      fired.push(`${item.name}@${Math.round(nowMs() - begun)}`);
      return item.again;
    });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => ({ name, again: name === 'a' })) as [
      Item,
      Item,
      Item,
      Item,
    ];
    queue.add(a, begun);
    queue.add(b, begun + 10);
    queue.add(c, begun + 20);
    queue.add(d, begun + 30);
    queue.remove(c);
    vi.advanceTimersByTime(60);
    queue.add(b, nowMs());
    vi.advanceTimersByTime(300);
    expect(fired).toEqual(['a@100', 'd@130', 'b@160', 'a@200', 'a@300']);
    pump.stop();
  });
});

type Item = { name: string; again: boolean };
