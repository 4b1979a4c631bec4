import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HttpRequest, RequestParser } from '../../src/mock/http.ts';

interface Seen {
  readonly requests: HttpRequest[];
  errors: number[];
  continues: number;
}

function collect(pieces: readonly Buffer[]): Seen {
  const seen: Seen = { requests: [], errors: [], continues: 0 };
  const parser = new RequestParser({
    request: (request) => seen.requests.push(request),
    expectContinue: () => {
      seen.continues++;
    },
    error: (status) => seen.errors.push(status),
  });
  for (const piece of pieces) parser.feed(piece);
  return seen;
}

const one = (text: string): Seen => collect([Buffer.from(text, 'latin1')]);
const lengthBody = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

function chunkedBody(path: string, body: string, sizes: readonly number[]): string {
  let text = `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
  let at = 0;
  for (const size of sizes) {
    if (at >= body.length) break;
    const part = body.slice(at, at + size);
    text += `${part.length.toString(16)};ext=1\r\n${part}\r\n`;
    at += part.length;
  }
  if (at < body.length) text += `${(body.length - at).toString(16)}\r\n${body.slice(at)}\r\n`;
  return `${text}0\r\nTrailer: y\r\n\r\n`;
}

describe('the request parser', () => {
  it('gives the same requests however the bytes are cut and glued', () => {
    const body = fc.string({ unit: 'binary-ascii', maxLength: 80 });
    const request = fc.tuple(body, fc.boolean(), fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 5 }));
    fc.assert(
      fc.property(
        fc.array(request, { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 200 }),
        (requests, cuts) => {
          const text = requests
            .map(([content, chunked, sizes], i) =>
              chunked ? chunkedBody(`/p${i}?q=${i}`, content, sizes) : lengthBody(`/p${i}?q=${i}`, content),
            )
            .join('');
          const bytes = Buffer.from(text, 'latin1');
          const pieces: Buffer[] = [];
          for (let at = 0, k = 0; at < bytes.length; k++) {
            const size = cuts[k % cuts.length] as number;
            pieces.push(bytes.subarray(at, at + size));
            at += size;
          }
          const seen = collect(pieces);
          expect(seen.errors).toEqual([]);
          expect(seen.requests.map((r) => [r.path, r.query, r.body.toString('latin1')])).toEqual(
            requests.map(([content], i) => [`/p${i}`, `q=${i}`, content]),
          );
        },
      ),
    );
  });

  it('never throws on bytes that are no requests, and says so at most once', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ maxLength: 200 }).map((text) => Buffer.from(`GET / HTTP/1.1\r\n${text}\r\n\r\n`)),
      fc
        .string({ maxLength: 50 })
        .map((text) => Buffer.from(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${text}\r\n`)),
    );
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 6 }), (pieces) => {
        expect(collect(pieces).errors.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it.each([
    ['GET /\r\n\r\n', 400],
    ['GET / HTTP/2.0\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nno colon\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nna me: x\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\n folded: x\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nContent-Length: 1e3\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n', 413],
    ['POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n', 400],
    ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n', 400],
    ['\u0016\u0003\u0001\u0002', 400],
    [`GET / HTTP/1.1\r\nx: ${'y'.repeat(70_000)}`, 400],
  ])('refuses %j', (text, status) => {
    const seen = one(text);
    expect(seen.errors).toEqual([status]);
    expect(seen.requests).toEqual([]);
  });

  it('knows when a connection is to be kept', () => {
    const kept = (text: string): boolean | undefined => one(text).requests[0]?.keepAlive;
    expect(kept('GET / HTTP/1.1\r\n\r\n')).toBe(true);
    expect(kept('GET / HTTP/1.1\r\nConnection: Close\r\n\r\n')).toBe(false);
    expect(kept('GET / HTTP/1.0\r\n\r\n')).toBe(false);
    expect(kept('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')).toBe(true);
  });

  it('takes an absolute target and empty lines before a request, and answers Expect before the body', () => {
    const seen = one('\r\n\r\nPOST http://h:5/p?a=1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    expect(seen.continues).toBe(1);
    expect(seen.requests).toEqual([]);
    expect(one('GET http://h:5/p?a=1 HTTP/1.1\r\n\r\n').requests[0]).toMatchObject({ path: '/p', query: 'a=1' });
  });

  it('waits while it is paused and goes on without nesting', () => {
    let depth = 0;
    let deepest = 0;
    let count = 0;
    const parser: RequestParser = new RequestParser({
      request: () => {
        depth++;
        deepest = Math.max(deepest, depth);
        count++;
        parser.pause();
        parser.resume();
        depth--;
      },
      expectContinue: () => undefined,
      error: () => undefined,
    });
    parser.feed(Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(20_000)));
    expect([count, deepest]).toEqual([20_000, 1]);
  });
});
