import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyTap } from '../../src/transport/body-tap.ts';
import { fixtureBytes, recordings } from '../support/fixtures.ts';

/** Recorded answers with a chunked event stream that came to its end. */
const streams = recordings('.raw').filter((name) => {
  const raw = fixtureBytes(`wire/${name}.raw`);
  return raw.includes('transfer-encoding: chunked') && raw.subarray(-5).toString() === '0\r\n\r\n';
});

/** Decodes chunks in the plainest way there is. */
function decode(raw: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = raw.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const lineEnd = raw.indexOf('\r\n', at);
    const size = Number.parseInt(raw.toString('latin1', at, lineEnd), 16);
    if (size === 0) return Buffer.concat(parts);
    parts.push(raw.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}

/**
 * Plays reads to a tap as the connection does: before it takes over, the parser gets the bytes, and what it gets is decoded here as a
 * real parser would; at the end all bytes together must be those of the body, and the parser must have got the rest of the framing.
 */
function play(reads: readonly Buffer[]): { body: Buffer; parser: Buffer; tapped: number; broken: boolean } {
  const tap = new BodyTap();
  const tapped: Buffer[] = [];
  const parser: Buffer[] = [];
  const place: { at: number; bytes: Buffer }[] = [];
  let isFirst = true;
  for (const read of reads) {
    // One shared buffer, as in a worker: what is kept must have been copied.
    const shared = Buffer.from(read);
    if (tap.isTaking) {
      const end = tap.take(shared, shared.length, (bytes, start, stop) => {
        const copy = Buffer.from(bytes.subarray(start, stop));
        tapped.push(copy);
        place.push({ at: parser.reduce((sum, one) => sum + one.length, 0), bytes: copy });
      });
      if (!tap.isTaking) {
        if (tap.isBroken) break;
        parser.push(Buffer.from(tap.handOver(shared, end, shared.length)));
      }
    } else {
      if (isFirst) tap.arm();
      isFirst = false;
      parser.push(Buffer.from(shared));
      tap.follow(shared, shared.length);
    }
    shared.fill(0xff);
  }
  // What the parser saw is a valid chunked answer by itself; what was tapped stands where the parser was at a boundary.
  const seen = Buffer.concat(parser);
  const ownBody = tap.isBroken ? Buffer.alloc(0) : decode(seen);
  const tappedAt = place[0]?.at ?? seen.length;
  const before =
    tappedAt === seen.length ? ownBody : decode(Buffer.concat([seen.subarray(0, tappedAt), Buffer.from('0\r\n\r\n')]));
  const body = Buffer.concat([before, ...tapped, ownBody.subarray(before.length)]);
  return { body, parser: seen, tapped: tapped.reduce((sum, one) => sum + one.length, 0), broken: tap.isBroken };
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const edges = [...new Set([0, ...at, bytes.length])].sort((a, b) => a - b);
  return edges.slice(1).map((end, i) => bytes.subarray(edges[i], end));
}

describe('the tap', () => {
  it('has recordings to work on', () => {
    expect(streams.length).toBeGreaterThan(25);
  });

  it('takes the whole body when reads end with chunks, and leaves the last chunk to the parser', () => {
    const raw = fixtureBytes('wire/chat_basic.raw');
    const head = raw.indexOf('\r\n\r\n') + 4;
    const { body, parser, tapped } = play([raw.subarray(0, head), raw.subarray(head)]);
    expect(tapped).toBe(body.length);
    expect(body).toEqual(decode(raw));
    expect(parser.subarray(head).toString()).toBe('0\r\n\r\n');
  });

  it('yields the same bytes as the parser alone, however reads cut the answer', () => {
    let tappedTotal = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...streams),
        fc.array(fc.nat(30_000), { maxLength: 40 }),
        fc.boolean(),
        (name, cuts, atHead) => {
          const raw = fixtureBytes(`wire/${name}.raw`);
          const head = raw.indexOf('\r\n\r\n') + 4;
          const reads = cut(raw, [...cuts.map((one) => one % raw.length), ...(atHead ? [head] : [])]);
          const { body, tapped } = play(reads);
          tappedTotal += tapped;
          expect(body.equals(decode(raw))).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
    expect(tappedTotal).toBeGreaterThan(100_000);
  });

  it('yields the same bytes when every byte is a read of its own', () => {
    for (const name of streams.slice(0, 6)) {
      const raw = fixtureBytes(`wire/${name}.raw`);
      const head = raw.indexOf('\r\n\r\n') + 4;
      const { body, tapped } = play([
        raw.subarray(0, head),
        ...Array.from(raw.subarray(head), (byte) => Buffer.from([byte])),
      ]);
      expect(tapped).toBe(body.length);
      expect(body.equals(decode(raw))).toBe(true);
    }
  });

  it('leaves what is not a plain size line to the parser, from the start of that line', () => {
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    for (const line of ['5;name=value\r\nhello\r\n', '0000000005\r\nhello\r\n', 'xyz\r\n', '5 \r\nhello\r\n', '\r\n']) {
      for (let at = 0; at <= line.length; at++) {
        const tap = new BodyTap();
        tap.arm();
        tap.follow(Buffer.from(`${head}3\r\nabc\r\n`), head.length + 8);
        expect(tap.isTaking).toBe(true);
        let handed = '';
        let body = '';
        for (const part of [line.slice(0, at), `${line.slice(at)}rest`]) {
          const bytes = Buffer.from(part);
          if (!tap.isTaking) {
            handed += part;
            continue;
          }
          const end = tap.take(bytes, bytes.length, (all, start, stop) => {
            body += all.toString('latin1', start, stop);
          });
          if (!tap.isTaking) handed += tap.handOver(bytes, end, bytes.length).toString();
        }
        expect([body, handed]).toEqual(['', `${line}rest`]);
      }
    }
  });

  it('says so when a chunk does not end where its size says', () => {
    const head = Buffer.from('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    expect(play([head, Buffer.from('3\r\nabcX')]).broken).toBe(true);
    expect(play([head, Buffer.from('3\r\nabc\rX')]).broken).toBe(true);
  });

  it('stays away from answers whose head came in pieces or is not 200', () => {
    for (const reads of [
      ['HTTP/1.1 200 OK\r\n', 'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'],
      ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n3\r\nabc\r\n'],
    ]) {
      const tap = new BodyTap();
      for (const [i, read] of reads.entries()) {
        if (i === reads.length - 1) tap.arm();
        tap.follow(Buffer.from(read), read.length);
      }
      expect(tap.isTaking).toBe(false);
    }
  });
});
