import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { helpText } from '../../src/options/help.ts';
import { ROOT } from './sources.ts';

const read = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');
const pkg = JSON.parse(read('package.json')) as {
  version: string;
  files: string[];
  bin: Record<string, string>;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** Words of a text that are paths of files in the project. */
function pathsIn(text: string): string[] {
  const found = text.matchAll(/(?<![\w./$-])((?:\.\/)?(?:scripts|bench|test|src|examples|\.ci)\/[\w./-]*\w)/g);
  return [...found].map(([, path]) => path!);
}

describe('files that are pointed at exist', () => {
  it.each([
    'package.json',
    'tsconfig.json',
    'biome.json',
    'vitest.config.ts',
    '.ci/run',
    'scripts/build.mjs',
    'scripts/setup.mjs',
  ])('from %s', (file) => {
    const missing = pathsIn(read(file)).filter((path) => !existsSync(`${ROOT}/${path}`));
    expect(missing).toEqual([]);
  });

  it('and are found by this test', () => {
    expect(pathsIn('"start": "node scripts/start.mjs && node ./bench/x/run.mjs"')).toEqual([
      'scripts/start.mjs',
      './bench/x/run.mjs',
    ]);
    expect(pathsIn(read('package.json'))).toContain('scripts/start.mjs');
  });
});

describe('package', () => {
  it('has exact versions, an entry with a shebang, and the files it names', () => {
    const versions = Object.values({ ...pkg.dependencies, ...pkg.devDependencies });
    expect(versions.filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    expect(read('src/main.ts').startsWith('#!/usr/bin/env node\n')).toBe(true);
    expect(pkg.bin).toEqual({ 'tabby-load': 'dist/main.js' });
    expect(pkg.files.filter((path) => path !== 'dist' && !existsSync(`${ROOT}/${path}`))).toEqual([]);
  });

  it('needs few libraries at run time: what is plain JavaScript is bundled', () => {
    expect(Object.keys(pkg.dependencies).sort()).toEqual(['piscina', 'undici']);
  });

  it('has a lock file in which every package carries its integrity hash', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { resolved?: string; integrity?: string; link?: boolean }>;
    };
    const loose = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && entry.integrity === undefined);
    expect(loose.map(([path]) => path)).toEqual([]);
    const elsewhere = Object.values(lock.packages).filter(
      ({ resolved }) => resolved !== undefined && !resolved.startsWith('https://registry.npmjs.org/'),
    );
    expect(elsewhere).toEqual([]);
  });

  it('has a licence, a changelog, and a runnable check script', () => {
    expect(read('LICENSE')).toContain('Apache License');
    expect(read('CHANGELOG.md')).toMatch(/^# Changelog/);
    expect(statSync(`${ROOT}/.ci/run`).mode & 0o111).not.toBe(0);
  });
});

describe('exit codes', () => {
  it('are all told by --help', () => {
    const text = helpText('run', 100).replace(/\s+/g, ' ');
    const told = text.slice(text.indexOf('Exit codes:')).match(/\d+/g)!.map(Number);
    expect(new Set(told)).toEqual(new Set(Object.values(EXIT)));
  });
});

describe('the bundled sample', () => {
  it('is ShareGPT-shaped, small, and mostly passes the length filters of vLLM', () => {
    const text = read('examples/sharegpt-sample.json');
    expect(Buffer.byteLength(text)).toBeLessThan(600_000);
    const rows = JSON.parse(text) as { id: string; conversations: { from: string; value: string }[] }[];
    expect(rows).toHaveLength(525);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(525);
    // vLLM drops prompts over 1,024 tokens and pairs over 2,048; a token is at least three letters of such text.
    const kept = rows.filter(
      ({ conversations: [human, gpt] }) =>
        human!.value.length <= 3000 && human!.value.length + gpt!.value.length <= 6000,
    );
    expect(kept.length).toBeGreaterThan(515);
    for (const { conversations } of rows) {
      expect(conversations.map(({ from }) => from).slice(0, 2)).toEqual(['human', 'gpt']);
    }
  });
});
