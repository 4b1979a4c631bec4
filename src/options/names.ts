/** Option names as people type them: dashes or underscores, aliases, `--no-…`, and unique prefixes as argparse allows them. */
import type { CommandName, Form, OptionSpec } from './spec.ts';
import { suggest } from './suggest.ts';
import { NOT_HERE, OPTIONS, optionsOf } from './table.ts';

/** What a typed name stands for. */
export interface NameHit {
  /** Name in the table, or `help`, `version`, `config`. */
  readonly name: string;
  /** The full spelling that was meant: the name, an alias, or the `--no-` form. */
  readonly spelling: string;
  /** It was the `--no-` form. */
  readonly negated: boolean;
}

/** Options that every command takes and that are no rows of the table. */
export const GENERAL = ['help', 'version', 'config'] as const;

/** All spellings that a command knows, without the dashes, with the option each stands for. */
export type NameIndex = ReadonlyMap<string, NameHit & { readonly vllm: boolean }>;

/** Builds the spellings of a command. */
export function nameIndex(command: CommandName): NameIndex {
  const index = new Map<string, NameHit & { vllm: boolean }>();
  const add = (spelling: string, name: string, negated: boolean, vllm: boolean) =>
    index.set(spelling, { name, spelling, negated, vllm });
  for (const [name, spec] of optionsOf(command)) {
    const vllm = spec.vllm === true;
    add(name, name, false, vllm);
    if (spec.negatable === true) add(`no-${name}`, name, true, vllm);
    for (const alias of spec.aliases ?? []) add(alias, name, false, false);
  }
  for (const name of GENERAL) add(name, name, false, name !== 'version');
  return index;
}

/**
 * Finds the option for a name as typed (without dashes, in dash form). A full name wins; then a prefix that fits one option only.
 * In `bench serve` vLLM's own flags are tried before ours, so that an abbreviation that works there works here.
 * Returns the hit, or the problem as text.
 */
export function resolveName(typed: string, index: NameIndex, command: CommandName, form: Form): NameHit | string {
  const exact = index.get(typed);
  if (exact !== undefined) return exact;
  const pools = form === 'bench' ? [true, false] : [false];
  for (const vllmOnly of pools) {
    const fits = [...index].filter(([name, hit]) => name.startsWith(typed) && (!vllmOnly || hit.vllm));
    const targets = new Set(fits.map(([, hit]) => `${hit.negated}${hit.name}`));
    if (targets.size === 1) return fits[0]![1];
    if (targets.size > 1) {
      const names = fits.slice(0, 6).map(([name]) => `--${name}`);
      return `--${typed}: could be ${names.join(', ')}${fits.length > 6 ? ', …' : ''}; write more of the name`;
    }
  }
  return unknownName(typed, index, command);
}

function unknownName(typed: string, index: NameIndex, command: CommandName): string {
  if (Object.hasOwn(NOT_HERE, typed)) return `--${typed} is not there: ${NOT_HERE[typed]}`;
  const elsewhere: OptionSpec | undefined = Object.hasOwn(OPTIONS, typed) ? OPTIONS[typed] : undefined;
  if (elsewhere !== undefined) {
    return `--${typed}: not an option of "${command}", but of "${elsewhere.commands.join('", "')}"`;
  }
  const near = suggest(typed, index.keys());
  return `--${typed}: unknown option${near === undefined ? '' : `; did you mean --${near}?`}`;
}
