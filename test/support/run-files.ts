/** A run of the program with its files read back. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RecordEnd, RecordHeader, RequestRecord } from '../../src/record/record.ts';
import { type CliOptions, type CliResult, type RunningCli, startCli } from './cli.ts';
import { type ResultJson, SAMPLE } from './play-endings.ts';

/** How a run ended, and what it left. */
export interface RunFiles {
  readonly cli: CliResult;
  readonly header: RecordHeader | undefined;
  readonly records: readonly RequestRecord[];
  readonly end: RecordEnd | undefined;
  /** Null when none was written. */
  readonly result: ResultJson | null;
}

/** A run that goes on. */
export interface RunUnderWay extends RunningCli {
  /** Waits for its end, reads its files and removes them. */
  finish(): Promise<RunFiles>;
  /** Path of its record file, as long as it goes on. */
  readonly recordFile: string;
}

/** Starts a run of the sample against `url`. Records are JSON lines; the result is written by `--json`. */
export function startRun(url: string, more: readonly string[], options: CliOptions = {}): RunUnderWay {
  const dir = mkdtempSync(join(tmpdir(), 'tabby-load-run-'));
  const recordFile = join(dir, 'r.jsonl');
  const running = startCli(
    [
      ...['--base-url', url, '--dataset', SAMPLE, '--ui', 'none', '--request-id-prefix', 'r-'],
      ...['--save-records', recordFile, '--json', join(dir, 'r.json'), ...more],
    ],
    { limitMs: 60_000, ...options },
  );
  return {
    ...running,
    recordFile,
    async finish() {
      const cli = await running.ended;
      try {
        const frames = readLines(recordFile);
        return {
          cli,
          header: frames.find(({ type }) => type === 'header') as RecordHeader | undefined,
          records: frames.filter((frame): frame is RequestRecord => frame.type === 'request'),
          end: frames.find(({ type }) => type === 'end') as RecordEnd | undefined,
          result: readJson(join(dir, 'r.json')),
        };
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  };
}

/** A run from start to end. */
export function runFiles(url: string, more: readonly string[], options: CliOptions = {}): Promise<RunFiles> {
  return startRun(url, more, options).finish();
}

/** How many requests ended in which way: `{success: 3, reset: 1}`, by name. */
export function tally(records: readonly RequestRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { error_kind: kind = 'success' } of records) counts[kind] = (counts[kind] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}

type Frame = RecordHeader | RequestRecord | RecordEnd;

function readLines(path: string): Frame[] {
  const text = readFileSync(path, 'utf8');
  // A killed run may leave a torn last line.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Frame);
}

function readJson(path: string): ResultJson | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ResultJson;
  } catch {
    return null;
  }
}
