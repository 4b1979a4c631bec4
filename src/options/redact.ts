/** Options and texts without secrets, for files, headers of records and messages. */
import { keyOf, type OptionSpec } from './spec.ts';
import { OPTIONS } from './table.ts';

/** What stands in place of a secret. */
export const MASK = '***';
/** Names of headers and fields whose values are credentials. */
const SENSITIVE = /auth|key|token|secret|password|cookie|credential|session/i;

/** Is the value of a header or field of this name a credential? */
export function isSensitiveName(name: string): boolean {
  return SENSITIVE.test(name);
}

/**
 * The options of a call as they may be saved: vLLM's names (snake case) with their values, in table order, without the key;
 * values of headers with credentials masked. Infinity stays a number here: the writer decides how it looks.
 */
export function optionsForRecord(
  options: Readonly<Record<string, unknown>> | object,
): Readonly<Record<string, unknown>> {
  const source = options as Readonly<Record<string, unknown>>;
  const result: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(OPTIONS)) {
    const key = keyOf(name, spec);
    if (!Object.hasOwn(source, key) || spec.secret === true || spec.place === true) continue;
    // What the user wants in the result stands there as given, whatever its name, as in vLLM: "tokens" is no credential.
    result[recordName(name, spec)] = name === 'metadata' ? source[key] : maskedValue(source[key]);
  }
  return result;
}

/** vLLM's name of an option: snake case; times in ms and sizes in bytes say so. */
export function recordName(name: string, spec: Pick<OptionSpec, 'type'>): string {
  const unit = spec.type === 'duration' ? '_ms' : spec.type === 'size' ? '_bytes' : '';
  return `${name.replaceAll('-', '_')}${unit}`;
}

/** A value with everything below a sensitive name masked, at any depth, and credentials cut out of URLs. */
export function maskedValue(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/(\w+:\/\/)[^/@\s]+@/g, `$1${MASK}@`);
  if (Array.isArray(value)) return value.map(maskedValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    isSensitiveName(key) && typeof item === 'string' ? MASK : maskedValue(item),
  ]);
  return Object.fromEntries(entries);
}

/** The strings of a call that must appear nowhere: the key, and header values that are credentials (with and without a scheme word). */
export function secretsOf(options: {
  readonly apiKey?: string | null;
  readonly header?: Readonly<Record<string, string>> | null;
}): string[] {
  const secrets = new Set<string>();
  if (options.apiKey) secrets.add(options.apiKey);
  for (const [name, value] of Object.entries(options.header ?? {})) {
    if (!isSensitiveName(name)) continue;
    secrets.add(value);
    secrets.add(value.replace(/^\S+\s+/, ''));
  }
  return [...secrets].filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
}

export { withoutSecrets } from '../secrets.ts';
