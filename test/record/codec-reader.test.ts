import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { pack } from 'msgpackr';
import { afterAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/errors.ts';
import { encodeRequest } from '../../src/record/codec.ts';
import { INCOMPLETE, ScanError, valueEnd } from '../../src/record/codec-scan.ts';
import { RecordFileWriter } from '../../src/record/codec-writer.ts';
import type { RecordFrame } from '../../src/record/record.ts';
import { anyRequest, END, folder, HEADER, jsonLines, msgpackBytes, plain, readBack, request } from './builder.ts';

const dir = folder();
afterAll(dir.remove);

const FRAMES: RecordFrame[] = [HEADER, request(2), request(0, { category: 'qa' }), request(1), END];

/** The number of a process that has ended. */
function deadPid(): number {
  return spawnSync(process.execPath, ['--version']).pid;
}

async function refusal(path: string): Promise<AppError> {
  const error: unknown = await readBack(path).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

describe.each(['msgpack', 'jsonl'] as const)('reading %s', (format) => {
  const bytes = (frames: readonly RecordFrame[]) =>
    format === 'jsonl' ? Buffer.from(jsonLines(frames)) : msgpackBytes(frames);

  it('gives back what was written, told by content and not by name', async () => {
    const path = dir.file(`whole.${format}.bin`, bytes(FRAMES));
    const { headers, requests, ends, result } = await readBack(path);
    expect(result).toEqual({ format, requests: 3, headers: 1, ends: 1, unknownFrames: 0, damage: null });
    expect(headers).toEqual([HEADER]);
    expect(requests.map(plain)).toEqual(FRAMES.slice(1, 4).map((frame) => plain(frame as never)));
    expect(ends).toEqual([END]);
  });

  it('reads a file cut off at any byte up to its last whole frame, and says what is lost', async () => {
    const whole = bytes(FRAMES);
    const ends = FRAMES.map((_, k) => bytes(FRAMES.slice(0, k + 1)).length);
    for (let cut = (ends[0] as number) + 1; cut < whole.length; cut += 3) {
      const { result, requests, damage } = await readBack(dir.file(`cut.${format}`, whole.subarray(0, cut)));
      const whole_ = ends.filter((end) => end <= cut || (format === 'jsonl' && end - 1 === cut)).length;
      expect(result.headers + requests.length + result.ends, `cut at ${cut}`).toBe(whole_);
      const lost = cut - (ends[whole_ - 1] as number);
      if (lost <= 0) expect(damage).toBeNull();
      else {
        expect(damage?.lostBytes, `cut at ${cut}`).toBe(lost);
        expect(damage?.message).toContain(lost === 1 ? '1 byte' : `${lost} bytes`);
      }
    }
  });

  it('takes frames larger than a read', async () => {
    const big = request(0, { itl: new Float64Array(300_000).fill(0.25), generated_text: 'x'.repeat(3_000_000) });
    const { requests, damage } = await readBack(dir.file(`big.${format}`, bytes([HEADER, big, request(1), END])));
    expect(damage).toBeNull();
    expect(requests[0]?.itl.length).toBe(300_000);
    expect(requests[1]?.i).toBe(1);
  });

  it('passes over a frame that makes no sense and notes the first', async () => {
    const bad = [
      { ...request(1), ttft: 'soon' },
      { ...request(1), itl: [0.1, null] },
      { ...request(1), i: -1 },
      { ...request(1), success: 'yes' },
      { ...request(1), output_tokens: 2.5 },
      { ...request(1), ttft: -0.001 },
      { ...request(1), latency: -1 },
      { ...request(1), itl: [0.1, -0.1] },
      { ...request(1), end: -1 },
      { ...request(1), first_byte: -0.5 },
      { ...request(1), frames: -3 },
      { ...request(1), client_prompt_len: '7' },
      { ...request(1), category: 7 },
      { ...request(1), finish_reason: 5 },
      { ...request(1), partial: { ttft: -1, itl: [], latency: 0, frames: 1 } },
    ] as unknown as RecordFrame[];
    for (const frame of bad) {
      const raw =
        format === 'jsonl'
          ? Buffer.from(`${JSON.stringify(frame)}\n`)
          : pack({ ...frame, itl: [...(frame as never as { itl: number[] }).itl] });
      const file = Buffer.concat([bytes([HEADER, request(0)]), raw, raw, bytes([request(2), END])]);
      const { requests, ends, damage } = await readBack(dir.file(`bad.${format}`, file));
      expect(requests.map(({ i }) => i)).toEqual([0, 2]);
      expect(ends.length).toBe(1);
      expect(damage?.skippedFrames).toBe(2);
      expect(damage?.message).toMatch(format === 'jsonl' ? /^line 3: "/ : /^byte \d+: "/);
    }
  });

  it('passes over frames of a kind it does not know', async () => {
    const strange = { type: 'host', gpu: [1, 2] } as unknown as RecordFrame;
    const raw = format === 'jsonl' ? Buffer.from(`${JSON.stringify(strange)}\n`) : pack(strange);
    const { result } = await readBack(dir.file(`strange.${format}`, Buffer.concat([bytes([HEADER, request(0)]), raw])));
    expect(result).toMatchObject({ requests: 1, unknownFrames: 1, damage: null });
  });

  it('takes a header that names no schema for one of this version, and says so', async () => {
    const { schema: _, ...unnamed } = HEADER;
    const file = Buffer.concat([
      format === 'jsonl' ? Buffer.from(`${JSON.stringify(unnamed)}\n`) : pack(unnamed),
      bytes([request(0), END]),
    ]);
    const { headers, requests, damage } = await readBack(dir.file(`unnamed.${format}`, file));
    expect([headers[0]?.options, requests.length]).toEqual([HEADER.options, 1]);
    const where = format === 'jsonl' ? 'line 1' : 'byte 0';
    expect(damage).toEqual({
      message: `${where}: the header names no "schema" and is read as "tabby-load.records/1"`,
      skippedFrames: 0,
      lostBytes: 0,
    });
  });

  it('leaves out times of the server that are none: they are no damage', async () => {
    const odd = { ...request(0), server: { prompt_time: -1, queue_time: 0.5, total_time: 'long' } } as never;
    const { requests, damage } = await readBack(dir.file(`times.${format}`, bytes([HEADER, odd, END])));
    expect([requests[0]?.server, damage]).toEqual([{ queue_time: 0.5 }, null]);
  });

  it('refuses another version by name', async () => {
    const header = { ...HEADER, schema: 'tabby-load.records/2' };
    const error = await refusal(dir.file(`version.${format}`, bytes([header, request(0)])));
    expect(error.message).toContain('"tabby-load.records/2"');
    expect(error.exitCode).toBe(2);
  });

  it('survives any flipped bytes: an error for people, or what can be read', async () => {
    const whole = bytes(FRAMES);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }),
        async (flips) => {
          const broken = Buffer.from(whole);
          for (const [at, by] of flips) broken[at] = (broken[at] as number) ^ by;
          const outcome: unknown = await readBack(dir.file(`flip.${format}`, broken)).catch((error: unknown) => error);
          if (outcome instanceof Error) expect(outcome).toBeInstanceOf(AppError);
          else {
            for (const { itl, ttft, i } of (outcome as { requests: { itl: Float64Array; ttft: number; i: number }[] })
              .requests) {
              expect(Number.isFinite(ttft) && itl.every(Number.isFinite) && Number.isSafeInteger(i)).toBe(true);
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('survives any bytes behind a good start', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (noise) => {
        const { requests } = await readBack(
          dir.file(`noise.${format}`, Buffer.concat([bytes([HEADER, request(0)]), noise])),
        );
        expect(requests[0]?.i).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});

describe('JSON lines written by hand', () => {
  it('may leave out type, index, header, end, and all that is optional', async () => {
    const lines = [
      '{"success": true, "ttft": 0.1, "latency": 0.2, "start_time": 5}',
      '',
      '  {"success": false, "error": "boom"}\r',
      '{"ttft": 0.3, "latency": 0.4, "itl": [0.1], "output_tokens": null, "prompt_len": 7}',
    ].join('\n');
    const { requests, damage } = await readBack(dir.file('hand.jsonl', lines));
    expect(damage).toBeNull();
    expect(requests.map(plain)).toEqual([
      {
        type: 'request',
        i: 0,
        success: true,
        prompt_len: 0,
        output_tokens: null,
        ttft: 0.1,
        itl: [],
        latency: 0.2,
        start_time: 5,
        arrival_time: 5,
        error: '',
      },
      {
        type: 'request',
        i: 1,
        success: false,
        prompt_len: 0,
        output_tokens: null,
        ttft: 0,
        itl: [],
        latency: 0,
        start_time: 0,
        arrival_time: 0,
        error: 'boom',
      },
      {
        type: 'request',
        i: 2,
        success: true,
        prompt_len: 7,
        output_tokens: null,
        ttft: 0.3,
        itl: [0.1],
        latency: 0.4,
        start_time: 0,
        arrival_time: 0,
        error: '',
      },
    ]);
  });

  it("take Python's Infinity and NaN, but not inside of text, and not as a time", async () => {
    const lines = [
      '{"type": "header", "options": {"request_rate": Infinity, "burstiness": -Infinity, "label": "a \\"NaN\\" Infinity"}}',
      '{"success": true, "ttft": NaN, "latency": 0.2}',
      '{"success": true, "ttft": 1, "latency": 2}',
    ].join('\n');
    const { headers, requests, damage } = await readBack(dir.file('python.jsonl', lines));
    expect(headers[0]?.options).toEqual({ request_rate: 'inf', burstiness: '-inf', label: 'a "NaN" Infinity' });
    expect(requests.length).toBe(1);
    expect(damage?.message).toBe('line 2: "ttft" is not a finite number');
  });

  it('may nest values deep without harm', async () => {
    const deep = `{"type": "header", "options": {"a": ${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
    const { requests, damage } = await readBack(dir.file('deep.jsonl', `${deep}\n{"success": true}\n`));
    expect(requests.length).toBe(1);
    expect(damage?.message).toBe('line 1: values are nested too deep');
  });

  it('may begin with a byte order mark', async () => {
    const { result } = await readBack(dir.file('bom.jsonl', `\uFEFF${jsonLines(FRAMES)}`));
    expect(result).toMatchObject({ requests: 3, damage: null });
  });
});

describe('files that are no record files', () => {
  it.each([
    ['empty', '', /is empty/],
    [
      'result on one line',
      '{"date": "x", "endpoint_type": "openai-chat", "request_throughput": 1}',
      /is a result file/,
    ],
    [
      'result, indented',
      JSON.stringify({ date: 'x', endpoint_type: 'y', request_throughput: 1, a: Array(40).fill(1) }, null, 2),
      /is a result file/,
    ],
    ['ShareGPT', '[{"id": "a", "conversations": []}]', /is not a record file/],
    ['text', 'hello\n', /is not a record file/],
    ['gzip', gzipSync('hello'), /compressed with gzip/],
    ['a lone brace', '{', /is not a record file/],
  ])('%s', async (_name, content, message) => {
    const error = await refusal(dir.file('other', content));
    expect(error.message).toMatch(message);
    expect(error.hint).not.toBe('');
  });

  it('missing, or a folder', async () => {
    expect((await refusal(join(dir.path, 'nowhere'))).message).toContain('There is no file');
    mkdirSync(join(dir.path, 'sub'));
    expect((await refusal(join(dir.path, 'sub'))).message).toContain('is a folder');
  });
});

describe('valueEnd', () => {
  it('finds the end of every request, and nothing before it', () => {
    fc.assert(
      fc.property(anyRequest, (record) => {
        const bytes = Uint8Array.from(encodeRequest(record));
        expect(valueEnd(bytes, 0, bytes.length, 1 << 20)).toBe(bytes.length);
        for (let cut = 0; cut < bytes.length; cut += 5) expect(valueEnd(bytes, 0, cut, 1 << 20)).toBe(INCOMPLETE);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['a binary of 4 GB', [0xc6, 0xff, 0xff, 0xff, 0xff]],
    ['an extension type', [0xd4, 0x72, 0x40]],
    ['the byte that is never used', [0xc1]],
    ['nesting without end', Array(100).fill(0x91)],
  ])('refuses %s without allocating', (_name, bytes) => {
    expect(() => valueEnd(Uint8Array.from(bytes), 0, bytes.length, 1 << 20)).toThrow(ScanError);
  });

  it('waits for more on an array that claims four billion values', () => {
    expect(valueEnd(Uint8Array.of(0xdd, 0xff, 0xff, 0xff, 0xff, 1, 2), 0, 7, 1 << 20)).toBe(INCOMPLETE);
  });
});

describe('RecordFileWriter', () => {
  it.each(['out.msgpack', 'out.jsonl'])('writes %s in order, frame by frame', async (name) => {
    const path = join(dir.path, name);
    const writer = await RecordFileWriter.open(path);
    writer.header(HEADER);
    for (let i = 0; i < 200; i++) {
      writer.appendEncoded(
        Buffer.concat([Buffer.from(encodeRequest(request(2 * i))), Buffer.from(encodeRequest(request(2 * i + 1)))]),
      );
      if (i % 50 === 0) await new Promise(setImmediate);
    }
    await writer.end(END);
    await writer.close();
    expect(writer.failure).toBeNull();
    expect(writer.bytesWritten).toBe(readFileSync(path).length);
    const { requests, result } = await readBack(path);
    expect(result).toMatchObject({
      format: name.endsWith('jsonl') ? 'jsonl' : 'msgpack',
      headers: 1,
      ends: 1,
      damage: null,
    });
    expect(requests.map(({ i }) => i)).toEqual(Array.from({ length: 400 }, (_, i) => i));
  });

  it('has the frames on disk while the run goes on', async () => {
    const path = join(dir.path, 'during.msgpack');
    const writer = await RecordFileWriter.open(path);
    writer.header(HEADER);
    writer.appendEncoded(encodeRequest(request(0)));
    while (writer.bytesWritten < 200) await new Promise(setImmediate);
    expect((await readBack(path)).requests.length).toBe(1);
    await writer.close();
    expect((await readBack(path)).result).toMatchObject({ ends: 0, damage: null });
  });

  it('is refused while another run writes to the file, by whatever name', async () => {
    const path = join(dir.path, 'shared.msgpack');
    symlinkSync('shared.msgpack', join(dir.path, 'other.msgpack'));
    const first = await RecordFileWriter.open(path);
    first.header(HEADER);
    for (const name of [path, join(dir.path, 'other.msgpack')]) {
      const error: unknown = await RecordFileWriter.open(name).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).message).toContain(`is being written by another run (process ${process.pid})`);
    }
    first.appendEncoded(encodeRequest(request(0)));
    await first.end(END);
    expect(first.failure).toBeNull();
    expect((await readBack(path)).result).toMatchObject({ requests: 1, ends: 1, damage: null });
    await (await RecordFileWriter.open(path)).abandon();
    expect(readdirSync(dir.path).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  it.each([
    ['of a process that was killed', () => `${deadPid()}@${hostname()}`],
    ['of another machine', () => `${process.pid}@some-other-machine`],
    ['of no meaning', () => 'x'],
  ])('takes over a lock %s', async (_, holder) => {
    const path = join(dir.path, 'left.msgpack');
    symlinkSync(holder(), `${path}.lock`);
    const writer = await RecordFileWriter.open(path);
    expect(readlinkSync(`${path}.lock`)).toBe(`${process.pid}@${hostname()}`);
    await writer.abandon();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it('notices that something else writes to the file', async () => {
    const path = join(dir.path, 'mixed.msgpack');
    const writer = await RecordFileWriter.open(path);
    writer.header(HEADER);
    while (writer.bytesWritten === 0) await new Promise(setImmediate);
    appendFileSync(path, 'x');
    writer.appendEncoded(encodeRequest(request(0)));
    await writer.end(END);
    expect(writer.failure).toContain('another program writes to it at the same time');
  });

  it('names the option when the file cannot be opened', async () => {
    const error: unknown = await RecordFileWriter.open(join(dir.path, 'no', 'such', 'file')).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).message).toContain('--save-records');
    expect((error as AppError).hint).toContain('folder does not exist');
  });

  it.skipIf(process.platform !== 'linux')('keeps one message and goes on when the disk is full', async () => {
    const writer = await RecordFileWriter.open('/dev/full');
    writer.header(HEADER);
    await new Promise((resolve) => setTimeout(resolve, 20));
    writer.appendEncoded(encodeRequest(request(0)));
    await writer.end(END);
    expect(writer.failure).toContain('ENOSPC');
    expect(writer.failure).toContain('/dev/full');
  });
});
