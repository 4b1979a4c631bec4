/** Measuring small things: rounds, a collected heap between them, the median and how far the rounds lie apart. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** One line of the result. */
export interface Measured {
  readonly name: string;
  /** Nanoseconds per unit (event, request, value): the median over the rounds. */
  readonly medianNs: number;
  /** Half the distance between the first and the third quartile of the rounds, as a share of the median. */
  readonly spread: number;
  /** What was gone through per round. */
  readonly units: number;
  readonly bytes: number;
}

/** One case: `run` goes through all of it once and returns something that depends on the work, so that none of it is left out. */
export interface Case {
  readonly name: string;
  readonly units: number;
  readonly bytes: number;
  run(): number;
}

const ROUNDS = 9;
/** A round takes at least so long. */
const ROUND_MS = 60;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Sum of everything that cases returned. */
let sink = 0;

/** Runs a case: warm-up, then rounds with a collected heap before each. */
export function measure(one: Case): Measured {
  timeOf(one, 1);
  const repeats = Math.max(1, Math.ceil(ROUND_MS / timeOf(one, 1)));
  // Until the compiler has settled.
  for (let k = 0; k < 3; k++) timeOf(one, repeats);
  const perUnit = Array.from({ length: ROUNDS }, () => {
    collect();
    return (timeOf(one, repeats) * 1e6) / (repeats * one.units);
  }).sort((a, b) => a - b);
  const medianNs = perUnit[Math.floor(ROUNDS / 2)] as number;
  const quartile = Math.floor(ROUNDS / 4);
  const spread = ((perUnit[ROUNDS - 1 - quartile] as number) - (perUnit[quartile] as number)) / 2 / medianNs;
  return { name: one.name, medianNs, spread, units: one.units, bytes: one.bytes };
}

function timeOf(one: Case, repeats: number): number {
  const begun = performance.now();
  for (let k = 0; k < repeats; k++) sink += one.run();
  return performance.now() - begun;
}

/** The result as lines of a table. @param unit what one unit is */
export function tableOf(title: string, unit: string, rows: readonly Measured[]): string[] {
  const head = [title, `ns/${unit}`, '±', `${unit}s`, 'bytes', 'MB/s'];
  const cells = rows.map(({ name, medianNs, spread, units, bytes }) => [
    name,
    medianNs < 100 ? medianNs.toFixed(1) : Math.round(medianNs).toLocaleString('en-US'),
    `${(spread * 100).toFixed(0)} %`,
    units.toLocaleString('en-US'),
    bytes === 0 ? '' : bytes.toLocaleString('en-US'),
    bytes === 0 ? '' : Math.round((bytes / units / medianNs) * 1000).toLocaleString('en-US'),
  ]);
  const widths = head.map((text, k) => Math.max(text.length, ...cells.map((row) => (row[k] as string).length)));
  const line = (row: readonly string[]) =>
    row.map((cell, k) => (k === 0 ? cell.padEnd(widths[k] as number) : cell.padStart(widths[k] as number))).join('  ');
  return [line(head), ...cells.map(line)];
}

/** Says whether the work was really done. */
export function usedResult(): boolean {
  return sink !== 0 && Number.isFinite(sink);
}
