/**
 * Marks in a prompt: `[[tokens=12,itl=5]]`, `[[tool]]`, `[[fault=reset]]`. They let a test ask for one behaviour for one request.
 * Text that only looks like a mark (unknown words) is left alone: real prompts contain double brackets too.
 */

/** What marks can ask for; absent members were not asked for. */
export interface Marks {
  /** Visible tokens until the model ends by itself. */
  tokens?: number;
  /** Milliseconds. */
  ttft?: number;
  /** Milliseconds. */
  itl?: number;
  /** Tokens per step. */
  burst?: number;
  /** Tokens per frame at the same rate. */
  merge?: number;
  /** Texts that are hard to parse. */
  unicode?: number;
  raw?: number;
  /** Number of tool calls. */
  tool?: number;
  stall_at?: number;
  stall_ms?: number;
  /** Share of reasoning. */
  reasoning?: number;
  /** Error frame after this many tokens. */
  fail?: number;
  /** Token frames before a fault in mid-stream. */
  fault_at?: number;
  /** Milliseconds, for slow headers. */
  header_ms?: number;
  /** Size of a huge event, MB. */
  mb?: number;
  /** A fault by name. */
  fault?: string;
}

const NUMBERS = new Set([
  'tokens',
  'ttft',
  'itl',
  'burst',
  'merge',
  'unicode',
  'raw',
  'tool',
  'stall_at',
  'stall_ms',
  'reasoning',
  'fail',
  'fault_at',
  'header_ms',
  'mb',
]);

/** Reads one `key` or `key=value` into the marks; false when it is not one of ours. */
function readItem(item: string, marks: Record<string, number | string>): boolean {
  const match = /^\s*([a-z_]+)(?:=([\w.+-]+))?\s*$/.exec(item);
  if (match === null) return false;
  const [, key, value] = match as unknown as [string, string, string | undefined];
  if (key === 'fault') {
    if (value === undefined) return false;
    marks['fault'] = value;
    return true;
  }
  if (!NUMBERS.has(key)) return false;
  const number = Number(value ?? 1);
  if (!(number >= 0 && number <= 1e9)) return false;
  marks[key] = number;
  return true;
}

/** Adds the marks found in a text to `marks`; later ones win. */
export function readMarks(text: string, marks: Marks): void {
  for (let at = text.indexOf('[['); at >= 0; at = text.indexOf('[[', at + 2)) {
    const end = text.indexOf(']]', at);
    if (end < 0) return;
    if (end - at > 300) continue;
    const found: Record<string, number | string> = {};
    const items = text.slice(at + 2, end).split(',');
    if (items.every((item) => readItem(item, found))) Object.assign(marks, found);
  }
}
