/** GPUs of the host in the report. */
import { printable } from './terminal.ts';

/** A figure with mean and peak, as the end of the records holds it. */
interface Spread {
  readonly mean: number;
  readonly max: number;
}

/** A GPU as the end of the records holds it. */
export type Gpu = Readonly<Record<string, unknown>>;

/** Block of the result; undefined when nothing was sampled. `outputTokens`: made in the run. */
export function hostBlock(gpus: unknown, outputTokens: number): Readonly<Record<string, unknown>> | undefined {
  // What happened when stands in the records and on the page; a result is figures.
  const all = gpusOf(gpus).map(({ timeline: _, ...figures }): Gpu => figures);
  if (all.length === 0) return undefined;
  const joules = all.reduce<number | null>(
    (sum, { energy_j: energy }) => (sum === null || typeof energy !== 'number' ? null : sum + energy),
    0,
  );
  return {
    gpus: all,
    ...(joules === null ? {} : { energy_j: joules }),
    ...(joules === null || joules <= 0 ? {} : { tokens_per_joule: outputTokens / joules }),
  };
}

/** One line per GPU, and one for all. */
export function hostLines(gpus: unknown, outputTokens: number): string[] {
  const block = hostBlock(gpus, outputTokens);
  if (block === undefined) return [];
  const lines = gpusOf(gpus).map((gpu) => {
    const parts = [
      part(gpu['utilisation'], ({ mean }) => `${mean.toFixed(0)} % busy`),
      part(gpu['memory_mib'], ({ max }) => `${(max / 1024).toFixed(1)} GiB`),
      part(gpu['power_w'], ({ mean, max }) => `${mean.toFixed(0)} W (max ${max.toFixed(0)})`),
      part(gpu['temperature_c'], ({ max }) => `up to ${max.toFixed(0)} °C`),
    ].filter((text) => text !== '');
    return `GPU ${String(gpu['index'])} (${printable(String(gpu['name']))}): ${parts.join(', ')}`;
  });
  const perJoule = block['tokens_per_joule'];
  const energy = block['energy_j'];
  if (typeof perJoule === 'number' && typeof energy === 'number') {
    lines.push(`energy of all GPUs: ${energy.toFixed(0)} J, ${perJoule.toFixed(2)} output tokens per joule`);
  }
  return lines;
}

/** The GPUs that the end of the records tells of. */
export function gpusOf(value: unknown): Gpu[] {
  return Array.isArray(value) ? value.filter((item): item is Gpu => typeof item === 'object' && item !== null) : [];
}

function part(value: unknown, show: (spread: Spread) => string): string {
  const spread = value as Partial<Spread> | null | undefined;
  return typeof spread?.mean === 'number' && typeof spread.max === 'number' ? show(spread as Spread) : '';
}
