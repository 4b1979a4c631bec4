import fc from 'fast-check';
import { unpackMultiple } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import {
  decodeRequests,
  encodeFrame,
  encodeRequest,
  float64Values,
  jsonLine,
  plainData,
} from '../../src/record/codec.ts';
import type { RequestRecord } from '../../src/record/record.ts';
import { anyRequest, END, HEADER, plain, request } from './builder.ts';

describe('encodeRequest and decodeRequests', () => {
  it('are inverse, whatever the values', () => {
    fc.assert(
      fc.property(fc.array(anyRequest, { maxLength: 5 }), (records) => {
        const bytes = Buffer.concat(records.map((record) => Buffer.from(encodeRequest(record))));
        expect(decodeRequests(bytes).map(plain)).toEqual(records.map(plain));
      }),
    );
  });

  it('give gaps of their own, aligned, that outlive the bytes', () => {
    const bytes = Uint8Array.from(
      Buffer.concat([Buffer.from(encodeRequest(request(0))), Buffer.from(encodeRequest(request(1)))]),
    );
    const [, second] = decodeRequests(bytes);
    bytes.fill(0);
    expect(second?.itl).toEqual(Float64Array.of(0.01, 0.020000000000000004, 0.03));
  });

  it('leave out undefined fields, and write no extension type', () => {
    const odd = { ...request(0), status: undefined, category: 'qa' } as unknown as RequestRecord;
    const [raw] = unpackMultiple(encodeRequest(odd)) as Record<string, unknown>[];
    expect(Object.keys(raw ?? {})).toEqual([...Object.keys(request(0)), 'category']);
    expect(raw?.['itl']).toBeInstanceOf(Uint8Array);
  });

  it('take gaps as a plain array too', () => {
    const [back] = decodeRequests(encodeRequest(request(0, { itl: [1, 2.5] })));
    expect(back?.itl).toEqual(Float64Array.of(1, 2.5));
  });

  it('write gaps as little-endian float64, as documented', () => {
    const [raw] = unpackMultiple(encodeRequest(request(0, { itl: [1] }))) as { itl: Uint8Array }[];
    expect([...(raw?.itl ?? [])]).toEqual([0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
    expect(float64Values(Uint8Array.of(0, 0, 0, 0, 0, 0, 0xf0, 0x3f))).toEqual(Float64Array.of(1));
  });
});

describe('frames in both forms', () => {
  it('replace what JSON does not know', () => {
    expect(
      plainData({
        a: Number.POSITIVE_INFINITY,
        b: Number.NaN,
        c: undefined,
        d: [Number.NEGATIVE_INFINITY, undefined],
        e: 5n,
        f: () => 1,
      }),
    ).toEqual({ a: 'inf', b: 'nan', d: ['-inf', null], e: 5 });
  });

  it('hold the same header and end', () => {
    const header = { ...HEADER, options: { ...HEADER.options, request_rate: Number.POSITIVE_INFINITY } };
    const [fromBytes] = unpackMultiple(encodeFrame(header)) as unknown[];
    expect(fromBytes).toEqual(JSON.parse(jsonLine(header)));
    expect(JSON.parse(jsonLine(header)).options.request_rate).toBe('inf');
    expect(JSON.parse(jsonLine(END))).toEqual(END);
  });

  it('write gaps as an array in JSON lines', () => {
    const line = jsonLine(request(0));
    expect(line.endsWith('}\n')).toBe(true);
    expect(JSON.parse(line).itl).toEqual([0.01, 0.020000000000000004, 0.03]);
  });
});
