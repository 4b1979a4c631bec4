/**
 * The ways to misbehave. A fault is picked by rate (`--fault kind:rate`) or asked for by a mark in the prompt (`[[fault=kind]]`).
 * This file names them and picks; stream.ts and answer.ts carry them out.
 */
import { usageError } from '../errors.ts';
import type { Marks } from './marks.ts';
import type { FaultRate, MockOptions } from './options.ts';
import type { Rng } from './rng.ts';

/**
 * When a fault acts: `before` an answer begins, `mid`: in place of the token after `faultAt` frames, `insert`: beside that token,
 * `end`: at the end of the stream, `shape`: on how or how much is sent.
 */
export type FaultPhase = 'before' | 'mid' | 'insert' | 'end' | 'shape';

interface FaultInfo {
  readonly phase: FaultPhase;
  readonly help: string;
}

/** All kinds with their phase and meaning. */
export const FAULTS = {
  'http-500': { phase: 'before', help: '500 text/plain' },
  'http-503': { phase: 'before', help: '503 with a detail' },
  'http-429': { phase: 'before', help: '429 with Retry-After: 1' },
  'http-401': { phase: 'before', help: '401 with a detail' },
  'http-400': { phase: 'before', help: '400 with an error object' },
  'http-422': { phase: 'before', help: '422 with a list of mistakes' },
  never: { phase: 'before', help: 'no answer at all, the connection stays open' },
  reset: { phase: 'before', help: 'RST before any byte' },
  'accept-close': { phase: 'before', help: 'FIN before any byte' },
  'half-headers': { phase: 'before', help: 'FIN within the headers' },
  'not-http': { phase: 'before', help: 'an answer that is not HTTP' },
  html: { phase: 'before', help: '200 with an HTML page' },
  'json-instead': { phase: 'before', help: '200 with one JSON body although a stream was asked for' },
  empty: { phase: 'before', help: 'stream headers, then a clean end without any event' },
  'error-first': { phase: 'before', help: 'an error event as the only event' },
  stall: { phase: 'before', help: 'stream headers, then pings only, for ever' },
  'slow-headers': { phase: 'before', help: 'headers a second late ([[header_ms=N]])' },
  'error-mid': { phase: 'mid', help: 'an error event after some tokens' },
  'engine-error': { phase: 'mid', help: 'an engine exception: every running job gets an error event' },
  fatal: { phase: 'mid', help: 'the engine is made anew: this job gets an error event, all others hang' },
  unload: { phase: 'mid', help: 'the model is unloaded: every running stream hangs' },
  truncated: { phase: 'mid', help: 'FIN within a chunk' },
  'reset-mid': { phase: 'mid', help: 'RST after some tokens' },
  close: { phase: 'mid', help: 'FIN after some tokens, no last chunk' },
  'end-mid': { phase: 'mid', help: 'clean end of the body after some tokens' },
  'stall-mid': { phase: 'mid', help: 'pings only after some tokens' },
  'bad-chunk': { phase: 'mid', help: 'a chunk size that is not hexadecimal' },
  'bad-json': { phase: 'insert', help: 'one event that is not JSON' },
  huge: { phase: 'insert', help: 'one event of 17 MB ([[mb=N]])' },
  'null-choices': { phase: 'insert', help: 'events with no, empty and null choices' },
  'no-finish': { phase: 'end', help: 'clean end without finish event and [DONE]' },
  'done-only': { phase: 'end', help: '[DONE] without a finish event' },
  'no-done': { phase: 'end', help: 'clean end without [DONE]' },
  'done-space': { phase: 'end', help: '[DONE] followed by a space' },
  garbage: { phase: 'end', help: 'more bytes after [DONE]' },
  'no-last-chunk': { phase: 'end', help: 'FIN after [DONE], without the last chunk' },
  short: { phase: 'shape', help: 'ends by itself after some tokens in spite of min_tokens' },
  'zero-tokens': { phase: 'shape', help: 'ends before the first token' },
  bom: { phase: 'shape', help: 'a byte order mark before the first event' },
  gzip: { phase: 'shape', help: 'gzip whatever the client accepts' },
  drip: { phase: 'shape', help: 'byte by byte' },
  glue: { phase: 'shape', help: 'all events in one piece at the end, as a buffering proxy does' },
} as const satisfies Readonly<Record<string, FaultInfo>>;

/** The name of a fault. */
export type FaultKind = keyof typeof FAULTS;

/** Is this the name of a fault? */
export function isFaultKind(text: string): text is FaultKind {
  return Object.hasOwn(FAULTS, text);
}

/** Reads `kind:rate` (rate 0..1 or a percentage; left out: always). A usage error names the known kinds. */
export function parseFaultRate(text: string): FaultRate {
  const [kind = '', rateText = '1'] = text.split(':');
  const rate = rateText.endsWith('%') ? Number(rateText.slice(0, -1)) / 100 : Number(rateText);
  if (!isFaultKind(kind)) {
    throw usageError(`--fault: "${kind}" is not a fault.`, `Known are: ${Object.keys(FAULTS).join(', ')}.`);
  }
  if (rateText === '' || !(rate >= 0 && rate <= 1)) {
    throw usageError(`--fault ${kind}: the rate must be 0..1 or a percentage, not "${rateText}".`);
  }
  return { kind, rate };
}

/** The fault of one request: the mark's, else one drawn by the rates, else none. */
export function pickFault(options: MockOptions, marks: Marks, rng: Rng): FaultKind | null {
  if (marks.fault !== undefined && isFaultKind(marks.fault)) return marks.fault;
  if (marks.fail !== undefined) return 'error-mid';
  if (options.faults.length === 0) return null;
  let draw = rng.next();
  for (const { kind, rate } of options.faults) {
    if (draw < rate) return isFaultKind(kind) ? kind : null;
    draw -= rate;
  }
  return null;
}

/** When a fault acts; null for none. */
export function phaseOf(fault: FaultKind | null): FaultPhase | null {
  return fault === null ? null : FAULTS[fault].phase;
}
