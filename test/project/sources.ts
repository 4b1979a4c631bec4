/** The sources of the program as text and as a graph of imports, for the tests that guard the architecture. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's folder, without a slash at the end. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** One import of a file: the target as a path below src/ for our own files, else the name of the module. */
export interface ImportLine {
  readonly from: string;
  readonly to: string;
  readonly isOwn: boolean;
  /** Types only: gone at run time. */
  readonly isType: boolean;
}

/** Paths of all sources below src/, with forward slashes. */
export function sourceFiles(): readonly string[] {
  return readdirSync(`${ROOT}/src`, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts'))
    .sort();
}

/** A source without its comments, so that words in comments are not taken for code. Strings stay. */
export function codeOf(file: string): string {
  return stripComments(readFileSync(`${ROOT}/src/${file}`, 'utf8'));
}

/** Removes comments, leaving string and template literals as they are. */
export function stripComments(text: string): string {
  return text.replace(
    /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (_, literal: string | undefined) => literal ?? ' ',
  );
}

/** All imports of a source: static, dynamic and re-exports. */
export function importsOf(file: string): readonly ImportLine[] {
  const found = codeOf(file).matchAll(
    /(?:^|[\s;])(?:import|export)\s+(type\s+)?(?:[\w*{][^'";]*?\sfrom\s*)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g,
  );
  return [...found].map(([, type, fixed, dynamic]) => {
    const name = fixed ?? dynamic!;
    const isOwn = name.startsWith('.');
    const to = isOwn ? relative(`${ROOT}/src`, resolve(`${ROOT}/src`, dirname(file), name)) : name;
    return { from: file, to: to.replaceAll('\\', '/'), isOwn, isType: type !== undefined };
  });
}
