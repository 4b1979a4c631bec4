/** Reads record files into one aggregate. */
import { chunkSizeOf } from '../aggregate/believed.ts';
import type { CountedTokens, RunAggregate } from '../aggregate/collect.ts';
import { mergedHealth } from '../aggregate/quality-input.ts';
import type { SourceSpan } from '../aggregate/summary.ts';
import { wallClock } from '../record/clock.ts';
import { type RecordDamage, readRecordFile } from '../record/codec-reader.ts';
import { RECORD_SCHEMA, type RecordEnd, type RecordHeader } from '../record/record.ts';
import type { Warning } from '../report/warnings.ts';

/** All that is needed to finish a report of files. */
export interface MergedRecords {
  readonly aggregate: RunAggregate;
  /** Header of the first file, with the options of the command line laid over. */
  readonly header: RecordHeader;
  /** End of the only file, or one for all. */
  readonly end: RecordEnd;
  readonly warnings: readonly Warning[];
  readonly sources: readonly Readonly<Record<string, unknown>>[];
}

/** One run in a file; files that were glued together hold several. */
interface Source {
  readonly file: string;
  header: RecordHeader | null;
  end: RecordEnd | null;
  requests: number;
  damage: RecordDamage | null;
}

/**
 * Reads the files in the order given.
 * @param given options of the command line, which win over those in the headers
 * @param open makes the aggregate, once the first header is known
 * @throws usage errors for files that are no record files
 */
export async function mergeRecords(
  files: readonly string[],
  given: Readonly<Record<string, unknown>>,
  open: (header: RecordHeader) => RunAggregate,
): Promise<MergedRecords> {
  const sources: Source[] = [];
  let header: RecordHeader | null = null;
  let aggregate: RunAggregate | null = null;
  const begin = (found: RecordHeader | null): RunAggregate => {
    header ??= effectiveHeader(found, given);
    if (aggregate !== null) return aggregate;
    aggregate = open(header);
    const { options, server } = header;
    aggregate.judgeUsageBy({
      exactLength: options['exact_length'] === true,
      chunkSize: chunkSizeOf(server?.['parameters']),
    });
    return aggregate;
  };
  for (const file of files) {
    const first = sources.length;
    let source = next(sources, file, begin);
    const result = await readRecordFile(file, {
      header(found) {
        if (source.header !== null || source.requests > 0) source = next(sources, file, begin);
        source.header = found;
        begin(found);
      },
      request(request) {
        source.requests++;
        begin(source.header).add(request);
      },
      end(found) {
        source.end = found;
        const counted = countedOf(found);
        if (counted !== null) begin(source.header).applyCounts(counted);
      },
    });
    (sources[first] as Source).damage = result.damage;
  }
  const filled = begin(null);
  return {
    aggregate: filled,
    header: header as unknown as RecordHeader,
    end: mergedEnd(sources, filled.sources, filled.repeatedIndices > 0),
    warnings: sourceWarnings(sources),
    sources: sources.map((source, k) => sourceBlock(source, filled.sources[k])),
  };
}

/** Tokens that were counted after the run; null where there are none, or not as they should be. */
function countedOf(end: RecordEnd): CountedTokens | null {
  const { i, tokens } = (end['counted_tokens'] ?? {}) as Partial<Record<keyof CountedTokens, unknown>>;
  return isCounts(i) && isCounts(tokens) && i.length === tokens.length ? { i, tokens } : null;
}

function isCounts(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => Number.isSafeInteger(item) && item >= 0);
}

/** Opens another source, and tells the aggregate of all but the first. */
function next(sources: Source[], file: string, begin: (header: null) => RunAggregate): Source {
  const source: Source = { file, header: null, end: null, requests: 0, damage: null };
  if (sources.length > 0) begin(null).nextSource();
  sources.push(source);
  return source;
}

