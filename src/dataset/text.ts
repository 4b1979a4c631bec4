/** Small questions about texts that all data sets ask. */

/**
 * The text with each half of a torn surrogate pair replaced by U+FFFD. JSON can hold such halves (`"\ud800"`), UTF-8 cannot: Python
 * fails on them when it tokenizes or hashes. Replacing them when the row is read makes what is counted, hashed and sent the same text.
 */
export function wellFormed(text: string): string {
  // With the u flag whole pairs are one character, so only halves match.
  return text.replace(/[\ud800-\udfff]/gu, '\ufffd');
}

/** What kind of JSON value this is, in words for a message. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'missing';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return { string: 'a text', number: 'a number', boolean: 'true or false' }[typeof value as string] ?? 'an object';
}
