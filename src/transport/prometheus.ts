/**
 * Counters of vLLM's `/metrics` (Prometheus text) that its benchmark reports: speculative decoding and diffusion decoding. Read as
 * vLLM 0.30 reads them: the value is all that stands behind the first white space of a line, so that a label with a space in
 * it (or a timestamp) makes the line count as 0.
 */

/** Totals over all engines. */
export interface SpecDecodeCounters {
  readonly num_drafts: number;
  readonly num_draft_tokens: number;
  readonly num_accepted_tokens: number;
  /** Accepted tokens by position in the draft. */
  readonly accepted_per_pos: Readonly<Record<string, number>>;
}

/** Totals over all engines. */
export interface DiffusionCounters {
  readonly num_denoising_steps: number;
  readonly num_canvas_positions: number;
  readonly num_committed_tokens: number;
}

/** The speculative decoding counters in a text; null when it has none. */
export function specDecodeCounters(text: string): SpecDecodeCounters | null {
  const lines = counterLines(text, 'vllm:spec_decode');
  if (lines.length === 0) return null;
  const sum = { num_drafts: 0, num_draft_tokens: 0, num_accepted_tokens: 0 };
  const perPosition: Record<string, number> = {};
  for (const { name, line, value } of lines) {
    if (value === null) continue;
    if (name.includes('num_drafts')) sum.num_drafts += value;
    else if (name.includes('num_draft_tokens')) sum.num_draft_tokens += value;
    else if (name.includes('num_accepted_tokens_per_pos')) {
      const position = /position="(\d+)"/.exec(line)?.[1];
      if (position !== undefined) perPosition[position] = (perPosition[position] ?? 0) + value;
    } else if (name.includes('num_accepted_tokens')) sum.num_accepted_tokens += value;
  }
  return { ...sum, accepted_per_pos: perPosition };
}

/** The diffusion counters in a text; null when it has none. */
export function diffusionCounters(text: string): DiffusionCounters | null {
  const lines = counterLines(text, 'vllm:diffusion');
  if (lines.length === 0) return null;
  const sum = { num_denoising_steps: 0, num_canvas_positions: 0, num_committed_tokens: 0 };
  for (const { name, value } of lines) {
    if (value === null) continue;
    if (name.includes('num_denoising_steps')) sum.num_denoising_steps += value;
    else if (name.includes('num_canvas_positions')) sum.num_canvas_positions += value;
    else if (name.includes('num_committed_tokens')) sum.num_committed_tokens += value;
  }
  return sum;
}

interface CounterLine {
  readonly name: string;
  readonly line: string;
  /** Whole part of the value; null when it is no number. */
  readonly value: number | null;
}

function counterLines(text: string, prefix: string): CounterLine[] {
  const found: CounterLine[] = [];
  for (const raw of text.split('\n')) {
    const line = raw.trim();
    if (!line.startsWith(prefix)) continue;
    const space = line.search(/\s/);
    const head = space < 0 ? line : line.slice(0, space);
    const name = head.split('{', 1)[0] ?? '';
    if (!name.endsWith('_total')) continue;
    found.push({ name, line, value: wholeValue(space < 0 ? '' : line.slice(space).trim()) });
  }
  return found;
}

/** Python's int(float(text)); null where that fails. */
function wholeValue(text: string): number | null {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return null;
  return Math.trunc(Number(text));
}
