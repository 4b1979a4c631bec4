/**
 * The end of a run and of `report`, the same code for both: figures → result JSON, console lines and warnings.
 */
import type { CountTokens, RunAggregate } from '../aggregate/collect.ts';
import type { RecordEnd, RecordHeader } from '../record/record.ts';

/** What the end of a run needs. */
export interface FinishInput {
  /** All requests of the run. It is spent afterwards. */
  readonly aggregate: RunAggregate;
  /** Header as written to the record file: options, server, hash of the samples. */
  readonly header: RecordHeader;
  /** End as written to the record file: duration, interrupted, `client_health`, `probe`, … */
  readonly end: RecordEnd;
  /** Counts tokens (no special tokens) where the server told none; not called when every server count is there. */
  readonly countTokens?: CountTokens;
}

/** A warning as data; its words are in `warnings.ts`. */
export interface Warning {
  readonly code: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** A finished report. Nothing was printed or written yet. */
export interface FinishedReport {
  /** The result JSON, key by key in vLLM's order, `tabby_load` last. */
  readonly result: ReadonlyMap<string, unknown>;
  /** Failure lines, vLLM's table, and the lines of ours: what goes to stdout, line by line. */
  readonly consoleLines: readonly string[];
  readonly warnings: readonly Warning[];
  readonly completed: number;
  readonly failed: number;
}

/** Makes the report of a run. */
export async function finishReport(_input: FinishInput): Promise<FinishedReport> {
  throw new Error('to be filled');
}
