/** What the GPUs of a host did during a run: from samples of `nvidia-smi` to means, peaks and energy. Pure. */

/** One reading of one GPU; null where the tool had no value (`[N/A]`). */
export interface GpuSample {
  /** ms on the caller's clock. */
  readonly atMs: number;
  readonly index: number;
  readonly name: string;
  readonly utilisation: number | null;
  readonly memoryMib: number | null;
  readonly memoryTotalMib: number | null;
  readonly powerW: number | null;
  readonly temperatureC: number | null;
}

/** One GPU over the run. */
export interface GpuFigures {
  readonly index: number;
  readonly name: string;
  readonly samples: number;
  /** Percent. */
  readonly utilisation: Spread | null;
  readonly memory_mib: Spread | null;
  readonly memory_total_mib: number | null;
  readonly power_w: Spread | null;
  readonly temperature_c: Spread | null;
  /** Power over the time of the run, by trapezoids; the first and last readings stand for what lies before and behind them. */
  readonly energy_j: number | null;
  readonly timeline: GpuTimeline;
}

/** Readings in slices of equal length from the start of the run: the mean of each slice, null where it has none. */
export interface GpuTimeline {
  /** Start of the first slice, seconds on the clock of the requests' `start_time`. */
  readonly start_time: number;
  readonly step_s: number;
  readonly utilisation: readonly (number | null)[];
  readonly memory_mib: readonly (number | null)[];
  readonly power_w: readonly (number | null)[];
  readonly temperature_c: readonly (number | null)[];
}

/** Mean and peak. */
export interface Spread {
  readonly mean: number;
  readonly max: number;
}

/** What `nvidia-smi` is asked for, in this order. */
export const GPU_FIELDS = 'index,name,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu';

/** Longest name that is believed. */
const MAX_NAME = 100;
/** More GPUs than this are no host: a garbled or hostile output must not grow memory. */
const MAX_GPUS = 256;

/** Reads a line of CSV without header and units; null when it is none. */
export function parseGpuLine(line: string, atMs: number): GpuSample | null {
  const cells = line.split(',').map((cell) => cell.trim());
  const index = Number(cells[0]);
  if (cells.length !== 7 || cells[0] === '' || !Number.isInteger(index) || index < 0 || index >= MAX_GPUS) return null;
  const [utilisation, memoryMib, memoryTotalMib, powerW, temperatureC] = cells.slice(2).map(reading) as (
    | number
    | null
  )[];
  return {
    atMs,
    index,
    name: (cells[1] as string).slice(0, MAX_NAME),
    utilisation: utilisation ?? null,
    memoryMib: memoryMib ?? null,
    memoryTotalMib: memoryTotalMib ?? null,
    powerW: powerW ?? null,
    temperatureC: temperatureC ?? null,
  };
}

function reading(cell: string): number | null {
  const value = Number(cell);
  return cell === '' || !Number.isFinite(value) || value < 0 ? null : value;
}

/** Slices of a timeline at most. */
const SLICES = 240;

/**
 * Sums up the readings between the start and the end of the run; by index.
 * @param offsetMs from the caller's clock to that of the requests' `start_time`
 */
export function gpuFigures(samples: readonly GpuSample[], startMs: number, endMs: number, offsetMs = 0): GpuFigures[] {
  const byIndex = new Map<number, GpuSample[]>();
  for (const sample of samples) {
    const own = byIndex.get(sample.index) ?? [];
    own.push(sample);
    byIndex.set(sample.index, own);
  }
  return [...byIndex]
    .sort(([a], [b]) => a - b)
    .map(([index, own]) => ({
      index,
      name: (own[0] as GpuSample).name,
      samples: own.length,
      utilisation: spread(own.map(({ utilisation }) => utilisation)),
      memory_mib: spread(own.map(({ memoryMib }) => memoryMib)),
      memory_total_mib: own.at(-1)?.memoryTotalMib ?? null,
      power_w: spread(own.map(({ powerW }) => powerW)),
      temperature_c: spread(own.map(({ temperatureC }) => temperatureC)),
      energy_j: energy(own, startMs, endMs),
      timeline: timelineOf(own, startMs, endMs, offsetMs),
    }));
}

/** No more slices than readings: else most would be empty. */
function timelineOf(own: readonly GpuSample[], startMs: number, endMs: number, offsetMs: number): GpuTimeline {
  const within = own.filter(({ atMs }) => atMs >= startMs && atMs <= endMs);
  const count = Math.min(SLICES, within.length);
  const stepMs = count === 0 ? 0 : (endMs - startMs) / count;
  const slices: GpuSample[][] = Array.from({ length: count }, () => []);
  for (const sample of within) slices[Math.min(count - 1, Math.floor((sample.atMs - startMs) / stepMs))]?.push(sample);
  const means = (read: (sample: GpuSample) => number | null): (number | null)[] =>
    slices.map((slice) => {
      const mean = spread(slice.map(read))?.mean;
      return mean === undefined ? null : Number(mean.toPrecision(5));
    });
  return {
    start_time: (startMs + offsetMs) / 1000,
    step_s: stepMs / 1000,
    utilisation: means(({ utilisation }) => utilisation),
    memory_mib: means(({ memoryMib }) => memoryMib),
    power_w: means(({ powerW }) => powerW),
    temperature_c: means(({ temperatureC }) => temperatureC),
  };
}

function spread(values: readonly (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return { mean: known.reduce((sum, value) => sum + value, 0) / known.length, max: Math.max(...known) };
}

function energy(samples: readonly GpuSample[], startMs: number, endMs: number): number | null {
  const known = samples.flatMap(({ atMs, powerW }) => (powerW === null ? [] : [{ atMs, powerW }]));
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || endMs <= startMs) return null;
  const points = [
    { atMs: Math.min(startMs, first.atMs), powerW: first.powerW },
    ...known,
    { atMs: Math.max(endMs, last.atMs), powerW: last.powerW },
  ];
  let joules = 0;
  for (let k = 1; k < points.length; k++) {
    const [a, b] = [points[k - 1] as { atMs: number; powerW: number }, points[k] as { atMs: number; powerW: number }];
    // Readings before the start and behind the end belong to no request.
    const [from, to] = [Math.max(startMs, a.atMs), Math.min(endMs, b.atMs)];
    if (to <= from) continue;
    const at = (ms: number): number =>
      b.atMs === a.atMs ? b.powerW : a.powerW + ((b.powerW - a.powerW) * (ms - a.atMs)) / (b.atMs - a.atMs);
    joules += ((at(from) + at(to)) / 2) * ((to - from) / 1000);
  }
  return joules;
}