function effectiveHeader(found: RecordHeader | null, given: Readonly<Record<string, unknown>>): RecordHeader {
  const base = found ?? { type: 'header', schema: RECORD_SCHEMA, started_at: '', options: {} };
  return {
    ...base,
    started_at: base.started_at === '' ? wallClock().toISOString() : base.started_at,
    options: { ...base.options, ...given },
  };
}

/** Duration of one source: as its end says, else from the first send to the last answer. */
function durationOf(source: Source, span: SourceSpan | undefined): number {
  if (source.end !== null) return source.end.duration_s;
  return span === undefined || span.requests === 0 ? 0 : span.lastEnd - span.firstStart;
}

/** A file with a header but no end comes from a run that was killed. */
function isInterrupted({ header, end }: Source): boolean {
  return end === null ? header !== null : end.interrupted;
}

/**
 * One end for all. Repeats of a run add up, without the pauses between them. Shards of one run, which share the clock of their machine,
 * count by the time that at least one of them covers.
 */
function mergedEnd(sources: readonly Source[], spans: readonly SourceSpan[], areRepeats: boolean): RecordEnd {
  const only = sources.length === 1 ? sources[0] : undefined;
  if (only !== undefined) {
    return only.end ?? { type: 'end', duration_s: durationOf(only, spans[0]), interrupted: isInterrupted(only) };
  }
  const covered = sources
    .map((source, k) => ({ from: spans[k]?.firstStart ?? 0, length: durationOf(source, spans[k]), n: source.requests }))
    .filter(({ n }) => n > 0)
    .sort((a, b) => a.from - b.from);
  let duration = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { from, length } of covered) {
    duration += areRepeats ? length : Math.max(0, Math.min(length, from + length - reached));
    reached = Math.max(reached, from + length);
  }
  const health = mergedHealth(sources.map(({ end }) => end?.['client_health']));
  return {
    type: 'end',
    duration_s: duration,
    interrupted: sources.some(isInterrupted),
    ...(health === undefined ? {} : { client_health: health }),
  };
}

function sourceWarnings(sources: readonly Source[]): Warning[] {
  const out: Warning[] = [];
  const first = sources[0] as Source;
  for (const source of sources) {
    const { file, damage } = source;
    if (damage !== null) {
      out.push({ code: 'record_damage', facts: { file, damage: damage.message, skipped: damage.skippedFrames } });
    }
    if (source.header === null) out.push({ code: 'record_no_header', facts: { file } });
    if (source.end === null && source.requests > 0) {
      const planned = source.header?.planned;
      const facts = typeof planned === 'number' ? { planned, missing: Math.max(0, planned - source.requests) } : {};
      out.push({ code: 'record_no_end', facts: { file, ...facts } });
    }
    const what = differences(first.header, source.header);
    if (what.length > 0) out.push({ code: 'records_differ', facts: { file, first: first.file, what } });
  }
  return out;
}

/** What makes figures of two files another thing. */
function differences(a: RecordHeader | null, b: RecordHeader | null): string[] {
  if (a === null || b === null) return [];
  const keys = ['backend', 'model', 'max_concurrency', 'request_rate'];
  const out = keys.filter((key) => JSON.stringify(a.options[key]) !== JSON.stringify(b.options[key]));
  if (a.samples_sha256 !== b.samples_sha256) out.push('sample');
  return out.map((key) => key.replaceAll('_', ' '));
}

function sourceBlock(source: Source, span: SourceSpan | undefined): Readonly<Record<string, unknown>> {
  return {
    file: source.file,
    requests: source.requests,
    duration_s: durationOf(source, span),
    interrupted: isInterrupted(source),
    ...(source.header?.started_at ? { started_at: source.header.started_at } : {}),
    ...(source.header?.samples_sha256 === undefined ? {} : { samples_sha256: source.header.samples_sha256 }),
    ...(source.end?.['client_health'] === undefined ? {} : { client_health: source.end['client_health'] }),
  };
}
