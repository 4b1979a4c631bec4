/** Rows of what was expected and what was reported: for tests, and for people (`npm run faults`). */

/** One comparison. */
export interface FaultRow {
  readonly name: string;
  readonly expected: string;
  readonly reported: string;
  /** Where the two differ; empty = they agree. */
  readonly problems: readonly string[];
}

/** Several rows that one run, or a few, of the program fill. */
export interface FaultRun {
  readonly title: string;
  run(): Promise<readonly FaultRow[]>;
}

/** A row by a pattern that the text must fit. */
export function textRow(name: string, text: string, wanted: RegExp): FaultRow {
  const line = text.split('\n').find((each) => wanted.test(each)) ?? text.trim();
  return {
    name,
    expected: wanted.source,
    reported: line.trim(),
    problems: wanted.test(text) ? [] : [`${JSON.stringify(text.slice(0, 600))} does not fit ${String(wanted)}`],
  };
}

/** A row by equality of values, compared as JSON. */
export function valueRow(name: string, seen: unknown, wanted: unknown): FaultRow {
  const [expected = '', reported = ''] = [wanted, seen].map((value) => JSON.stringify(value));
  return { name, expected, reported, problems: expected === reported ? [] : [`${reported} instead of ${expected}`] };
}

/** A row by a condition on a number or a text. */
export function conditionRow(name: string, seen: unknown, expected: string, isMet: boolean): FaultRow {
  const reported = typeof seen === 'string' ? seen : JSON.stringify(seen);
  return { name, expected, reported, problems: isMet ? [] : [`${reported}, expected ${expected}`] };
}
