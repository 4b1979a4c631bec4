/** Headers of every request, in vLLM's order: the backend's own, the key, then the user's, which win in place. */

/** Where headers come from. */
export interface HeaderSources {
  /** The backend's. */
  readonly own: readonly (readonly [string, string])[];
  readonly apiKey: string | null;
  /** `--header`. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Names and values. A later header replaces an earlier one of the same name, whatever the case, in its place. */
export function requestHeaders({ own, apiKey, extra }: HeaderSources): [string, string][] {
  const headers: [string, string][] = [];
  const set = (name: string, value: string): void => {
    const place = headers.findIndex(([known]) => known.toLowerCase() === name.toLowerCase());
    if (place < 0) headers.push([name, value]);
    else headers[place] = [name, value];
  };
  for (const [name, value] of own) set(name, value);
  if (apiKey !== null && apiKey !== '') set('Authorization', `Bearer ${apiKey}`);
  for (const [name, value] of Object.entries(extra)) set(name, value);
  return headers;
}
