import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../fixtures/', import.meta.url));

/** Path of a fixture file. */
export function fixturePath(name: string): string {
  return `${root}${name}`;
}

/** Bytes of a fixture file. */
export function fixtureBytes(name: string): Buffer {
  return readFileSync(`${root}${name}`);
}

/** The cases of a file of vectors recorded from vLLM 0.30.0. */
export function goldenCases<T>(name: string): readonly T[] {
  return (JSON.parse(readFileSync(`${root}golden/${name}.json`, 'utf8')) as { cases: T[] }).cases;
}

/** Names of the recordings in `wire/` that end in `suffix`, without it. */
export function recordings(suffix: string): readonly string[] {
  return readdirSync(`${root}wire`)
    .filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length))
    .sort();
}
