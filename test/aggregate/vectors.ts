/** The metric vectors recorded from vLLM 0.30.0, as records. */
import { readFileSync } from 'node:fs';
import type { RequestRecord } from '../../src/record/record.ts';

export interface VectorOutput {
  success: boolean;
  prompt_len: number;
  output_tokens: number | null;
  ttft: number;
  itl: number[];
  latency: number;
  start_time: number;
  arrival_time: number;
  generated_text: string;
  error: string;
  input_audio_duration?: number;
  num_input_sequences?: number;
}

export interface VectorCase {
  name: string;
  argv: string[];
  dur_s: number;
  outputs: VectorOutput[];
  spec_decode_before_after?: [unknown, unknown];
  diffusion_before_after?: [unknown, unknown];
  expected: {
    metrics?: Record<string, number | [number, number][]>;
    actual_output_lens?: number[];
    result_json: Record<string, unknown>;
    result_key_order: string[];
    arrays_left_out: string[];
    stdout_table: string[];
    stdout_failures?: string[];
  };
}

export const VECTORS = (
  JSON.parse(readFileSync(new URL('../fixtures/golden/metrics.json', import.meta.url), 'utf8')) as {
    cases: VectorCase[];
  }
).cases;

/** The requests of a case as records, in sample order. */
export function vectorRecords(vector: VectorCase): RequestRecord[] {
  return vector.outputs.map((output, i) => ({ type: 'request', i, ...output }));
}

/** The value of a flag in a case's command line (the last one wins), or undefined. */
export function flag(vector: VectorCase, name: string): string | undefined {
  const at = vector.argv.lastIndexOf(`--${name}`);
  return at === -1 ? undefined : vector.argv[at + 1];
}

/** All values of a flag that takes several. */
export function flagValues(vector: VectorCase, name: string): string[] {
  const at = vector.argv.lastIndexOf(`--${name}`);
  const values: string[] = [];
  for (let k = at + 1; at !== -1 && k < vector.argv.length; k++) {
    const word = vector.argv[k] as string;
    if (word.startsWith('--')) break;
    values.push(word);
  }
  return values;
}
