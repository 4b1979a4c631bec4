/** Keeping keys and passwords out of what is printed and saved. */

const MASK = '***';

/** A text with every secret replaced, for messages that quote what a server or a library said. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((out, secret) => out.replaceAll(secret, MASK), text);
}

/** What is left of a secret that was cut off must be this long to give something away. */
const TELLING = 4;

/**
 * The beginning of a text, without secrets, and without the beginning of one that the cut (this one, or one before it) went through.
 */
export function beginningWithoutSecrets(text: string, length: number, secrets: readonly string[]): string {
  const out = withoutSecrets(text, secrets).slice(0, length);
  for (const secret of secrets) {
    for (let left = Math.min(secret.length - 1, out.length); left >= TELLING; left--) {
      if (out.endsWith(secret.slice(0, left))) return out.slice(0, -left) + MASK;
    }
  }
  return out;
}

/** The value with every secret cut out of its texts, at any depth. Arrays of numbers and the like are passed on as they are. */
export function concealed(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((item) => concealed(item, secrets));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, concealed(item, secrets)]));
}
