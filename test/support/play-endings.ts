/** Runs the program against a scripted server in which each request ends in its own way, and compares what it says with the table. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RequestRecord } from '../../src/record/record.ts';
import { type CliResult, runCli } from './cli.ts';
import { ASKED, type Ending } from './endings.ts';
import { script } from './script-words.ts';
import { startScripted } from './scripted-server.ts';

/** ShareGPT-shaped sample with enough rows. */
export const SAMPLE = fileURLToPath(new URL('../../examples/sharegpt-sample.json', import.meta.url));

/** What was reported of one ending. */
export interface Played {
  readonly ending: Ending;
  readonly record: RequestRecord | undefined;
  readonly hits: number;
  /** Where it differs from what was expected; empty = it agrees. */
  readonly problems: readonly string[];
}

/** A whole run of endings. */
export interface PlayedRun {
  readonly played: readonly Played[];
  readonly cli: CliResult;
  /** The result JSON. */
  readonly result: ResultJson;
}

/** The parts of the result JSON that are looked at. */
export interface ResultJson {
  readonly completed: number;
  readonly failed: number;
  readonly tabby_load: {
    readonly errors?: {
      readonly kinds: Readonly<Record<string, { readonly count: number; readonly sample: string }>>;
      readonly after_first_token: number;
    };
    readonly latency: { readonly from_send: Readonly<Record<string, { readonly count: number } | undefined>> };
    readonly connections: { readonly stale_reconnects: number; readonly opened_during_run: number };
    readonly warnings: readonly { readonly code: string; readonly text: string }[];
    readonly [more: string]: unknown;
  };
}

/** One run with as many requests as there are endings. Concurrency is theirs too unless `more` says otherwise. */
export async function playEndings(endings: readonly Ending[], more: readonly string[] = []): Promise<PlayedRun> {
  const scripts = endings.map(({ server }) => (typeof server === 'string' ? [server] : server).map(script));
  const hits = endings.map(() => 0);
  const server = await startScripted(async (reply, request) => {
    const i = Number(request.headers['x-request-id']?.slice(2));
    const tries = scripts[i] as ReturnType<typeof script>[];
    const hit = (hits[i] as number)++;
    await (tries[hit] ?? (tries.at(-1) as (typeof tries)[number]))(reply, request);
  });
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-endings-'));
  const count = String(endings.length);
  try {
    const cli = await runCli(
      [
        ...[
          '--base-url',
          server.url,
          '--dataset',
          SAMPLE,
          '--num-prompts',
          count,
          '--sharegpt-output-len',
          String(ASKED),
        ],
        ...['--request-id-prefix', 'r-', '--save-records', join(dir, 'r.jsonl'), '--json', join(dir, 'r.json')],
        ...['--ui', 'none', ...(more.includes('--concurrency') ? [] : ['--concurrency', count]), ...more],
      ],
      { limitMs: 60_000 },
    );
    const records = readFileSync(join(dir, 'r.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as RequestRecord)
      .filter(({ type }) => type === 'request');
    const played = endings.map((ending, i) => {
      const own = records.filter((record) => record.i === i);
      const problems =
        own.length === 1
          ? disagreements(ending, own[0] as RequestRecord, hits[i] as number)
          : [`${own.length} records`];
      return { ending, record: own[0], hits: hits[i] as number, problems };
    });
    return { played, cli, result: JSON.parse(readFileSync(join(dir, 'r.json'), 'utf8')) as ResultJson };
  } finally {
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function disagreements({ expected }: Ending, record: RequestRecord, hits: number): string[] {
  const problems: string[] = [];
  const expect = (what: string, seen: unknown, wanted: unknown): void => {
    if (seen !== wanted) problems.push(`${what} is ${JSON.stringify(seen)}, not ${JSON.stringify(wanted)}`);
  };
  expect('success', record.success, expected.kind === null);
  expect('kind', record.error_kind ?? null, expected.kind);
  if (expected.status !== undefined) expect('status', record.status, expected.status);
  expect('requests seen', hits, expected.hits ?? 1);
  if (expected.kind === null) expect('error', record.error, '');
  else {
    if (record.error === '') problems.push('no words');
    // What failed is in no latency statistic, whatever came before.
    expect('ttft', record.ttft, 0);
    expect('gaps', record.itl.length, 0);
    if (expected.partial === 'some') expect('has partial frames', (record.partial?.frames ?? 0) > 0, true);
    else expect('partial frames', record.partial?.frames ?? 0, expected.partial ?? 0);
    if (record.partial !== undefined) expect('partial gaps', record.partial.itl.length, record.partial.frames - 1);
  }
  if (expected.words !== undefined && !expected.words.test(record.error)) {
    problems.push(`the words are ${JSON.stringify(record.error)}, not ${String(expected.words)}`);
  }
  for (const [key, value] of Object.entries(expected.record ?? {})) {
    expect(key, (record as unknown as Record<string, unknown>)[key], value);
  }
  return problems;
}
