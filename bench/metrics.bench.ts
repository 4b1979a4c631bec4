/**
 * Cost of records, histograms and figures: `npx vitest bench bench/metrics.bench.ts`. Each case works on fresh state and uses its result.
 * A request here has 100 token frames and the fields that a run against TabbyAPI writes.
 */
import { bench, describe } from 'vitest';
import { RunAggregate } from '../src/aggregate/collect.ts';
import { HistogramSet, initHistograms } from '../src/aggregate/histogram.ts';
import { describe as describeSeries } from '../src/aggregate/statistics.ts';
import { decodeRequests, encodeRequest, jsonLine } from '../src/record/codec.ts';
import { valueEnd } from '../src/record/codec-scan.ts';
import type { RequestRecord } from '../src/record/record.ts';

await initHistograms();

const BATCH = 64;

function request(i: number): RequestRecord {
  const itl = Float64Array.from({ length: 99 }, (_, k) => 0.01 + ((i * 31 + k * 17) % 1000) * 1e-5);
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 123,
    output_tokens: 100,
    ttft: 0.1234,
    itl,
    latency: 1.2345,
    start_time: 5000 + i / 1000,
    arrival_time: 5000 + i / 1000,
    error: '',
    status: 200,
    output_len: 101,
    worker: 1,
    frames: 100,
    merged_frames: 3,
    reads: 98,
    first_byte: 0.01,
    end: 1.25,
    finish_reason: 'length',
    server: { prompt_time: 0.08, completion_time: 1.1, total_time: 1.2, queue_time: 0.02 },
  };
}

const requests = Array.from({ length: BATCH }, (_, i) => request(i));
const bytes = Buffer.concat(requests.map((record) => Buffer.from(encodeRequest(record))));
let sink = 0;

describe(`records (per batch of ${BATCH})`, () => {
  bench('encode to msgpack', () => {
    for (const record of requests) sink += encodeRequest(record).length;
  });

  bench('decode from msgpack', () => {
    sink += decodeRequests(bytes).length;
  });

  bench('find the end of each frame, as the reader does', () => {
    for (let at = 0; at < bytes.length; at = valueEnd(bytes, at, bytes.length, 1 << 28)) sink++;
  });

  bench('write as JSON lines', () => {
    for (const record of requests) sink += jsonLine(record).length;
  });
});

describe(`aggregate (per batch of ${BATCH})`, () => {
  bench('keep exact values', () => {
    const aggregate = new RunAggregate();
    for (const record of requests) aggregate.add(record);
    sink += aggregate.completed;
  });

  const spilled = new RunAggregate({ maxExactValues: 1 });
  for (const record of requests) spilled.add(record);
  bench('beyond --max-exact-values: histograms and running figures', () => {
    for (const record of requests) spilled.add(record);
  });

  const set = new HistogramSet();
  bench("a worker's histograms", () => {
    for (const record of requests) set.recordRequest(record);
  });
  bench('ship and merge a set of histograms', () => {
    const merged = new HistogramSet();
    merged.addEncoded(set.encode());
    sink += merged.keys().length;
    merged.destroy();
  });
});

describe('statistics', () => {
  const values = Float64Array.from({ length: 1_000_000 }, (_, k) => ((k * 7919) % 1_000_003) / 1e6);
  bench('mean, deviation, median and percentiles of a million values', () => {
    sink += describeSeries(Float64Array.from(values), [50, 90, 99]).mean;
  });
});

process.on('exit', () => {
  if (sink === 0) process.exitCode = 1;
});
