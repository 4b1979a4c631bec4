import { describe, expect, it } from 'vitest';
import { decodeRequests } from '../../src/record/codec.ts';
import { ClaimBook, ClaimLedger, lostRecord, makeClaims } from '../../src/transport/claims.ts';
import { leftBehind, RecordBatch } from '../../src/transport/record-batch.ts';
import { packWork, WorkView } from '../../src/transport/shared-work.ts';

describe('claims', () => {
  it('tell what a dead worker had whose records never came, and how far it was', () => {
    const claims = makeClaims(8);
    const [zero, one] = [new ClaimBook(claims, 0), new ClaimBook(claims, 1)];
    const ledger = new ClaimLedger(claims);
    zero.take(0);
    zero.sent(0, 5);
    zero.ended(0, true);
    ledger.arrive([{ i: 0 }]);
    zero.take(1);
    one.take(2);
    one.sent(2, 7.5);
    one.take(3);
    one.sent(3, 8);
    one.ended(3, true);
    one.take(4);
    one.sent(4, 9);
    one.ended(4, false);
    one.take(5);
    expect(ledger.lostBy(1)).toEqual({ indices: [2, 3, 4, 5], inFlight: 1, succeeded: 1, failed: 1 });
    expect([ledger.startMs(2), ledger.startMs(5)]).toEqual([7.5, Number.NaN]);
    // Asked again, nothing is lost twice; the other worker's are its own.
    expect(ledger.lostBy(1).indices).toEqual([]);
    expect(ledger.lostBy(0).indices).toEqual([1]);
  });

  it('become records with what is known of the request', () => {
    const request = {
      body: new Uint8Array(),
      plannedMs: 250,
      promptLen: 11,
      outputLen: 22,
      requestId: 'r-0',
      category: 'math',
    };
    const work = new WorkView(packWork([request]));
    const place = { i: 0, worker: 3, reason: 'out of memory', lostMs: 2000, runStartMs: 1000, clockOffsetMs: 500 };
    const [record] = decodeRequests(lostRecord({ ...place, startMs: 1300 }, work));
    expect(record).toMatchObject({
      i: 0,
      success: false,
      error_kind: 'worker_lost',
      error: 'the worker thread that had the request died: out of memory',
      arrival_time: 1.75,
      start_time: 1.8,
      end: 0.7,
      prompt_len: 11,
      output_len: 22,
      request_id: 'r-0',
      category: 'math',
      worker: 3,
    });
    // Taken, but not sent yet: it counts from when it was due.
    const [unsent] = decodeRequests(lostRecord({ ...place, startMs: Number.NaN }, work));
    expect(unsent?.start_time).toBe(1.75);
  });
});

describe('the outbox of a worker', () => {
  it('can be read by others, also after it has grown', () => {
    const announced: SharedArrayBuffer[] = [];
    const batch = new RecordBatch((memory) => announced.push(memory));
    const big = new Uint8Array(100_000).map((_, i) => i % 251);
    batch.add(Uint8Array.of(1, 2, 3));
    batch.add(big);
    expect(announced.length).toBe(2);
    const left = leftBehind(announced.at(-1) as SharedArrayBuffer);
    expect(left.length).toBe(100_003);
    expect(Buffer.compare(left.subarray(3), big)).toBe(0);
    expect(batch.take()).toEqual(left);
    batch.clear();
    expect(batch.take()).toBe(null);
    expect(leftBehind(announced.at(-1) as SharedArrayBuffer).length).toBe(0);
  });
});
