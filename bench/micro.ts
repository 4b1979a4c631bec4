/**
 * What the inner parts cost: reading events, records, histograms, figures. `npm run bench`, or with words that a case's name must hold:
 * `npm run bench -- flood TabbyAPI`. Every stream is checked while it is measured: a reader that is fast and wrong is not measured.
 */
import { cpus } from 'node:os';
import { RunAggregate } from '../src/aggregate/collect.ts';
import { HistogramSet, initHistograms } from '../src/aggregate/histogram.ts';
import { decodeRequests, encodeRequest, jsonLine } from '../src/record/codec.ts';
import type { RequestRecord } from '../src/record/record.ts';
import { AnswerStream } from '../src/sse/stream.ts';
import { type Shape, seeded, shapes } from './shapes.ts';
import { type Case, measure, tableOf, usedResult } from './timing.ts';

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const isWanted = (name: string): boolean =>
  words.length === 0 || words.some((word) => name.toLowerCase().includes(word));
const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The whole body through the reader, out of one buffer for all reads as off a socket. */
function streamCase(shape: Shape): Case {
  const stream = new AnswerStream({ maxEventBytes: 16_000_000 });
  const buffer = Buffer.allocUnsafeSlow(256 * 1024);
  return {
    name: shape.name,
    units: shape.tokenFrames,
    bytes: shape.reads.reduce((sum, bytes) => sum + bytes.length, 0),
    run() {
      stream.begin(shape.form, false, 0);
      for (let k = 0; k < shape.reads.length; k++) {
        const bytes = shape.reads[k] as Uint8Array;
        buffer.set(bytes);
        stream.feed(buffer, k, k, 0, bytes.length);
      }
      stream.end();
      const { tokenFrames, isFinished, isDone } = stream;
      if (tokenFrames !== shape.tokenFrames || !isFinished || !isDone) {
        throw new Error(`"${shape.name}" was read wrong: ${tokenFrames} token frames of ${shape.tokenFrames}`);
      }
      return tokenFrames;
    },
  };
}

const random = seeded(7);
const GAPS = Float64Array.from({ length: 4096 }, () => 0.01 + random() * 0.005);

/** A request as a run against TabbyAPI records it. */
function request(i: number, gaps: number): RequestRecord {
  const from = (i * 31) % (GAPS.length - gaps);
  return {
    type: 'request',
    i,
    success: true,
    prompt_len: 123,
    client_prompt_len: 123,
    output_tokens: gaps + 1,
    ttft: 0.05 + (GAPS[i % GAPS.length] as number),
    itl: GAPS.subarray(from, from + gaps),
    latency: 0.06 + gaps * 0.0125,
    start_time: 5000 + i / 1000,
    arrival_time: 5000 + i / 1000,
    error: '',
    status: 200,
    output_len: gaps + 2,
    worker: 1,
    frames: gaps + 1,
    merged_frames: 3,
    reads: gaps - 1,
    first_byte: 0.01,
    end: 1.25,
    finish_reason: 'length',
    request_id: `bench-${i}`,
    server: { prompt_time: 0.08, completion_time: 1.1, total_time: 1.2, queue_time: 0.02 },
  };
}

const BATCH = 64;

function recordCases(): Case[] {
  const records = Array.from({ length: BATCH }, (_, i) => request(i, 99));
  const bytes = Buffer.concat(records.map((record) => Buffer.from(encodeRequest(record))));
  const length = bytes.length;
  return [
    {
      name: 'encode a request of 100 tokens',
      units: BATCH,
      bytes: length,
      run: () => records.reduce((sum, record) => sum + encodeRequest(record).length, 0),
    },
    { name: 'decode it', units: BATCH, bytes: length, run: () => decodeRequests(bytes).length },
    {
      name: 'write it as a JSON line',
      units: BATCH,
      bytes: length,
      run: () => records.reduce((sum, record) => sum + jsonLine(record).length, 0),
    },
  ];
}

function histogramCases(): Case[] {
  const values = new HistogramSet();
  const requests = new HistogramSet();
  const records = Array.from({ length: BATCH }, (_, i) => request(i, 99));
  return [
    {
      name: 'record a value',
      units: GAPS.length,
      bytes: 0,
      run() {
        values.recordAll('itl', GAPS);
        return GAPS.length;
      },
    },
    {
      name: 'record a request of 100 tokens, all metrics',
      units: BATCH,
      bytes: 0,
      run() {
        for (const record of records) requests.recordRequest(record);
        return BATCH;
      },
    },
    {
      name: 'ship a set and merge it',
      units: 1,
      bytes: 0,
      run() {
        const merged = new HistogramSet();
        merged.addEncoded(requests.encode());
        const { length } = merged.keys();
        merged.destroy();
        return length;
      },
    },
  ];
}

/** A million requests through the aggregate, once: too large for rounds. */
async function million(name: string, gaps: number, maxExactValues: number): Promise<string> {
  const count = 1_000_000;
  const before = process.memoryUsage().rss;
  const begun = performance.now();
  const aggregate = new RunAggregate({ maxExactValues });
  for (let i = 0; i < count; i++) aggregate.add(request(i, gaps));
  const added = performance.now();
  const summary = await aggregate.summarize({ percentiles: [50, 90, 99, 99.9], durationS: 1000 });
  const done = performance.now();
  if (summary.completed !== count || !(summary.metrics.itl.meanMs > 10)) throw new Error(`${name}: wrong figures`);
  const mb = (process.memoryUsage().rss - before) / 1e6;
  const perRequest = (((added - begun) * 1000) / count).toFixed(2);
  return `${name}: ${perRequest} µs per request to add, ${((done - added) / 1000).toFixed(2)} s for all figures, ${Math.max(0, mb).toFixed(0)} MB`;
}

await initHistograms();
print(
  `Node ${process.versions.node}, ${cpus()[0]?.model.trim() ?? ''}; median of rounds, ± half the distance of their quartiles`,
);
const groups: [title: string, unit: string, cases: Case[]][] = [
  ['read an answer of 500 tokens', 'event', shapes().map(streamCase)],
  ['records', 'request', recordCases()],
  ['histograms', 'unit', histogramCases()],
];
for (const [title, unit, cases] of groups) {
  const rows = cases.filter(({ name }) => isWanted(name)).map(measure);
  if (rows.length > 0) for (const line of ['', ...tableOf(title, unit, rows)]) print(line);
}
if (isWanted('a million requests')) {
  print('');
  print(await million('a million requests of 11 tokens, exact', 10, 20_000_000));
  print(await million('a million requests of 101 tokens, from histograms', 100, 1_000_000));
}
if (!usedResult()) process.exitCode = 1;
