import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { codeOf, type ImportLine, importsOf, ROOT, sourceFiles, stripComments } from './sources.ts';

/** The way of the data. A folder imports from folders before it and from leaves only. */
const ORDER = ['options', 'dataset', 'schedule', 'sse', 'transport', 'aggregate', 'report'];
/** record/ holds the shapes and the codec that all parts share: like the single files at the top, it knows none of the others. */
const LEAF_FOLDERS = ['record'];
/** Files that join the parts. */
const GLUE = ['commands'];
/** The built-in server shares nothing with the program that measures it, or a common mistake would cancel out. */
const APART = ['mock'];
const ENTRIES = ['main.ts', 'worker.ts'];

/** Modules that only some folders may load: what they cost, or what they could do, must stay where it is expected. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  undici: ['transport', 'dataset', 'commands'],
  piscina: ['transport', 'commands', 'dataset'],
  yargs: ['options'],
  yaml: ['options'],
  msgpackr: ['record', 'aggregate'],
  'hdr-histogram-js': ['aggregate', 'mock'],
  '@huggingface/tokenizers': ['dataset'],
  '@huggingface/jinja': ['dataset'],
};

const folderOf = (path: string): string => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '');
const isLeaf = (path: string): boolean =>
  LEAF_FOLDERS.includes(folderOf(path)) || (folderOf(path) === '' && !ENTRIES.includes(path));

/** Is this import against the direction? Returns why, or ''. */
function objection({ from, to, isOwn }: ImportLine): string {
  const [here, there] = [folderOf(from), folderOf(to)];
  if (!isOwn) {
    const allowed =
      LIBRARIES[
        to
          .split('/')
          .slice(0, to.startsWith('@') ? 2 : 1)
          .join('/')
      ];
    return allowed === undefined || allowed.includes(here) ? '' : `${to} belongs in ${allowed.join(', ')}`;
  }
  if (ENTRIES.includes(from) || GLUE.includes(here)) return '';
  if (isLeaf(to)) return '';
  if (isLeaf(from)) return 'a leaf imports leaves only';
  if (here === there) return '';
  if (APART.includes(here) || APART.includes(there)) return 'the built-in server and the program share leaves only';
  if (GLUE.includes(there)) return 'nothing imports a command';
  return ORDER.indexOf(there) < ORDER.indexOf(here) ? '' : `${there} comes after ${here}`;
}

const all = sourceFiles().flatMap(importsOf);

describe('imports', () => {
  it('go one way', () => {
    expect(all.map((line) => [line, objection(line)] as const).filter(([, why]) => why !== '')).toEqual([]);
  });

  it('are seen by this test', () => {
    // A pattern that finds nothing would make every other check pass.
    expect(all.length).toBeGreaterThan(100);
    expect(all).toContainEqual({ from: 'main.ts', to: 'commands/run.ts', isOwn: true, isType: false });
    expect(all).toContainEqual({ from: 'options/table.ts', to: 'options/table-data.ts', isOwn: true, isType: false });
    const wrong = { isOwn: true, isType: false };
    expect(objection({ ...wrong, from: 'dataset/sample.ts', to: 'transport/slot.ts' })).not.toBe('');
    expect(objection({ ...wrong, from: 'errors.ts', to: 'options/table.ts' })).not.toBe('');
    expect(objection({ ...wrong, from: 'mock/http.ts', to: 'sse/splitter.ts' })).not.toBe('');
    expect(objection({ ...wrong, from: 'report/json.ts', to: 'commands/run.ts' })).not.toBe('');
    expect(objection({ ...wrong, from: 'sse/stream.ts', to: 'undici', isOwn: false })).not.toBe('');
  });

  it('lead to files that exist, by their full names, and never in circles', () => {
    const own = all.filter(({ isOwn }) => isOwn);
    expect(own.filter(({ to }) => !to.endsWith('.ts') || !existsSync(`${ROOT}/src/${to}`))).toEqual([]);
    expect(circles(own.filter(({ isType }) => !isType))).toEqual([]);
  });

  it('of node modules carry the node: protocol', () => {
    const bare = all.filter(
      ({ to, isOwn }) => !isOwn && /^(fs|path|os|url|util|net|http|https|crypto|stream|events|zlib)(\/|$)/.test(to),
    );
    expect(bare).toEqual([]);
  });

  it('come from folders on one level', () => {
    expect(sourceFiles().filter((file) => file.split('/').length > 2)).toEqual([]);
    const known = [...ORDER, ...LEAF_FOLDERS, ...GLUE, ...APART, ''];
    expect(sourceFiles().filter((file) => !known.includes(folderOf(file)))).toEqual([]);
  });
});

/** Rules on what code may do where: the pattern, and the files where it is at home. */
const RULES: readonly (readonly [string, RegExp, (file: string) => boolean])[] = [
  [
    'writes to the terminal',
    /\bconsole\.\w+\(|\bprocess\.(stdout|stderr)\.write\b|\bwriteSync\(\s*[12]\b/,
    (file) => file === 'main.ts' || file === 'worker.ts' || file.startsWith('report/'),
  ],
  [
    'ends the process',
    /\bprocess\.(exit|abort|reallyExit)\(|\bprocess\.exitCode\s*=/,
    // The other ends a thread, when a test orders it.
    (file) => file === 'main.ts' || file === 'commands/worker-death.ts',
  ],
  [
    'reads a clock',
    /\bperformance\.now\(|\bDate\.now\(|\bnew Date\(\s*\)|\bDate\(\s*\)|\bhrtime\b|\bprocess\.uptime\(|\bprocess\.cpuUsage\(/,
    (file) => file === 'record/clock.ts',
  ],
  ['draws unseeded random numbers', /\bMath\.random\(/, () => false],
  [
    'reads environment variables',
    /\bprocess\.env\b/,
    (file) =>
      file === 'main.ts' ||
      file === 'report/terminal.ts' ||
      file.startsWith('options/') ||
      file.startsWith('dataset/') ||
      file.startsWith('commands/'),
  ],
  ['runs text as code', /\beval\(|\bnew Function\(/, () => false],
];

describe('code', () => {
  it.each(RULES)('%s only where it may', (_, pattern, isAllowed) => {
    expect(sourceFiles().filter((file) => !isAllowed(file) && pattern.test(codeOf(file)))).toEqual([]);
  });

  it('is told apart from comments', () => {
    expect(stripComments("a // process.exit(1)\nb /* console.log */ c 'http://x' `//y`")).toBe(
      "a  \nb   c 'http://x' `//y`",
    );
    for (const [name, pattern] of RULES) expect(pattern.test(''), name).toBe(false);
    expect(
      RULES.map(([, pattern]) =>
        pattern.test('console.log(1); process.exit(2); Date.now(); Math.random(); process.env.X; eval("1")'),
      ),
    ).toEqual(RULES.map(() => true));
  });
});

/** Circles in a graph of imports, each as the path that comes back to its beginning. */
function circles(lines: readonly ImportLine[]): string[][] {
  const next = new Map<string, string[]>();
  for (const { from, to } of lines) next.set(from, [...(next.get(from) ?? []), to]);
  const done = new Set<string>();
  const found: string[][] = [];
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file]);
    else if (!done.has(file)) for (const to of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return found;
}
